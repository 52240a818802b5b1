//! One turn of one worker: its input, its report, and its trace.

use reprise_types::FailKind;

use super::SystemContext;
use super::emitter::EventDraft;
use super::memory_client::RecallStatus;
use super::task::Capability;
use crate::prelude::*;

/// The input of a turn.
#[derive(Debug, Clone)]
pub struct TurnContext {
    pub run_id: String,
    pub call_id: String,
    /// Id of the desktop, which is the session.
    pub desktop_id: String,
    pub objective: String,
    pub task: Task,
}

/// How a worker's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    Completed,
    /// The worker tried and did not succeed.
    Failed,
    /// The worker did not try.
    Blocked,
}

impl WorkerStatus {
    /// Returns the name in the event contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

/// The kinds of failure of the event contract, by whose names they are serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    Timeout,
    Network,
    Auth,
    RateLimit,
    /// The result is wrong.
    Validation,
    /// The provider of a model or service failed.
    Provider,
    /// The failure has another kind.
    Unknown,
}

impl FailureKind {
    /// Converts to the kind of failure for learning. A command that timed out is the run's own
    /// failure.
    pub fn to_fail_kind(self) -> FailKind {
        match self {
            Self::Network => FailKind::Network,
            Self::Auth => FailKind::Auth,
            Self::RateLimit => FailKind::RateLimit,
            Self::Provider => FailKind::Provider,
            Self::Timeout | Self::Validation | Self::Unknown => FailKind::Task,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorkerReport {
    pub status: WorkerStatus,
    /// Why it did not complete; `None` if it did.
    pub failure: Option<FailureKind>,
    pub summary: String,
    /// What the worker knew when it began.
    pub context: SystemContext,
    /// The last command, which decided the status; `None` for workers other than the terminal.
    pub command: Option<String>,
    /// What the worker did otherwise because of memory, in one clause.
    pub choice: Option<String>,
}

/// The result of a turn before it is reported.
#[derive(Debug)]
pub(super) struct TurnOutcome {
    pub(super) status: WorkerStatus,
    pub(super) failure: Option<FailureKind>,
    /// One line, without the objective.
    pub(super) summary: String,
    /// The message of the turn's last progress event.
    pub(super) progress: String,
    /// Claims for the report, each with its evidence.
    pub(super) findings: Vec<(String, String)>,
    /// The last command of a terminal, which decided the status.
    pub(super) command: Option<String>,
    /// What the worker did otherwise because of memory, in one clause.
    pub(super) choice: Option<String>,
    /// The events of the work itself.
    pub(super) events: Vec<EventDraft>,
}

/// The trace of one turn: its recall, and what was injected into the prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnTrace {
    /// `conductor` or a worker's capability.
    pub actor: String,
    /// Number of the turn within the run, from 1.
    pub number: usize,
    pub memory: RecallStatus,
    /// Records in the prompt.
    pub records: Vec<RecordId>,
    /// Bytes of memory in the prompt.
    pub injected_bytes: usize,
    /// Duration of the recall in microseconds.
    pub recall_us: u64,
    /// What the worker did otherwise because of memory, in one clause.
    pub choice: Option<String>,
}

impl TurnTrace {
    pub(super) fn new(
        actor: Option<Capability>,
        number: usize,
        answer: &MemoryAnswer,
        injected: Option<&str>,
    ) -> Self {
        Self {
            actor: actor.map_or("conductor", Capability::name).to_owned(),
            number,
            memory: answer.status.clone(),
            records: answer.record_ids(),
            injected_bytes: injected.map_or(0, str::len),
            recall_us: to_micros(answer.duration),
            choice: None,
        }
    }
}

fn to_micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
