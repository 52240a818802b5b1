//! One write of the workspace: lock, stage, validate, commit, unlock, announce.
//!
//! A transaction has happened at the moment its branch moves to its commit. Before that nothing of
//! the tree is touched; after it, whatever a crash left undone is finished by `recover`.
//!
//! git ends a person's command where the index is locked or the branch moves under it, and never
//! tries again: so once somebody's git was here transactions leave it room.

pub(crate) mod git_commits;
mod records;
mod run;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use chrono::{DateTime, Utc};
use git2::Oid;
use reprise_files::{FileFingerprint, OpenMode};
use reprise_workspace_types::{Actor, AuditAction, Receipt, RepoPath};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Result, WorkspaceError};
use crate::files;
use crate::git::{Git, Head, Tag, shared_branch_name};
use crate::governor::PathAction;
use crate::rules::{self, ActiveRules};
use crate::stage::{Changes, StagingFolder};
use crate::workspace::{TransactionStep, Workspace};

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
struct PresenceRecord {
    /// The index as a transaction left it: device, inode, size, seconds and nanoseconds.
    index: Option<(u64, u64, u64, i64, i64)>,
    /// When somebody else's git was last seen at it.
    person_ms: i64,
    /// When a transaction last ended.
    ours_ms: i64,
}

fn fingerprint_fields(stamp: FileFingerprint) -> (u64, u64, u64, i64, i64) {
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
        stage: &mut StagingFolder,
        tx: &str,
        actor: &Actor,
        make: &mut dyn FnMut(&TransactionAttempt<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let guard = self.lock()?;
        self.notify_step(TransactionStep::Locked);
        self.recover_if_needed(&guard)?;
        let git = Git::open(self.root())?;
        let seen = self.wait_for_person(&git)?;
        let done = self.retry_attempts(stage, tx, actor, make);
        if let Err(error) = self.save_presence(&git, seen) {
            tracing::debug!(%error, "the next transaction takes this index for a person's");
        }
        drop(guard);
        let mut receipt = done?;
        self.snapshot_when_due(&mut receipt);
        Ok(receipt)
    }

    /// Runs a transaction for which nothing was staged before.
    pub(crate) fn transact_alone(
        &self,
        actor: &Actor,
        make: &mut dyn FnMut(&TransactionAttempt<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let tx = self.new_id();
        let mut stage = StagingFolder::new(self.root(), &tx)?;
        self.transact(&mut stage, &tx, actor, make)
    }

    /// Records a refusal that comes before anything is drafted.
    pub(crate) fn refuse<T>(
        &self,
        actor: &Actor,
        refusal: &dyn Fn() -> WorkspaceError,
    ) -> Result<T> {
        let recorded = self.transact_alone(actor, &mut |_| Err(refusal()));
        if let Err(error) = recorded
            && error.rule().is_none()
        {
            tracing::warn!(%error, "a refusal is not on record");
        }
        Err(refusal())
    }

    /// Drafts and tries the transaction again whenever the branch has moved.
    fn retry_attempts(
        &self,
        stage: &mut StagingFolder,
        tx: &str,
        actor: &Actor,
        make: &mut dyn FnMut(&TransactionAttempt<'_>) -> Result<Draft>,
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
            let view = TransactionAttempt::of(self, &git, &head, tx)?;
            let attempted = match make(&view) {
                Ok(draft) => view.validate_and_run(stage, &draft, held),
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

    /// Puts commits of plain git on record and announces them, without a commit of its own: as a
    /// service does from time to time. Returns how many there were.
    pub fn record_git_commits(&self) -> Result<usize> {
        let guard = self.lock()?;
        self.recover_if_needed(&guard)?;
        let git = Git::open(self.root())?;
        let Ok(head) = git.head() else {
            return Ok(0);
        };
        let tx = self.new_id();
        let view = TransactionAttempt::of(self, &git, &head, &tx)?;
        view.record_git_commits(&mut StagingFolder::new(self.root(), &tx)?)
    }

    /// Waits if a person's git is at work in this tree.
    fn wait_for_person(&self, git: &Git) -> Result<PresenceRecord> {
        let bytes = files::read_below(self.root(), SEEN, SEEN_BYTES_MAX)?.unwrap_or_default();
        let mut seen: PresenceRecord = serde_json::from_slice(&bytes).unwrap_or_default();
        let now = self.now().timestamp_millis();
        let index = git.index_fingerprint()?.map(fingerprint_fields);
        let is_locked = files::find_metadata(&git.index_lock_path())?.is_some();
        if is_locked || (seen.index.is_some() && seen.index != index) {
            seen.person_ms = now;
        }
        if (0..PRESENCE_MS).contains(&(now - seen.person_ms)) {
            let rest = GAP_MS - (now - seen.ours_ms).clamp(0, GAP_MS);
            std::thread::sleep(Duration::from_millis(rest.unsigned_abs()));
        }
        Ok(seen)
    }

    /// Saves how the transaction leaves the index. Without it the next one takes the index for a
    /// person's.
    fn save_presence(&self, git: &Git, mut seen: PresenceRecord) -> Result<()> {
        seen.index = git.index_fingerprint()?.map(fingerprint_fields);
        seen.ours_ms = self.now().timestamp_millis();
        let Some(mut opened) = files::open_below(self.root(), SEEN, OpenMode::Append)? else {
            return Ok(());
        };
        let bytes = crate::wal::encode_line(&seen);
        let written = opened
            .file
            .set_len(0)
            .and_then(|()| opened.file.write_all(&bytes));
        written.map_err(WorkspaceError::io("cannot write", &opened.path))
    }
}

/// A transaction as its maker means it, against one state of the branch.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) actor: Actor,
    pub(crate) action: AuditAction,
    /// What is done to each path; `None` asks no rule (the Orchestrator's own records).
    pub(crate) act: Option<PathAction>,
    pub(crate) changes: Changes,
    /// Modes in git's trees, where they are to be others than those that are there.
    pub(crate) modes: BTreeMap<RepoPath, i32>,
    /// First line of the commit.
    pub(crate) title: String,
    pub(crate) message: String,
    /// A branch that this commit joins.
    pub(crate) other_parent: Option<Oid>,
    pub(crate) approved: bool,
    /// Lines for the log of conflicts; the trail has the same in its details.
    pub(crate) conflicts: Vec<Value>,
    /// The tag that the branch's commit gets.
    pub(crate) tag: Option<Tag>,
    /// The event's topic, where it is not that of a plain write.
    pub(crate) topic: Option<&'static str>,
    pub(crate) details: Value,
}

impl Draft {
    /// Creates a draft that changes nothing and asks no rule.
    pub(crate) fn new(actor: &Actor, action: AuditAction) -> Self {
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
pub(crate) struct TransactionAttempt<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) git: &'a Git,
    pub(crate) head: &'a Head,
    pub(crate) tx: &'a str,
    pub(crate) at: DateTime<Utc>,
    pub(crate) on_main: bool,
    pub(crate) in_force: ActiveRules,
}

impl<'a> TransactionAttempt<'a> {
    fn of(workspace: &'a Workspace, git: &'a Git, head: &'a Head, tx: &'a str) -> Result<Self> {
        Ok(Self {
            workspace,
            git,
            head,
            tx,
            at: workspace.now(),
            on_main: head.branch() == shared_branch_name(git),
            in_force: rules::find_active_rules(git, head.commit)?,
        })
    }
}

/// The trailer that names the transaction.
pub(crate) const TRAILER: &str = "Reprise-Tx: ";
/// The trailer that names the actor: a person's commit has the author that git knows.
pub(crate) const ACTOR: &str = "Reprise-Actor: ";
