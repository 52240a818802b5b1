//! Locks that a dead holder cannot keep: the kernel lets go of them with the process.
//!
//! The workspace's lock is on its folder `.sdlc_ide` itself, an artifact's on a file of its own
//! that its last holder removes.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reprise_types::sha256_hex;
use reprise_workspace_types::RepoPath;

use crate::error::{Result, WorkspaceError};
use crate::files;

/// How often a lock is tried before its holder is said to be stuck: a minute at the longest pause.
const TRIES_MAX: u32 = 12_000;
/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(5);

/// A lock that is held until this value goes.
#[derive(Debug)]
pub(crate) struct LockGuard {
    _file: File,
    /// The file to remove at the end, where the lock has one of its own.
    own: Option<PathBuf>,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if let Some(path) = &self.own {
            // Still held: nobody can have taken it meanwhile. If it stays, `recover` removes it.
            drop(std::fs::remove_file(path));
        }
    }
}

fn wait_for_lock(file: &File, path: &Path, what: &str) -> Result<()> {
    for attempt in 0..TRIES_MAX {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => pause(attempt),
            Err(TryLockError::Error(error)) => {
                return Err(WorkspaceError::io("cannot lock", path)(error));
            }
        }
    }
    Err(WorkspaceError::busy(what))
}

/// Waits a little, and longer each time.
pub(crate) fn pause(attempt: u32) {
    let pause = Duration::from_micros(100 << attempt.min(6));
    std::thread::sleep(pause.min(PAUSE_MAX));
}

/// Locks a folder; waits for its holder.
pub(crate) fn lock_folder(path: &Path, what: &str) -> Result<LockGuard> {
    let file = files::open_folder(path).map_err(WorkspaceError::io("cannot open", path))?;
    wait_for_lock(&file, path, what)?;
    Ok(LockGuard {
        _file: file,
        own: None,
    })
}

/// Returns whether nobody holds a folder.
pub(crate) fn is_free(path: &Path) -> bool {
    files::open_folder(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Locks artifacts, in the order of their paths so that no two callers wait for each other.
pub(crate) fn lock_artifacts<'a>(
    folder: &Path,
    paths: impl Iterator<Item = &'a RepoPath>,
) -> Result<Vec<LockGuard>> {
    files::make_folder(folder)?;
    let mut paths: Vec<&RepoPath> = paths.collect();
    paths.sort_unstable();
    paths.dedup();
    let mut held = Vec::with_capacity(paths.len());
    for path in paths {
        held.push(lock_artifact(folder, path)?);
    }
    Ok(held)
}

fn lock_artifact(folder: &Path, path: &RepoPath) -> Result<LockGuard> {
    let own = folder.join(sha256_hex(path.as_str().as_bytes()));
    let io = || WorkspaceError::io("cannot lock", &own);
    // The previous holder may have removed the file that we waited on: then it is no lock.
    for _ in 0..TRIES_MAX {
        let file = files::open_to_append(&own)?;
        wait_for_lock(&file, &own, &format!("`{path}`"))?;
        let ours = file.metadata().map_err(io())?.ino();
        if files::find_metadata(&own)?.is_some_and(|there| there.ino() == ours) {
            return Ok(LockGuard {
                _file: file,
                own: Some(own),
            });
        }
    }
    Err(WorkspaceError::busy(format!("`{path}`")))
}

/// Removes the files of artifact locks whose holders died.
pub(crate) fn remove_dead_locks(folder: &Path) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(file) = files::open_unfollowed(&path) else {
            continue;
        };
        if file.try_lock().is_ok() {
            files::remove(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn an_artifact_has_one_holder_at_a_time_and_no_lock_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["core/kb/a", "core/kb/b"].map(RepoPath::trusted);
        let (inside, total) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for turn in 0..8 {
                let (folder, inside, total) = (folder.path(), &inside, &total);
                let mut paths = paths.clone();
                scope.spawn(move || {
                    // Each asks in an order of its own.
                    paths.rotate_left(turn % 2);
                    for _ in 0..100 {
                        let held = lock_artifacts(folder, paths.iter()).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        total.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 800);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
