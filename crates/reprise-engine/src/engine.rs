//! The write half: one value that owns the log, the index writer and the deduplication keys.
//!
//! Every public method leaves the three in step, or leaves them untouched. What reads memory works
//! on a [`Snapshot`] and never waits for this value.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_store::{CommitSeq, Log};
use reprise_types::{ExternalId, RecordId};

use crate::error::EngineError;
use crate::keys::key_of;
use crate::naming::IdSource;
use crate::open::Parts;
use crate::snapshot::Snapshot;
use crate::state::State;

/// A closed memory is due for so many at the latest, which the next opening folds in a moment.
const CLOSED_TAIL_MAX: u64 = 1_024;

/// Records on their way into another space from which on the graph is left alone.
const WAITING_MAX: u32 = 1_000;

/// The whole memory of one user.
#[derive(Debug)]
pub struct Engine {
    pub(crate) log: Log,
    pub(crate) state: State,
    pub(crate) ids: IdSource,
    pub(crate) snapshot: Arc<Snapshot>,
    /// What the newest checkpoint covers.
    pub(crate) checkpointed: CommitSeq,
    /// Counts what overtakes a checkpoint that is being made.
    pub(crate) checkpoints: u64,
    /// Records that the graph still lacks.
    pub(crate) graph_left: usize,
    /// Records when the search's routes were compared; 0 before.
    pub(crate) measured_at: u32,
    /// Longer texts are cut.
    pub(crate) text_bytes_max: usize,
    pub(crate) first_told: bool,
    pub(crate) parts: Parts,
}

impl Engine {
    /// The present state, for readers: cheap to take, never changes.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// How far a stream of events has been kept, for a relay that starts again.
    pub fn cursor(&self, stream: &str) -> Option<u64> {
        self.log.cursor(stream)
    }

    /// The record that has this external id: of one that was corrected its newest version.
    pub fn duplicate_of(&self, external: &ExternalId) -> Option<RecordId> {
        let ordinal = self.state.keys.get(key_of(external))?;
        let doc = self.snapshot.index.doc(ordinal)?;
        // A forgotten record's ids are gone; its key alone keeps a replay from bringing it back.
        match self.log.reader().record(ordinal) {
            Ok(record) => record.external_ids.contains(external).then_some(record.id),
            Err(_) => Some(doc.id),
        }
    }

    /// Grows the search graph by up to `budget` records, where the store is large enough for one:
    /// about half a millisecond each, to be called between commits while there is time. Answers
    /// how many records are still to come. The first call reads what opening left in the file,
    /// where nobody has run [`Self::loading`].
    pub fn advance_graph(&mut self, budget: usize) -> Result<usize, EngineError> {
        self.load()?;
        if self.state.others.len() > WAITING_MAX || self.state.index.is_purging() {
            // Vectors come by the thousand, or go: the graph grows once they are there.
            return Ok(0);
        }
        let Ok((before, left)) = self.state.index.advance_graph(budget) else {
            return Ok(0);
        };
        self.graph_left = left;
        self.state.graph_unsaved += before.saturating_sub(left) as u64;
        // It differs, too, where the saved one was read just now.
        if self.state.index.in_graph() != self.snapshot.index.in_graph() {
            self.publish();
        }
        Ok(left)
    }

    /// Whether the routes of the search are to be compared, by [`Snapshot::crossover`]: the graph
    /// became whole, or the memory is twice what it was then.
    pub fn is_crossover_due(&self) -> bool {
        let records = self.log.records();
        let graph = self.state.index.in_graph() > 0 && self.graph_left == 0;
        graph && records / 2 >= self.measured_at
    }

    /// From which size on the graph answers, as [`Snapshot::crossover`] measured it.
    pub fn set_crossover(&mut self, records: u32) {
        self.state.index.set_even_at(records);
        self.measured_at = self.log.records();
        self.publish();
    }

    /// Work for another thread: it reads beforehand what [`Self::load`] would read here. `None`
    /// where nothing is left in the file.
    pub fn loading(&self) -> Option<impl FnOnce() + Send + use<>> {
        let (index, keys) = (self.state.index.loading(), self.state.keys.loading());
        (index.is_some() || keys.is_some()).then_some(move || {
            if let Some(keys) = keys {
                keys();
            }
            if let Some(index) = index {
                index();
            }
        })
    }

    /// Reads what opening left in the file, for this engine and every snapshot of it. Where it is
    /// damaged the log is folded again, as opening would have done.
    pub fn load(&mut self) -> Result<(), EngineError> {
        match self.state.index.load() {
            Ok(()) => self.know_keys(),
            Err(_) => self.rebuild(),
        }
    }

    /// The same for what a write asks first: which external ids are known.
    pub(crate) fn know_keys(&mut self) -> Result<(), EngineError> {
        if self.state.keys.is_sound() {
            Ok(())
        } else {
            self.rebuild()
        }
    }

    /// Whether another file stands in this one's place: it is to be given up and opened anew.
    pub fn is_displaced(&self) -> bool {
        self.log.is_displaced()
    }

    /// Checkpoints where that is due, rewrites a small file that is mostly dead, and gives it back,
    /// open to rvf-runtime; where it was opened for reading there is nothing to write.
    pub fn close(mut self) -> Result<(), EngineError> {
        if self.log.is_read_only() {
            return Ok(());
        }
        if self.is_due(true) || self.state.tail() >= CLOSED_TAIL_MAX {
            self.save()?;
        } else {
            self.log.write_manifest()?;
        }
        if self.is_rewritten_at_close()
            && let Err(error) = self.compact()
        {
            // Everything is in the file as it stands; the next closing tries again.
            tracing::warn!(%error, "the file could not be rewritten at closing");
        }
        if self.state.learning.runs() > 0
            && let Err(error) = self.refresh_sona()
        {
            // A projection for others to read: the log has everything.
            tracing::warn!(%error, "sona.json could not be written");
        }
        Ok(())
    }

    /// The `known_at` of what is written now: the clock's, unless that went backwards a little.
    pub(crate) fn advance_clock(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.state.give_out(now)
    }

    /// Makes what was applied visible to readers.
    pub(crate) fn publish(&mut self) {
        self.snapshot = Arc::new(Snapshot::of(
            &mut self.state,
            self.log.reader(),
            self.first_told,
            &self.parts,
        ));
    }
}
