//! The files of a data directory that list what is paused and what was changed from where, for
//! every process of this machine.

use std::path::Path;

use reprise_files::{FileError, Folder};

const PAUSES: &str = "pauses.json";
const PAUSES_BYTES_MAX: u64 = 1024 * 1024;
const CHANGES: &str = "changes.json";
const CHANGES_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads the file of pauses; `None` if there is none or it cannot be read.
#[must_use]
pub fn read_pauses(data: &Path) -> Option<String> {
    let folder = Folder::find(data).ok()??;
    folder.read_text(PAUSES, PAUSES_BYTES_MAX).ok()?
}

/// Replaces the file of pauses.
///
/// # Errors
///
/// If the folder or the file cannot be written.
pub fn save_pauses(data: &Path, text: &str) -> Result<(), FileError> {
    Folder::open_or_create(data)?.replace(PAUSES, text.as_bytes())
}

/// Reads the file of changes; `None` if there is none or it cannot be read.
#[must_use]
pub fn read_changes(data: &Path) -> Option<String> {
    let folder = Folder::find(data).ok()??;
    folder.read_text(CHANGES, CHANGES_BYTES_MAX).ok()?
}

/// Replaces the file of changes.
///
/// # Errors
///
/// If the folder or the file cannot be written.
pub fn save_changes(data: &Path, text: &str) -> Result<(), FileError> {
    Folder::open_or_create(data)?.replace(CHANGES, text.as_bytes())
}
