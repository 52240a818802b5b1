//! What a workspace contains, for reading: status, history, graph, and what changed between two
//! states of the tree, file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::DateTime;
use git2::{Diff, DiffOptions, Oid, Patch, Sort, Status as GitStatus, StatusOptions};
use reprise_workspace_types::{
    ArtifactNode, Class, EditedPath, FileChange, LogEntry, RepoPath, Status,
};

use crate::error::{Result, WorkspaceError, unknown_error};
use crate::git::{Git, shared_branch_name, trailer};
use crate::graph::Artifacts;
use crate::merge::resolve_commit;
use crate::rules;
use crate::transaction::{ACTOR, TRAILER};
use crate::wal;
use crate::workspace::Workspace;

/// Most paths of a person's work that are named.
const EDITED_MAX: usize = 1_000;

impl Workspace {
    /// Looks at the whole workspace.
    pub fn status(&self) -> Result<Status> {
        let git = Git::open(self.root())?;
        let head = git.head().ok();
        let tip = head.as_ref().and_then(|head| head.commit);
        let mut artifacts = BTreeMap::new();
        let index = git.read_index()?;
        for entry in index.iter() {
            if let Ok(path) = RepoPath::new(&String::from_utf8_lossy(&entry.path)) {
                *artifacts.entry(path.class()).or_default() += 1;
            }
        }
        let mut agents = git.branches()?;
        agents.retain(|name| name.starts_with("agent/"));
        Ok(Status {
            root: self.root().to_owned(),
            branch: head.as_ref().map(|head| head.branch().to_owned()),
            main: shared_branch_name(&git),
            commit: head.and_then(|head| head.commit).map(|id| id.to_string()),
            artifacts,
            rules_pending: rules::find_active_rules(&git, tip)?.is_pending,
            trail_missing: self.trail_missing()?,
            edited: list_edited(&git)?,
            loose_ends: wal::list_open_transactions(self.root())?,
            agents,
            hooks: list_hooks(&git.hooks_folder()),
            runs_hooks: git.runs_hooks(),
        })
    }

    /// Commits of the branch that is checked out, newest first.
    pub fn log(&self, limit: usize) -> Result<Vec<LogEntry>> {
        let git = Git::open(self.root())?;
        let read = || WorkspaceError::git("read the history");
        let Some(tip) = git.repo.head().ok().and_then(|head| head.target()) else {
            return Ok(Vec::new());
        };
        let mut walk = git.repo.revwalk().map_err(read())?;
        walk.set_sorting(Sort::TOPOLOGICAL).map_err(read())?;
        walk.push(tip).map_err(read())?;
        let mut entries = Vec::new();
        for id in walk.take(limit) {
            let commit = git.repo.find_commit(id.map_err(read())?).map_err(read())?;
            let author = commit.author();
            let subject = commit.summary_bytes().unwrap_or_default();
            entries.push(LogEntry {
                commit: commit.id().to_string(),
                tx: trailer(&commit, TRAILER),
                actor: trailer(&commit, ACTOR)
                    .unwrap_or_else(|| String::from_utf8_lossy(author.name_bytes()).into_owned()),
                ts: DateTime::from_timestamp(commit.time().seconds(), 0).unwrap_or_default(),
                subject: String::from_utf8_lossy(subject).into_owned(),
            });
        }
        Ok(entries)
    }

    /// Returns the DAG of artifacts as it is committed.
    pub fn list_artifact_nodes(&self) -> Result<Vec<ArtifactNode>> {
        let git = Git::open(self.root())?;
        Artifacts::committed(&git, git.head()?.tree).nodes()
    }
}

fn list_edited(git: &Git) -> Result<Vec<EditedPath>> {
    git.refuse_pipes()?;
    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .no_refresh(true);
    let statuses = git
        .repo
        .statuses(Some(&mut options))
        .map_err(WorkspaceError::git("compare the working tree"))?;
    let mut edited = Vec::new();
    for entry in statuses.iter().take(EDITED_MAX) {
        let status = entry.status();
        let any = |kinds: GitStatus| status.intersects(kinds);
        let staged = GitStatus::INDEX_NEW
            | GitStatus::INDEX_MODIFIED
            | GitStatus::INDEX_DELETED
            | GitStatus::INDEX_RENAMED
            | GitStatus::INDEX_TYPECHANGE;
        let how = if any(GitStatus::CONFLICTED) {
            "conflict"
        } else if any(GitStatus::WT_MODIFIED | GitStatus::WT_TYPECHANGE) {
            "changed"
        } else if any(GitStatus::WT_DELETED) {
            "deleted"
        } else if any(GitStatus::WT_NEW) {
            "new"
        } else if any(staged) {
            "staged"
        } else {
            continue;
        };
        let path = String::from_utf8_lossy(entry.path_bytes()).into_owned();
        let how = how.to_owned();
        edited.push(EditedPath { path, how });
    }
    Ok(edited)
}

fn list_hooks(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let hooks: BTreeSet<String> = names.filter(|name| !name.ends_with(".sample")).collect();
    hooks.into_iter().collect()
}

/// Most files that are told.
const FILES_MAX: usize = 1_000;
/// Longest patch of one file, in bytes; of a longer one the beginning is told.
const PATCH_BYTES_MAX: usize = 64 * 1024;
/// Length of a transaction's ULID.
const TX_BYTES: usize = 26;

impl Workspace {
    /// Returns what changed from one state to another, each a branch, a commit or a transaction:
    /// without `to` up to the working tree, without `from` since the newest commit.
    pub fn diff(&self, from: Option<&str>, to: Option<&str>) -> Result<Vec<FileChange>> {
        let git = Git::open(self.root())?;
        let from = match from {
            Some(name) => Some(resolve_commit_or_transaction(&git, name)?),
            None => git.head()?.commit,
        };
        let to = to
            .map(|name| resolve_commit_or_transaction(&git, name))
            .transpose()?;
        diff_states(&git, from, to)
    }

    /// Reads a file as it is committed on the branch that is checked out, or in a state that has a
    /// name.
    pub fn read(&self, path: &RepoPath, at: Option<&str>) -> Result<Vec<u8>> {
        let git = Git::open(self.root())?;
        let tree = match at {
            Some(name) => Some(git.tree_of(resolve_commit_or_transaction(&git, name)?)?),
            None => git.head()?.tree,
        };
        let content = git.content_at(tree, path)?;
        let hint = "`reprise workspace graph` lists the artifacts";
        content.ok_or_else(|| unknown_error("committed file", path.as_str(), hint))
    }

    /// Returns what one commit or transaction changed against its first parent.
    pub fn diff_commit(&self, name: &str) -> Result<Vec<FileChange>> {
        let git = Git::open(self.root())?;
        let id = resolve_commit_or_transaction(&git, name)?;
        let commit = git.repo.find_commit(id);
        let commit = commit.map_err(WorkspaceError::git("compare two states"))?;
        let before = commit.parent(0).ok().map(|parent| parent.id());
        diff_states(&git, before, Some(id))
    }
}

/// Compares two commits, or a commit with the working tree; `from` is `None` before the first.
fn diff_states(git: &Git, from: Option<Oid>, to: Option<Oid>) -> Result<Vec<FileChange>> {
    let compare = || WorkspaceError::git("compare two states");
    let tree = |id: Oid| git.repo.find_commit(id).and_then(|commit| commit.tree());
    let from = from.map(tree).transpose().map_err(compare())?;
    let mut options = DiffOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .show_untracked_content(true);
    let diff = if let Some(to) = to {
        let to = tree(to).map_err(compare())?;
        git.repo
            .diff_tree_to_tree(from.as_ref(), Some(&to), Some(&mut options))
    } else {
        git.refuse_pipes()?;
        git.repo
            .diff_tree_to_workdir_with_index(from.as_ref(), Some(&mut options))
    };
    collect_changes(&diff.map_err(compare())?)
}

/// Resolves a branch, a commit, or a transaction of this branch to a commit.
fn resolve_commit_or_transaction(git: &Git, name: &str) -> Result<Oid> {
    let found = resolve_commit(git, name);
    if found.is_ok() || name.len() != TX_BYTES {
        return found;
    }
    let read = || WorkspaceError::git("read the history");
    let mut walk = git.repo.revwalk().map_err(read())?;
    walk.set_sorting(Sort::TOPOLOGICAL).map_err(read())?;
    walk.push_head().map_err(read())?;
    for id in walk {
        let commit = git.repo.find_commit(id.map_err(read())?).map_err(read())?;
        if trailer(&commit, TRAILER).as_deref() == Some(name) {
            return Ok(commit.id());
        }
    }
    found
}

/// Collects the changed files of a diff, without the Orchestrator's own logs.
fn collect_changes(diff: &Diff<'_>) -> Result<Vec<FileChange>> {
    let read = || WorkspaceError::git("read a difference");
    let mut changes = Vec::new();
    for index in 0..diff.deltas().len() {
        let Some(delta) = diff.get_delta(index) else {
            continue;
        };
        let Some(path) = delta.new_file().path().or(delta.old_file().path()) else {
            continue;
        };
        let path = RepoPath::new(&path.to_string_lossy())?;
        let class = path.class();
        if matches!(class, Class::Ledger | Class::Internal) || changes.len() == FILES_MAX {
            continue;
        }
        let (old, new) = (delta.old_file(), delta.new_file());
        let how = match (old.exists(), new.exists()) {
            (false, _) => "added",
            (_, false) => "removed",
            _ if old.id() == new.id() => "mode",
            _ => "changed",
        };
        let (mut text, mut counts) = (String::new(), (0, 0));
        let mut patch = Patch::from_diff(diff, index).map_err(read())?;
        if let Some(patch) = patch.as_mut() {
            let (_, added, removed) = patch.line_stats().map_err(read())?;
            counts = (added, removed);
            let bytes = patch.to_buf().map_err(read())?;
            let end = bytes.len().min(PATCH_BYTES_MAX);
            text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        }
        changes.push(FileChange {
            path,
            class,
            how: how.to_owned(),
            lines_added: counts.0,
            lines_removed: counts.1,
            is_binary: diff
                .get_delta(index)
                .is_some_and(|delta| delta.flags().is_binary()),
            patch: text,
        });
    }
    Ok(changes)
}
