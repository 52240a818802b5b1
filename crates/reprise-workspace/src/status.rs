//! What stands in a workspace, for reading: status, history, graph, and what changed between two
//! states of the tree, file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, Utc};
use git2::{Diff, DiffOptions, Oid, Patch, Sort, Status as GitStatus, StatusOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Result, WorkspaceError, unknown};
use crate::foreign::trailer;
use crate::git::{Git, main_of};
use crate::graph::{Artifacts, Node};
use crate::merge::resolve;
use crate::path::{Class, RepoPath};
use crate::rules;
use crate::transaction::{ACTOR, TRAILER};
use crate::wal;
use crate::workspace::Workspace;

/// Most paths of a person's work that are named.
const EDITED_MAX: usize = 1_000;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub root: std::path::PathBuf,
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
    pub edited: Vec<Edited>,
    /// Transactions that a crash left open; `recover` ties them up.
    pub loose_ends: Vec<String>,
    /// Agents' branches.
    pub agents: Vec<String>,
    /// git's hooks that are there.
    pub hooks: Vec<String>,
    /// Whether transactions run them (`git config reprise.hooks true`).
    #[serde(default)]
    pub runs_hooks: bool,
}

/// A path that a person is at work on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edited {
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
            main: main_of(&git),
            commit: head.and_then(|head| head.commit).map(|id| id.to_string()),
            artifacts,
            rules_pending: rules::in_force(&git, tip)?.is_pending,
            trail_missing: self.trail_missing()?,
            edited: edited(&git)?,
            loose_ends: wal::open_in(self.root())?,
            agents,
            hooks: hooks(&git.hooks_folder()),
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

    /// The DAG of artifacts as it is committed.
    pub fn graph(&self) -> Result<Vec<Node>> {
        let git = Git::open(self.root())?;
        Artifacts::committed(&git, git.head()?.tree).nodes()
    }
}

fn edited(git: &Git) -> Result<Vec<Edited>> {
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
        edited.push(Edited { path, how });
    }
    Ok(edited)
}

fn hooks(folder: &Path) -> Vec<String> {
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

impl Workspace {
    /// What changed from one state to another, each a branch, a commit or a transaction: without
    /// `to` up to the working tree, without `from` since the newest commit.
    pub fn diff(&self, from: Option<&str>, to: Option<&str>) -> Result<Vec<FileChange>> {
        let git = Git::open(self.root())?;
        let from = match from {
            Some(name) => Some(named(&git, name)?),
            None => git.head()?.commit,
        };
        let to = to.map(|name| named(&git, name)).transpose()?;
        between(&git, from, to)
    }

    /// A file as it is committed on the branch that is checked out, or in a state that has a name.
    pub fn read(&self, path: &RepoPath, at: Option<&str>) -> Result<Vec<u8>> {
        let git = Git::open(self.root())?;
        let tree = match at {
            Some(name) => Some(git.tree_of(named(&git, name)?)?),
            None => git.head()?.tree,
        };
        let content = git.content_at(tree, path)?;
        let hint = "`reprise workspace graph` lists the artifacts";
        content.ok_or_else(|| unknown("committed file", path.as_str(), hint))
    }

    /// What one commit or transaction did, against its first parent.
    pub fn diff_of(&self, name: &str) -> Result<Vec<FileChange>> {
        let git = Git::open(self.root())?;
        let id = named(&git, name)?;
        let commit = git.repo.find_commit(id);
        let commit = commit.map_err(WorkspaceError::git("compare two states"))?;
        let before = commit.parent(0).ok().map(|parent| parent.id());
        between(&git, before, Some(id))
    }
}

/// The difference of two commits, or up to the working tree; nothing is before the first.
fn between(git: &Git, from: Option<Oid>, to: Option<Oid>) -> Result<Vec<FileChange>> {
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
    changes(&diff.map_err(compare())?)
}

/// A branch, a commit, or the commit of a transaction of this branch.
fn named(git: &Git, name: &str) -> Result<Oid> {
    let found = resolve(git, name);
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

/// The Orchestrator's own logs are left out: `audit` tells them better.
fn changes(diff: &Diff<'_>) -> Result<Vec<FileChange>> {
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
