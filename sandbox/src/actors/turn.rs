//! One turn of one worker: what it is given, what it answers, and the trace that is left (M42).

use std::time::Duration;

use reprise_types::{FailKind, RecordId};
use serde::Serialize;

use super::emitter::EventDraft;
use super::memory_client::{MemoryAnswer, RecallStatus};
use super::task::{Capability, Task};

/// What a worker is given.
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
    /// The word of the event contract.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

/// Why something failed, in the contract's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    Timeout,
    /// Somebody could not be reached.
    Network,
    Auth,
    RateLimit,
    /// The work was done and is not right.
    Validation,
    /// The provider of a model or service failed.
    Provider,
    /// None of these.
    Unknown,
}

impl FailureKind {
    /// The word of the event contract.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::Validation => "validation",
            Self::Provider => "provider",
            Self::Unknown => "unknown",
        }
    }

    /// What learning calls it (C34). A command that ran too long is the run's own fault.
    #[must_use]
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
    /// Why it did not, where it did not.
    pub failure: Option<FailureKind>,
    pub summary: String,
    /// The system context that it worked with.
    pub system_context: String,
    /// What memory answered for this turn.
    pub memory: MemoryAnswer,
}

/// What the work of a turn came to, before it is reported.
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
    /// Events of the work itself.
    pub(super) events: Vec<EventDraft>,
}

/// The trace of one turn: that memory was asked, and what of it was injected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    /// Whose turn: `conductor` or a worker's capability.
    pub actor: String,
    /// Counted over the run, from 1.
    pub number: usize,
    pub memory: RecallStatus,
    /// The memories in the context.
    pub records: Vec<RecordId>,
    /// Bytes of memory in the context that the actor worked with.
    pub injected_bytes: usize,
    /// How long memory took, in microseconds.
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

    /// Memory was asked another question for the same turn.
    pub(super) fn also(&mut self, remembered: &MemoryAnswer) {
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
