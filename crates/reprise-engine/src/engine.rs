//! The writing half: one value that owns the log, the index writer and the deduplication keys.
//!
//! Every public method leaves the three in step, or leaves them untouched. Readers work on a
//! [`Snapshot`] and never wait for this value.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_store::Log;
use reprise_types::{UserId, VectorStore};

use crate::error::EngineError;
use crate::ports::EnginePorts;
use crate::snapshot::Snapshot;
use crate::state::EngineState;
use crate::write::id_source::IdSource;
use crate::write::lineage::LineageCache;

/// Log entries after the newest checkpoint from which on closing writes a checkpoint; fewer are
/// replayed in a moment by the next opening.
const CLOSED_TAIL_MAX: u64 = 1_024;

/// Number of records with a vector of another space above which the graph is not grown.
const WAITING_MAX: u32 = 1_000;

/// The whole memory of one user, open for writing.
#[derive(Debug)]
pub struct Engine {
    pub(crate) log: Log,
    pub(crate) state: EngineState,
    pub(crate) ids: IdSource,
    pub(crate) lineages: Arc<LineageCache>,
    pub(crate) snapshot: Arc<Snapshot>,
    /// Records that the graph still lacks.
    pub(crate) graph_pending: usize,
    /// Number of records when the search routes were compared last; 0 before the first comparison.
    pub(crate) crossover_measured_records: u32,
    /// Longest text that a record keeps, in bytes; longer texts are cut.
    pub(crate) text_bytes_max: usize,
    pub(crate) prefer_oldest: bool,
    pub(crate) ports: EnginePorts,
    /// Whose memory it is; the first write names the user in a file that names none.
    pub(crate) user: Option<UserId>,
    /// The second store of vectors, if this memory has one.
    pub(crate) second_store: Option<Arc<dyn VectorStore>>,
}

impl Engine {
    /// Returns the present state for readers; it is cheap to take and never changes.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// Returns the last stored sequence number of a stream of events, from which a relay continues.
    pub fn stream_cursor(&self, stream: &str) -> Option<u64> {
        self.log.cursor(stream)
    }

    /// Adds up to `budget` records to the search graph if the store is large enough for one, at
    /// about half a millisecond each. Returns how many records are still to be added. Call it
    /// between commits. The first call reads what opening left in the file, unless [`Self::loader`]
    /// has run.
    pub fn advance_graph(&mut self, budget: usize) -> Result<usize, EngineError> {
        self.load()?;
        if self.state.other_spaces.len() > WAITING_MAX || self.state.index.is_purging() {
            // Many vectors are about to be replaced or purged: the graph grows once that is done.
            return Ok(0);
        }
        let Ok((before, left)) = self.state.index.advance_graph(budget) else {
            return Ok(0);
        };
        self.graph_pending = left;
        let added = before.saturating_sub(left);
        self.state.checkpoint.note_graph_records(added);
        // The graph also differs if the saved one was read just now.
        if self.state.index.graph_document_count() != self.snapshot.index.graph_document_count() {
            self.publish();
        }
        Ok(left)
    }

    /// Whether the search routes should be compared by [`Snapshot::measure_crossover`]: the graph
    /// is complete, and the memory is new to the comparison or has doubled since.
    pub fn is_crossover_due(&self) -> bool {
        let records = self.log.record_count();
        let graph = self.state.index.graph_document_count() > 0 && self.graph_pending == 0;
        graph && records / 2 >= self.crossover_measured_records
    }

    /// Sets from how many records on the graph is faster than a scan, as
    /// [`Snapshot::measure_crossover`] measured it.
    pub fn set_crossover(&mut self, records: u32) {
        self.state.index.set_graph_faster_from(records);
        self.crossover_measured_records = self.log.record_count();
        self.publish();
    }

    /// Returns work for another thread that reads ahead what [`Self::load`] would read here; `None`
    /// if nothing is left in the file.
    pub fn loader(&mut self) -> Option<impl FnOnce() + Send + use<>> {
        let keys = self.state.keys.parts();
        let mut all: Vec<_> = keys.filter_map(|part| part.loader()).collect();
        all.extend(self.state.index.loaders());
        (!all.is_empty()).then_some(move || all.into_iter().for_each(|load| load()))
    }

    /// Reads what opening left in the file, for this engine and all its snapshots. If it is
    /// damaged, folds the log again, as opening would have done.
    pub fn load(&mut self) -> Result<(), EngineError> {
        self.log.verify_places()?;
        match self.state.index.load() {
            Ok(()) => self.ensure_keys_loaded(),
            Err(_) => self.rebuild(),
        }
    }

    /// Reads the keys of external ids, which every write needs; folds the log again if they are
    /// damaged.
    pub(crate) fn ensure_keys_loaded(&mut self) -> Result<(), EngineError> {
        self.state.load_keys();
        if self.state.index.is_damaged() {
            self.rebuild()
        } else {
            Ok(())
        }
    }

    /// Whether another file has replaced this one at its path. The engine must then be dropped and
    /// opened anew.
    pub fn is_displaced(&self) -> bool {
        self.log.is_displaced()
    }

    /// Writes a checkpoint if one is due, compacts a small file that is mostly dead, and closes the
    /// file in a form that rvf-runtime can open. Writes nothing if the file was opened read-only.
    pub fn close(mut self) -> Result<(), EngineError> {
        if self.log.is_read_only() {
            return Ok(());
        }
        self.flush_vectors();
        if self.is_save_due(true) || self.state.checkpoint.entries_behind() >= CLOSED_TAIL_MAX {
            self.save_checkpoint()?;
        }
        self.log.write_closing_index()?;
        if self.is_compaction_due_at_close()
            && let Err(error) = self
                .compact()
                .and_then(|_| Ok(self.log.write_closing_index()?))
        {
            // Everything is safe in the file; the next closing tries again.
            tracing::warn!(%error, "the file could not be rewritten at closing");
        }
        if self.state.learning.run_count() > 0
            && let Err(error) = self.refresh_sona()
        {
            // The projection is for other programs: the log has everything.
            tracing::warn!(%error, "sona.json could not be written");
        }
        Ok(())
    }

    /// Returns the `known_at` of what is written now: the clock's time, never earlier than the last
    /// one unless that was far ahead.
    pub(crate) fn advance_clock(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.state.next_known_at(now)
    }

    /// Returns the `known_at` of an act that is told by its instant: later than any before it.
    pub(crate) fn advance_clock_past_last(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let last = self.state.known_at;
        let at = self.advance_clock(now);
        let next = last.checked_add_signed(TimeDelta::microseconds(1));
        next.filter(|_| at == last)
            .map_or(at, |next| self.advance_clock(next))
    }

    /// Makes what was applied visible to readers.
    pub(crate) fn publish(&mut self) {
        self.snapshot = Arc::new(Snapshot::from_state(
            &mut self.state,
            self.log.reader(),
            self.prefer_oldest,
            &self.ports,
            self.second_store.clone(),
            Arc::clone(&self.lineages),
        ));
    }
}
