//! The tree of ADR-008: its folders.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::files;
use crate::sync_queue::SyncQueue;

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

/// Refuses a tree in which one of the Orchestrator's folders is a link or a file.
pub(crate) fn refuse_detours(root: &Path) -> Result<()> {
    for folder in OWN_FOLDERS {
        files::refuse_detours_to(root, folder, folder)?;
    }
    Ok(())
}

/// Removes a folder that has become empty and those above it, but for the tree's own; what is left
/// is to be synced.
pub(crate) fn remove_empty_folders(root: &Path, mut folder: PathBuf, unsynced: &mut SyncQueue) {
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
