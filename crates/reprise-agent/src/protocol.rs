//! The messages of [`crate::MemoryAgent`].
//!
//! Every request carries the [`Permit`] that admitted it and the port for its reply. The handler
//! only dispatches: a recall goes to a task of its own on the newest snapshot, a write to the
//! writer's bounded queue.

use reprise_engine::{
    CheckpointOutcome, CompactionOutcome, EngineStats, ForgetSelector, ForgottenRecord, WriteBatch,
    WriteBatchReport,
};
use reprise_types::{
    MemoryError, NewRecord, RecallRequest, RecallResponse, Revision, RunBeginning, RunEnding,
    RunStep, WriteOutcome,
};

use crate::admission::Permit;
use crate::job::ReplyPort;

#[derive(Debug)]
pub enum MemoryAgentMsg {
    /// Stores records; replies with one outcome each, in order, once they are on disk and findable.
    /// Without a model they are stored without vectors and embedded later.
    Ingest {
        records: Vec<NewRecord>,
        /// Comes from [`crate::Admission::admit_write`].
        permit: Permit,
        reply: ReplyPort<Vec<WriteOutcome>>,
    },
    /// Writes a batch in one commit: records, links, events of runs, and the cursor of a stream.
    /// Its texts are embedded as those of [`Self::Ingest`] are.
    Write {
        batch: WriteBatch,
        /// Comes from [`crate::Admission::admit_write`]; a relay has none, and waits instead.
        permit: Option<Permit>,
        reply: ReplyPort<WriteBatchReport>,
    },
    /// Runs a recall; replies within the recall budget, which begins with the permit.
    Recall {
        request: RecallRequest,
        /// Comes from [`crate::Admission::admit_recall`].
        permit: Permit,
        reply: ReplyPort<RecallResponse>,
    },
    /// Begins a run that works with recalled records.
    BeginTrajectory {
        run: RunBeginning,
        /// Comes from [`crate::Admission::admit_call`], as the permits of all messages below.
        permit: Permit,
        reply: ReplyPort<()>,
    },
    /// Adds a step to a run. Its result is a record, whose vector is the result's embedding.
    AddTrajectoryStep {
        step: RunStep,
        permit: Permit,
        reply: ReplyPort<()>,
    },
    /// Ends a run; credit goes to the records that it names as used.
    EndTrajectory {
        run: RunEnding,
        permit: Permit,
        reply: ReplyPort<()>,
    },
    /// Revises the quality of an ended run.
    Revise {
        run_id: String,
        revision: Revision,
        /// 0..1; used by [`Revision::Scored`] only.
        quality: Option<f32>,
        permit: Permit,
        reply: ReplyPort<()>,
    },
    /// Forgets records; from then on no recall shows them.
    Forget {
        selector: ForgetSelector,
        reason: String,
        permit: Permit,
        reply: ReplyPort<Vec<ForgottenRecord>>,
    },
    Stats {
        permit: Permit,
        reply: ReplyPort<EngineStats>,
    },
    /// Saves what makes the next opening quick; writes continue meanwhile.
    Checkpoint {
        permit: Permit,
        /// An inner error comes from the engine.
        reply: ReplyPort<CheckpointOutcome>,
    },
    /// Compacts the file; writes continue meanwhile.
    Compact {
        permit: Permit,
        /// Receives the report; an inner error comes from the engine.
        reply: ReplyPort<CompactionOutcome>,
    },
    /// Sent by the agent to itself.
    Internal(InternalMsg),
}

/// A message of an agent to itself; only this crate can construct it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternalMsg(pub(crate) AgentSelfMsg);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentSelfMsg {
    /// Starts the background tasks that are due; sent by a timer.
    Maintain,
    /// Notes that the writer thread has ended, and whether by a panic.
    NoteWriterEnd { has_panicked: bool },
}

impl MemoryAgentMsg {
    pub(crate) fn refuse(self, error: MemoryError) {
        let _caller_gone = match self {
            Self::Ingest { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Write { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Recall { reply, .. } => reply.send(Err(error)).is_err(),
            Self::BeginTrajectory { reply, .. }
            | Self::AddTrajectoryStep { reply, .. }
            | Self::EndTrajectory { reply, .. }
            | Self::Revise { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Forget { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Stats { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Checkpoint { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Compact { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Internal(_) => false,
        };
    }
}

#[cfg(test)]
mod tests;
