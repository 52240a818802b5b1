//! What a transaction is made of: the changes asked for, what is looked at, and what it leaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::Actor;
use crate::audit;
use crate::error::Result;
use crate::event::WorkspaceEvent;
use crate::git::{Git, Head, Tag, blob_id};
use crate::governor::Act;
use crate::path::RepoPath;
use crate::rules::InForce;

/// What is to become of paths: new content, or `None` for their end.
pub(crate) type Changes = BTreeMap<RepoPath, Option<Vec<u8>>>;

/// The moments of a transaction, for those who watch one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// New content waits in the transaction's folder.
    Staged,
    Locked,
    Validated,
    /// The WAL says `begin`, on disk.
    Begun,
    /// The branch has moved: from here on it has happened.
    Committed,
    /// The first of the files stands in its place.
    Placing,
    /// All files do.
    Placed,
    /// git's index agrees.
    Indexed,
    /// The event is written down.
    Recorded,
    /// The WAL says `commit`, on disk.
    Ended,
}

impl Step {
    /// All, in order.
    pub const ALL: [Self; 10] = [
        Self::Staged,
        Self::Locked,
        Self::Validated,
        Self::Begun,
        Self::Committed,
        Self::Placing,
        Self::Placed,
        Self::Indexed,
        Self::Recorded,
        Self::Ended,
    ];
}

/// Called at each step of each transaction.
pub type Watcher = Arc<dyn Fn(Step) + Send + Sync>;

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
    /// Why there is none, where one was due: the transaction stands all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_failed: Option<String>,
}

/// A transaction as its maker means it, against one state of the branch.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) actor: Actor,
    pub(crate) action: audit::Action,
    /// What is done to each path; `None` asks no rule (the Orchestrator's own records).
    pub(crate) act: Option<Act>,
    pub(crate) changes: Changes,
    /// Modes in git's trees, where they are to be others than those that are there.
    pub(crate) modes: BTreeMap<RepoPath, i32>,
    /// First line of the commit.
    pub(crate) title: String,
    pub(crate) message: String,
    /// A branch that this commit joins.
    pub(crate) other_parent: Option<Oid>,
    pub(crate) approved: bool,
    /// Lines for the log of conflicts (C30); the trail has the same in its details.
    pub(crate) conflicts: Vec<Value>,
    /// The tag that the branch's commit gets.
    pub(crate) tag: Option<Tag>,
    /// The event's topic, where it is not that of a plain write.
    pub(crate) topic: Option<&'static str>,
    pub(crate) details: Value,
}

impl Draft {
    /// One that changes nothing and asks no rule.
    pub(crate) fn new(actor: &Actor, action: audit::Action) -> Self {
        Self {
            actor: actor.clone(),
            action,
            act: None,
            changes: Changes::new(),
            modes: BTreeMap::new(),
            title: String::new(),
            message: String::new(),
            other_parent: None,
            approved: false,
            conflicts: Vec::new(),
            tag: None,
            topic: None,
            details: Value::Null,
        }
    }
}

/// What a maker of drafts sees.
pub(crate) struct View<'a> {
    pub(crate) git: &'a Git,
    pub(crate) head: &'a Head,
    pub(crate) on_main: bool,
    pub(crate) in_force: InForce,
}

/// The trailer that names the transaction.
pub(crate) const TRAILER: &str = "Reprise-Tx: ";
/// The trailer that names the actor: a person's commit has the author that git knows.
pub(crate) const ACTOR: &str = "Reprise-Actor: ";

/// Changes that leave something different from what is there.
pub(crate) fn effective(
    git: &Git,
    tree: Option<Oid>,
    root: &std::path::Path,
    draft: &Draft,
) -> Result<Changes> {
    let mut effective = Changes::new();
    for (path, content) in &draft.changes {
        let after = content.as_ref().map(|bytes| blob_id(bytes)).transpose()?;
        let before = if path.is_kept() {
            let there = git.blob_at(tree, path)?;
            let mode = draft.modes.get(path);
            if there.is_some_and(|blob| after.is_some() && mode.is_some_and(|m| *m != blob.mode)) {
                effective.insert(path.clone(), content.clone());
            }
            there.map(|blob| blob.id)
        } else {
            crate::git::blob_id_of_file(&root.join(path.as_str()))?
        };
        if before != after {
            effective.insert(path.clone(), content.clone());
        }
    }
    Ok(effective)
}
