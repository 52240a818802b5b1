//! The researcher's task: a search for words in the workspace's files.
//!
//! Files are the truth; memory says which of them helped before.

mod search;

use super::events::{ToolResult, WorkerEvents};
use super::experience::Vote;
use super::turn::Outcome;
use crate::prelude::*;

use search::{Found, search};

pub(super) const ROLE: &str = "You are the researcher: you look things up in the workspace's files and report each find with \
     its place.";
pub(super) const TOOL: &str = "file_search";
/// Most findings in a report, by the contract's policy.
const FINDINGS_MAX: usize = 2;

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
    turn: &TurnContext,
    started_at: &str,
    now: &str,
) -> Outcome {
    let events = WorkerEvents {
        role: "researcher",
        turn,
        now,
    };
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
        let path = format!("research/{}.md", turn.run_id);
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

#[cfg(test)]
mod tests;
