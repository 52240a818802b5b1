//! The file of a data directory that lists what is paused, for every process of this machine.

use std::path::Path;

use reprise_files::{FileError, Folder};

const FILE: &str = "pauses.json";
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Reads the file; `None` if there is none or it cannot be read.
#[must_use]
pub fn read_pauses(data: &Path) -> Option<String> {
    let folder = Folder::find(data).ok()??;
    folder.read_text(FILE, FILE_BYTES_MAX).ok()?
}

/// Replaces the file.
///
/// # Errors
///
/// If the folder or the file cannot be written.
pub fn save_pauses(data: &Path, text: &str) -> Result<(), FileError> {
    Folder::open_or_create(data)?.replace(FILE, text.as_bytes())
}
