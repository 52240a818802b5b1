//! The terminal's task: it writes files, then runs the command that works according to memory, and
//! the next one if that fails.

mod command;

use std::collections::BTreeMap;

use super::SystemContext;
use super::emitter::EventDraft;
use super::events::{ToolResult, WorkerEvents};
use super::experience::{FAILED, Vote, WORKED};
use super::turn::TurnOutcome;
use super::workspace::WorkerDirectoryError;
use crate::prelude::*;

pub use command::CommandLimits;
use command::{CommandEnd, CommandReport};

pub(super) const ROLE: &str = "You are the terminal: you run commands in the workspace and report what they did, exit code \
     and all.";
pub(super) const TOOL: &str = "bash";
/// Most commands of one task that are tried.
const COMMANDS_MAX: usize = 4;
/// Longest quote of a command's output in a summary, in characters.
const QUOTE_CHARACTERS_MAX: usize = 160;

/// Runs a command after writing its files.
pub(super) async fn run_command(
    workspace: WorkerDirectory,
    folder: &str,
    files: &BTreeMap<String, String>,
    command: &str,
    limits: Arc<CommandLimits>,
) -> CommandReport {
    let (folder, files, command) = (folder.to_owned(), files.clone(), command.to_owned());
    let report =
        tokio::task::spawn_blocking(move || match write_files(&workspace, &folder, &files) {
            Ok(folder) => command::run_shell(&command, &folder, &limits),
            Err(error) => CommandReport::not_started(error.to_string()),
        });
    report
        .await
        .unwrap_or_else(|error| CommandReport::not_started(error.to_string()))
}

/// Orders the commands of a task: those that worked before, according to memory, come first, and
/// those that failed last.
pub(super) fn order_commands(
    command: &str,
    instead: &[String],
    context: &SystemContext,
) -> Vec<String> {
    let all = std::iter::once(command).chain(instead.iter().map(String::as_str));
    let ranked = all.map(|command| (command.to_owned(), Vote::for_command(context, command).sum));
    let mut ranked: Vec<(String, f32)> = ranked.collect();
    // The sort is stable, so that commands that memory does not know keep the plan's order.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.truncate(COMMANDS_MAX);
    ranked.into_iter().map(|(command, _)| command).collect()
}

/// Describes the command that the terminal takes first because of memory; `None` if it is the one
/// of the plan.
pub(super) fn describe_choice(planned: &str, ordered: &[String]) -> Option<String> {
    let first = ordered.first().filter(|first| *first != planned)?;
    Some(format!("runs `{first}` first, not `{planned}`"))
}

/// Returns whether another command may succeed where this one failed.
pub(super) fn is_retryable(report: &CommandReport) -> bool {
    matches!(report.end, CommandEnd::Exit(code) if code != 0)
}

/// Builds the event of one command's end.
pub(super) fn build_result_event(
    report: &CommandReport,
    events: WorkerEvents<'_>,
    started_at: &str,
) -> EventDraft {
    let summary = summarize(report, None);
    let result = ToolResult {
        started_at,
        duration_ms: report.duration_ms,
        output: &report.output,
        output_bytes: report.output_bytes,
        error: (report.end != CommandEnd::Exit(0)).then_some(summary.as_str()),
    };
    events.tool_result_event(TOOL, &result)
}

/// Builds the turn's outcome from the last command, with the events of all commands.
pub(super) fn build_outcome(
    report: &CommandReport,
    command: String,
    events: Vec<EventDraft>,
) -> TurnOutcome {
    let (status, failure) = match &report.end {
        CommandEnd::Exit(0) => (WorkerStatus::Completed, None),
        CommandEnd::TimedOut => (WorkerStatus::Failed, Some(FailureKind::Timeout)),
        CommandEnd::NotStarted(_) => (WorkerStatus::Failed, Some(FailureKind::Unknown)),
        CommandEnd::Exit(_) | CommandEnd::Killed => {
            (WorkerStatus::Failed, Some(classify_failure(&report.output)))
        }
    };
    TurnOutcome {
        status,
        failure,
        progress: report.describe_end(),
        findings: Vec::new(),
        summary: summarize(report, Some(&command)),
        command: Some(command),
        choice: None,
        events,
    }
}

/// Tells in one line how a command ended, and which one if it is named.
fn summarize(report: &CommandReport, command: Option<&str>) -> String {
    let line = report.informative_line().chars();
    let line: String = line.take(QUOTE_CHARACTERS_MAX).collect();
    let what = match report.end {
        CommandEnd::Exit(0) => WORKED,
        _ => FAILED,
    };
    let end = report.describe_end();
    match command {
        Some(command) => format!("{what} with `{command}`, {end}: {line}"),
        None => format!("{what}, {end}: {line}"),
    }
}

/// Writes a command's files; returns the folder in which it runs.
fn write_files(
    workspace: &WorkerDirectory,
    folder: &str,
    files: &BTreeMap<String, String>,
) -> Result<PathBuf, WorkerDirectoryError> {
    let run_folder = workspace.create_folder(folder)?;
    for (path, text) in files {
        workspace.write(&format!("{folder}/{path}"), text)?;
    }
    Ok(run_folder)
}

/// Classifies a failure by the command's output, as an outside cause or as the run's own.
fn classify_failure(output: &str) -> FailureKind {
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
    let matching = SIGNS
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| output.contains(sign)));
    matching.map_or(FailureKind::Validation, |(kind, _)| *kind)
}

#[cfg(test)]
mod tests;
