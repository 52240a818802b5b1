//! The write half: one value that owns the log, the index writer and the deduplication keys.
//!
//! Every public method leaves the three in step, or leaves them untouched. What reads memory works
//! on a [`Snapshot`] and never waits for this value.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_store::{CommitSeq, Log};
use reprise_types::{ExternalId, RecordId};

use crate::error::EngineError;
use crate::ids::IdSource;
use crate::keys::key_of;
use crate::snapshot::Snapshot;
use crate::state::State;

/// The whole memory of one user.
#[derive(Debug)]
pub struct Engine {
    pub(crate) log: Log,
    pub(crate) state: State,
    pub(crate) ids: IdSource,
    pub(crate) snapshot: Arc<Snapshot>,
    /// What the newest checkpoint covers.
    pub(crate) checkpointed: CommitSeq,
}

impl Engine {
    /// The present state, for readers: cheap to take, never changes.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// How far a stream of events has been kept, for a relay that starts again.
    #[must_use]
    pub fn cursor(&self, stream: &str) -> Option<u64> {
        self.log.cursor(stream)
    }

    /// The record that already has this external id, so that its copy need not be embedded.
    #[must_use]
    pub fn duplicate_of(&self, external: &ExternalId) -> Option<RecordId> {
        let ordinal = self.state.keys.get(key_of(external))?;
        let doc = self.snapshot.index.doc(ordinal)?;
        // A forgotten record's ids are gone; its key alone keeps a replay from bringing it back.
        match self.log.reader().record(ordinal) {
            Ok(record) => record.external_ids.contains(external).then_some(record.id),
            Err(_) => Some(doc.id),
        }
    }

    /// Whether anything was written since the newest checkpoint.
    #[must_use]
    pub fn needs_checkpoint(&self) -> bool {
        self.log.seq() > self.checkpointed
    }

    /// Writes the derived parts and the stock-readable manifest, so that the next open is quick.
    pub fn checkpoint(&mut self) -> Result<(), EngineError> {
        if self.needs_checkpoint() {
            let parts = self.state.parts();
            self.log.checkpoint(&parts)?;
            self.checkpointed = self.log.seq();
        }
        Ok(())
    }

    /// Checkpoints and gives the file back.
    pub fn close(mut self) -> Result<(), EngineError> {
        self.checkpoint()
    }

    /// The `known_at` of what is written now: the clock's, unless the clock went backwards.
    pub(crate) fn advance_clock(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.state.known_at = self.state.known_at.max(now);
        self.state.known_at
    }

    /// Makes what was applied visible to readers.
    pub(crate) fn publish(&mut self) {
        self.snapshot = Arc::new(Snapshot {
            index: self.state.index.publish(),
            reader: self.log.reader(),
            space: self.state.space.clone(),
            learner: self.state.learning.learner(),
        });
    }
}
