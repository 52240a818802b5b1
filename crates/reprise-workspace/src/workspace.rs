//! A workspace: where it is, and what may be asked of it.

mod init;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use git2::{BranchType, Repository};
use reprise_types::{Clock, system_entropy};
use reprise_workspace_types::{AuditEntry, AuditQuery, TRAIL, WorkspaceEvent};
use ulid::Ulid;

pub use self::init::InitReport;
pub use self::write::WriteRequest;
pub(crate) use self::write::validate_message;
use crate::audit;
use crate::error::{Result, WorkspaceError};
use crate::event;
use crate::files;
use crate::git::{Git, shared_branch_name};
use crate::layout::{self, FOLDERS, SDLC};
use crate::lock::{self, LockGuard};

/// Where the locks of artifacts are.
pub(crate) const LOCKS: &str = ".sdlc_ide/tmp/locks";

/// A version-controlled tree that agents and people change (ADR-008).
#[derive(Clone)]
pub struct Workspace {
    root: PathBuf,
    clock: Arc<dyn Clock>,
    watcher: Option<Watcher>,
    identity: Option<String>,
}

reprise_types::show_fields!(Workspace { root });

impl Workspace {
    /// Opens the workspace that `dir` is in.
    pub fn open(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let none = || WorkspaceError::NotAWorkspace {
            dir: dir.to_owned(),
        };
        let repo = Repository::discover(dir).map_err(|error| match error.code() {
            git2::ErrorCode::NotFound => none(),
            _ => WorkspaceError::git("open the repository")(error),
        })?;
        let root = repo.workdir().ok_or_else(WorkspaceError::bare)?;
        let root = std::fs::canonicalize(root).map_err(WorkspaceError::io("cannot find", root))?;
        if !files::find_metadata(&root.join(SDLC))?.is_some_and(|found| found.is_dir()) {
            return Err(none());
        }
        if !is_initialized(&Git::open(&root)?)? {
            return Err(WorkspaceError::repository(format!(
                "`{}` was never made a workspace to the end; run `reprise workspace init` there",
                root.display()
            )));
        }
        Ok(Self::with_root(root, clock))
    }

    pub(crate) fn with_root(root: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self {
            root,
            clock,
            watcher: None,
            identity: None,
        }
    }

    /// Sets a watcher that is called at each step.
    #[must_use]
    pub fn with_watcher(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// Sets the identity that the trail gives with a person's name, instead of git's identity on
    /// this machine.
    #[must_use]
    pub fn with_identity(mut self, identity: String) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Copies the watcher and the identity of `other`.
    pub(crate) fn with_settings_of(self, other: &Self) -> Self {
        Self {
            watcher: other.watcher.clone(),
            identity: other.identity.clone(),
            ..self
        }
    }

    pub(crate) fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    pub(crate) fn identity(&self, git: &Git) -> Option<String> {
        self.identity.clone().or_else(|| git.identity())
    }

    /// Returns the root of its tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(crate) fn new_id(&self) -> String {
        let unix_ms = u64::try_from(self.now().timestamp_millis()).unwrap_or_default();
        Ulid::from_parts(unix_ms, system_entropy()).to_string()
    }

    pub(crate) fn notify_step(&self, step: TransactionStep) {
        if let Some(watcher) = &self.watcher {
            watcher(step);
        }
    }

    pub(crate) fn lock(&self) -> Result<LockGuard> {
        layout::refuse_detours(&self.root)?;
        lock::lock_folder(&self.root.join(SDLC), "the workspace")
    }

    /// Makes the folders that are not there: git keeps no empty ones. A folder
    /// of the people that a file or link blocks is left to the next write there.
    pub(crate) fn make_folders(&self) -> Result<()> {
        layout::refuse_detours(self.root())?;
        for folder in FOLDERS {
            if files::refuse_detours_to(self.root(), folder, folder).is_ok() {
                files::make_folder(&self.root().join(folder))?;
            }
        }
        Ok(())
    }

    /// Lines of the audit trail, newest last, and the numbers of those that are none.
    pub fn audit(&self, query: &AuditQuery) -> Result<(Vec<AuditEntry>, Vec<usize>)> {
        let trail = audit::read_trail(&self.root)?;
        Ok(audit::search(&trail, query))
    }

    /// Writes lines of the audit trail into a file of a folder, in place of one that is there.
    pub fn export_audit(folder: &Path, name: &str, lines: &[AuditEntry]) -> Result<()> {
        files::replace(folder, name, &audit::encode_lines(lines))
    }

    /// Events after the one with this id, oldest first.
    pub fn events(&self, after: Option<&str>, limit: usize) -> Result<Vec<WorkspaceEvent>> {
        event::list_events_after(&self.root, after, limit)
    }
}

/// Returns whether the tree has been made to its end: its trail is on this branch, or on the shared
/// one.
fn is_initialized(git: &Git) -> Result<bool> {
    let holds = |tree| git.is_file_at(tree, TRAIL).map(|found| found == Some(true));
    // A detached HEAD has a tree all the same.
    let head = git.repo.head().and_then(|head| head.peel_to_tree());
    if holds(head.ok().map(|tree| tree.id()))? {
        return Ok(true);
    }
    let main = git
        .repo
        .find_branch(&shared_branch_name(git), BranchType::Local);
    let main = main.and_then(|branch| branch.get().peel_to_tree());
    holds(main.ok().map(|tree| tree.id()))
}

/// The moments of a transaction, for those who watch one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionStep {
    /// New content waits in the transaction's folder.
    Staged,
    Locked,
    Validated,
    /// The WAL says `begin`, on disk.
    Begun,
    /// The branch has moved: from here on it has happened.
    Committed,
    /// The first of the files is in its place.
    Placing,
    /// All files do.
    Placed,
    /// The git index is up to date.
    Indexed,
    /// The event is written down.
    Recorded,
    /// The WAL says `commit`, on disk.
    Ended,
}

impl TransactionStep {
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
pub type Watcher = Arc<dyn Fn(TransactionStep) + Send + Sync>;
