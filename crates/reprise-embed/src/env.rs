//! The one file of this room that asks the environment. The product reads `ORT_DYLIB_PATH`; where
//! models live is decided by the binary and passed in.

use std::path::PathBuf;

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
