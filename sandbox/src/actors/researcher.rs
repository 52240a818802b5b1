//! The researcher's task: a bounded search in the workspace's files for the lines that contain the
//! most of given words.
//!
//! Only files are searched; memory tells which of them helped before.

use std::fmt;
use std::fs::File;
use std::io::Read as _;

use super::SystemContext;
use super::events::{ToolResult, WorkerEvents};
use super::experience::Vote;
use super::turn::TurnOutcome;
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
const LINES_MAX: usize = 20;
/// Longest quote of a line, in characters.
const QUOTED_CHARACTERS_MAX: usize = 160;
/// Folders with the workers' own reports, which are not searched.
const REPORT_FOLDERS: [&str; 2] = ["research", "conductor"];

/// Searches for the lines with any of the words, best first; lines of a source that helped before,
/// according to memory, come before all others.
pub(super) async fn search_workspace(
    workspace: WorkerDirectory,
    words: &[String],
    context: &SystemContext,
) -> Vec<MatchingLine> {
    let (words, context) = (words.to_vec(), context.clone());
    let searched = tokio::task::spawn_blocking(move || {
        search_files(workspace.root(), &words, |path| {
            Vote::for_source(&context, path).sum
        })
    });
    let searched = searched.await;
    searched.unwrap_or_else(|error| {
        tracing::warn!(%error, "a search did not end well; it counts as finding nothing");
        Vec::new()
    })
}

/// Describes where the researcher looked first because of memory; `None` if it would have looked
/// there without memory, too.
pub(super) fn describe_choice(found: &[MatchingLine]) -> Option<String> {
    let first = found.first()?;
    let by_words = found.iter().min_by(|a, b| {
        let words = b.words.cmp(&a.words);
        words.then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line)))
    })?;
    let is_changed = by_words.path != first.path;
    is_changed.then(|| format!("looks first in `{}`, not `{}`", first.path, by_words.path))
}

/// Writes the findings to a file of the run, and builds the turn's outcome.
pub(super) async fn build_outcome(
    workspace: WorkerDirectory,
    found: Vec<MatchingLine>,
    words: &[String],
    events: WorkerEvents<'_>,
    started_at: &str,
) -> TurnOutcome {
    let summary = summarize(&found);
    let output: Vec<String> = found.iter().map(MatchingLine::to_string).collect();
    let output = output.join("\n");
    let result = ToolResult {
        started_at,
        duration_ms: 0,
        output: &output,
        output_bytes: output.len(),
        error: None,
    };
    let mut drafts = vec![
        events.tool_result_event(TOOL, &result),
        events.search_completed_event(&words.join(" "), &summary, found.len()),
    ];
    if !found.is_empty() {
        let path = format!("research/{}.md", events.turn.run_id);
        let (file, text) = (path.clone(), output.clone());
        match tokio::task::spawn_blocking(move || workspace.write(&file, &text)).await {
            Ok(Ok(())) => drafts.push(events.document_update_event(&path, &output)),
            Ok(Err(error)) => tracing::warn!(%error, "the findings could not be written"),
            Err(error) => tracing::warn!(%error, "the findings could not be written"),
        }
    }
    let claim = |found: &MatchingLine| (found.to_string(), found.path.clone());
    TurnOutcome {
        status: WorkerStatus::Completed,
        failure: None,
        progress: summary.clone(),
        summary,
        findings: found.iter().take(FINDINGS_MAX).map(claim).collect(),
        command: None,
        choice: None,
        events: drafts,
    }
}

fn summarize(found: &[MatchingLine]) -> String {
    match found {
        [] => "nothing in the workspace".to_owned(),
        [first, rest @ ..] => format!("{first} and {} more lines", rest.len()),
    }
}

/// A line of a file that contains some of the words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MatchingLine {
    /// Path relative to the root, with `/`.
    path: String,
    /// Line number, from 1.
    line: usize,
    text: String,
    words: usize,
    /// Vote of memory on its file.
    trust_score: f32,
}

impl fmt::Display for MatchingLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// Returns the best lines: first by the score that `trust` gives their file, then by the number of
/// words, then by path and line.
fn search_files(root: &Path, words: &[String], trust: impl Fn(&str) -> f32) -> Vec<MatchingLine> {
    let wanted: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut files = Vec::new();
    collect_files(root, 0, &mut files);
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
        let trust_score = trust(&path);
        for (at, line) in String::from_utf8_lossy(&text).lines().enumerate() {
            let lower = line.to_lowercase();
            let holds = wanted.iter().filter(|word| lower.contains(*word)).count();
            if holds > 0 {
                let text = line.trim().chars().take(QUOTED_CHARACTERS_MAX).collect();
                found.push(MatchingLine {
                    path: path.clone(),
                    line: at + 1,
                    text,
                    words: holds,
                    trust_score,
                });
            }
        }
    }
    // The sort is stable, so that lines with equal scores stay ordered by path and line.
    let words = |a: &MatchingLine, b: &MatchingLine| b.words.cmp(&a.words);
    found.sort_by(|a, b| b.trust_score.total_cmp(&a.trust_score).then(words(a, b)));
    found.truncate(LINES_MAX);
    found
}

/// Collects regular files, sorted by path; links, hidden names and build folders are skipped.
fn collect_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_report_folder = depth == 0 && REPORT_FOLDERS.contains(&name.as_ref());
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if name.starts_with('.') || name == "target" || is_report_folder || files.len() == FILES_MAX
        {
            continue;
        }
        if kind.is_dir() && depth < DEPTH_MAX {
            collect_files(&entry.path(), depth + 1, files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
