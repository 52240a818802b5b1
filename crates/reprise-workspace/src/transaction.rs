//! One write of the workspace (W16): lock, stage, validate, commit, unlock, announce.
//!
//! A transaction has happened at the moment its branch moves to its commit. Before that nothing of
//! the tree is touched; after it, whatever a crash left undone is finished by `recover`. Must never
//! live here: what a merge or a rollback consists of.

mod run;

use std::collections::BTreeMap;
use std::sync::Arc;

use git2::Oid;
use run::Run;
use serde::Serialize;
use serde_json::Value;

use crate::actor::Actor;
use crate::audit::{self, AUDIT};
use crate::error::{Result, WorkspaceError};
use crate::event::WorkspaceEvent;
use crate::git::{Git, Head, blob_id};
use crate::governor::Act;
use crate::lock;
use crate::path::RepoPath;
use crate::rules::{self, InForce};
use crate::stage::{STAGES, Stage};
use crate::workspace::{Workspace, main_of};

/// How often a transaction begins again because its branch has moved under it.
const ATTEMPTS_MAX: usize = 64;
/// From this attempt on git's index is locked from the beginning, so that nobody moves the branch.
const PATIENT_ATTEMPTS: usize = 3;

/// What is to become of paths: new content, or `None` for their end.
pub(crate) type Changes = BTreeMap<RepoPath, Option<Vec<u8>>>;

/// The moments of a transaction, for those who watch one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// New content waits in the transaction's folder.
    Staged,
    /// The workspace is ours.
    Locked,
    /// Schemas and rules agree.
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

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The transaction's ULID.
    pub tx: String,
    /// Its commit; `None` where nothing that git keeps has changed.
    pub commit: Option<String>,
    /// The rules that allowed it.
    pub rules: Vec<String>,
    /// Paths that a person edited in the very moment: their edit stays, on top of the commit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

impl Workspace {
    /// Carries out what `make` drafts, and takes the snapshot that is due then.
    pub(crate) fn transact(
        &self,
        stage: &mut Stage,
        tx: &str,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let mut receipt = self.transact_alone(stage, tx, make)?;
        self.snapshot_when_due(&mut receipt);
        Ok(receipt)
    }

    /// Carries out what `make` drafts. It is asked again whenever the branch has moved.
    fn transact_alone(
        &self,
        stage: &mut Stage,
        tx: &str,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let guard = self.lock()?;
        self.reach(Step::Locked);
        self.tie_up(&guard)?;
        let stages = self.root().join(STAGES);
        for attempt in 0..ATTEMPTS_MAX {
            let git = Git::open(self.root())?;
            git.refuse_unfinished()?;
            let held = if attempt < PATIENT_ATTEMPTS {
                None
            } else {
                Some(git.lock_index(stage.folder(), &stages)?)
            };
            let head = git.head()?;
            let view = View {
                git: &git,
                head: &head,
                on_main: head.branch() == main_of(&git),
                in_force: rules::in_force(&git, head.commit)?,
            };
            let draft = make(&view)?;
            let run = Run {
                workspace: self,
                view: &view,
                git: &git,
                head: &head,
                tx,
                at: self.now(),
            };
            match run.attempt(stage, &draft, held)? {
                Some(receipt) => return Ok(receipt),
                None => lock::pause(attempt as u32),
            }
        }
        let git = Git::open(self.root())?;
        let branch = git.head()?.branch().to_owned();
        Err(WorkspaceError::Moved { branch })
    }
}

/// The trailer that names the transaction.
pub(crate) const TRAILER: &str = "Reprise-Tx: ";

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
        let before = if path.class().is_versioned() || path.as_str() == AUDIT {
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
