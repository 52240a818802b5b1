//! The messages of [`crate::MemoryAgent`].
//!
//! Every request carries the [`Permit`] that admitted it and the port for its answer. The handler
//! only dispatches: a recall to a task of its own on the newest snapshot, a write to the writer's
//! bounded queue.

use std::sync::Arc;

use reprise_engine::{
    CheckpointOutcome, CompactionOutcome, EngineStats, ForgetSelector, Forgotten, Snapshot,
    WriteBatch, Written,
};
use reprise_types::{
    MemoryError, NewRecord, Recall, RecallRequest, RecordId, Revision, RunBeginning, RunEnding,
    WriteOutcome,
};

use crate::admission::Permit;
use crate::job::{Job, Reply};

#[derive(Debug)]
pub enum MemoryAgentMsg {
    /// Stores records; answered with an outcome each, in order, once they are on disk and findable.
    /// Without a model they are stored without vectors and embedded later.
    Ingest {
        records: Vec<NewRecord>,
        /// From [`crate::Admission::write`].
        permit: Permit,
        reply: Reply<Vec<WriteOutcome>>,
    },
    /// Writes a batch in one commit: records, links, what is said of runs, and how far a stream was
    /// read. It is embedded as [`Self::Ingest`] is.
    Write {
        batch: WriteBatch,
        /// From [`crate::Admission::write`]; a relay has none, and waits instead.
        permit: Option<Permit>,
        reply: Reply<Written>,
    },
    /// A recall. Answered within the recall budget, which begins with the permit.
    Recall {
        request: RecallRequest,
        /// From [`crate::Admission::recall`].
        permit: Permit,
        reply: Reply<Recall>,
    },
    /// Begins a run that works with recalled records.
    BeginTrajectory {
        run: RunBeginning,
        /// From [`crate::Admission::call`], as all that follow.
        permit: Permit,
        reply: Reply<()>,
    },
    AddTrajectoryStep {
        run_id: String,
        action: String,
        /// Records used for the step.
        used: Vec<RecordId>,
        permit: Permit,
        reply: Reply<()>,
    },
    /// Ends a run; credit goes to the records it names as used.
    EndTrajectory {
        run: RunEnding,
        permit: Permit,
        reply: Reply<()>,
    },
    /// Revises the quality of an ended run.
    Revise {
        run_id: String,
        revision: Revision,
        /// 0..1; used by [`Revision::Scored`] only.
        quality: Option<f32>,
        permit: Permit,
        reply: Reply<()>,
    },
    /// Forgets records; from then on no recall shows them.
    Forget {
        selector: ForgetSelector,
        reason: String,
        permit: Permit,
        reply: Reply<Vec<Forgotten>>,
    },
    Stats {
        permit: Permit,
        reply: Reply<EngineStats>,
    },
    /// The latest snapshot, for readers.
    Snapshot {
        permit: Permit,
        /// Immutable.
        reply: Reply<Arc<Snapshot>>,
    },
    /// Saves what makes the next opening quick; writes continue meanwhile.
    Checkpoint {
        permit: Permit,
        /// An inner error is the engine's.
        reply: Reply<CheckpointOutcome>,
    },
    /// Compacts the file; writes continue meanwhile.
    Compact {
        permit: Permit,
        /// The report; an inner error is the engine's.
        reply: Reply<CompactionOutcome>,
    },
    Work(EngineWork),
    /// Sent by the agent to itself.
    Own(Own),
}

/// Work for the writer, with its reply port; constructed in this crate only.
#[derive(Debug)]
pub struct EngineWork(pub(crate) Job);

/// A message of an agent to itself; constructed in this crate only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own(pub(crate) OwnMsg);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnMsg {
    /// Checks for maintenance; sent by a timer.
    Maintain,
    /// The writer thread ended, by a panic where `panicked`.
    NoteWriterEnd { panicked: bool },
}

impl MemoryAgentMsg {
    pub(crate) fn refuse(self, error: MemoryError) {
        let _left = match self {
            Self::Ingest { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Write { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Recall { reply, .. } => reply.send(Err(error)).is_err(),
            Self::BeginTrajectory { reply, .. }
            | Self::AddTrajectoryStep { reply, .. }
            | Self::EndTrajectory { reply, .. }
            | Self::Revise { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Forget { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Stats { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Snapshot { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Checkpoint { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Compact { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Work(work) => {
                work.0.refuse(error);
                false
            }
            Self::Own(_) => false,
        };
    }
}

#[cfg(test)]
mod tests;
