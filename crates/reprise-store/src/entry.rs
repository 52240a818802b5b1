//! The entries of the log, commits, and their sequence numbers.

use std::fmt;

use chrono::{DateTime, Utc};
use reprise_types::{
    Annotation, ContentHash, EmbeddingSpace, LearningEvent, MemoryRecord, RecordId, wire,
};

/// Number of a commit: 1 for the first, 0 for "before everything".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CommitSeq(pub u64);

impl fmt::Display for CommitSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One entry of the log. A later minor version may add kinds; this one preserves and skips them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// A new record; takes the next ordinal. Its `embedding` is empty or a unit vector of the
    /// file's dimensions, with `embedding_space` set exactly when it is not empty.
    Record(Box<MemoryRecord>),
    /// The vector of a record that was kept without one, or its vector in another space.
    Embedded {
        ordinal: u32,
        space: EmbeddingSpace,
        /// As many finite numbers as the file has dimensions.
        vector: Vec<f32>,
    },
    /// A record is forgotten: from this commit on it is not served, and compaction removes its
    /// text, vector, external ids and metadata from the disk.
    Forgotten {
        ordinal: u32,
        /// What the stub keeps.
        tombstone: Tombstone,
    },
    /// The position up to which a stream was consumed; the last entry of each stream is in force.
    Cursor {
        stream: String,
        /// The last sequence number that was taken from it.
        seq: u64,
    },
    /// An annotation of an existing record. Compaction drops annotations of forgotten records.
    Annotated {
        ordinal: u32,
        at: DateTime<Utc>,
        annotation: Annotation,
    },
    /// An event of a run or of the learner. The engine checks it; the log only stores it.
    Learning(Box<LearningEvent>),
    /// An ordinal whose record is damaged beyond reading. Made by `replay` only, so that ordinals
    /// stay dense; `append` refuses it.
    Lost { ordinal: u32 },
}

impl Entry {
    pub fn annotated(ordinal: u32, at: DateTime<Utc>, annotation: Annotation) -> Self {
        Self::Annotated {
            ordinal,
            at,
            annotation,
        }
    }
}

/// What is left of a forgotten record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    pub id: RecordId,
    pub at: DateTime<Utc>,
    pub reason: String,
    /// Hash of the forgotten text.
    pub content_hash: ContentHash,
    /// Hashes of its external ids: a replay of the source must not bring the record back. (Asked
    /// for by the engine; at most `EXTERNAL_IDS_MAX` and one of the request.)
    pub keys: Vec<u128>,
}

wire! {
    Tombstone { id, at, reason, content_hash, keys }
}

/// The receipt of an acknowledged commit: whole and on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    pub seq: CommitSeq,
    /// The ordinal of its first `Entry::Record`; the others follow in order.
    pub first_ordinal: u32,
}
