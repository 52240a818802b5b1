//! A file is the old one or the new one, never a part: written beside its place, synced, renamed.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, renameat, unlinkat};

use crate::error::{FileError, Result};
use crate::folder::{Access, Folder};
use crate::found::{Kind, Stamp};
use crate::place::Placed;

/// Ending of what is not whole yet.
const ENDING: &str = "unfinished";
/// Files that may be written for one place at once.
const SLOTS_MAX: usize = 16;
/// How often a name is tried that others free or take at the same moment.
const TRIES_MAX: usize = 64;

impl Folder {
    /// Puts a file in its place, over the one that is there. A link, a pipe or a folder that
    /// stands there is refused.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
        let name = name.as_ref();
        let (above, last) = self.parent(name)?;
        let folder = above.as_ref().unwrap_or(self);
        if let Some(found) = folder.look(last)? {
            refuse_other(found.kind, &folder.path_of(last))?;
        }
        let beside = Unfinished::write(folder, last, bytes)?;
        let moved = renameat(&folder.handle, &beside.name, &folder.handle, last);
        moved.map_err(FileError::io("replace", &self.path_of(name)))?;
        folder.sync()
    }

    /// The same only while what stands there is what was `expected`, nothing where that is `None`.
    /// What somebody else puts there meanwhile stays.
    pub fn replace_if(
        &self,
        name: impl AsRef<Path>,
        bytes: &[u8],
        expected: Option<Stamp>,
    ) -> Result<Placed> {
        let (above, last) = self.parent(name.as_ref())?;
        let folder = above.as_ref().unwrap_or(self);
        let beside = Unfinished::write(folder, last, bytes)?;
        let placed = folder.place(&beside.name, last, expected)?;
        if placed == Placed::Done && expected.is_some() {
            // The one that stood there, which changed places with it.
            folder.remove(&beside.name)?;
        }
        folder.sync()?;
        Ok(placed)
    }

    /// Removes a file only while it is what was `expected`.
    pub fn remove_if(&self, name: impl AsRef<Path>, expected: Stamp) -> Result<Placed> {
        let (above, last) = self.parent(name.as_ref())?;
        let folder = above.as_ref().unwrap_or(self);
        // Its name is free: what stands there is ours, or was left.
        let beside = Unfinished::write(folder, last, b"")?;
        let taken = folder.take_away(last, &beside.name, expected)?;
        if taken == Placed::Done {
            folder.remove(&beside.name)?;
        }
        Ok(taken)
    }
}

fn refuse_other(found: Kind, path: &Path) -> Result<()> {
    let path = path.to_owned();
    match found {
        Kind::File => Ok(()),
        Kind::Link => Err(FileError::Link { path }),
        found => Err(FileError::Kind {
            path,
            found,
            expected: Kind::File,
        }),
    }
}

/// A file beside its place, gone when this is. Its lock says that its writer lives: what a writer
/// left that was killed is cleared by the next one.
struct Unfinished<'a> {
    folder: &'a Folder,
    name: PathBuf,
    file: File,
}

impl<'a> Unfinished<'a> {
    fn write(folder: &'a Folder, last: &Path, bytes: &[u8]) -> Result<Self> {
        let mut beside = Self::begin(folder, last)?;
        let written = beside.file.write_all(bytes);
        let written = written.and_then(|()| beside.file.sync_all());
        written.map_err(FileError::io("write", &folder.path_of(last)))?;
        Ok(beside)
    }

    fn begin(folder: &'a Folder, last: &Path) -> Result<Self> {
        let mut slot = 0;
        for _ in 0..TRIES_MAX {
            let name = slot_name(last, slot);
            match folder.file(&name, Access::New) {
                Ok(file) => {
                    if is_own(folder, &name, &file)? {
                        return Ok(Self { folder, name, file });
                    }
                }
                Err(error) if error.is_taken() => {
                    if !clear(folder, &name)? {
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
            beside: folder.path_of(slot_name(last, 0)),
        })
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // It was renamed, or what is left of it is of no use to anybody. Still locked: a name that
        // another writer has taken meanwhile is not this file.
        if is_at(self.folder, &self.name, &self.file) {
            let _gone = unlinkat(&self.folder.handle, &self.name, AtFlags::empty()).is_ok();
        }
    }
}

/// Locks a new file. Another writer may have taken it for one that was left, and cleared it.
fn is_own(folder: &Folder, name: &Path, file: &File) -> Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(is_at(folder, name, file)),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(FileError::io("lock", &folder.path_of(name))(error)),
    }
}

/// Removes what a writer left that is gone. Answers whether the name may be tried again.
fn clear(folder: &Folder, name: &Path) -> Result<bool> {
    let file = match folder.file(name, Access::Read) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(true),
        // Something that no writer of ours has made, or that is not ours to read.
        Err(_) => return Ok(false),
    };
    if file.try_lock().is_err() {
        return Ok(false);
    }
    if is_at(folder, name, &file) {
        folder.remove(name)?;
    }
    Ok(true)
}

fn is_at(folder: &Folder, name: &Path, file: &File) -> bool {
    let at = folder.look(name).ok().flatten();
    let own = file.metadata().ok();
    let key = |stamp: Stamp| (stamp.device, stamp.inode);
    let own = own.map(|own| key(Stamp::from(&own)));
    own.is_some() && at.map(|at| key(at.stamp)) == own
}

fn slot_name(last: &Path, slot: usize) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(last);
    name.push(match slot {
        0 => format!(".{ENDING}"),
        slot => format!(".{slot}.{ENDING}"),
    });
    name.into()
}

#[cfg(test)]
mod tests;
