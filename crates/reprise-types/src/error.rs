//! Errors that cross a port, sorted by who must act.

/// Who can do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The caller: send something else.
    Caller,
    /// The operator: disk, permissions, model files.
    Operator,
    /// Nobody: try again later.
    Retry,
    /// Us: a defect.
    Bug,
}

/// Why a memory request failed. A host treats every one of them as "no memory this time".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// More requests under way than the service admits.
    #[error("memory is overloaded ({in_flight} requests under way); try again in a moment")]
    Overloaded { in_flight: usize },
    /// More text being written than the service admits.
    #[error(
        "memory is overloaded ({bytes} bytes of text are being written, at most {limit} may be); \
         try again in a moment"
    )]
    WritesFull {
        /// Bytes of text holding a permit.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    /// No answer within the budget.
    #[error("memory did not answer within {budget_ms} ms; go on without it")]
    TimedOut { budget_ms: u64 },
    /// Being shut down or restarted.
    #[error("memory for user `{user}` is not running; try again in a moment")]
    Unavailable { user: String },
    /// The request cannot be served as asked.
    #[error("{message}")]
    Invalid { message: String },
    #[error("{message}")]
    Storage {
        /// The store's sentence.
        message: String,
    },
}

impl MemoryError {
    /// Who must act.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Overloaded { .. }
            | Self::WritesFull { .. }
            | Self::TimedOut { .. }
            | Self::Unavailable { .. } => ErrorKind::Retry,
            Self::Invalid { .. } => ErrorKind::Caller,
            Self::Storage { .. } => ErrorKind::Operator,
        }
    }
}

/// Why an optional helper of a recall gave nothing. The recall goes on without it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HelperError {
    /// What happened, in one sentence.
    pub message: String,
}

/// Why a text could not be embedded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// No model or no engine on this machine yet.
    #[error("{message}; run `reprise models pull`")]
    Unavailable { message: String },
    /// The model ran and gave something that is not an embedding.
    #[error("the model answered with an unusable vector ({message}); run `reprise models verify`")]
    BadOutput { message: String },
    #[error("the inference engine failed: {message}; run `reprise doctor`")]
    Engine {
        /// The engine's words.
        message: String,
    },
}
