//! Why the engine could not do what was asked. Refused records are not errors: see `WriteOutcome`.

use reprise_index::IndexError;
use reprise_learn::LearnError;
use reprise_store::StoreError;
use reprise_types::{ErrorKind, RecordId, WriteOutcome};

/// A failure of the whole request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk failed on the way through a large write.
    #[error("{} of {all} records were kept, then: {cause}; send the rest again", .outcomes.len())]
    Partly {
        /// What became of the first records, which are on disk.
        outcomes: Vec<WriteOutcome>,
        all: usize,
        /// Why the others were not kept.
        cause: Box<EngineError>,
    },
    /// The index could not be built from the log, which is a defect.
    #[error("the index could not be built from the log ({0}); run `reprise check` and report this")]
    Index(#[from] IndexError),
    /// What was said of a run was refused; nothing was written.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// Something was to be said of a record that cannot be recalled.
    #[error("there is no live record {id}; look its id up with a recall")]
    UnknownRecord { id: RecordId },
    /// A branch is to be made where there is a memory.
    #[error("there are records here already; choose another name for the branch")]
    BranchNotEmpty,
    /// A whole memory is to be taken over where there is one.
    #[error("there are records here already; name a user who has none")]
    NotEmpty,
    /// Something of a memory that is to be taken over does not fit.
    #[error("record {id} cannot be taken over: {why}; nothing was kept, make the export again")]
    Unfit {
        id: RecordId,
        /// What does not fit.
        why: String,
    },
    /// A link without a relation.
    #[error("the relation is empty; name it with a word such as related_to")]
    NoRelation,
    /// A tag of which nothing is left in its one spelling.
    #[error("the tag is empty; name it with a word")]
    NoTag,
    /// A damaged log left a hole that the index cannot number.
    #[error(
        "the index holds {index} records and the log {log}; run `reprise check` and report this"
    )]
    OutOfStep {
        index: u32,
        /// Ordinals of the log.
        log: u32,
    },
}

impl EngineError {
    /// Whether another writer has the file.
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Store(StoreError::Locked { .. }))
    }

    /// Who must act.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownRecord { .. }
            | Self::BranchNotEmpty
            | Self::NotEmpty
            | Self::Unfit { .. }
            | Self::NoRelation
            | Self::NoTag
            | Self::Learn(_) => ErrorKind::Caller,
            Self::Store(error) => error.kind(),
            Self::Partly { cause, .. } => cause.kind(),
            Self::Index(_) | Self::OutOfStep { .. } => ErrorKind::Bug,
        }
    }
}
