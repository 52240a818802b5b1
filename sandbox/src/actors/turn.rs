//! One turn of one worker: what it is given, what it answers, and the trace that is left (M42).
//!
//! Must never live here: work.

use std::time::Duration;

use reprise_types::{FailKind, RecordId};
use serde::Serialize;

use super::conductor::{Capability, Task};
use super::recollection::{Asked, Remembered};

/// What a worker is given. Memory has been asked before: `get_system_context` is synchronous.
#[derive(Debug, Clone)]
pub struct TurnContext {
    /// The run.
    pub run_id: String,
    /// This call of it.
    pub call_id: String,
    /// The desktop, which is the session.
    pub desktop_id: String,
    /// What is wanted.
    pub objective: String,
    /// The work itself.
    pub task: Task,
    /// The prefetched block of memory, where there is one.
    pub memory: Option<String>,
    /// The memories in it.
    pub related: Vec<RecordId>,
}

impl TurnContext {
    /// A system prompt: who the worker is, and what memory says.
    #[must_use]
    pub fn system_context(&self, role: &str) -> String {
        let asked = format!("{role}\n\nObjective: {}", self.objective);
        match &self.memory {
            Some(memory) => format!("{asked}\n\n{memory}"),
            None => asked,
        }
    }
}

/// How a worker's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    /// Done.
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
    /// It took too long.
    Timeout,
    /// Somebody could not be reached.
    Network,
    /// Credentials were refused.
    Auth,
    /// Too many requests.
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

/// What a worker answers.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerReport {
    /// How it ended.
    pub status: WorkerStatus,
    /// Why it did not, where it did not.
    pub failure: Option<FailureKind>,
    /// One line.
    pub summary: String,
    /// The system context that it worked with.
    pub system_context: String,
}

/// The trace of one turn: that memory was asked, and what of it was injected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    /// Whose turn: `conductor` or a worker's capability.
    pub actor: String,
    /// Counted over the run, from 1.
    pub number: usize,
    /// How the asking ended.
    pub memory: Asked,
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
        remembered: &Remembered,
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
    pub(super) fn also(&mut self, remembered: &Remembered) {
        for record in remembered.records() {
            if !self.records.contains(&record) {
                self.records.push(record);
            }
        }
        if self.memory == Asked::Answered {
            self.memory = remembered.asked.clone();
        }
        self.recall_us = self.recall_us.max(micros(remembered.took));
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}
