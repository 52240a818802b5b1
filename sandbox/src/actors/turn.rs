//! One turn of one worker: its input, its report, and its trace (M42).

use reprise_types::FailKind;

use super::emitter::EventDraft;
use super::memory_client::RecallStatus;
use super::task::Capability;
use crate::prelude::*;

/// The input of a turn.
#[derive(Debug, Clone)]
pub struct TurnContext {
    pub run_id: String,
    pub call_id: String,
    /// The desktop, which is the session.
    pub desktop_id: String,
    pub objective: String,
    pub task: Task,
}

/// How a worker's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    Completed,
    /// Tried and not done.
    Failed,
    /// Not even tried.
    Blocked,
}

impl WorkerStatus {
    /// The name in the event contract.
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
    /// None of these.
    Unknown,
}

impl FailureKind {
    /// The kind of failure for learning (C34). A timed-out command is the run's own failure.
    pub fn fail_kind(self) -> FailKind {
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
    /// Why it did not complete; `None` where it did.
    pub failure: Option<FailureKind>,
    pub summary: String,
    pub system_context: String,
    /// The command that decided; `None` for other workers.
    pub command: Option<String>,
    pub memory: MemoryAnswer,
}

/// The result of a turn before it is reported.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) status: WorkerStatus,
    pub(super) failure: Option<FailureKind>,
    /// One line, without the objective.
    pub(super) summary: String,
    /// The message of the turn's last progress event.
    pub(super) progress: String,
    /// Claims for the report, each with its evidence.
    pub(super) findings: Vec<(String, String)>,
    /// The command that decided, of a terminal.
    pub(super) command: Option<String>,
    /// Events of the work itself.
    pub(super) events: Vec<EventDraft>,
}

/// The trace of one turn: the recall, and what was injected into the prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    /// `conductor` or a worker's capability.
    pub actor: String,
    /// Number of the turn within the run, from 1.
    pub number: usize,
    pub memory: RecallStatus,
    /// The records in the prompt.
    pub records: Vec<RecordId>,
    /// Bytes of memory in the prompt.
    pub injected_bytes: usize,
    /// Duration of the recall in microseconds.
    pub recall_us: u64,
}

impl Turn {
    pub(super) fn new(
        actor: Option<Capability>,
        number: usize,
        remembered: &MemoryAnswer,
        injected: Option<&str>,
    ) -> Self {
        Self {
            actor: actor.map_or("conductor", Capability::name).to_owned(),
            number,
            memory: remembered.asked.clone(),
            records: remembered.records(),
            injected_bytes: injected.map_or(0, str::len),
            recall_us: micros(remembered.took),
        }
    }

    /// Adds another recall for the same turn.
    pub(super) fn add_recall(&mut self, remembered: &MemoryAnswer) {
        for record in remembered.records() {
            if !self.records.contains(&record) {
                self.records.push(record);
            }
        }
        if self.memory == RecallStatus::Answered {
            self.memory = remembered.asked.clone();
        }
        self.recall_us = self.recall_us.max(micros(remembered.took));
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}
