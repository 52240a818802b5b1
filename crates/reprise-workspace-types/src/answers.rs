//! What a workspace says of itself: its state, its history, and what became of a request.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path::{Class, RepoPath};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Action")]
pub enum AuditAction {
    Init,
    Write,
    Merge,
    Rollback,
    /// A person approved a branch as it stood.
    Approve,
    /// A person declined a branch as it stood.
    Decline,
    Violation,
    /// A commit came by plain git.
    Git,
    /// A snapshot was taken or brought back.
    Snapshot,
    /// Snapshots or old events were put away by policy.
    Prune,
    /// Lines of the trail had gone, outside of any transaction.
    Rewritten,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditLine")]
pub struct AuditEntry {
    /// The transaction's ULID; the event and the WAL's entries have the same.
    pub event_id: String,
    /// When.
    pub ts: DateTime<Utc>,
    pub action: AuditAction,
    pub actor: String,
    /// Who the person is according to the machine: git's identity here, or the owner of the token
    /// that the daemon was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(default)]
    pub rules: Vec<String>,
    #[serde(default)]
    pub paths: Vec<String>,
    #[serde(default)]
    pub branch: String,
    /// In the actor's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What else is known, by kind of action.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// Which lines are asked for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AuditQuery {
    pub actor: Option<String>,
    /// That touched this path, or something below it.
    pub path: Option<String>,
    pub action: Option<AuditAction>,
    pub since: Option<DateTime<Utc>>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceEvent {
    /// The transaction's ULID.
    pub event_id: String,
    /// When.
    pub ts: DateTime<Utc>,
    /// Such as `PRD_Written`.
    pub topic: String,
    pub actor: String,
    pub paths: Vec<String>,
    pub branch: String,
    /// The commit, where git keeps what was written.
    pub commit: Option<String>,
    /// In the actor's words.
    pub message: String,
    /// Artifacts made from what changed, to be looked at again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downstream: Vec<String>,
}

impl WorkspaceEvent {
    /// Renders the event as a sentence for a memory.
    pub fn sentence(&self) -> String {
        let what = self.topic.replace('_', " ").to_lowercase();
        let place = self.paths.join(", ");
        let mut text = format!("{what} by {}", self.actor);
        if !place.is_empty() {
            text = format!("{text}: {place}");
        }
        if !self.message.is_empty() {
            text = format!("{text}. {}", self.message);
        }
        text
    }
}

/// An artifact as the graph sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Node")]
pub struct ArtifactNode {
    /// Its `id`, or the stem of its file.
    pub id: String,
    pub path: RepoPath,
    /// Ids of the artifacts that it is made from.
    pub above: Vec<String>,
    /// The hash of its PRD that it was checked against, where it says so.
    #[serde(skip)]
    pub prd_hash: Option<String>,
}

/// A checkpoint as it is committed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Saved")]
pub struct SavedCheckpoint {
    pub path: RepoPath,
    pub checkpoint: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub root: PathBuf,
    /// The branch that is checked out; nothing where HEAD is detached.
    pub branch: Option<String>,
    /// The branch that is shared.
    pub main: String,
    /// Its newest commit.
    pub commit: Option<String>,
    /// Files that git keeps, by class.
    pub artifacts: BTreeMap<Class, usize>,
    /// The project's rules were changed by plain git and wait for a person's approval; those from
    /// before are in force.
    pub rules_pending: bool,
    /// Ids of lines of the audit trail that were there when the last transaction of this branch
    /// ended and are not any more: the branch was set back, or its trail shortened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trail_missing: Vec<String>,
    /// What people have changed and not committed.
    pub edited: Vec<EditedPath>,
    /// Transactions that a crash left open; `recover` ties them up.
    pub loose_ends: Vec<String>,
    /// Agents' branches.
    pub agents: Vec<String>,
    /// The git hooks that are installed.
    pub hooks: Vec<String>,
    /// Whether transactions run them (`git config reprise.hooks true`).
    #[serde(default)]
    pub runs_hooks: bool,
}

/// A path that a person is at work on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Edited")]
pub struct EditedPath {
    pub path: String,
    /// `staged`, `changed`, `deleted`, `new` or `conflict`.
    pub how: String,
}

/// One commit of the history.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LogEntry {
    pub commit: String,
    /// Its transaction; nothing where it came by plain git.
    pub tx: Option<String>,
    pub actor: String,
    /// When.
    pub ts: DateTime<Utc>,
    /// The first line of its message.
    pub subject: String,
}

/// One file of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    pub path: RepoPath,
    /// What ADR-008 says of the place.
    pub class: Class,
    /// `added`, `changed`, `removed` or `mode`.
    pub how: String,
    pub lines_added: usize,
    pub lines_removed: usize,
    /// It is no text, so there is no patch.
    pub is_binary: bool,
    /// The lines, in git's form; its beginning where it is longer than 64 KiB.
    pub patch: String,
}

/// What merging a branch would change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    pub branch: String,
    /// Its newest commit: what an approval would be of.
    pub commit: String,
    /// Commits that the shared branch does not have.
    pub ahead: usize,
    /// Commits of the shared branch that it does not have.
    pub behind: usize,
    /// Paths that it changes, with their classes.
    pub paths: Vec<(RepoPath, Class)>,
    /// Whether a person has to approve it.
    pub needs_approval: bool,
    /// A person's last verdict on this commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<ReviewVerdict>,
}

/// A person's verdict on a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Word")]
pub struct ReviewVerdict {
    pub human: String,
    pub is_approved: bool,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// An agent's branch with its working tree.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Proposal")]
pub struct AgentBranch {
    /// Such as `agent/contradiction-fix`.
    pub branch: String,
    /// Where its files are; write there with `-C`.
    pub directory: PathBuf,
    /// Its newest commit.
    pub commit: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Recovered")]
pub struct WorkspaceRecovery {
    /// Transactions that had happened and were finished.
    pub finished: Vec<String>,
    /// Transactions that had not happened; nothing of them is left.
    pub undone: Vec<String>,
    /// Paths that were left alone, because somebody edited them since or something blocks their
    /// path; git has them, and `git checkout -- PATH` brings them.
    pub left_alone: Vec<String>,
    /// Folders of dead transactions that were removed, and archives without a manifest.
    pub swept: usize,
    /// Lock files of git that dead transactions had left.
    pub unlocked: usize,
    /// Numbers of lines of the WAL that are no entries.
    pub damaged: Vec<usize>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The transaction's ULID.
    pub tx: String,
    /// Its commit; `None` where nothing that git keeps has changed.
    pub commit: Option<String>,
    /// The rules that allowed it.
    pub rules: Vec<String>,
    /// Paths that a person edited in the very moment: their edit stays, on top of the commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_alone: Vec<String>,
    /// What was announced; nothing where nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<WorkspaceEvent>,
    /// The snapshot that this point asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// Why a due snapshot failed; the transaction is valid all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_failed: Option<String>,
}

/// Part of the audit trail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trail {
    pub lines: Vec<AuditEntry>,
    /// Numbers of the trail's lines that are no entries.
    pub damaged: Vec<usize>,
    /// Ids of lines that were there when the last transaction of this branch ended and are not any
    /// more: the branch was set back, or its trail shortened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A snapshot; the hash of each file is in its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Taken")]
pub struct SnapshotRow {
    pub id: String,
    pub ts: DateTime<Utc>,
    pub actor: String,
    pub branch: String,
    pub commit: String,
    pub archive_sha256: String,
    /// How many files it holds.
    pub files: usize,
    /// The event at which it was taken by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}
