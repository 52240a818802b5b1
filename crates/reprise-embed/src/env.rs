//! The one file of this room that asks the environment. The product reads `ORT_DYLIB_PATH`; where
//! models live is decided by the binary and passed in.

use std::path::PathBuf;

/// What ONNX Runtime, from 1.29 on, asks as it starts: where it is not `1` it keeps and sends
/// telemetry, and its own switch comes too late.
pub const NO_TELEMETRY: &str = "ORT_DISABLE_TELEMETRY";

/// Whether this process began with [`NO_TELEMETRY`].
pub fn is_without_telemetry() -> bool {
    std::env::var_os(NO_TELEMETRY).is_some_and(|value| value == "1")
}

/// The ONNX Runtime library that the user's environment names, if any.
pub(crate) fn ort_dylib_path() -> Option<PathBuf> {
    non_empty("ORT_DYLIB_PATH")
}

/// Where tests keep their models: `$REPRISE_MODELS_DIR`, else where the product keeps its own.
pub(crate) fn test_models_dir() -> Option<PathBuf> {
    use etcetera::BaseStrategy;

    non_empty("REPRISE_MODELS_DIR").or_else(|| {
        let strategy = etcetera::choose_base_strategy().ok()?;
        Some(strategy.cache_dir().join("reprise").join("models"))
    })
}

fn non_empty(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
