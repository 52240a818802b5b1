//! Reasons why the engine could not do what was asked. A refused record is no error: see
//! `WriteOutcome`.

use std::path::PathBuf;

use reprise_index::IndexError;
use reprise_learn::LearnError;
use reprise_store::StoreError;
use reprise_types::{ErrorKind, RecordId, UserId, WriteOutcome};

/// A failure of a whole request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk failed in the middle of a large write.
    #[error("{} of {all} records were kept, then: {cause}; send the rest again", .outcomes.len())]
    Partly {
        /// Outcomes of the first records, which are on disk.
        outcomes: Vec<WriteOutcome>,
        all: usize,
        /// Why the others were not stored.
        cause: Box<EngineError>,
    },
    /// The index could not be built from the log, which is a defect.
    #[error(
        "the index could not be built from the log ({0}); run `reprise doctor check` and report this"
    )]
    Index(#[from] IndexError),
    /// A statement about a run was refused; nothing was written.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// An annotation was meant for a record that cannot be recalled.
    #[error("there is no live record {id}; look its id up with a recall")]
    UnknownRecord { id: RecordId },
    /// A branch was to be written into a memory that has records.
    #[error("a branch of this name exists already; drop it, or choose another name")]
    BranchNotEmpty,
    /// A whole memory was to be imported into one that has records.
    #[error("this user has memories already; name a user who has none")]
    NotEmpty,
    /// An entry of an imported memory does not fit.
    #[error("record {id} cannot be taken over: {why}; nothing was kept, make the export again")]
    Unfit {
        id: RecordId,
        /// What does not fit.
        why: String,
    },
    /// A link has no relation.
    #[error("the relation is empty; name it with a word such as related_to")]
    NoRelation,
    /// A tag is empty once it is normalised.
    #[error("the tag is empty; name it with a word")]
    NoTag,
    /// The second store of vectors cannot be opened.
    #[error(
        "`{}`, the second store of this memory's vectors, cannot be used ({why}); open it with a `reprise` that has this store, \
         or remove that file: the memory itself has every vector",
        .path.display()
    )]
    VectorsUnusable {
        path: PathBuf,
        /// What the store said.
        why: String,
    },
    /// The file is the memory of another user.
    #[error(
        "`{}` is the memory of user `{named}`, not of `{user}`: nothing of it is shown; put the file \
         of `{user}` back, or give `{user}` a copy of this one with `reprise backup restore`",
        .path.display()
    )]
    OtherUser {
        path: PathBuf,
        /// The user whom the file names.
        named: String,
        user: UserId,
    },
    /// The index and the log number their records differently, as after damage to the log.
    #[error(
        "the index holds {index} records and the log {log}; run `reprise doctor check` and report this"
    )]
    OutOfStep {
        index: u32,
        /// Number of ordinals in the log.
        log: u32,
    },
}

impl EngineError {
    /// Whether an earlier version wrote the file, in a format that this one does not read.
    pub fn is_older_format(&self) -> bool {
        matches!(self, Self::Store(StoreError::OlderFormat { .. }))
    }

    /// Whether another writer has the file open.
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Store(StoreError::Locked { .. }))
    }

    /// Returns who must act on the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownRecord { .. }
            | Self::BranchNotEmpty
            | Self::NotEmpty
            | Self::Unfit { .. }
            | Self::NoRelation
            | Self::NoTag
            | Self::Learn(_) => ErrorKind::Caller,
            Self::VectorsUnusable { .. } | Self::OtherUser { .. } => ErrorKind::Operator,
            Self::Store(error) => error.kind(),
            Self::Partly { cause, .. } => cause.kind(),
            Self::Index(_) | Self::OutOfStep { .. } => ErrorKind::Bug,
        }
    }
}
