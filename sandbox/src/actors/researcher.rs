//! The worker that looks things up in the workspace's files.
//!
//! Lives here: what to look for and what is said about it; files are truth, memory only says where
//! to look first. Must never live here: the walk (`researcher/search`).

mod search;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::conductor::Task;
use super::emitter::Emitter;
use super::events::{By, ToolResult};
use super::turn::{FailureKind, TurnContext, WorkerReport, WorkerStatus};
use super::workspace::Workspace;
use crate::event_store::EventStoreError;

use search::{Found, search};

const ROLE: &str = "You are the researcher: you look things up in the workspace's files and report \
                    each find with its place.";
/// Finds that a report claims; the contract's policy.
const FINDINGS_MAX: usize = 2;

/// The actor type.
#[derive(Debug)]
pub struct ResearcherActor;

/// What the researcher works with.
#[derive(Debug, Clone)]
pub struct ResearcherState {
    /// Its events.
    pub emitter: Emitter,
    /// Where it looks.
    pub workspace: Workspace,
}

/// What the researcher understands.
#[derive(Debug)]
pub enum ResearcherMsg {
    /// Does one turn.
    Run {
        /// What is wanted.
        turn: TurnContext,
        /// How it went; an error where it could not be logged.
        reply: RpcReplyPort<Result<WorkerReport, EventStoreError>>,
    },
}

#[async_trait::async_trait]
impl Actor for ResearcherActor {
    type Msg = ResearcherMsg;
    type State = ResearcherState;
    type Arguments = ResearcherState;

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
        let ResearcherMsg::Run { turn, reply } = message;
        let _gone = reply.send(state.turn(&turn).await).is_err();
        Ok(())
    }
}

impl ResearcherState {
    /// The system prompt of a turn, with what memory says.
    #[must_use]
    pub fn get_system_context(turn: &TurnContext) -> String {
        turn.system_context(ROLE)
    }

    async fn turn(&self, turn: &TurnContext) -> Result<WorkerReport, EventStoreError> {
        let by = |now| By {
            role: "researcher",
            turn,
            now,
        };
        let started_at = self.emitter.now();
        let report = |status, failure, summary: String| WorkerReport {
            status,
            failure,
            summary: format!("{}: {summary}", turn.objective),
            system_context: Self::get_system_context(turn),
        };
        let Task::Search { words } = &turn.task else {
            let why = "the researcher only searches".to_owned();
            let report = report(WorkerStatus::Blocked, Some(FailureKind::Unknown), why);
            self.emitter
                .emit(vec![by(&started_at).report(&report, &[])])
                .await?;
            return Ok(report);
        };
        let query = words.join(" ");
        let started = [
            by(&started_at).progress("started", &turn.objective),
            by(&started_at).tool_call("file_search", &query),
        ];
        self.emitter.emit(started.into()).await?;
        let (root, wanted) = (self.workspace.root().to_owned(), words.clone());
        let searched = tokio::task::spawn_blocking(move || search(&root, &wanted)).await;
        let found = searched.unwrap_or_else(|error| {
            tracing::warn!(%error, "a search did not end well; it counts as finding nothing");
            Vec::new()
        });
        let summary = summary_of(&found);
        let report = report(WorkerStatus::Completed, None, summary.clone());
        let claims: Vec<(String, String)> = found
            .iter()
            .take(FINDINGS_MAX)
            .map(|found| (found.to_string(), found.path.clone()))
            .collect();
        let output: Vec<String> = found.iter().map(Found::to_string).collect();
        let output = output.join("\n");
        let result = ToolResult {
            started_at: &started_at,
            duration_ms: 0,
            output: &output,
            output_bytes: output.len(),
            error: None,
        };
        let now = self.emitter.now();
        let mut done = vec![
            by(&now).tool_result("file_search", &result),
            by(&now).search_completed(&query, &summary, found.len()),
            by(&now).progress("completed", &summary),
            by(&now).report(&report, &claims),
        ];
        if !found.is_empty() {
            let path = format!("research/{}.md", turn.run_id);
            let (workspace, file, text) = (self.workspace.clone(), path.clone(), output.clone());
            let written = tokio::task::spawn_blocking(move || workspace.write(&file, &text)).await;
            match written {
                Ok(Ok(())) => done.push(by(&now).document_update(&path, &output)),
                Ok(Err(error)) => tracing::warn!(%error, "what was found could not be kept"),
                Err(error) => tracing::warn!(%error, "what was found could not be kept"),
            }
        }
        self.emitter.emit(done).await?;
        Ok(report)
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
