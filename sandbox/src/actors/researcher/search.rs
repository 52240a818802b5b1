//! A bounded walk over files, and the lines with the most of the words.

use std::fmt;
use std::fs::File;
use std::io::Read as _;

use crate::prelude::*;

const FILES_MAX: usize = 2_000;
const DEPTH_MAX: usize = 8;
/// Most bytes read of one file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const FOUND_MAX: usize = 20;
/// Longest quote of a line, in characters.
const QUOTED_CHARACTERS_MAX: usize = 160;
/// Folders of the workers' own reports, which are not searched.
const OWN: [&str; 2] = ["research", "conductor"];

/// A line with some of the words.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Found {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    /// Line number, from 1.
    pub(super) line: usize,
    pub(super) text: String,
    words: usize,
    /// What memory says for its file.
    trusted: f32,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// The best lines: those of the files that `trust` puts highest first, then most words, then by
/// path and line.
pub(super) fn search(root: &Path, words: &[String], trust: impl Fn(&str) -> f32) -> Vec<Found> {
    let wanted: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut files = Vec::new();
    walk(root, 0, &mut files);
    let mut found = Vec::new();
    for file in files {
        let mut text = Vec::new();
        let read = File::open(&file)
            .and_then(|open| open.take(FILE_BYTES_MAX).read_to_end(&mut text))
            .is_ok();
        // A zero byte means that it is not text.
        if !read || text.contains(&0) {
            continue;
        }
        let path = file.strip_prefix(root).unwrap_or(&file);
        let path = path.to_string_lossy().replace('\\', "/");
        let trusted = trust(&path);
        for (at, line) in String::from_utf8_lossy(&text).lines().enumerate() {
            let lower = line.to_lowercase();
            let holds = wanted.iter().filter(|word| lower.contains(*word)).count();
            if holds > 0 {
                let text = line.trim().chars().take(QUOTED_CHARACTERS_MAX).collect();
                found.push(Found {
                    path: path.clone(),
                    line: at + 1,
                    text,
                    words: holds,
                    trusted,
                });
            }
        }
    }
    // A stable sort: files are sorted, lines in order.
    let words = |a: &Found, b: &Found| b.words.cmp(&a.words);
    found.sort_by(|a, b| b.trusted.total_cmp(&a.trusted).then(words(a, b)));
    found.truncate(FOUND_MAX);
    found
}

/// Regular files, sorted by path; links, hidden names and build folders are skipped.
fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let own = depth == 0 && OWN.contains(&name.as_ref());
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if name.starts_with('.') || name == "target" || own || files.len() == FILES_MAX {
            continue;
        }
        if kind.is_dir() && depth < DEPTH_MAX {
            walk(&entry.path(), depth + 1, files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}
