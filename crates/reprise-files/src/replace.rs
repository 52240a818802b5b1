//! Replaces a file so that it is the old one or the new one, never a part: the new one is written
//! to another name in the folder, synced and renamed.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, renameat, unlinkat};

use crate::error::{FileError, FileResult};
use crate::folder::{Folder, OpenMode};
use crate::moves::ChangeOutcome;
use crate::status::{FileFingerprint, FileKind};

/// Suffix of the name of an unfinished file.
const UNFINISHED_SUFFIX: &str = "unfinished";
/// Most files that may be written for one name at once.
const SLOTS_MAX: usize = 16;
/// How often a free name is searched for while other writers use and free names.
const TRIES_MAX: usize = 64;

impl Folder {
    /// Replaces a file, or creates it. A link, a pipe or a folder of that name is refused.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> FileResult<()> {
        let name = name.as_ref();
        let (parent, last) = self.resolve_parent(name)?;
        let folder = parent.as_ref().unwrap_or(self);
        if let Some(found) = folder.find_status(last)? {
            ensure_file_kind(found.kind, &folder.path_of(last))?;
        }
        let unfinished = UnfinishedFile::create_with_bytes(folder, last, bytes)?;
        let renamed = renameat(&folder.handle, &unfinished.name, &folder.handle, last);
        renamed.map_err(FileError::from_io("replace", &self.path_of(name)))?;
        folder.sync()
    }

    /// Replaces a file if it is still as `expected`, or creates it if `expected` is `None` and
    /// there is none. A version that another program writes meanwhile stays.
    pub fn replace_if_unchanged(
        &self,
        name: impl AsRef<Path>,
        bytes: &[u8],
        expected: Option<FileFingerprint>,
    ) -> FileResult<ChangeOutcome> {
        let (parent, last) = self.resolve_parent(name.as_ref())?;
        let folder = parent.as_ref().unwrap_or(self);
        let unfinished = UnfinishedFile::create_with_bytes(folder, last, bytes)?;
        let outcome = folder.move_if_unchanged(&unfinished.name, last, expected)?;
        if outcome == ChangeOutcome::Applied && expected.is_some() {
            // The earlier file, which was exchanged with the new one.
            folder.remove_file(&unfinished.name)?;
        }
        folder.sync()?;
        Ok(outcome)
    }

    /// Removes a file if it is still as `expected`.
    pub fn remove_if_unchanged(
        &self,
        name: impl AsRef<Path>,
        expected: FileFingerprint,
    ) -> FileResult<ChangeOutcome> {
        let (parent, last) = self.resolve_parent(name.as_ref())?;
        let folder = parent.as_ref().unwrap_or(self);
        // The name of the unfinished file is ours, so the file can be moved to it.
        let unfinished = UnfinishedFile::create_with_bytes(folder, last, b"")?;
        let outcome = folder.move_aside_if_unchanged(last, &unfinished.name, expected)?;
        if outcome == ChangeOutcome::Applied {
            folder.remove_file(&unfinished.name)?;
        }
        Ok(outcome)
    }
}

fn ensure_file_kind(found: FileKind, path: &Path) -> FileResult<()> {
    let path = path.to_owned();
    match found {
        FileKind::File => Ok(()),
        FileKind::Link => Err(FileError::Link { path }),
        found => Err(FileError::Kind {
            path,
            found,
            expected: FileKind::File,
        }),
    }
}

/// A file that is being written under another name, and is removed when this is dropped. Its lock
/// shows that its writer is alive: the next writer removes the file of a writer that was killed.
struct UnfinishedFile<'a> {
    folder: &'a Folder,
    name: PathBuf,
    file: File,
}

impl<'a> UnfinishedFile<'a> {
    fn create_with_bytes(folder: &'a Folder, last: &Path, bytes: &[u8]) -> FileResult<Self> {
        let mut unfinished = Self::create_locked(folder, last)?;
        let written = unfinished.file.write_all(bytes);
        let written = written.and_then(|()| unfinished.file.sync_all());
        written.map_err(FileError::from_io("write", &folder.path_of(last)))?;
        Ok(unfinished)
    }

    fn create_locked(folder: &'a Folder, last: &Path) -> FileResult<Self> {
        let mut slot = 0;
        for _ in 0..TRIES_MAX {
            let name = slot_name(last, slot);
            match folder.open_file(&name, OpenMode::CreateNew) {
                Ok(file) => {
                    if try_lock_new(folder, &name, &file)? {
                        return Ok(Self { folder, name, file });
                    }
                }
                Err(error) if error.is_taken() => {
                    if !remove_abandoned(folder, &name)? {
                        slot += 1;
                    }
                }
                Err(error) => return Err(error),
            }
            if slot == SLOTS_MAX {
                break;
            }
        }
        Err(FileError::Busy {
            path: folder.path_of(last),
            unfinished: folder.path_of(slot_name(last, 0)),
        })
    }
}

impl Drop for UnfinishedFile<'_> {
    fn drop(&mut self) {
        // The file was renamed, or nobody needs it any more. It is still locked, and a file that
        // another writer has created under its name meanwhile is not removed.
        if is_file_at(self.folder, &self.name, &self.file) {
            let _removed = unlinkat(&self.folder.handle, &self.name, AtFlags::empty()).is_ok();
        }
    }
}

/// Locks a new file. Returns `false` if another writer took it for an abandoned one and removed it.
fn try_lock_new(folder: &Folder, name: &Path, file: &File) -> FileResult<bool> {
    match file.try_lock() {
        Ok(()) => Ok(is_file_at(folder, name, file)),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => {
            Err(FileError::from_io("lock", &folder.path_of(name))(error))
        }
    }
}

/// Removes the file of a writer that has ended. Returns whether the name may be tried again.
fn remove_abandoned(folder: &Folder, name: &Path) -> FileResult<bool> {
    let file = match folder.open_file(name, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(true),
        // It was not created by one of our writers, or we may not read it.
        Err(_) => return Ok(false),
    };
    if file.try_lock().is_err() {
        return Ok(false);
    }
    if is_file_at(folder, name, &file) {
        folder.remove_file(name)?;
    }
    Ok(true)
}

fn is_file_at(folder: &Folder, name: &Path, file: &File) -> bool {
    let at = folder.find_status(name).ok().flatten();
    let own = file.metadata().ok();
    let key = |stamp: FileFingerprint| (stamp.device, stamp.inode);
    let own = own.map(|own| key(FileFingerprint::from(&own)));
    own.is_some() && at.map(|at| key(at.fingerprint)) == own
}

fn slot_name(last: &Path, slot: usize) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(last);
    name.push(match slot {
        0 => format!(".{UNFINISHED_SUFFIX}"),
        slot => format!(".{slot}.{UNFINISHED_SUFFIX}"),
    });
    name.into()
}

#[cfg(test)]
mod tests;
