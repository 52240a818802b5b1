//! A workspace: where it is, and what may be asked of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use git2::Repository;
use reprise_types::{Clock, system_entropy};
use reprise_workspace_types::{
    Actor, AuditAction, AuditEntry, AuditQuery, Receipt, RepoPath, WorkspaceEvent,
};
use ulid::Ulid;

use crate::audit;
use crate::error::{Result, WorkspaceError, invalid_error};
use crate::event;
use crate::files;
use crate::git::Git;
use crate::governor::PathAction;
use crate::layout::{self, SDLC};
use crate::lock::{self, LockGuard};
use crate::schema;
use crate::stage::StagingFolder;
use crate::transaction::{Changes, Draft, TransactionStep, Watcher};

/// Where the locks of artifacts are.
pub(crate) const LOCKS: &str = ".sdlc_ide/tmp/locks";
/// Longest message, in bytes.
const MESSAGE_BYTES_MAX: usize = 4096;
/// Most paths of one write.
const PATHS_MAX: usize = 1_000;

/// A version-controlled tree that agents and people change (ADR-008).
#[derive(Clone)]
pub struct Workspace {
    root: PathBuf,
    clock: Arc<dyn Clock>,
    watcher: Option<Watcher>,
    identity: Option<String>,
}

reprise_types::show_fields!(Workspace { root });

/// A write as its author means it.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    pub actor: Actor,
    /// New content; `None` takes the file away.
    pub changes: Vec<(RepoPath, Option<Vec<u8>>)>,
    /// Why, in the actor's words.
    pub message: Option<String>,
}

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
        if !layout::is_initialized(&Git::open(&root)?)? {
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

    /// Writes artifacts, all or none.
    pub fn write(&self, request: &WriteRequest) -> Result<Receipt> {
        let mut changes = Changes::new();
        for (path, content) in &request.changes {
            if changes.insert(path.clone(), content.clone()).is_some() {
                let why = "it is named twice in one write";
                return Err(invalid_error("path", path.as_str(), why));
            }
        }
        if changes.is_empty() || changes.len() > PATHS_MAX {
            let why = "a write names one path at least and 1000 at most";
            return Err(invalid_error("path", "", why));
        }
        let message = validate_message(request.message.as_deref())?;
        self.make_folders()?;
        let too_large = changes.iter().find_map(|(path, content)| {
            let bytes = content.as_ref().map_or(0, Vec::len) as u64;
            (bytes > schema::ARTIFACT_BYTES_MAX).then_some((path, bytes))
        });
        if let Some((path, bytes)) = too_large {
            let why = schema::too_large(bytes);
            let refusal = || invalid_error("artifact-size", path.as_str(), why.as_str());
            return self.refuse(&request.actor, &refusal);
        }
        let tx = self.new_id();
        let _artifacts = lock::lock_artifacts(&self.root.join(LOCKS), changes.keys())?;
        let mut stage = StagingFolder::new(&self.root, &tx)?;
        for (path, content) in &changes {
            stage.write_content(path, content.as_deref())?;
        }
        self.notify_step(TransactionStep::Staged);
        let title = match (&message, changes.keys().next()) {
            (text, _) if !text.is_empty() => text.lines().next().unwrap_or_default().to_owned(),
            (_, Some(path)) if changes.len() == 1 => format!("Write {path}"),
            _ => format!("Write {} files", changes.len()),
        };
        self.transact(&mut stage, &tx, &request.actor, &mut |_| {
            Ok(Draft {
                act: Some(PathAction::Write),
                changes: changes.clone(),
                title: title.clone(),
                message: message.clone(),
                ..Draft::new(&request.actor, AuditAction::Write)
            })
        })
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

/// Validates a message for a commit.
pub(crate) fn validate_message(text: Option<&str>) -> Result<String> {
    let text = text.unwrap_or_default().trim();
    if text.len() > MESSAGE_BYTES_MAX || text.contains('\0') {
        let why = "a message has 4096 bytes at most, and no NUL";
        return Err(invalid_error("message", "--message", why));
    }
    Ok(text.to_owned())
}
