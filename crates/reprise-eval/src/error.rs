//! What can go wrong between a data set and a table.

use std::path::PathBuf;

use reprise_engine::{EngineError, UnknownSignal};
use reprise_types::EmbedError;

/// Why an evaluation gave no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A file could not be read.
    #[error("the data set could not be read: {0}; check --data")]
    File(#[from] std::io::Error),
    /// A file is not of the form it should be.
    #[error("`{path}` is not {expected}: {message}; check that it is the file the set publishes")]
    Shape {
        path: PathBuf,
        /// The form it should have.
        expected: &'static str,
        message: String,
    },
    /// Nothing to evaluate in that place.
    #[error("`{path}` holds no {expected}; pass the folder or file that the set publishes")]
    Nothing {
        /// Where it was looked for.
        path: PathBuf,
        expected: &'static str,
    },
    /// A clone cannot be measured.
    #[error("`{path}` holds no {lacking}")]
    Clone {
        /// The clone or its changelog.
        path: PathBuf,
        /// What it would need, and what to do.
        lacking: &'static str,
    },
    #[error("the throw-away store failed: {0}")]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A signal that the ranking does not have.
    #[error(transparent)]
    Signal(#[from] UnknownSignal),
}
