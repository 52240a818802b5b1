//! A transaction's folder `.sdlc_ide/tmp/tx-ULID/` (W16): what is to be put in place waits there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::Oid;
use reprise_files::{Placed, Stamp};

use crate::durable::Unsynced;
use crate::error::{Result, WorkspaceError};
use crate::layout;
use crate::lock::{self, Held};
use crate::path::RepoPath;
use crate::{files, git};

/// Below the workspace's root.
pub(crate) const STAGES: &str = ".sdlc_ide/tmp";
/// The beginning of a transaction's folder.
const PREFIX: &str = "tx-";

/// The folder of a living transaction; it goes with this value.
#[derive(Debug)]
pub(crate) struct Stage {
    folder: PathBuf,
    /// Held as long as the process lives: whoever sweeps sees that the folder is in use.
    _held: Held,
    files: BTreeMap<RepoPath, (PathBuf, Oid)>,
    /// What the disk has to hold before the next step.
    pub(crate) unsynced: Unsynced,
}

impl Stage {
    pub(crate) fn new(root: &Path, tx: &str) -> Result<Self> {
        layout::refuse_detours(root)?;
        let folder = folder_of(root, tx);
        let mut unsynced = Unsynced::default();
        unsynced.make_folder(&folder)?;
        let held = lock::folder(&folder, "the transaction's folder")?;
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

    /// Writes what `path` is to hold, to be synced; `None` is its end. The same content again costs
    /// nothing.
    pub(crate) fn put(&mut self, path: &RepoPath, content: Option<&[u8]>) -> Result<Option<Oid>> {
        let Some(bytes) = content else {
            self.files.remove(path);
            return Ok(None);
        };
        let id = git::blob_id(bytes)?;
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

    /// Where the content of `path` waits.
    pub(crate) fn waiting(&self, path: &RepoPath) -> Option<&Path> {
        self.files.get(path).map(|(file, _)| file.as_path())
    }

    /// Puts what waits for `path` where it belongs in the tree at `root`, or takes away what stands
    /// there where nothing waits: if that is still as `before`.
    pub(crate) fn place(
        &mut self,
        root: &Path,
        path: &RepoPath,
        is_executable: bool,
        before: Option<Stamp>,
    ) -> Result<Placed> {
        let to = root.join(path.as_str());
        match (self.take(path, is_executable)?, before) {
            (Some(from), before) => {
                self.unsynced.make_folder(to.parent().unwrap_or(root))?;
                files::place(root, &from, &to, before)
            }
            (None, Some(before)) => {
                // By a name of its own: onto another link of the same file nothing is moved.
                let aside = format!("removed-{}", git::blob_id(path.as_str().as_bytes())?);
                files::take_away(root, &to, &self.folder.join(aside), before)
            }
            (None, None) => Ok(Placed::Done),
        }
    }

    /// The file that waits for `path`, a copy of its own where two paths get the same content.
    fn take(&mut self, path: &RepoPath, is_executable: bool) -> Result<Option<PathBuf>> {
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

impl Drop for Stage {
    fn drop(&mut self) {
        // What stays is swept by the next recovery.
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// The folder of a transaction.
pub(crate) fn folder_of(root: &Path, tx: &str) -> PathBuf {
    root.join(STAGES).join(format!("{PREFIX}{tx}"))
}

/// Removes the folders of transactions whose processes died. Returns how many.
pub(crate) fn sweep(root: &Path) -> Result<usize> {
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
