//! The entries of the log, and the receipts and sequence numbers of commits.

use std::fmt;

use chrono::{DateTime, Utc};
use reprise_types::{
    Annotation, ContentHash, EmbeddingSpace, LearningEvent, MemoryRecord, RecordId,
    impl_binary_codec,
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
pub enum StoreEntry {
    /// A new record, which gets the next ordinal. Its `embedding` is empty or a unit vector;
    /// `embedding_space` is set exactly when it is not empty.
    Record(Box<MemoryRecord>),
    /// The vector of a record that was stored without one, or its vector in another space.
    Embedded {
        ordinal: u32,
        space: EmbeddingSpace,
        /// As many finite numbers as the space has dimensions.
        vector: Vec<f32>,
    },
    /// Forgets a record: from this commit on it is not returned, and compaction removes its text,
    /// vector, external ids and metadata from the disk.
    Forgotten {
        ordinal: u32,
        /// The data that remains of the record.
        tombstone: Tombstone,
    },
    /// The position up to which a stream was consumed; the last cursor of each stream counts.
    Cursor {
        stream: String,
        /// The last sequence number that was read from the stream.
        seq: u64,
    },
    /// A record that is forgotten had replaced this one at that instant. A compaction keeps that
    /// much of a correction, so that what it corrected does not come back.
    Superseded { id: RecordId, at: DateTime<Utc> },
    /// An annotation of an existing record. Compaction drops annotations of forgotten records.
    Annotated {
        ordinal: u32,
        at: DateTime<Utc>,
        annotation: Annotation,
    },
    /// An event of a run or of the learner. The engine checks it; the log only stores it.
    Learning(Box<LearningEvent>),
    /// An ordinal whose record can no longer be read. Only `replay` produces it, so that ordinals
    /// stay dense; `append` refuses it.
    Lost { ordinal: u32 },
}

impl StoreEntry {
    pub fn from_annotation(ordinal: u32, at: DateTime<Utc>, annotation: Annotation) -> Self {
        Self::Annotated {
            ordinal,
            at,
            annotation,
        }
    }
}

/// The remaining data of a forgotten record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    pub id: RecordId,
    pub at: DateTime<Utc>,
    pub reason: String,
    /// Hash of the forgotten text.
    pub content_hash: ContentHash,
    /// Hashes of its external ids, so that a replay of the source does not add the record again.
    /// The engine provides at most `EXTERNAL_IDS_MAX` of them, plus one for the request.
    pub keys: Vec<u128>,
}

impl_binary_codec! {
    Tombstone { id, at, reason, content_hash, keys }
}

/// The receipt of an acknowledged commit, which is complete and on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitReceipt {
    pub seq: CommitSeq,
    /// The ordinal of the commit's first `StoreEntry::Record`; the others follow in order.
    pub first_ordinal: u32,
}
