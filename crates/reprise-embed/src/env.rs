//! The only file of this crate that reads the environment. The product reads `ORT_DYLIB_PATH`; the
//! binary decides where models are and passes the path in.

use std::path::PathBuf;

/// Variable that ONNX Runtime from 1.29 on reads when it starts. Unless it is `1` the library
/// collects and sends telemetry, and the library's own switch takes effect too late.
pub const NO_TELEMETRY: &str = "ORT_DISABLE_TELEMETRY";

/// Whether this process started with [`NO_TELEMETRY`] set.
pub fn is_without_telemetry() -> bool {
    std::env::var_os(NO_TELEMETRY).is_some_and(|value| value == "1")
}

/// Returns the ONNX Runtime library that the user's environment names, if any.
pub(crate) fn ort_dylib_path() -> Option<PathBuf> {
    read_non_empty_var("ORT_DYLIB_PATH")
}

/// Returns the models folder of tests: `$REPRISE_MODELS_DIR`, else that of the product.
pub(crate) fn test_models_dir() -> Option<PathBuf> {
    read_non_empty_var("REPRISE_MODELS_DIR").or_else(|| {
        let cache = read_non_empty_var("XDG_CACHE_HOME");
        let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
        Some(cache.join("reprise").join("models"))
    })
}

fn read_non_empty_var(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
