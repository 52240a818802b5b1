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
    #[error("memory did not answer within {budget_ms} ms; {}", late_answer_advice(*budget_ms))]
    TimedOut { budget_ms: u64 },
    #[error("memory for user `{user}` is not running; try again in a moment")]
    Unavailable { user: String },
    /// An invalid request.
    #[error("{message}")]
    Invalid { message: String },
    #[error("{message}")]
    Storage { message: String },
    /// Storage that cannot be used now, as a file that another process holds.
    #[error("{message}")]
    StorageBusy { message: String },
}

/// Says what the caller can do after such a wait: a host that asks unbidden goes on, a person asks
/// again.
fn late_answer_advice(budget_ms: u64) -> &'static str {
    if budget_ms < crate::limits::PURPOSEFUL_BUDGET_MS {
        return "go on without it";
    }
    "this machine is busy, or the model is still being loaded: ask again in a moment, and run \
     `reprise doctor` if that does not help"
}

impl MemoryError {
    /// Builds the error of a user whose agent has ended, as while the service is shutting down.
    pub fn unavailable(user: &crate::UserId) -> Self {
        let user = user.to_string();
        Self::Unavailable { user }
    }

    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Overloaded { .. }
            | Self::WritesFull { .. }
            | Self::TimedOut { .. }
            | Self::Unavailable { .. }
            | Self::StorageBusy { .. } => ErrorKind::Retry,
            Self::Invalid { .. } => ErrorKind::Caller,
            Self::Storage { .. } => ErrorKind::Operator,
        }
    }
}

/// The failure of an optional helper: query expansion, reranking, a second store of vectors. The
/// recall goes on without it.
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
    #[error("{message}; run `reprise doctor models pull`")]
    Unavailable { message: String },
    /// The model returned something that is not a unit vector.
    #[error(
        "the model answered with an unusable vector ({message}); run `reprise doctor models verify`"
    )]
    BadOutput { message: String },
    #[error("the inference engine failed: {message}; run `reprise doctor`")]
    Engine { message: String },
}
