//! Files whose path the user has chosen, so that links are followed; they are still checked before
//! they are used.

use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};
use rustix::io::Errno;

use crate::error::{FileError, FileResult};
use crate::folder::{OpenMode, ensure_regular_file, none_if_missing, read_all};

/// Opens a regular file without waiting for anything. Links are followed for reading only; a file
/// to write to must not be a link itself. Only its owner may access a new file.
pub fn open_path(path: &Path, access: OpenMode) -> FileResult<File> {
    let mut flags = access.flags() | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if access != OpenMode::Read {
        flags |= OFlags::NOFOLLOW;
    }
    let opened = openat(CWD, path, flags, Mode::RUSR | Mode::WUSR);
    ensure_regular_file(opened.map_err(FileError::from_open("open", path))?, path)
}

/// Opens a file for reading as [`open_path`] does; `None` if it does not exist.
pub fn open_if_exists(path: &Path) -> FileResult<Option<File>> {
    none_if_missing(open_path(path, OpenMode::Read))
}

/// Reads all bytes of a file, `None` if it does not exist; a longer file is refused.
pub fn read_if_exists(path: &Path, bytes_max: u64) -> FileResult<Option<Vec<u8>>> {
    let file = open_if_exists(path)?;
    file.map(|file| read_all(file, path, bytes_max)).transpose()
}

/// Returns how many bytes the file system of a path has free for this user.
pub fn free_bytes(path: &Path) -> FileResult<u64> {
    let found = rustix::fs::statvfs(path).map_err(FileError::from_open("look at", path))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Creates `to` as a copy-on-write clone of `from`: the bytes are shared until one of the two
/// changes them. Returns `false` if the file system cannot clone; then `to` does not exist.
pub fn clone_path(from: &Path, to: &Path) -> FileResult<bool> {
    let source = open_path(from, OpenMode::Read)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let created = openat(CWD, to, flags, Mode::RUSR | Mode::WUSR);
    let created = File::from(created.map_err(FileError::from_open("create", to))?);
    let cloned = clone_blocks(&source, &created);
    if cloned {
        created.sync_all().map_err(FileError::from_io("sync", to))?;
    } else {
        drop(created);
        unlinkat(CWD, to, AtFlags::empty()).map_err(FileError::from_open("remove", to))?;
    }
    Ok(cloned)
}

/// Renames `from` to `to`, which must not exist, in one step. Returns `false`, and changes nothing,
/// if the file system cannot do that.
pub fn move_path_to_free(from: &Path, to: &Path) -> FileResult<bool> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
        Err(errno) => Err(FileError::from_io("create", to)(errno)),
    }
}

#[cfg(target_os = "linux")]
fn clone_blocks(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn clone_blocks(_from: &File, _to: &File) -> bool {
    false
}
