//! A request to a governed workspace and its answer, as they go to a process that serves
//! workspaces and come back: one JSON object a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answers::AuditQuery;

/// One operation on one tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeRequest {
    /// Folder of the workspace.
    pub root: PathBuf,
    /// The agent's branch whose tree is meant, not the shared one.
    pub branch: Option<String>,
    /// Whose token asks, for the audit trail.
    pub identity: Option<String>,
    #[serde(flatten)]
    pub call: TreeCall,
}

/// An operation with its arguments.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "call", content = "arguments", rename_all = "snake_case")]
pub enum TreeCall {
    Status,
    Read {
        path: String,
        at: Option<String>,
    },
    Write {
        actor: String,
        /// From each path to its new text; `None` deletes it.
        changes: Vec<(String, Option<String>)>,
        message: Option<String>,
    },
    Audit(AuditQuery),
    Diff {
        from: Option<String>,
        to: Option<String>,
        of: Option<String>,
    },
    Log {
        limit: usize,
    },
    Graph,
    Propose {
        actor: String,
    },
    Review {
        branch: Option<String>,
    },
    Approve {
        human: String,
        reference: String,
    },
    Decline {
        human: String,
        reference: String,
        message: Option<String>,
    },
    Merge {
        actor: String,
        from: String,
        message: Option<String>,
    },
    Abandon {
        actor: String,
    },
    Rollback {
        actor: String,
        commit: String,
        message: Option<String>,
    },
    Checkpoint {
        actor: String,
        state: Map<String, Value>,
        message: Option<String>,
    },
    State {
        agent: String,
    },
    Snapshot {
        actor: String,
        tag: bool,
    },
    Snapshots,
    Restore {
        actor: String,
        id: String,
    },
    Events {
        after: Option<String>,
        limit: usize,
    },
    Recover,
    /// Announce what people committed by plain git, and remove scratch after its time.
    Maintain,
}

/// A request as a line of the program's standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NumberedRequest {
    pub number: u64,
    pub request: TreeRequest,
}

/// The answer to the request of this number, as a line of the program's standard output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NumberedAnswer {
    pub number: u64,
    pub answer: Result<Value, TreeError>,
}

/// Why a workspace did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct TreeError {
    pub kind: TreeErrorKind,
    /// What happened, to what, what to do next.
    pub message: String,
    /// Name of the rule that refused it.
    pub rule: Option<String>,
}

/// Who has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeErrorKind {
    /// A rule refuses this actor.
    Forbidden,
    /// What was given is not allowed there.
    Invalid,
    /// People have to bring two things together first.
    Conflict,
    /// Nothing serves the workspace now; the same request may succeed later.
    Unavailable,
    NotFound,
    /// The workspace failed.
    Internal,
}

impl TreeError {
    /// Creates an error that no rule is named for.
    pub fn new(kind: TreeErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            rule: None,
        }
    }
}
