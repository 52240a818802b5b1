//! Checkpoints: written in one go, or beside the running store. Then the bytes are made by a job
//! for any thread, and appended in steps between which commits go.

use reprise_store::{CheckpointStep, LateCheckpoint, LogReader};

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

/// What a checkpoint holds: entries, and records new in the graph since the last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holds {
    pub(crate) entries: u64,
    pub(crate) graph: u64,
}

/// What is to be saved, as of one moment.
#[derive(Debug)]
pub struct CheckpointJob {
    then: LogReader,
    state: StateCopy,
    holds: Holds,
    number: u64,
}

/// The bytes to be appended, as of that moment.
#[derive(Debug)]
pub struct CheckpointParts {
    late: LateCheckpoint,
    made: Option<Made>,
    holds: Holds,
    number: u64,
}

impl CheckpointJob {
    /// Makes the bytes. The store serves and writes meanwhile.
    pub fn run(self) -> Result<CheckpointParts, EngineError> {
        let (parts, made) = self.state.into_parts();
        Ok(CheckpointParts {
            late: LateCheckpoint::new(self.then, parts, STEP_BYTES)?,
            made: Some(made),
            holds: self.holds,
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
            holds: self.holds(),
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
        if step == CheckpointStep::Done {
            self.checkpointed = done.late.covers();
            self.state.saved = done.holds.entries;
            self.graph_unsaved = self.graph_unsaved.saturating_sub(done.holds.graph);
            if let Some(made) = done.made.take() {
                self.state.take(made);
            }
            // Saving merged the words' segments: readers look each term up in fewer, too.
            self.publish();
        }
        Ok(step)
    }

    /// What was begun of a checkpoint is not to be finished.
    pub(crate) fn overtake(&mut self) {
        self.checkpoints += 1;
    }

    pub(crate) fn holds(&self) -> Holds {
        Holds {
            entries: self.state.applied,
            graph: self.graph_unsaved,
        }
    }

    fn is_unsaved(&self) -> bool {
        self.log.seq() > self.checkpointed || self.graph_unsaved > 0
    }

    pub(crate) fn is_due(&self, with_graph: bool) -> bool {
        let grown = if with_graph { self.graph_unsaved } else { 0 };
        let new = self.state.tail().max(grown);
        new > 0 && new.saturating_mul(TAIL_ONE_IN) >= u64::from(self.log.records())
    }

    pub(crate) fn save(&mut self) -> Result<(), EngineError> {
        self.load()?;
        self.overtake();
        let parts = self.state.parts();
        self.log.checkpoint(&parts)?;
        self.checkpointed = self.log.seq();
        self.state.saved = self.state.applied;
        self.graph_unsaved = 0;
        self.publish();
        Ok(())
    }
}
