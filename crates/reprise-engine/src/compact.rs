//! Compaction beside the running store: begin and finish are short and on the writer, the copying
//! runs wherever the caller likes.

use reprise_index::{PurgeJob, Purged};
use reprise_store::{Compacted, Compaction, CompactionReport, LogStats, StoreError};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::state::{Made, StateCopy};

/// What came of a compaction.
pub type CompactionOutcome = Result<CompactionReport, EngineError>;

/// A file is worth rewriting when one byte in so many is dead,
const DEAD_ONE_IN: u64 = 2;
/// and not for less than this.
const DEAD_BYTES_MIN: u64 = 4 * 1024 * 1024;

/// A closed file is rewritten when it is more than so many times what lives in it: commands without
/// a daemon each leave a checkpoint, which is most of what a small memory weighs.
const CLOSED_TIMES_MAX: u64 = 4;
/// What is larger waits for a daemon: closing takes some ten milliseconds, not seconds.
const CLOSED_LIVE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Below this a file is small whatever is dead in it.
const CLOSED_FILE_BYTES_MIN: u64 = 256 * 1024;

/// A memory that is never quiet is rewritten, which leaves a checkpoint, once an opening would have
/// to fold so many entries,
const TAIL_MIN: u64 = 16_384;
/// and one for so many records.
const TAIL_ONE_IN: u64 = 4;

/// Forgotten records that leave memory together: each may cost copies of two hundred kilobytes.
const HOLES_AT_ONCE: usize = 256;

/// The copying, to be run off the writer.
#[derive(Debug)]
pub struct CompactionJob {
    copying: Compaction,
    state: StateCopy,
}

impl CompactionJob {
    /// Writes the new file beside the old one. The store serves and writes meanwhile.
    pub fn run(self) -> Result<CompactionCopy, EngineError> {
        let (parts, made) = self.state.into_parts();
        Ok(CompactionCopy {
            copied: self.copying.run(&parts)?,
            made,
        })
    }
}

/// The new file, up to the commit at which it was begun or has caught up with.
#[derive(Debug)]
pub struct CompactionCopy {
    copied: Compacted,
    made: Made,
}

impl CompactionCopy {
    /// Carries over what was committed up to a newer moment; any thread will do.
    pub fn catch_up(&mut self, newest: &Snapshot) -> Result<(), EngineError> {
        Ok(self.copied.catch_up(newest.log())?)
    }

    /// Bytes of the log that are still to be carried over.
    pub fn behind(&self, newest: &Snapshot) -> u64 {
        self.copied.behind(newest.log())
    }
}

impl Engine {
    /// Whether so much of the file is dead, or behind its checkpoint, that it is worth rewriting,
    /// and nobody does yet.
    pub fn is_compaction_due(&self) -> bool {
        let LogStats {
            file_bytes,
            bytes_reclaimable: dead,
            records,
            ..
        } = self.log.stats();
        let tail = self.state.tail();
        let is_dead = dead >= DEAD_BYTES_MIN && dead >= file_bytes / DEAD_ONE_IN;
        // The last vector of another width is gone: the file takes on that of the model in use.
        let is_of_another_width = usize::from(self.log.dimensions())
            != self.state.index.dimensions()
            && self.state.others.len() == 0
            && self.snapshot.index.embedded() > 0;
        let is_behind = tail >= TAIL_MIN && tail >= u64::from(records) / TAIL_ONE_IN;
        (is_dead || is_behind || is_of_another_width) && !self.log.is_compacting()
    }

    /// Whether closing rewrites the file: see [`CLOSED_TIMES_MAX`].
    pub(crate) fn is_rewritten_at_close(&self) -> bool {
        let stats = self.log.stats();
        let live = stats.file_bytes.saturating_sub(stats.bytes_reclaimable);
        stats.file_bytes >= CLOSED_FILE_BYTES_MIN
            && live <= CLOSED_LIVE_BYTES_MAX
            && stats.file_bytes / CLOSED_TIMES_MAX > live
            && !self.log.is_compacting()
    }

    /// Begins to take the words and codes of forgotten records out of memory, by a job for another
    /// thread; `None` where there are none. A compaction that follows has less to do.
    pub fn start_purge(&mut self) -> Result<Option<PurgeJob>, EngineError> {
        self.load()?;
        Ok(self.state.index.start_purge())
    }

    /// Takes over what the job made, some records at a time; `true` once that is all.
    pub fn finish_purge(&mut self, purged: &mut Purged) -> bool {
        let is_done = self.state.index.finish_purge(purged, HOLES_AT_ONCE);
        if is_done {
            self.publish();
        }
        is_done
    }

    /// Begins a compaction of what is on disk now, with the derived parts as of now: the words and
    /// codes of forgotten records leave them first, here, where no purge came before.
    pub fn start_compaction(&mut self) -> Result<CompactionJob, EngineError> {
        if self.log.is_compacting() {
            let path = self.log.path().to_path_buf();
            return Err(StoreError::CompactionUnderWay { path }.into());
        }
        self.load()?;
        self.state.index.purge();
        self.publish();
        Ok(CompactionJob {
            copying: self.log.start_compaction()?,
            state: self.state.copy(),
        })
    }

    /// Takes the new file into use. Readers of older snapshots go on with the old one.
    pub fn finish_compaction(&mut self, done: CompactionCopy) -> CompactionOutcome {
        let CompactionCopy { copied, made } = done;
        let covers = copied.covers();
        let report = self.log.finish_compaction(copied)?;
        self.overtake();
        self.saved_as(covers, made);
        Ok(report)
    }

    /// The three steps in one, for a command line that has nothing else to do.
    pub fn compact(&mut self) -> CompactionOutcome {
        let done = self.start_compaction()?.run()?;
        self.finish_compaction(done)
    }
}
