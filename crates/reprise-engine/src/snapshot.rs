//! The read half: an immutable view of one moment, shared by any number of readers.

use std::sync::Arc;

use reprise_index::IndexSnapshot;
use reprise_learn::Learner;
use reprise_store::{LogReader, StoreError};
use reprise_types::{EmbeddingSpace, MemoryRecord, RecordId};

/// One moment of one user's memory. Later writes, and even a compaction, leave it as it is.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) index: Arc<IndexSnapshot>,
    pub(crate) reader: LogReader,
    pub(crate) space: Option<EmbeddingSpace>,
    pub(crate) learner: Arc<Learner>,
}

impl Snapshot {
    /// The space of its vectors, once it has any.
    #[must_use]
    pub fn space(&self) -> Option<&EmbeddingSpace> {
        self.space.as_ref()
    }

    /// What past runs teach, as of this moment: the learner that a recall is meant to use.
    #[must_use]
    pub fn learner(&self) -> &Arc<Learner> {
        &self.learner
    }

    /// The log behind it, for background verification and inspection.
    #[must_use]
    pub fn log(&self) -> &LogReader {
        &self.reader
    }

    /// The live record with this id.
    #[must_use]
    pub fn get(&self, id: RecordId) -> Option<Result<MemoryRecord, StoreError>> {
        let ordinal = self.index.find(id)?;
        let live = self.index.doc(ordinal)?.is_live();
        live.then(|| self.reader.record(ordinal))
    }

    /// Every live record, oldest first, read from disk as the iterator moves.
    pub fn records(&self) -> impl Iterator<Item = Result<MemoryRecord, StoreError>> + '_ {
        (0..self.index.len() as u32)
            .filter(|ordinal| self.index.doc(*ordinal).is_some_and(|doc| doc.is_live()))
            .map(|ordinal| self.reader.record(ordinal))
    }

    /// Bytes of memory that the index holds.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.index.memory_bytes()
    }
}
