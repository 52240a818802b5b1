//! What stands in a workspace, for reading: status, history, graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, Utc};
use git2::{Sort, Status as GitStatus, StatusOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Result, WorkspaceError};
use crate::foreign;
use crate::git::{Git, main_of};
use crate::graph::{Artifacts, Node};
use crate::path::{Class, RepoPath};
use crate::rules;
use crate::transaction::Changes;
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
                tx: foreign::transaction_of(&commit),
                actor: foreign::actor_of(&commit)
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
        let head = git.head()?;
        let changes = Changes::new();
        let artifacts = Artifacts {
            git: &git,
            tree: head.tree,
            changes: &changes,
        };
        artifacts.nodes()
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
