//! Finds flags and symbols that the code had on a day and no longer has.

use chrono::{NaiveDate, NaiveTime};

use super::LINE_OF_HEAD;
use crate::git_repository::GitObjects;

/// Most files that changed since a day, beyond which nothing is reported.
const CHANGED_MAX: usize = 300;
const FILES_MAX: usize = 3_000;
const FOLDERS_MAX: usize = 3_000;
/// Longest file that is read, in bytes; a longer one is no code.
const FILE_BYTES_MAX: usize = 1024 * 1024;
const ALL_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Texts of the files that changed since a day, before and after.
#[derive(Debug)]
pub(super) struct ChangedFiles {
    before: String,
    after: String,
}

impl ChangedFiles {
    /// Compares HEAD with the newest commit of its history up to the end of that day; `None` if
    /// nothing has changed, or too much.
    pub(super) fn since(
        objects: &mut GitObjects,
        day: NaiveDate,
        is_late: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let end = day
            .succ_opt()?
            .and_time(NaiveTime::MIN)
            .and_utc()
            .timestamp();
        let log = objects.repository.log(&LINE_OF_HEAD).ok()?;
        let mut line = log.take_while(|_| !is_late()).peekable();
        let head = line.peek()?.tree.clone();
        let base = line.find(|commit| commit.committed_at < end)?.tree;
        if base == head {
            return None;
        }
        let changes = objects.list_changes(Some(base), Some(head))?;
        if changes.len() > CHANGED_MAX {
            return None;
        }
        let mut read = BoundedReader::new(objects);
        let (mut before, mut after) = (String::new(), String::new());
        for change in changes {
            for (file, text) in [(change.before, &mut before), (change.after, &mut after)] {
                if is_late() {
                    return None;
                }
                if let Some(file) = file {
                    text.push_str(&read.read_text(&file)?);
                }
                text.push('\n');
            }
        }
        Some(Self { before, after })
    }

    /// Whether the changed files had a word and no longer have it.
    pub(super) fn has_lost(&self, word: &str) -> bool {
        contains_word(&self.before, word) && !contains_word(&self.after, word)
    }
}

/// Whether no file of HEAD contains a word; `None` if a limit was reached.
pub(super) fn is_nowhere(
    objects: &mut GitObjects,
    word: &str,
    is_late: &dyn Fn() -> bool,
) -> Option<bool> {
    let tree = objects.find("HEAD^{tree}")?.ok()?.id;
    let mut read = BoundedReader::new(objects);
    // Not recursive: a repository may nest its folders as deep as it likes.
    let (mut folders, mut looked) = (vec![tree], 0);
    while let Some(folder) = folders.pop() {
        looked += 1;
        if looked > FOLDERS_MAX {
            return None;
        }
        for entry in read.objects.read_tree(&folder)?.iter() {
            if is_late() {
                return None;
            }
            if entry.is_folder() {
                folders.push(entry.id.clone());
            } else if entry.is_file() && contains_word(&read.read_text(&entry.id)?, word) {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// Reads files of a repository within limits.
struct BoundedReader<'a> {
    objects: &'a mut GitObjects,
    files: usize,
    bytes: usize,
}

impl<'a> BoundedReader<'a> {
    fn new(objects: &'a mut GitObjects) -> Self {
        Self {
            objects,
            files: 0,
            bytes: 0,
        }
    }

    /// Returns a file's text, empty for no code; `None` if a limit is reached.
    fn read_text(&mut self, id: &str) -> Option<String> {
        let head = self.objects.find(id)?.ok()?;
        if head.bytes > FILE_BYTES_MAX {
            return Some(String::new());
        }
        self.files += 1;
        self.bytes += head.bytes;
        if self.files > FILES_MAX || self.bytes > ALL_BYTES_MAX {
            return None;
        }
        let bytes = self.objects.read(id, "blob", FILE_BYTES_MAX)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether a text contains a whole word.
fn contains_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}
