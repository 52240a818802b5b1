//! What is left of a run: for the caller, and for a trace.

use reprise_types::{RecallId, RecordId};
use serde::Serialize;

use super::super::turn::{FailureKind, Turn};
use crate::event_store::EventStoreError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Completed,
    /// No plan did.
    Failed,
}

/// One plan that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    pub plan: String,
    pub reason: String,
    /// What its last worker said.
    pub outcome: String,
    /// Why it did not work, where it did not.
    pub failure: Option<FailureKind>,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    pub run_id: String,
    /// In the user's words.
    pub objective: String,
    pub status: RunStatus,
    /// Why it failed, where it did.
    pub failure: Option<FailureKind>,
    pub summary: String,
    /// The plans tried, in order.
    pub attempts: Vec<Attempt>,
    /// The receipt of the recall that the first plan worked with.
    pub recall_id: Option<RecallId>,
    /// Memories that the first plan was made from: they get the credit.
    pub used: Vec<RecordId>,
    /// Every turn, with what of memory was injected (M42).
    pub turns: Vec<Turn>,
}

/// Why the host could not work at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nothing to do.
    #[error("the request is empty; say what is wanted")]
    Empty,
    /// Too long for an event.
    #[error("the request has {got} bytes; say it in at most {limit}")]
    TooLong { got: usize, limit: usize },
    /// More requests wait than are kept.
    #[error("{limit} requests wait already; ask again when one is done")]
    Overloaded {
        /// The most.
        limit: usize,
    },
    /// The host was started without workers.
    #[error("this host has no workers; start it with a desk")]
    NoWorkers,
    #[error(transparent)]
    Log(#[from] EventStoreError),
    #[error("the {who} does not answer ({message}); ask again, it is started anew")]
    Gone { who: &'static str, message: String },
}
