//! Where a command reads from: a file, or standard input.

use std::io::Read;
use std::path::Path;

/// A file, or standard input for `-`.
pub(super) fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    Ok(Box::new(fs_err::File::open(file)?))
}
