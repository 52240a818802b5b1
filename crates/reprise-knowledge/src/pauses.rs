//! The file of a data directory that lists what is paused, and the file of a user that lists what
//! was changed from where, for every process of this machine.

use std::path::Path;

use reprise_files::{FileError, Folder};

const PAUSES: &str = "pauses.json";
const PAUSES_BYTES_MAX: u64 = 1024 * 1024;
const CHANGES: &str = "changes.jsonl";
/// A longer file is shortened by the next change.
const CHANGES_BYTES_LONG: usize = 1024 * 1024;
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

/// Reads the changes of the user whose folder this is, a line each, the oldest first; a line that
/// was not written to its end stays out.
#[must_use]
pub fn read_changes(user_folder: &Path) -> Vec<String> {
    let folder = Folder::find(user_folder).ok().flatten();
    let text = folder.and_then(|folder| folder.read(CHANGES, CHANGES_BYTES_MAX).ok().flatten());
    let text = String::from_utf8_lossy(text.as_deref().unwrap_or_default()).into_owned();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

/// Appends a change as a line. Once the file is long, only its newest `held_max` lines stay.
///
/// # Errors
///
/// If the folder or the file cannot be written.
pub fn append_change(user_folder: &Path, line: &str, held_max: usize) -> Result<(), FileError> {
    let folder = Folder::open_or_create(user_folder)?;
    folder.append_line(CHANGES, line.as_bytes())?;
    let found = folder.read_with_fingerprint(CHANGES, CHANGES_BYTES_MAX)?;
    let is_long = |bytes: &Vec<u8>| bytes.len() > CHANGES_BYTES_LONG;
    let Some((bytes, fingerprint)) = found.filter(|(bytes, _)| is_long(bytes)) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let newest = &lines[lines.len().saturating_sub(held_max)..];
    let text = newest.join("\n") + "\n";
    // What another process appends meanwhile stays, and the next change shortens the file.
    folder.replace_if_unchanged(CHANGES, text.as_bytes(), Some(fingerprint))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_of_changes_keeps_its_newest_and_a_torn_line_hides_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(CHANGES);
        let line = |number: usize| format!("{number} {}", "x".repeat(10_000));
        for number in 0..250 {
            append_change(folder.path(), &line(number), 3).unwrap();
        }
        let bytes = fs_err::metadata(&file).unwrap().len();
        assert!(bytes <= CHANGES_BYTES_LONG as u64, "{bytes}");
        let held = read_changes(folder.path());
        assert!(held.len() >= 3 && held.last() == Some(&line(249)));
        let mut torn = fs_err::read(&file).unwrap();
        torn.extend_from_slice(b"{\"at\": \"19");
        fs_err::write(&file, torn).unwrap();
        assert_eq!(read_changes(folder.path()), held);
        append_change(folder.path(), "the next", 3).unwrap();
        let next = read_changes(folder.path());
        assert_eq!(next.last().map(String::as_str), Some("the next"));
    }
}
