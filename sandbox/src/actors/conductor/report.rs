//! The report of a run.

use reprise_types::{RecallId, RecordId};
use serde::Serialize;

use super::super::turn::{FailureKind, Turn};
use crate::event_store::EventStoreError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Completed,
    /// No plan worked.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    pub plan: String,
    pub reason: String,
    /// The summary of its last worker.
    pub outcome: String,
    /// Why it failed; `None` where it worked.
    pub failure: Option<FailureKind>,
}

/// The report of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    pub run_id: String,
    /// In the user's words.
    pub objective: String,
    pub status: RunStatus,
    /// Why it failed; `None` where it completed.
    pub failure: Option<FailureKind>,
    pub summary: String,
    /// The attempted plans, in order.
    pub attempts: Vec<Attempt>,
    /// The receipt of the recall behind the first plan.
    pub recall_id: Option<RecallId>,
    /// Records that the first plan is based on, which get the credit.
    pub used: Vec<RecordId>,
    /// Every turn, with the injected memories (M42).
    pub turns: Vec<Turn>,
}

/// Why a request was not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the request is empty; say what is wanted")]
    Empty,
    #[error("the request has {got} bytes; shorten it to at most {limit}")]
    TooLong { got: usize, limit: usize },
    /// The queue of requests is full.
    #[error("{limit} requests wait already; ask again when one is done")]
    Overloaded { limit: usize },
    /// The host has no workers.
    #[error("this host has no workers; start it with `AppConfig::workers` set")]
    NoWorkers,
    #[error(transparent)]
    Log(#[from] EventStoreError),
    #[error("the {who} does not answer ({message}); retry, it is being restarted")]
    Gone { who: &'static str, message: String },
}
