//! The worker that keeps living documents.
//!
//! Lives here: a turn over a document and what is said about it. Must never live here: versions and
//! differences (`writer/document`).

mod document;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::conductor::Task;
use super::emitter::Emitter;
use super::events::{By, Revised};
use super::turn::{FailureKind, TurnContext, WorkerReport, WorkerStatus};
use super::workspace::{Workspace, WorkspaceError};
use crate::event_store::EventStoreError;

use document::{Revision, revise};

const ROLE: &str = "You are the writer: you keep living documents, version by version, and relate \
                    them to prior work.";

/// The actor type.
#[derive(Debug)]
pub struct WriterActor;

/// What the writer works with.
#[derive(Debug, Clone)]
pub struct WriterState {
    /// Its events.
    pub emitter: Emitter,
    /// Where the documents are.
    pub workspace: Workspace,
}

/// What the writer understands.
#[derive(Debug)]
pub enum WriterMsg {
    /// Does one turn.
    Run {
        /// What is wanted.
        turn: TurnContext,
        /// How it went; an error where it could not be logged.
        reply: RpcReplyPort<Result<WorkerReport, EventStoreError>>,
    },
}

#[async_trait::async_trait]
impl Actor for WriterActor {
    type Msg = WriterMsg;
    type State = WriterState;
    type Arguments = WriterState;

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
        let WriterMsg::Run { turn, reply } = message;
        let _gone = reply.send(state.turn(&turn).await).is_err();
        Ok(())
    }
}

impl WriterState {
    /// The system prompt of a turn, with what memory says.
    #[must_use]
    pub fn get_system_context(turn: &TurnContext) -> String {
        turn.system_context(ROLE)
    }

    async fn turn(&self, turn: &TurnContext) -> Result<WorkerReport, EventStoreError> {
        let by = |now| By {
            role: "writer",
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
        let Task::Write {
            path,
            text,
            summary,
        } = &turn.task
        else {
            let why = "the writer only writes documents".to_owned();
            let report = report(WorkerStatus::Blocked, Some(FailureKind::Unknown), why);
            self.emitter
                .emit(vec![by(&started_at).report(&report, &[])])
                .await?;
            return Ok(report);
        };
        let of = |now, version| Revised {
            turn,
            now,
            path,
            version,
        };
        let started = vec![
            by(&started_at).progress("started", &turn.objective),
            of(&started_at, 0).started(),
            of(&started_at, 0).progress(summary),
        ];
        self.emitter.emit(started).await?;
        let revised = self.revise(turn, path, text).await;
        let now = self.emitter.now();
        let mut done = Vec::new();
        let report = match &revised {
            Ok(revision) => {
                let patch_id = self.emitter.id();
                let revised = of(&now, revision.version);
                if revision.changed() {
                    let (ops, kinds) = revision.ops();
                    done.push(revised.patch(&patch_id, &ops));
                    done.push(revised.changeset(&patch_id, summary, &kinds));
                }
                done.push(revised.status(WorkerStatus::Completed, summary));
                let version = revision.version;
                let what = format!("{path} is at version {version}: {summary}");
                report(WorkerStatus::Completed, None, what)
            }
            Err(error) => {
                let why = error.to_string();
                done.push(of(&now, 0).status(WorkerStatus::Failed, &why));
                report(WorkerStatus::Failed, Some(FailureKind::Unknown), why)
            }
        };
        done.push(by(&now).progress(report.status.name(), summary));
        done.push(by(&now).report(&report, &[]));
        self.emitter.emit(done).await?;
        Ok(report)
    }

    /// The document's next version: its text, and what prior work it is related to.
    async fn revise(
        &self,
        turn: &TurnContext,
        path: &str,
        text: &str,
    ) -> Result<Revision, WorkspaceError> {
        // By id alone: what memory says would be found, reported and remembered once more.
        let ids: Vec<String> = turn.related.iter().map(ToString::to_string).collect();
        let text = match ids.as_slice() {
            [] => text.to_owned(),
            ids => format!(
                "{}\n\nRelated prior work: {}\n",
                text.trim_end(),
                ids.join(", ")
            ),
        };
        let (workspace, path) = (self.workspace.clone(), path.to_owned());
        let named = path.clone();
        let written = tokio::task::spawn_blocking(move || revise(&workspace, &path, &text)).await;
        written.unwrap_or_else(|error| {
            Err(WorkspaceError::Io {
                path: named,
                message: error.to_string(),
            })
        })
    }
}
