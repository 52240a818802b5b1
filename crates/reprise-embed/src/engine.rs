//! The two inference engines.
//!
//! `onnx` runs on ONNX Runtime, `built_in` on rten; both read the same model file and have the same
//! embedding space. `factory` decides which one is used.

pub(crate) mod built_in;
pub(crate) mod library;
pub(crate) mod onnx;
pub(crate) mod weights;

use std::panic::{AssertUnwindSafe, catch_unwind};

use reprise_types::{EmbedError, panic_message};

/// Computes numbers from token ids on one of the engines.
pub(crate) trait Inference: Send {
    /// Runs the model on one text, or on two texts for which `types` tells which token belongs to
    /// which; `types` is empty for one text. The numbers are not checked yet.
    fn infer(&mut self, ids: &[u32], types: &[u32]) -> Result<Vec<f32>, EmbedError>;
}

/// Runs a closure and turns a panic of a foreign library into its message. Data that the closure
/// changes is used again only through engines that keep no partial state between calls.
pub(crate) fn catch_panics<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|payload| format!("it panicked: {}", panic_message(&*payload)))
}
