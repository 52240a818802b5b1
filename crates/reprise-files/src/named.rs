//! Files whose place the user has chosen, as by a link to them; what stands there is still looked
//! at before it is used.

use std::fs::File;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::error::FileError;
use crate::folder::{read_whole, regular};

/// Opens a regular file for reading, `None` where there is none. Links are followed, and nothing
/// is waited for.
pub fn open_named(path: &Path) -> Result<Option<File>, FileError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = openat(CWD, path, flags, Mode::empty());
    match opened.map_err(FileError::open("open", path)) {
        Ok(opened) => regular(opened, path).map(Some),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

/// All bytes of such a file; longer ones are refused.
pub fn read_named(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, FileError> {
    let file = open_named(path)?;
    file.map(|file| read_whole(file, path, bytes_max))
        .transpose()
}
