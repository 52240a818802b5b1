//! The worker that runs commands.
//!
//! Lives here: files written first, the command, what is said about both. Must never live here: how
//! a command is bounded (`terminal/command`).

mod command;

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::conductor::Task;
use super::emitter::Emitter;
use super::events::{By, ToolResult};
use super::turn::{FailureKind, TurnContext, WorkerReport, WorkerStatus};
use super::workspace::{Workspace, WorkspaceError};
use crate::event_store::EventStoreError;

pub use command::CommandLimits;
use command::{Ended, Outcome};

const ROLE: &str = "You are the terminal: you run commands in the workspace and report what they \
                    did, exit code and all.";
/// Characters of a command's own words in a summary.
const SAID_CHARACTERS_MAX: usize = 160;

/// The actor type.
#[derive(Debug)]
pub struct TerminalActor;

/// What the terminal works with.
#[derive(Debug, Clone)]
pub struct TerminalState {
    /// Its events.
    pub emitter: Emitter,
    /// Where it works.
    pub workspace: Workspace,
    /// What a command may use.
    pub limits: Arc<CommandLimits>,
}

/// What the terminal understands.
#[derive(Debug)]
pub enum TerminalMsg {
    /// Does one turn.
    Run {
        /// What is wanted.
        turn: TurnContext,
        /// How it went; an error where it could not be logged.
        reply: RpcReplyPort<Result<WorkerReport, EventStoreError>>,
    },
}

#[async_trait::async_trait]
impl Actor for TerminalActor {
    type Msg = TerminalMsg;
    type State = TerminalState;
    type Arguments = TerminalState;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(arguments)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let TerminalMsg::Run { turn, reply } = message;
        let _gone = reply.send(state.turn(&turn).await).is_err();
        Ok(())
    }
}

impl TerminalState {
    /// The system prompt of a turn, with what memory says.
    #[must_use]
    pub fn get_system_context(turn: &TurnContext) -> String {
        turn.system_context(ROLE)
    }

    async fn turn(&self, turn: &TurnContext) -> Result<WorkerReport, EventStoreError> {
        let by = |now| By {
            role: "terminal",
            turn,
            now,
        };
        let started_at = self.emitter.now();
        let Task::Run {
            folder,
            files,
            command,
        } = &turn.task
        else {
            let report = said(
                turn,
                WorkerStatus::Blocked,
                "the terminal only runs commands",
            );
            let event = by(&started_at).report(&report, &[]);
            self.emitter.emit(vec![event]).await?;
            return Ok(report);
        };
        let started = [
            by(&started_at).progress("started", &turn.objective),
            by(&started_at).tool_call("bash", command),
        ];
        self.emitter.emit(started.into()).await?;
        let (workspace, limits) = (self.workspace.clone(), Arc::clone(&self.limits));
        let (folder, files, command) = (folder.clone(), files.clone(), command.clone());
        let ran =
            tokio::task::spawn_blocking(move || match prepared(&workspace, &folder, &files) {
                Ok(folder) => command::run(&command, &folder, &limits),
                Err(error) => Outcome::not_started(error.to_string()),
            });
        let ran = ran.await;
        let outcome = ran.unwrap_or_else(|error| Outcome::not_started(error.to_string()));
        let report = report(turn, &outcome);
        let now = self.emitter.now();
        let failure = (report.status != WorkerStatus::Completed).then_some(report.summary.as_str());
        let result = ToolResult {
            started_at: &started_at,
            duration_ms: outcome.duration_ms,
            output: &outcome.output,
            output_bytes: outcome.output_bytes,
            error: failure,
        };
        let done = vec![
            by(&now).tool_result("bash", &result),
            by(&now).progress(report.status.name(), &outcome.sentence()),
            by(&now).report(&report, &[]),
        ];
        self.emitter.emit(done).await?;
        Ok(report)
    }
}

/// Writes a command's files; answers the folder that it runs in.
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

fn said(turn: &TurnContext, status: WorkerStatus, summary: &str) -> WorkerReport {
    WorkerReport {
        status,
        failure: (status != WorkerStatus::Completed).then_some(FailureKind::Unknown),
        summary: format!("{}: {summary}", turn.objective),
        system_context: TerminalState::get_system_context(turn),
    }
}

fn report(turn: &TurnContext, outcome: &Outcome) -> WorkerReport {
    let (status, failure) = match &outcome.ended {
        Ended::Exit(0) => (WorkerStatus::Completed, None),
        Ended::TimedOut => (WorkerStatus::Failed, Some(FailureKind::Timeout)),
        Ended::NotStarted(_) => (WorkerStatus::Failed, Some(FailureKind::Unknown)),
        Ended::Exit(_) | Ended::Killed => (WorkerStatus::Failed, Some(kind_of(&outcome.output))),
    };
    let told: String = outcome
        .telling_line()
        .chars()
        .take(SAID_CHARACTERS_MAX)
        .collect();
    let what = if failure.is_none() {
        "worked"
    } else {
        "failed"
    };
    WorkerReport {
        failure,
        ..said(
            turn,
            status,
            &format!("{what}, {}: {told}", outcome.sentence()),
        )
    }
}

/// What kind of failure a command's own words speak of: what lies outside the run is told apart.
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
