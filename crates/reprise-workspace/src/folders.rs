//! The tree's own folders (W2), and what must be so of them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::BranchType;

use crate::durable::Unsynced;
use crate::error::Result;
use crate::files;
use crate::git::{Git, main_of};
use crate::path::TRAIL;

/// Where conflicts of merges are kept.
pub(crate) const CONFLICTS: &str = ".sdlc_ide/logs/merge_conflicts.jsonl";
/// The Orchestrator's folder; it carries the workspace's lock.
pub(crate) const SDLC: &str = ".sdlc_ide";
/// Those of its folders without which nothing goes on.
const OWN_FOLDERS: [&str; 4] = [
    ".sdlc_ide/tmp",
    ".sdlc_ide/tmp/locks",
    ".sdlc_ide/tmp/agents",
    ".sdlc_ide/logs",
];

pub(crate) const FOLDERS: [&str; 15] = [
    ".sdlc_ide/snapshots",
    ".sdlc_ide/tmp",
    ".sdlc_ide/logs",
    "core/prd",
    "core/tsd",
    "core/adr",
    "core/kb",
    "extensions",
    "memory/long_term",
    "memory/episodic",
    "memory/agent_state",
    "embeddings/index",
    "embeddings/vectors",
    "cache",
    "extensions/policy",
];

/// Refuses a tree in which a link, or no folder, stands where one of the Orchestrator's must be.
pub(crate) fn refuse_detours(root: &Path) -> Result<()> {
    for folder in OWN_FOLDERS {
        files::refuse_detours_to(root, folder, folder)?;
    }
    Ok(())
}

/// Whether the tree has been made to its end: its trail is on this branch, or on the shared one.
pub(crate) fn is_made(git: &Git) -> Result<bool> {
    let holds = |tree| git.is_file_at(tree, TRAIL).map(|found| found == Some(true));
    // A detached HEAD has a tree all the same.
    let head = git.repo.head().and_then(|head| head.peel_to_tree());
    if holds(head.ok().map(|tree| tree.id()))? {
        return Ok(true);
    }
    let main = git.repo.find_branch(&main_of(git), BranchType::Local);
    let main = main.and_then(|branch| branch.get().peel_to_tree());
    holds(main.ok().map(|tree| tree.id()))
}

/// Removes a folder that has become empty and those above it, but for the tree's own; what is left
/// is to be synced.
pub(crate) fn drop_empty(root: &Path, mut folder: PathBuf, unsynced: &mut Unsynced) {
    let is_kept = |at: &Path| at == root || FOLDERS.iter().any(|own| at == root.join(own));
    while !is_kept(&folder) {
        let gone = fs::remove_dir(&folder);
        let is_gone = gone.is_ok() || gone.is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if !is_gone || !folder.pop() {
            break;
        }
    }
    if folder.is_dir() {
        unsynced.add(folder);
    }
}
