//! The terminal's task: writes files, then runs the command that memory says works, and the next
//! where it fails.

mod command;

use std::collections::BTreeMap;

use super::emitter::EventDraft;
use super::events::{ToolResult, WorkerEvents};
use super::experience::Vote;
use super::turn::Outcome;
use super::workspace::WorkspaceError;
use crate::prelude::*;

pub use command::CommandLimits;
use command::{Ended, Ran};

pub(super) const ROLE: &str = "You are the terminal: you run commands in the workspace and report what they did, exit code \
     and all.";
pub(super) const TOOL: &str = "bash";
/// Most commands of one task that are tried.
const COMMANDS_MAX: usize = 4;
/// Longest quote of a command's output in a summary, in characters.
const SAID_CHARACTERS_MAX: usize = 160;

/// Runs a command after writing its files.
pub(super) async fn run(
    workspace: Workspace,
    folder: &str,
    files: &BTreeMap<String, String>,
    command: &str,
    limits: Arc<CommandLimits>,
) -> Ran {
    let (folder, files, command) = (folder.to_owned(), files.clone(), command.to_owned());
    let ran = tokio::task::spawn_blocking(move || match prepared(&workspace, &folder, &files) {
        Ok(folder) => command::run(&command, &folder, &limits),
        Err(error) => Ran::not_started(error.to_string()),
    });
    ran.await
        .unwrap_or_else(|error| Ran::not_started(error.to_string()))
}

/// The commands of a task, those first that memory says have worked, those last that failed.
pub(super) fn by_experience(
    command: &str,
    instead: &[String],
    memory: &MemoryAnswer,
) -> Vec<String> {
    let all = std::iter::once(command).chain(instead.iter().map(String::as_str));
    let voted = all.map(|command| (command.to_owned(), Vote::of_command(memory, command).sum));
    let mut voted: Vec<(String, f32)> = voted.collect();
    // A stable sort: what memory does not know keeps the plan's order.
    voted.sort_by(|a, b| b.1.total_cmp(&a.1));
    voted.truncate(COMMANDS_MAX);
    voted.into_iter().map(|(command, _)| command).collect()
}

/// Whether the next command can do better.
pub(super) fn may_go_on(ran: &Ran) -> bool {
    matches!(ran.ended, Ended::Exit(code) if code != 0)
}

/// The event of one command's end.
pub(super) fn result(ran: &Ran, events: WorkerEvents<'_>, started_at: &str) -> EventDraft {
    let summary = summary_of(ran);
    let result = ToolResult {
        started_at,
        duration_ms: ran.duration_ms,
        output: &ran.output,
        output_bytes: ran.output_bytes,
        error: (ran.ended != Ended::Exit(0)).then_some(summary.as_str()),
    };
    events.tool_result(TOOL, &result)
}

/// The outcome of the last command that was run, with the events of all.
pub(super) fn outcome(ran: &Ran, command: String, events: Vec<EventDraft>) -> Outcome {
    let (status, failure) = match &ran.ended {
        Ended::Exit(0) => (WorkerStatus::Completed, None),
        Ended::TimedOut => (WorkerStatus::Failed, Some(FailureKind::Timeout)),
        Ended::NotStarted(_) => (WorkerStatus::Failed, Some(FailureKind::Unknown)),
        Ended::Exit(_) | Ended::Killed => (WorkerStatus::Failed, Some(kind_of(&ran.output))),
    };
    Outcome {
        status,
        failure,
        progress: ran.sentence(),
        findings: Vec::new(),
        command: Some(command),
        events,
        summary: summary_of(ran),
    }
}

fn summary_of(ran: &Ran) -> String {
    let line = ran.informative_line().chars();
    let line: String = line.take(SAID_CHARACTERS_MAX).collect();
    let what = match ran.ended {
        Ended::Exit(0) => "worked",
        _ => "failed",
    };
    format!("{what}, {}: {line}", ran.sentence())
}

/// Writes a command's files; returns the folder that it runs in.
fn prepared(
    workspace: &Workspace,
    folder: &str,
    files: &BTreeMap<String, String>,
) -> Result<PathBuf, WorkspaceError> {
    let place = workspace.folder(folder)?;
    for (path, text) in files {
        workspace.write(&format!("{folder}/{path}"), text)?;
    }
    Ok(place)
}

/// Classifies a failure by the command's output: outside causes, or the run's own.
fn kind_of(output: &str) -> FailureKind {
    const SIGNS: [(FailureKind, &[&str]); 3] = [
        (
            FailureKind::RateLimit,
            &["429 too many requests", "rate limit exceeded"],
        ),
        (
            FailureKind::Auth,
            &[
                "401 unauthorized",
                "403 forbidden",
                "authentication failed",
                "bad credentials",
            ],
        ),
        (
            FailureKind::Network,
            &[
                "could not resolve host",
                "connection refused",
                "connection timed out",
                "network is unreachable",
                "temporary failure in name resolution",
            ],
        ),
    ];
    let output = output.to_lowercase();
    let named = SIGNS
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| output.contains(sign)));
    named.map_or(FailureKind::Validation, |(kind, _)| *kind)
}

#[cfg(test)]
mod tests;
