//! The terminal's task: writes files, then runs a command.

mod command;

use std::sync::Arc;

use super::events::{ToolResult, WorkerEvents};
use super::turn::{FailureKind, Outcome, TurnContext, WorkerStatus};
use super::workspace::{Workspace, WorkspaceError};

pub use command::CommandLimits;
use command::{Ended, Ran};

pub(super) const ROLE: &str = "You are the terminal: you run commands in the workspace and report what they did, exit code \
     and all.";
pub(super) const TOOL: &str = "bash";
/// Longest quote of a command's output in a summary, in characters.
const SAID_CHARACTERS_MAX: usize = 160;

/// Runs a command after writing its files.
pub(super) async fn run(
    workspace: Workspace,
    folder: &str,
    files: &[(String, String)],
    command: &str,
    limits: Arc<CommandLimits>,
) -> Ran {
    let (folder, files, command) = (folder.to_owned(), files.to_vec(), command.to_owned());
    let ran = tokio::task::spawn_blocking(move || match prepared(&workspace, &folder, &files) {
        Ok(folder) => command::run(&command, &folder, &limits),
        Err(error) => Ran::not_started(error.to_string()),
    });
    ran.await
        .unwrap_or_else(|error| Ran::not_started(error.to_string()))
}

pub(super) fn outcome(ran: &Ran, turn: &TurnContext, started_at: &str, now: &str) -> Outcome {
    let (status, failure) = match &ran.ended {
        Ended::Exit(0) => (WorkerStatus::Completed, None),
        Ended::TimedOut => (WorkerStatus::Failed, Some(FailureKind::Timeout)),
        Ended::NotStarted(_) => (WorkerStatus::Failed, Some(FailureKind::Unknown)),
        Ended::Exit(_) | Ended::Killed => (WorkerStatus::Failed, Some(kind_of(&ran.output))),
    };
    let told: String = ran
        .informative_line()
        .chars()
        .take(SAID_CHARACTERS_MAX)
        .collect();
    let what = if failure.is_none() {
        "worked"
    } else {
        "failed"
    };
    let summary = format!("{what}, {}: {told}", ran.sentence());
    let events = WorkerEvents {
        role: "terminal",
        turn,
        now,
    };
    let result = ToolResult {
        started_at,
        duration_ms: ran.duration_ms,
        output: &ran.output,
        output_bytes: ran.output_bytes,
        error: failure.is_some().then_some(summary.as_str()),
    };
    Outcome {
        status,
        failure,
        progress: ran.sentence(),
        findings: Vec::new(),
        events: vec![events.tool_result(TOOL, &result)],
        summary,
    }
}

/// Writes a command's files; returns the folder that it runs in.
fn prepared(
    workspace: &Workspace,
    folder: &str,
    files: &[(String, String)],
) -> Result<std::path::PathBuf, WorkspaceError> {
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
