//! The researcher's task: a bounded search in the workspace's files for the lines with the most of
//! the words.
//!
//! Files are the truth; memory says which of them helped before.

use std::fmt;
use std::fs::File;
use std::io::Read as _;

use super::events::{ToolResult, WorkerEvents};
use super::experience::Vote;
use super::turn::Outcome;
use crate::prelude::*;

pub(super) const ROLE: &str = "You are the researcher: you look things up in the workspace's files and report each find with \
     its place.";
pub(super) const TOOL: &str = "file_search";
/// Most findings in a report, by the contract's policy.
const FINDINGS_MAX: usize = 2;
const FILES_MAX: usize = 2_000;
const DEPTH_MAX: usize = 8;
/// Most bytes read of one file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const FOUND_MAX: usize = 20;
/// Longest quote of a line, in characters.
const QUOTED_CHARACTERS_MAX: usize = 160;
/// Folders of the workers' own reports, which are not searched.
const OWN: [&str; 2] = ["research", "conductor"];

/// The lines with any of the words, best first: those of a source that memory knows to have helped
/// before all others.
pub(super) async fn look_up(
    workspace: Workspace,
    words: &[String],
    memory: &MemoryAnswer,
) -> Vec<Found> {
    let (words, memory) = (words.to_vec(), memory.clone());
    let searched = tokio::task::spawn_blocking(move || {
        search(workspace.root(), &words, |path| {
            Vote::of_source(&memory, path).sum
        })
    });
    let searched = searched.await;
    searched.unwrap_or_else(|error| {
        tracing::warn!(%error, "a search did not end well; it counts as finding nothing");
        Vec::new()
    })
}

/// Writes the findings to a file of the run, and summarises them.
pub(super) async fn outcome(
    workspace: Workspace,
    found: Vec<Found>,
    words: &[String],
    events: WorkerEvents<'_>,
    started_at: &str,
) -> Outcome {
    let summary = summary_of(&found);
    let output: Vec<String> = found.iter().map(Found::to_string).collect();
    let output = output.join("\n");
    let result = ToolResult {
        started_at,
        duration_ms: 0,
        output: &output,
        output_bytes: output.len(),
        error: None,
    };
    let mut done = vec![
        events.tool_result(TOOL, &result),
        events.search_completed(&words.join(" "), &summary, found.len()),
    ];
    if !found.is_empty() {
        let path = format!("research/{}.md", events.turn.run_id);
        let (file, text) = (path.clone(), output.clone());
        match tokio::task::spawn_blocking(move || workspace.write(&file, &text)).await {
            Ok(Ok(())) => done.push(events.document_update(&path, &output)),
            Ok(Err(error)) => tracing::warn!(%error, "the findings could not be written"),
            Err(error) => tracing::warn!(%error, "the findings could not be written"),
        }
    }
    let claim = |found: &Found| (found.to_string(), found.path.clone());
    Outcome {
        status: WorkerStatus::Completed,
        failure: None,
        progress: summary.clone(),
        summary,
        findings: found.iter().take(FINDINGS_MAX).map(claim).collect(),
        command: None,
        events: done,
    }
}

fn summary_of(found: &[Found]) -> String {
    match found {
        [] => "nothing in the workspace".to_owned(),
        [first, rest @ ..] => format!("{first} and {} more lines", rest.len()),
    }
}

/// A line with some of the words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// Relative to the root, with `/`.
    path: String,
    /// Line number, from 1.
    line: usize,
    text: String,
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
fn search(root: &Path, words: &[String], trust: impl Fn(&str) -> f32) -> Vec<Found> {
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

#[cfg(test)]
mod tests;
