//! Checkpoints: written in one go, or beside the running store. Then the bytes are made by a job
//! for any thread, and appended in steps between which commits go.

use reprise_store::{CheckpointStep, CommitSeq, LateCheckpoint, LogReader};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::state::{Made, StateCopy};

/// What came of a checkpoint.
pub type CheckpointOutcome = Result<(), EngineError>;

/// A checkpoint is due once one record in so many is new, in the log or in a whole graph: it costs
/// some bytes for every record.
const TAIL_ONE_IN: u64 = 64;

/// Bytes of blobs that are appended in one step, for which a commit may wait; the last step writes
/// the directory, some bytes for each record.
const STEP_BYTES: usize = 4 << 20;

/// What is to be saved, as of one moment.
#[derive(Debug)]
pub struct CheckpointJob {
    then: LogReader,
    state: StateCopy,
    number: u64,
}

/// The bytes to be appended, as of that moment.
#[derive(Debug)]
pub struct CheckpointParts {
    late: LateCheckpoint,
    made: Option<Made>,
    number: u64,
}

impl CheckpointJob {
    /// Makes the bytes. The store serves and writes meanwhile.
    pub fn run(self) -> Result<CheckpointParts, EngineError> {
        let (parts, made) = self.state.into_parts();
        Ok(CheckpointParts {
            late: LateCheckpoint::new(self.then, parts, STEP_BYTES)?,
            made: Some(made),
            number: self.number,
        })
    }
}

impl Engine {
    /// Writes the derived parts and the stock-readable manifest, so that the next open is quick.
    pub fn checkpoint(&mut self) -> CheckpointOutcome {
        if self.is_unsaved() {
            self.save()?;
        }
        Ok(())
    }

    /// The same where it is worth its bytes: for a few entries that the next opening folds in a
    /// moment it is not, nor for a few records in the graph or for half a graph.
    pub fn checkpoint_if_due(&mut self) -> CheckpointOutcome {
        if self.is_checkpoint_due() {
            self.save()?;
        }
        Ok(())
    }

    /// Whether [`Self::checkpoint_if_due`] has something to write.
    pub fn is_checkpoint_due(&self) -> bool {
        self.is_due(self.graph_left == 0)
    }

    /// Begins a checkpoint of what is on disk now; `None` where nothing is new.
    pub fn start_checkpoint(&mut self) -> Result<Option<CheckpointJob>, EngineError> {
        if !self.is_unsaved() {
            return Ok(None);
        }
        self.load()?;
        self.overtake();
        Ok(Some(CheckpointJob {
            then: self.log.reader(),
            state: self.state.copy(),
            number: self.checkpoints,
        }))
    }

    /// Appends some of what the job made; to be called, between commits, while it has only begun.
    /// Overtaken is what a later checkpoint, a rewriting of the file or a rebuilding of the index
    /// came after: it would bring back what those replaced.
    pub fn advance_checkpoint(
        &mut self,
        done: &mut CheckpointParts,
    ) -> Result<CheckpointStep, EngineError> {
        if done.number != self.checkpoints {
            return Ok(CheckpointStep::Overtaken);
        }
        let step = self.log.advance_checkpoint(&mut done.late)?;
        if step == CheckpointStep::Done
            && let Some(made) = done.made.take()
        {
            self.saved_as(done.late.covers(), made);
        }
        Ok(step)
    }

    /// Takes over what the writing of a checkpoint made, once that is in the file.
    pub(crate) fn saved_as(&mut self, covers: CommitSeq, made: Made) {
        self.checkpointed = covers;
        self.state.take(made);
        // Saving merged the words' segments: readers look each term up in fewer, too.
        self.publish();
    }

    /// What was begun of a checkpoint is not to be finished.
    pub(crate) fn overtake(&mut self) {
        self.checkpoints += 1;
    }

    fn is_unsaved(&self) -> bool {
        self.log.seq() > self.checkpointed || self.state.graph_unsaved > 0
    }

    pub(crate) fn is_due(&self, with_graph: bool) -> bool {
        let grown = if with_graph {
            self.state.graph_unsaved
        } else {
            0
        };
        let new = self.state.tail().max(grown);
        new > 0 && new.saturating_mul(TAIL_ONE_IN) >= u64::from(self.log.records())
    }

    pub(crate) fn save(&mut self) -> Result<(), EngineError> {
        self.load()?;
        self.overtake();
        let (parts, made) = self.state.copy().into_parts();
        self.log.checkpoint(&parts)?;
        self.saved_as(self.log.seq(), made);
        Ok(())
    }
}
