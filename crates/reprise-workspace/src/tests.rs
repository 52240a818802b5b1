//! Whole transactions on a real repository, with git itself as the referee.

mod agreement;
mod basics;
mod crash;
mod crowd;
mod governing;
mod guarded;
mod hostile;
mod looking;
mod merging;
mod projecting;
mod snapshots;
mod teams;
mod wedges;

use std::path::Path;
use std::sync::Arc;

use reprise_tests::{assert_lacks, run_git};
use reprise_types::SystemClock;
use tempfile::TempDir;

use crate::{Actor, Receipt, RepoPath, Result, Workspace, WriteRequest};

pub(crate) const PRD: &str = "core/prd/PRD-001.json";

/// A new workspace in a folder that goes with it.
pub(crate) fn workspace() -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, _) = Workspace::init(folder.path(), Arc::new(SystemClock)).unwrap();
    (folder, workspace)
}

pub(crate) fn actor(name: &str) -> Actor {
    Actor::new(name).unwrap()
}

pub(crate) fn write(workspace: &Workspace, actor: &str, path: &str, text: &str) -> Result<Receipt> {
    write_all(workspace, actor, &[(path, Some(text))])
}

/// Writes or removes files in one transaction.
pub(crate) fn write_all(
    workspace: &Workspace,
    actor: &str,
    changes: &[(&str, Option<&str>)],
) -> Result<Receipt> {
    let changes = changes.iter().map(|(path, text)| {
        let content = text.map(|text| text.as_bytes().to_vec());
        Ok((RepoPath::new(path)?, content))
    });
    workspace.write(&WriteRequest {
        actor: Actor::new(actor)?,
        changes: changes.collect::<Result<_>>()?,
        message: None,
    })
}

/// Returns whether plain git succeeded, and what it said.
pub(crate) fn try_git(root: &Path, arguments: &[&str]) -> (bool, String) {
    let done = reprise_tests::try_run_git(root, arguments);
    match done.code {
        Some(0) => (true, done.stdout),
        _ => (false, done.stdout + &done.stderr),
    }
}

/// What every workspace at rest is: clean for git, sound, without a lock or a loose end.
pub(crate) fn assert_at_rest(root: &Path) {
    assert_eq!(run_git(root, &["status", "--porcelain"]), "");
    let fsck = run_git(root, &["fsck", "--strict", "--no-dangling"]);
    assert_lacks!(fsck, "error", "missing");
    assert!(crate::wal::read(root).unwrap().open.is_empty());
    for lock in [".git/index.lock", ".git/refs/heads/main.lock"] {
        assert!(!root.join(lock).exists(), "{lock}");
    }
    let left: Vec<_> = std::fs::read_dir(root.join(".sdlc_ide/tmp"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("tx-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
