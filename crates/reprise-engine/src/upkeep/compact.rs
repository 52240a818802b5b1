//! Compaction while the store is in use: beginning and finishing are short and need the writer; the
//! copying runs on any thread.

use std::sync::Arc;

use reprise_index::PurgeResult;
use reprise_store::{CompactedLog, CompactionReport, LogStats, StoreError};

use crate::engine::Engine;
use crate::error::EngineError;

/// The result of a compaction.
pub type CompactionOutcome = Result<CompactionReport, EngineError>;

/// A file is worth compacting when one byte in so many is dead.
const DEAD_ONE_IN: u64 = 2;
/// Fewest dead bytes for which a file is compacted.
const DEAD_BYTES_MIN: u64 = 4 * 1024 * 1024;

/// A closed file is compacted when it is more than so many times as large as its live bytes:
/// commands without a daemon leave a checkpoint each, which is most of a small memory.
const CLOSED_TIMES_MAX: u64 = 4;
/// Most live bytes of a file that is compacted at closing, which may take tens of milliseconds, not
/// seconds. Larger files wait for a daemon.
const CLOSED_LIVE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Smallest file in bytes that is compacted at closing.
const CLOSED_FILE_BYTES_MIN: u64 = 256 * 1024;

/// Fewest entries after the checkpoint for which a memory that is never idle is compacted, which
/// leaves a checkpoint.
const TAIL_MIN: u64 = 16_384;
/// Records per entry after the checkpoint, at most, for such a compaction.
const TAIL_ONE_IN: u64 = 4;

/// Forgotten records that leave main memory together: each may cost copies of two hundred
/// kilobytes.
const PURGE_BATCH_RECORDS: usize = 256;

impl Engine {
    /// Whether so much of the file is dead, or after its checkpoint, that it is worth compacting,
    /// and no compaction is under way.
    pub fn is_compaction_due(&self) -> bool {
        let LogStats {
            file_bytes,
            bytes_reclaimable: dead,
            records,
            ..
        } = self.log.stats();
        let tail = self.state.checkpoint.entries_behind();
        let is_dead = dead >= DEAD_BYTES_MIN && dead >= file_bytes / DEAD_ONE_IN;
        // The last vector of another width is gone: the file can take on the width of the model in
        // use.
        let is_of_another_width = usize::from(self.log.dimensions())
            != self.state.index.dimensions()
            && self.state.other_spaces.len() == 0
            && self.snapshot.index.embedded_count() > 0;
        let is_behind = tail >= TAIL_MIN && tail >= u64::from(records) / TAIL_ONE_IN;
        (is_dead || is_behind || is_of_another_width) && !self.log.is_compacting()
    }

    /// Whether closing compacts the file; see [`CLOSED_TIMES_MAX`].
    pub(crate) fn is_compaction_due_at_close(&self) -> bool {
        let stats = self.log.stats();
        let live = stats.file_bytes.saturating_sub(stats.bytes_reclaimable);
        stats.file_bytes >= CLOSED_FILE_BYTES_MIN
            && live <= CLOSED_LIVE_BYTES_MAX
            && stats.file_bytes / CLOSED_TIMES_MAX > live
            && !self.log.is_compacting()
    }

    /// Starts to remove the words and codes of forgotten records from main memory: returns work for
    /// another thread; `None` if there are none. A compaction that follows has less to do.
    pub fn start_purge(
        &mut self,
    ) -> Result<Option<impl FnOnce() -> PurgeResult + Send + use<>>, EngineError> {
        self.load()?;
        Ok(self.state.index.start_purge())
    }

    /// Adopts its result, some records at a time; returns `true` once that is complete.
    pub fn finish_purge(&mut self, purged: &mut PurgeResult) -> bool {
        let is_done = self.state.index.apply_purge(purged, PURGE_BATCH_RECORDS);
        if is_done {
            self.publish();
        }
        is_done
    }

    /// Starts a compaction of what is on disk now. First removes the words and codes of forgotten
    /// records from main memory, unless a purge did, and saves what changed. Returns the copying as
    /// work for any thread; the store serves and writes meanwhile.
    pub fn start_compaction(
        &mut self,
    ) -> Result<impl FnOnce() -> Result<CompactedLog, EngineError> + Send + use<>, EngineError>
    {
        if self.log.is_compacting() {
            let path = self.log.path().to_path_buf();
            return Err(StoreError::CompactionUnderWay { path }.into());
        }
        self.load()?;
        self.state.index.purge();
        self.save_checkpoint()?;
        let (compaction, second_store) = (self.log.start_compaction()?, self.second_store.clone());
        Ok(move || {
            if let Some(Err(error)) = second_store.map(|store| store.compact()) {
                // What was forgotten stays in its file until the next time.
                tracing::warn!(%error, "the second store of vectors could not be rewritten");
            }
            Ok(compaction()?)
        })
    }

    /// Puts the new file in use. Readers of older snapshots continue with the old one. Where the
    /// old file had holes, everything derived is made anew from what is left.
    pub fn finish_compaction(&mut self, copied: CompactedLog) -> CompactionOutcome {
        let finished = self.log.finish_compaction(copied);
        // The new file is also in use where only its folder could not be synced after the rename.
        let is_in_use = !self.log.reader().reads_file_of(&self.snapshot.reader);
        let adopted = if is_in_use {
            self.adopt_new_file()
        } else {
            Ok(())
        };
        let report = finished?;
        adopted?;
        Ok(report)
    }

    /// Lets go of the file that was replaced.
    fn adopt_new_file(&mut self) -> Result<(), EngineError> {
        self.lineages = Arc::default();
        let is_saved = self.log.section_keys().next().is_some();
        if let Some((_, sections)) = self.log.open_sections().filter(|_| is_saved) {
            self.state.index.move_to(&sections);
            self.publish();
            return Ok(());
        }
        self.rebuild()?;
        self.save_checkpoint()
    }

    /// Compacts in one call, for a command line that has nothing else to do.
    pub fn compact(&mut self) -> CompactionOutcome {
        let copied = self.start_compaction()?()?;
        self.finish_compaction(copied)
    }
}
