//! Errors that cross a port, sorted by who must act.

/// Who can fix an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The caller: send something else.
    Caller,
    /// The operator: disk, permissions, model files.
    Operator,
    /// Transient: try again later.
    Retry,
    /// A defect of Reprise.
    Bug,
}

/// Why a memory request failed. A host treats every one as "no memory this time".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    #[error("memory is overloaded ({in_flight} requests under way); try again in a moment")]
    Overloaded { in_flight: usize },
    #[error(
        "memory is overloaded ({bytes} bytes of text are being written, at most {limit} may be); \
         try again in a moment"
    )]
    WritesFull { bytes: usize, limit: usize },
    #[error("memory did not answer within {budget_ms} ms; go on without it")]
    TimedOut { budget_ms: u64 },
    #[error("memory for user `{user}` is not running; try again in a moment")]
    Unavailable { user: String },
    /// An invalid request.
    #[error("{message}")]
    Invalid { message: String },
    #[error("{message}")]
    Storage { message: String },
}

impl MemoryError {
    /// Its agent has ended, or the service is shutting down.
    pub fn unavailable(user: &crate::UserId) -> Self {
        let user = user.to_string();
        Self::Unavailable { user }
    }

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

/// Failure of an optional helper (query expansion, reranking). The recall goes on without it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HelperError {
    pub message: String,
}

/// Why a text could not be embedded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// No model or inference engine on this machine.
    #[error("{message}; run `reprise models pull`")]
    Unavailable { message: String },
    /// The model returned something that is not a unit vector.
    #[error("the model answered with an unusable vector ({message}); run `reprise models verify`")]
    BadOutput { message: String },
    #[error("the inference engine failed: {message}; run `reprise doctor`")]
    Engine { message: String },
}
