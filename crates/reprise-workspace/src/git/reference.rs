//! Moving a branch by git's own protocol: lock file, comparison, rename.
//!
//! The lock file is a hard link to a token in the transaction's folder, so that one which a dead
//! process left behind is known for ours and may be removed; nobody else's ever is.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use git2::Oid;

use super::{Git, Head};
use crate::error::{Result, WorkspaceError, allow_missing};
use crate::stage::StagingFolder;
use crate::sync_queue::SyncQueue;
use crate::{files, lock};

/// How often a lock file of git is waited for: about half a minute.
const TRIES_MAX: u32 = 6_000;
/// The token's name in a transaction's folder.
const TOKEN: &str = "ref.token";

/// The name there of a reference that is to be set.
const OWN: &str = "own.ref";

/// A lock file of git's that we hold.
#[derive(Debug)]
pub(crate) struct LockFile {
    path: PathBuf,
    token: PathBuf,
    /// Set once the lock file has become the file itself.
    is_spent: bool,
}

impl LockFile {
    /// Takes `path`, which is git's name for the lock, as a link to a token that is there, in the
    /// folder of a transaction.
    pub(crate) fn acquire(path: &Path, token: PathBuf) -> Result<Self> {
        let stages = token.ancestors().nth(2).unwrap_or(&token);
        for attempt in 0..TRIES_MAX {
            match fs::hard_link(&token, path) {
                Ok(()) => {
                    return Ok(Self {
                        path: path.to_owned(),
                        token,
                        is_spent: false,
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    if attempt % 64 == 0 && remove_if_ours(path, stages)? {
                        continue;
                    }
                    lock::pause(attempt);
                }
                Err(error) => return Err(WorkspaceError::io("cannot lock", path)(error)),
            }
        }
        let what = format!("git's lock `{}`", path.display());
        Err(WorkspaceError::busy(what))
    }

    /// Lets the lock file become the file that it locks.
    pub(crate) fn replace_file(mut self, file: &Path) -> Result<()> {
        fs::rename(&self.path, file).map_err(WorkspaceError::io("cannot write", file))?;
        self.is_spent = true;
        Ok(())
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.is_spent && is_link_to(&self.path, &self.token) {
            // If it cannot be removed it gets another name, which the next sweep of the folder
            // removes.
            if fs::remove_file(&self.path).is_err() {
                drop(fs::rename(&self.path, self.token.with_extension("spent")));
            }
        }
    }
}

fn is_link_to(path: &Path, token: &Path) -> bool {
    let identity = |path| {
        fs::symlink_metadata(path)
            .map(|found| (found.dev(), found.ino()))
            .ok()
    };
    identity(path).is_some_and(|found| identity(token) == Some(found))
}

/// Removes a lock file that a dead transaction left. Only under the workspace's lock: then no
/// living transaction holds one.
pub(crate) fn remove_if_ours(path: &Path, stages: &Path) -> Result<bool> {
    let Ok(entries) = fs::read_dir(stages) else {
        return Ok(false);
    };
    for stage in entries.flatten() {
        let Ok(tokens) = fs::read_dir(stage.path()) else {
            continue;
        };
        for token in tokens.flatten() {
            let token = token.path();
            if token.extension().is_some_and(|end| end == "token") && is_link_to(path, &token) {
                files::remove(path)?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Makes the token of a lock; its content is what the locked file is to become.
pub(crate) fn make_token(token: &Path, content: &[u8]) -> Result<()> {
    files::remove(token)?;
    files::write_unsynced(token, content)
}

impl Git {
    /// Returns the lock file of a branch.
    pub(crate) fn reference_lock_path(&self, reference: &str) -> PathBuf {
        self.repo.commondir().join(format!("{reference}.lock"))
    }

    /// Writes what the branch is to become, for [`Self::move_branch`], once it is synced.
    pub(crate) fn stage_branch_move(
        &self,
        head: &Head,
        commit: Oid,
        stage: &mut StagingFolder,
    ) -> Result<()> {
        let file = self.repo.commondir().join(&head.reference);
        let folder = file.parent().unwrap_or(self.repo.commondir());
        stage.unsynced.make_folder(folder)?;
        let token = stage.folder().join(TOKEN);
        make_token(&token, format!("{commit}\n").as_bytes())?;
        stage.unsynced.add(token);
        Ok(())
    }

    /// Moves the branch from where `head` says to what was prepared, if nobody moved it meanwhile:
    /// the moment at which a transaction has happened. Returns `false` if it has moved.
    /// [`Self::log_branch_move`] follows.
    pub(crate) fn move_branch(&self, head: &Head, stage: &StagingFolder) -> Result<bool> {
        let file = self.repo.commondir().join(&head.reference);
        let path = self.reference_lock_path(&head.reference);
        let lock = LockFile::acquire(&path, stage.folder().join(TOKEN))?;
        let now = allow_missing(self.repo.refname_to_id(&head.reference), "read the branch")?;
        if now != head.commit {
            return Ok(false);
        }
        lock.replace_file(&file)?;
        Ok(true)
    }

    /// Sets a reference that is ours alone, whatever it was: by one rename, so that a crash leaves
    /// no lock behind. It is for the caller to see it synced.
    pub(crate) fn set_reference(
        &self,
        name: &str,
        id: Oid,
        stage: &mut StagingFolder,
    ) -> Result<()> {
        let file = self.repo.commondir().join(name);
        let folder = file.parent().unwrap_or(self.repo.commondir());
        stage.unsynced.make_folder(folder)?;
        let waiting = stage.folder().join(OWN);
        make_token(&waiting, format!("{id}\n").as_bytes())?;
        fs::rename(&waiting, &file).map_err(WorkspaceError::io("cannot write", &file))?;
        stage.unsynced.add(folder);
        stage.unsynced.add(file);
        Ok(())
    }

    /// Removes a reference that is ours alone without a lock that a crash would leave behind,
    /// unless git has packed it.
    pub(crate) fn remove_reference(&self, name: &str) -> Result<()> {
        let failed = || WorkspaceError::git("take the reference away");
        if self.repo.head().is_ok_and(|head| head.name() == Ok(name)) {
            let why = git2::Error::from_str("it is checked out; check out another branch");
            return Err(failed()(why));
        }
        files::remove(&self.repo.commondir().join(name))?;
        match self.repo.find_reference(name) {
            Ok(mut packed) => packed.delete().map_err(failed()),
            Err(_) => Ok(()),
        }
    }

    /// Writes a branch's move to the reflog, and queues the files to sync.
    pub(crate) fn log_branch_move(
        &self,
        head: &Head,
        commit: Oid,
        why: &str,
        at: DateTime<Utc>,
        unsynced: &mut SyncQueue,
    ) -> Result<()> {
        let file = self.repo.commondir().join(&head.reference);
        unsynced.add(file.parent().unwrap_or(self.repo.commondir()));
        let before = head
            .commit
            .map_or_else(|| "0".repeat(40), |id| id.to_string());
        let line = format!(
            "{before} {commit} orchestrator <orchestrator@agents.reprise.invalid> {} +0000\t\
             workspace: {why}\n",
            at.timestamp()
        );
        let of_branch = self.repo.commondir().join("logs").join(&head.reference);
        for path in [of_branch, self.repo.path().join("logs/HEAD")] {
            if let Some(folder) = path.parent() {
                unsynced.make_folder(folder)?;
            }
            files::append_to_own(&path, line.as_bytes())?;
            unsynced.add(path);
        }
        Ok(())
    }
}
