//! Checkpoints, written in one go or while the store is in use. For the latter a job encodes the
//! bytes on any thread, and they are appended in steps between commits.

use std::sync::Arc;

use reprise_store::{CheckpointStep, CommitSeq, LateCheckpoint, LogReader};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::state::{SavedState, StateCopy};

/// The result of writing a checkpoint.
pub type CheckpointOutcome = Result<(), EngineError>;

/// A checkpoint is due once one record in so many is new in the log or in a complete graph, because
/// it costs some bytes for every record.
const TAIL_ONE_IN: u64 = 64;

/// Bytes appended in one step, for which a commit may wait. The last step writes the directory,
/// some bytes for each record.
const STEP_BYTES: usize = 4 << 20;

/// The state to be saved, as of one moment.
#[derive(Debug)]
pub struct CheckpointJob {
    log_reader: LogReader,
    state: StateCopy,
    generation: u64,
}

/// The bytes to be appended, as of that moment.
#[derive(Debug)]
pub struct CheckpointParts {
    late: LateCheckpoint,
    saved: Option<SavedState>,
    generation: u64,
}

impl CheckpointJob {
    /// Encodes the bytes. The store serves and writes meanwhile.
    pub fn run(self) -> Result<CheckpointParts, EngineError> {
        let (parts, saved_state) = self.state.into_parts();
        Ok(CheckpointParts {
            late: LateCheckpoint::new(self.log_reader, parts, STEP_BYTES)?,
            saved: Some(saved_state),
            generation: self.generation,
        })
    }
}

impl Engine {
    /// Writes the derived parts and the manifest that other RVF readers understand, so that the
    /// next opening is quick.
    pub fn checkpoint(&mut self) -> CheckpointOutcome {
        if self.has_unsaved_changes() {
            self.save_checkpoint()?;
        }
        Ok(())
    }

    /// Writes a checkpoint if it is worth its bytes: not for a few entries that the next opening
    /// folds in a moment, nor for a few records in the graph, nor for half a graph.
    pub fn checkpoint_if_due(&mut self) -> CheckpointOutcome {
        if self.is_checkpoint_due() {
            self.save_checkpoint()?;
        }
        Ok(())
    }

    /// Whether [`Self::checkpoint_if_due`] has something to write.
    pub fn is_checkpoint_due(&self) -> bool {
        self.is_save_due(self.graph_pending == 0)
    }

    /// Starts a checkpoint of what is on disk now; `None` if nothing is new.
    pub fn start_checkpoint(&mut self) -> Result<Option<CheckpointJob>, EngineError> {
        if !self.has_unsaved_changes() {
            return Ok(None);
        }
        self.load()?;
        self.invalidate_checkpoint_jobs();
        Ok(Some(CheckpointJob {
            log_reader: self.log.reader(),
            state: self.state.copy(),
            generation: self.checkpoint_generation,
        }))
    }

    /// Appends some of what the job encoded. Call it between commits until it returns something
    /// other than `Begun`. It returns `Overtaken` after a later checkpoint, a compaction or a
    /// rebuild, whose result the old checkpoint would undo.
    pub fn advance_checkpoint(
        &mut self,
        parts: &mut CheckpointParts,
    ) -> Result<CheckpointStep, EngineError> {
        if parts.generation != self.checkpoint_generation {
            return Ok(CheckpointStep::Superseded);
        }
        let step = self.log.advance_checkpoint(&mut parts.late)?;
        if step == CheckpointStep::Complete
            && let Some(saved_state) = parts.saved.take()
        {
            self.adopt_saved_checkpoint(parts.late.covered_seq(), saved_state);
        }
        Ok(step)
    }

    /// Adopts what was encoded for a checkpoint, once that is in the file.
    pub(crate) fn adopt_saved_checkpoint(&mut self, covers: CommitSeq, saved_state: SavedState) {
        self.checkpointed_seq = covers;
        self.state.adopt_saved(saved_state);
        // Saving merged the words' segments: readers now look each term up in fewer of them.
        self.publish();
    }

    /// Ensures that no checkpoint under way is finished.
    pub(crate) fn invalidate_checkpoint_jobs(&mut self) {
        self.lineages = Arc::default();
        self.checkpoint_generation += 1;
    }

    fn has_unsaved_changes(&self) -> bool {
        self.log.seq() > self.checkpointed_seq || self.state.graph_unsaved > 0
    }

    pub(crate) fn is_save_due(&self, with_graph: bool) -> bool {
        let grown = if with_graph {
            self.state.graph_unsaved
        } else {
            0
        };
        let new = self.state.entries_since_checkpoint().max(grown);
        new > 0 && new.saturating_mul(TAIL_ONE_IN) >= u64::from(self.log.record_count())
    }

    pub(crate) fn save_checkpoint(&mut self) -> Result<(), EngineError> {
        self.load()?;
        self.invalidate_checkpoint_jobs();
        let (parts, saved_state) = self.state.copy().into_parts();
        self.log.write_checkpoint(&parts)?;
        self.adopt_saved_checkpoint(self.log.seq(), saved_state);
        Ok(())
    }
}
