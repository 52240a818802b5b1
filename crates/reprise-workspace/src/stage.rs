//! A transaction's folder `.sdlc_ide/tmp/tx-ULID/`, in which new content waits for the commit.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::Oid;
use reprise_files::{ChangeOutcome, FileFingerprint};

use crate::error::{Result, WorkspaceError};
use crate::files;
use crate::git::blob::blob_id;
use crate::layout;
use crate::lock::{self, LockGuard};
use crate::sync_queue::SyncQueue;
use reprise_workspace_types::RepoPath;

/// Below the workspace's root.
pub(crate) const STAGES: &str = ".sdlc_ide/tmp";
/// The beginning of a transaction's folder.
const PREFIX: &str = "tx-";

/// What is to become of paths: new content, or `None` for their end.
pub(crate) type Changes = BTreeMap<RepoPath, Option<Vec<u8>>>;

/// The folder of a living transaction; it goes with this value.
#[derive(Debug)]
pub(crate) struct StagingFolder {
    folder: PathBuf,
    /// Locks the folder while the process lives, so that a sweep sees that it is in use.
    _held: LockGuard,
    files: BTreeMap<RepoPath, (PathBuf, Oid)>,
    /// What the disk has to hold before the next step.
    pub(crate) unsynced: SyncQueue,
}

impl StagingFolder {
    pub(crate) fn new(root: &Path, tx: &str) -> Result<Self> {
        layout::refuse_detours(root)?;
        let folder = staging_path(root, tx);
        let mut unsynced = SyncQueue::default();
        unsynced.make_folder(&folder)?;
        let held = lock::lock_folder(&folder, "the transaction's folder")?;
        Ok(Self {
            folder,
            _held: held,
            files: BTreeMap::new(),
            unsynced,
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stages the new content of `path`; `None` removes it. Equal content is written once. The
    /// caller syncs it.
    pub(crate) fn write_content(
        &mut self,
        path: &RepoPath,
        content: Option<&[u8]>,
    ) -> Result<Option<Oid>> {
        let Some(bytes) = content else {
            self.files.remove(path);
            return Ok(None);
        };
        let id = blob_id(bytes)?;
        if self.files.get(path).is_some_and(|(_, there)| *there == id) {
            return Ok(Some(id));
        }
        let file = self.folder.join(id.to_string());
        files::remove(&file)?;
        files::write_unsynced(&file, bytes)?;
        self.unsynced.add(&file);
        self.files.insert(path.clone(), (file, id));
        Ok(Some(id))
    }

    /// Returns the staged file of `path`.
    pub(crate) fn staged_file(&self, path: &RepoPath) -> Option<&Path> {
        self.files.get(path).map(|(file, _)| file.as_path())
    }

    /// Moves the staged content of `path` into the tree at `root`, or removes the file there if
    /// nothing is staged: only if the file is still as `before`.
    pub(crate) fn place_file(
        &mut self,
        root: &Path,
        path: &RepoPath,
        is_executable: bool,
        before: Option<FileFingerprint>,
    ) -> Result<ChangeOutcome> {
        let to = root.join(path.as_str());
        match (self.take_staged_file(path, is_executable)?, before) {
            (Some(from), before) => {
                self.unsynced.make_folder(to.parent().unwrap_or(root))?;
                files::move_into_place(root, &from, &to, before)
            }
            (None, Some(before)) => {
                // By a name of its own: onto another link of the same file nothing is moved.
                let aside = format!("removed-{}", blob_id(path.as_str().as_bytes())?);
                files::move_aside(root, &to, &self.folder.join(aside), before)
            }
            (None, None) => Ok(ChangeOutcome::Applied),
        }
    }

    /// Takes the staged file of `path`, or a copy if two paths get the same content.
    fn take_staged_file(
        &mut self,
        path: &RepoPath,
        is_executable: bool,
    ) -> Result<Option<PathBuf>> {
        let Some((file, _)) = self.files.remove(path) else {
            return Ok(None);
        };
        let io = || WorkspaceError::io("cannot prepare", &file);
        let mut own = file.clone();
        if self.files.values().any(|(other, _)| *other == file) {
            own = self.folder.join(format!("copy-{}", self.files.len()));
            fs::copy(&file, &own).map_err(io())?;
            files::sync(&own)?;
        }
        if is_executable {
            fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).map_err(io())?;
        }
        Ok(Some(own))
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        // What stays is swept by the next recovery.
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Returns the folder of a transaction.
pub(crate) fn staging_path(root: &Path, tx: &str) -> PathBuf {
    root.join(STAGES).join(format!("{PREFIX}{tx}"))
}

/// Removes the folders of transactions whose processes died. Returns how many.
pub(crate) fn remove_dead_folders(root: &Path) -> Result<usize> {
    let Ok(entries) = fs::read_dir(root.join(STAGES)) else {
        return Ok(0);
    };
    let mut swept = 0;
    for entry in entries.flatten() {
        let is_stage = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let path = entry.path();
        if is_stage && lock::is_free(&path) {
            fs::remove_dir_all(&path).map_err(WorkspaceError::io("cannot remove", &path))?;
            swept += 1;
        }
    }
    Ok(swept)
}
