//! Errors of an evaluation.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use reprise_engine::{EngineError, UnknownSignal};
use reprise_types::EmbedError;

pub(crate) type EvalResult<T, E = EvalError> = Result<T, E>;

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A file could not be read.
    #[error("the data set could not be read: {0}; check --data")]
    File(#[from] std::io::Error),
    /// A file has another format than expected.
    #[error("`{path}` is not {expected}: {message}; check that it is the file the set publishes")]
    Shape {
        path: PathBuf,
        expected: &'static str,
        message: String,
    },
    /// There is nothing to evaluate at that path.
    #[error("`{path}` holds no {expected}; pass the folder or file that the set publishes")]
    Nothing {
        path: PathBuf,
        expected: &'static str,
    },
    /// A protocol that a set does not have.
    #[error("`{set}` has no protocol `{protocol}`; pass --protocol with one of its own: {known}")]
    Protocol {
        set: &'static str,
        protocol: &'static str,
        known: String,
    },
    /// The model that answers, or the judge, failed again and again.
    #[error("{0}; check [eval] in the configuration")]
    Model(String),
    /// A clone without what an evaluation needs.
    #[error("`{path}` holds no {lacking}")]
    Clone {
        /// The clone or its changelog.
        path: PathBuf,
        /// What is missing, and what to do.
        lacking: &'static str,
    },
    #[error("the temporary store failed: {0}")]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// An unknown ranking signal.
    #[error(transparent)]
    Signal(#[from] UnknownSignal),
}

impl EvalError {
    pub(crate) fn nothing_found(path: &Path, expected: &'static str) -> Self {
        let path = path.to_owned();
        Self::Nothing { path, expected }
    }

    /// A file that is not what was expected.
    pub(crate) fn wrong_shape(path: &Path, expected: &'static str, error: &dyn Display) -> Self {
        let (path, message) = (path.to_owned(), error.to_string());
        Self::Shape {
            path,
            expected,
            message,
        }
    }
}
