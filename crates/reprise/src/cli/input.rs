//! Where a command reads from: a file, or standard input.

use std::io::Read;

use reprise_files::Access;

use crate::cli::prelude::*;

/// A file, or standard input for `-`.
pub(super) fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(fs_err::File::open(file)?))
}

/// The same of a copy that stands somewhere: a regular file.
pub(super) fn open_copy(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return open(file);
    }
    Ok(Box::new(reprise_files::open_path(file, Access::Read)?))
}
