//! One write of the workspace (W16): lock, stage, validate, commit, unlock, announce.
//!
//! A transaction has happened at the moment its branch moves to its commit. Before that nothing of
//! the tree is touched; after it, whatever a crash left undone is finished by `recover`.
//!
//! git ends a person's command where the index is locked or the branch moves under it, and never
//! tries again: so once somebody's git was here transactions leave it room.

mod beside;
mod run;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use git2::Oid;
use reprise_files::{Access, Stamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::Actor;
use crate::audit;
use crate::error::{Result, WorkspaceError};
use crate::event::WorkspaceEvent;
use crate::files;
use crate::git::{Git, Head, Tag, main_of};
use crate::governor::Act;
use crate::path::RepoPath;
use crate::rules::{self, InForce};
use crate::stage::Stage;
use crate::workspace::Workspace;

/// How often a transaction begins again because its branch has moved under it.
const ATTEMPTS_MAX: usize = 64;
/// From this attempt on git's index is locked from the beginning, so that nobody moves the branch.
const PATIENT_ATTEMPTS: usize = 12;
/// How long a person is left alone whose git came in between.
const ROOM: Duration = Duration::from_millis(100);

/// What the last transaction knew; under the workspace's lock.
const SEEN: &str = ".sdlc_ide/tmp/index.seen";
const SEEN_BYTES_MAX: u64 = 4096;
/// A person who was here is still at work for so long.
const PRESENCE_MS: i64 = 5_000;
/// The room between two transactions meanwhile.
pub(crate) const GAP_MS: i64 = 250;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Seen {
    /// The index as a transaction left it: device, inode, size, seconds and nanoseconds.
    index: Option<(u64, u64, u64, i64, i64)>,
    /// When somebody else's git was last seen at it.
    person_ms: i64,
    /// When a transaction last ended.
    ours_ms: i64,
}

fn plain(stamp: Stamp) -> (u64, u64, u64, i64, i64) {
    let (seconds, nanoseconds) = stamp.modified;
    (
        stamp.device,
        stamp.inode,
        stamp.size_bytes,
        seconds,
        nanoseconds,
    )
}

impl Workspace {
    /// Carries out what `make` drafts for an actor, and takes the snapshot that is due then. What
    /// `make` or the rules refuse leaves a line.
    pub(crate) fn transact(
        &self,
        stage: &mut Stage,
        tx: &str,
        actor: &Actor,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let guard = self.lock()?;
        self.reach(Step::Locked);
        self.tie_up(&guard)?;
        let git = Git::open(self.root())?;
        let seen = self.give_way(&git)?;
        let done = self.attempts(stage, tx, actor, make);
        if let Err(error) = self.leave(&git, seen) {
            tracing::debug!(%error, "the next transaction takes this index for a person's");
        }
        drop(guard);
        let mut receipt = done?;
        self.snapshot_when_due(&mut receipt);
        Ok(receipt)
    }

    /// The same as a transaction of its own, of which nothing is made ready before.
    pub(crate) fn transact_anew(
        &self,
        actor: &Actor,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let tx = self.new_id();
        let mut stage = Stage::new(self.root(), &tx)?;
        self.transact(&mut stage, &tx, actor, make)
    }

    /// Puts on record what is refused before there is anything to draft.
    pub(crate) fn refuse<T>(
        &self,
        actor: &Actor,
        refusal: &dyn Fn() -> WorkspaceError,
    ) -> Result<T> {
        let told = self.transact_anew(actor, &mut |_| Err(refusal()));
        if let Err(error) = told
            && error.rule().is_none()
        {
            tracing::warn!(%error, "a refusal is not on record");
        }
        Err(refusal())
    }

    /// What `make` drafts is asked for again whenever the branch has moved.
    fn attempts(
        &self,
        stage: &mut Stage,
        tx: &str,
        actor: &Actor,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        for attempt in 0..ATTEMPTS_MAX {
            let git = Git::open(self.root())?;
            git.refuse_unfinished()?;
            let held = if attempt < PATIENT_ATTEMPTS {
                None
            } else {
                Some(git.lock_index(stage)?)
            };
            let head = git.head()?;
            let view = View::of(self, &git, &head, tx)?;
            let attempted = match make(&view) {
                Ok(draft) => view.attempt(stage, &draft, held),
                Err(error) => {
                    drop(held);
                    view.refuse(stage, actor, "", error)
                }
            };
            match attempted? {
                Some(receipt) => return Ok(receipt),
                None => std::thread::sleep(ROOM),
            }
        }
        let git = Git::open(self.root())?;
        let branch = git.head()?.branch().to_owned();
        Err(WorkspaceError::Moved { branch })
    }

    /// Puts commits of plain git on record and announces them, without a commit of its own: what a
    /// service does that looks at the tree now and then (W25). How many there were.
    pub fn notice(&self) -> Result<usize> {
        let guard = self.lock()?;
        self.tie_up(&guard)?;
        let git = Git::open(self.root())?;
        let Ok(head) = git.head() else {
            return Ok(0);
        };
        let tx = self.new_id();
        let view = View::of(self, &git, &head, &tx)?;
        view.notice(&mut Stage::new(self.root(), &tx)?)
    }

    /// Waits its turn where somebody's git is at work in this tree.
    fn give_way(&self, git: &Git) -> Result<Seen> {
        let bytes = files::read_in(self.root(), SEEN, SEEN_BYTES_MAX)?.unwrap_or_default();
        let mut seen: Seen = serde_json::from_slice(&bytes).unwrap_or_default();
        let now = self.now().timestamp_millis();
        let index = git.index_stamp()?.map(plain);
        let is_locked = files::look(&git.index_lock_path())?.is_some();
        if is_locked || (seen.index.is_some() && seen.index != index) {
            seen.person_ms = now;
        }
        if (0..PRESENCE_MS).contains(&(now - seen.person_ms)) {
            let rest = GAP_MS - (now - seen.ours_ms).clamp(0, GAP_MS);
            std::thread::sleep(Duration::from_millis(rest.unsigned_abs()));
        }
        Ok(seen)
    }

    /// Notes how the transaction leaves the index. Without it the next one takes that for a
    /// person's.
    fn leave(&self, git: &Git, mut seen: Seen) -> Result<()> {
        seen.index = git.index_stamp()?.map(plain);
        seen.ours_ms = self.now().timestamp_millis();
        let Some(mut opened) = files::open_in(self.root(), SEEN, Access::Append)? else {
            return Ok(());
        };
        let bytes = crate::wal::line(&seen);
        let written = opened
            .file
            .set_len(0)
            .and_then(|()| opened.file.write_all(&bytes));
        written.map_err(WorkspaceError::io("cannot write", &opened.path))
    }
}

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

/// One attempt at a transaction, against one state of its branch: what a maker of drafts sees.
pub(crate) struct View<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) git: &'a Git,
    pub(crate) head: &'a Head,
    pub(crate) tx: &'a str,
    pub(crate) at: DateTime<Utc>,
    pub(crate) on_main: bool,
    pub(crate) in_force: InForce,
}

impl<'a> View<'a> {
    fn of(workspace: &'a Workspace, git: &'a Git, head: &'a Head, tx: &'a str) -> Result<Self> {
        Ok(Self {
            workspace,
            git,
            head,
            tx,
            at: workspace.now(),
            on_main: head.branch() == main_of(git),
            in_force: rules::in_force(git, head.commit)?,
        })
    }
}

/// The trailer that names the transaction.
pub(crate) const TRAILER: &str = "Reprise-Tx: ";
/// The trailer that names the actor: a person's commit has the author that git knows.
pub(crate) const ACTOR: &str = "Reprise-Actor: ";
