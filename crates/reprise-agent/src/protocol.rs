//! What a memory can be asked: the messages of [`crate::MemoryAgent`].
//!
//! Every request brings the [`Permit`] that admitted it and the port for its answer. The handler
//! only hands on: a recall goes to a task of its own on the newest snapshot, a write to the
//! writer's bounded queue.

use std::sync::Arc;

use reprise_engine::{CompactionOutcome, EngineStats, ForgetSelector, Forgotten, Snapshot};
use reprise_types::{
    MemoryError, NewRecord, Recall, RecallRequest, RecordId, Revision, RunBeginning, RunEnding,
    WriteOutcome,
};

use crate::admission::Permit;
use crate::job::{Job, Reply};

#[derive(Debug)]
pub enum MemoryAgentMsg {
    /// Keeps records; answered with an outcome each, in order, once they are on disk and findable.
    /// They are kept without vectors where there is no model, and embedded later.
    Ingest {
        records: Vec<NewRecord>,
        /// From [`crate::Admission::write`].
        permit: Permit,
        reply: Reply<Vec<WriteOutcome>>,
    },
    /// Asks. Answered within the recall budget, which begins with the permit.
    Recall {
        request: RecallRequest,
        /// From [`crate::Admission::recall`].
        permit: Permit,
        reply: Reply<Recall>,
    },
    /// A run begins that works with what was recalled.
    BeginTrajectory {
        run: RunBeginning,
        /// From [`crate::Admission::call`], as all that follow.
        permit: Permit,
        reply: Reply<()>,
    },
    /// A run under way does something.
    AddTrajectoryStep {
        run_id: String,
        action: String,
        /// Records that it used for it.
        used: Vec<RecordId>,
        permit: Permit,
        reply: Reply<()>,
    },
    /// A run under way ends; credit goes to the records it is said to have used.
    EndTrajectory {
        run: RunEnding,
        permit: Permit,
        reply: Reply<()>,
    },
    /// Something is learned about a run that has ended.
    Revise {
        run_id: String,
        revision: Revision,
        /// 0..1; counts for [`Revision::Scored`].
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
    /// The present moment, for readers.
    Snapshot {
        permit: Permit,
        /// It never changes.
        reply: Reply<Arc<Snapshot>>,
    },
    /// Rewrites the file without what was forgotten, while others write.
    Compact {
        permit: Permit,
        /// What was left out; an inner error is the engine's.
        reply: Reply<CompactionOutcome>,
    },
    Work(EngineWork),
    /// The agent's own, sent by itself.
    Own(Own),
}

/// Work for the writer, with where its answer goes; made by this crate.
#[derive(Debug)]
pub struct EngineWork(pub(crate) Job);

/// What an agent sends itself; made by this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own(pub(crate) OwnMsg);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnMsg {
    /// Looks whether there is something to do while nobody asks; sent by a timer.
    KeepHouse,
    /// The writer thread came to its end; `panicked` tells how.
    NoteWriterEnd { panicked: bool },
}

impl MemoryAgentMsg {
    /// Tells the asker why nothing was done.
    pub(crate) fn refuse(self, error: MemoryError) {
        let _left = match self {
            Self::Ingest { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Recall { reply, .. } => reply.send(Err(error)).is_err(),
            Self::BeginTrajectory { reply, .. }
            | Self::AddTrajectoryStep { reply, .. }
            | Self::EndTrajectory { reply, .. }
            | Self::Revise { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Forget { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Stats { reply, .. } => reply.send(Err(error)).is_err(),
            Self::Snapshot { reply, .. } => reply.send(Err(error)).is_err(),
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
