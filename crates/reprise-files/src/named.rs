//! Files whose place the user has chosen, as by a link to them; what stands there is still looked
//! at before it is used.

use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};

use crate::error::{FileError, Result};
use crate::folder::{Access, found, read_whole, regular};

/// Opens a regular file without waiting for anything. For reading links are followed; what is
/// written to is no link itself. A new file is its owner's alone.
pub fn open_path(path: &Path, access: Access) -> Result<File> {
    let mut flags = access.flags() | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if access != Access::Read {
        flags |= OFlags::NOFOLLOW;
    }
    let opened = openat(CWD, path, flags, Mode::RUSR | Mode::WUSR);
    regular(opened.map_err(FileError::open("open", path))?, path)
}

/// The same for reading, `None` where there is none.
pub fn open_named(path: &Path) -> Result<Option<File>> {
    found(open_path(path, Access::Read))
}

/// All bytes of such a file; longer ones are refused.
pub fn read_named(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    let file = open_named(path)?;
    file.map(|file| read_whole(file, path, bytes_max))
        .transpose()
}

/// Makes `to` a copy-on-write clone of `from`: the bytes are shared until one of the two changes
/// them. `false` where the file system cannot, and then nothing is at `to`.
pub fn clone_path(from: &Path, to: &Path) -> Result<bool> {
    let source = open_path(from, Access::Read)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(CWD, to, flags, Mode::RUSR | Mode::WUSR);
    let made = File::from(made.map_err(FileError::open("make", to))?);
    let cloned = share(&source, &made);
    if cloned {
        made.sync_all().map_err(FileError::io("sync", to))?;
    } else {
        drop(made);
        unlinkat(CWD, to, AtFlags::empty()).map_err(FileError::open("remove", to))?;
    }
    Ok(cloned)
}

#[cfg(target_os = "linux")]
fn share(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share(_from: &File, _to: &File) -> bool {
    false
}
