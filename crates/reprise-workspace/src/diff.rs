//! What changed between two states of the tree, file by file (`workspace diff`).
//!
//! The Orchestrator's own logs are left out: `audit` tells them better.

use git2::{Diff, DiffOptions, Oid, Patch, Sort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Result, WorkspaceError};
use crate::foreign::transaction_of;
use crate::git::Git;
use crate::merge::resolve;
use crate::path::{Class, RepoPath};
use crate::workspace::Workspace;

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
        let compare = || WorkspaceError::git("compare two states");
        let from = match from {
            Some(name) => Some(named(&git, name)?),
            None => git.head()?.commit,
        };
        let tree = |id: Oid| git.repo.find_commit(id).and_then(|commit| commit.tree());
        let from = from.map(tree).transpose().map_err(compare())?;
        let mut options = options();
        let diff = if let Some(name) = to {
            let to = tree(named(&git, name)?).map_err(compare())?;
            git.repo
                .diff_tree_to_tree(from.as_ref(), Some(&to), Some(&mut options))
        } else {
            git.refuse_pipes()?;
            git.repo
                .diff_tree_to_workdir_with_index(from.as_ref(), Some(&mut options))
        };
        changes(&diff.map_err(compare())?)
    }

    /// A file as it is committed on the branch that is checked out, or in a state that has a name.
    pub fn read(&self, path: &RepoPath, at: Option<&str>) -> Result<Vec<u8>> {
        let git = Git::open(self.root())?;
        let tree = match at {
            Some(name) => Some(git.tree_of(named(&git, name)?)?),
            None => git.head()?.tree,
        };
        let content = git.content_at(tree, path)?;
        content.ok_or_else(|| WorkspaceError::Unknown {
            what: "committed file",
            name: path.to_string(),
            hint: "`reprise workspace graph` lists the artifacts",
        })
    }

    /// What one commit or transaction did, against its first parent.
    pub fn diff_of(&self, name: &str) -> Result<Vec<FileChange>> {
        let git = Git::open(self.root())?;
        let compare = || WorkspaceError::git("compare two states");
        let id = named(&git, name)?;
        let commit = git.repo.find_commit(id).map_err(compare())?;
        let tree = commit.tree().map_err(compare())?;
        let before = commit.parent(0).and_then(|parent| parent.tree()).ok();
        let diff = git
            .repo
            .diff_tree_to_tree(before.as_ref(), Some(&tree), Some(&mut options()));
        changes(&diff.map_err(compare())?)
    }
}

fn options() -> DiffOptions {
    let mut options = DiffOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .show_untracked_content(true);
    options
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
        if transaction_of(&commit).as_deref() == Some(name) {
            return Ok(commit.id());
        }
    }
    found
}

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
