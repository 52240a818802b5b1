//! Text to unit vector: tokeniser, ONNX sessions, the model file's writer, and its provisioning.
//!
//! Everything that knows MiniLM, `ort`, `rten` or `tokenizers`.

mod engine;
mod env;
mod factory;
mod golden;
mod manifest;
mod onnx;
mod provision;
mod safetensors;
#[doc(hidden)]
pub mod testing;
mod tokenizer;
mod variant;

pub use engine::library::LibraryError;
pub use factory::{EmbedderFactory, EngineKind, EngineReport, LibraryOrigin, RefusedLibrary};
pub use onnx::convert;
pub use provision::{
    FileState, Installed, ModelFile, ModelStore, Patience, Progress, ProvisionError, PullRequest,
    PullSource,
};
pub use safetensors::WeightsError;
pub use variant::Variant;
