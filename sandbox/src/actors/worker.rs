//! The worker actor: runs a turn with a recall of its own, and reports.

use reprise_types::MemoryKind;

use super::emitter::{EventDraft, EventEmitter};
use super::events::WorkerEvents;
use super::memory_client::{MemoryClient, WITHOUT_MEMORY};
use super::task::Capability;
use super::terminal::{self, CommandLimits};
use super::turn::{TurnOutcome, WorkerReport};
use super::{SystemContext, researcher, writer};
use crate::prelude::*;

/// Number of records recalled for one turn.
const MEMORIES: usize = 3;
/// Kinds of records to which the writer relates a document.
const PRIOR_WORK: [MemoryKind; 2] = [MemoryKind::Finding, MemoryKind::Pattern];

#[derive(Debug, Default)]
pub struct WorkerActor;

#[derive(Clone)]
pub struct WorkerArguments {
    pub capability: Capability,
    pub emitter: EventEmitter,
    pub workspace: WorkerDirectory,
    pub commands: Arc<CommandLimits>,
    /// The user's memory, if there is one.
    pub memory_provider: Option<Arc<dyn MemoryProvider>>,
    /// Time budget of a call to memory.
    pub memory_budget: Duration,
}

reprise_types::show_fields!(WorkerArguments { capability });

#[derive(Debug)]
pub enum WorkerMsg {
    Run {
        turn: TurnContext,
        /// Receives the report; an error if the turn could not be logged.
        reply: RpcReplyPort<Result<WorkerReport, EventStoreError>>,
    },
}

#[derive(Debug)]
pub struct WorkerState {
    arguments: WorkerArguments,
    memory: MemoryClient,
}

#[async_trait::async_trait]
impl Actor for WorkerActor {
    type Msg = WorkerMsg;
    type State = WorkerState;
    type Arguments = WorkerArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let provider = arguments.memory_provider.clone();
        Ok(WorkerState {
            memory: MemoryClient::new(provider, arguments.memory_budget),
            arguments,
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let WorkerMsg::Run { turn, reply } = message;
        let _receiver_gone = reply.send(state.run_turn(&turn).await).is_err();
        Ok(())
    }
}

/// Builds the system context of a turn: role, objective and recalled memories.
pub fn build_system_context(
    worker: Capability,
    objective: &str,
    memory: MemoryAnswer,
) -> SystemContext {
    let role = match worker {
        Capability::Terminal => terminal::ROLE,
        Capability::Researcher => researcher::ROLE,
        Capability::Writer => writer::ROLE,
    };
    SystemContext::new(role, worker, objective, memory)
}

impl WorkerState {
    async fn run_turn(&self, turn: &TurnContext) -> Result<WorkerReport, EventStoreError> {
        let WorkerArguments {
            capability,
            emitter,
            ..
        } = &self.arguments;
        let memory = self.recall_for_turn(turn).await;
        let started_at = emitter.format_now();
        // The work reads memory from here and nowhere else.
        let context = build_system_context(*capability, &turn.objective, memory);
        let outcome = if turn.task.capability() == *capability {
            let events = self.turn_events(turn, &started_at);
            let mut started = vec![events.progress_event("started", &turn.objective)];
            if context.memory().status.is_missed() {
                let missed = format!("the {} {WITHOUT_MEMORY}", capability.name());
                started.push(events.progress_event("started", &missed));
            }
            started.extend(build_start_events(events, &turn.task));
            emitter.emit(started).await?;
            self.run_task(turn, &started_at, &context).await
        } else {
            refuse_task(*capability, turn)
        };
        let report = WorkerReport {
            status: outcome.status,
            failure: outcome.failure,
            summary: format!("{}: {}", turn.objective, outcome.summary),
            command: outcome.command,
            choice: outcome.choice,
            context,
        };
        let now = emitter.format_now();
        let mut drafts = outcome.events;
        let events = self.turn_events(turn, &now);
        drafts.push(events.progress_event(report.status.name(), &outcome.progress));
        drafts.push(events.report_event(&report, &outcome.findings));
        emitter.emit(drafts).await?;
        Ok(report)
    }

    fn turn_events<'a>(&self, turn: &'a TurnContext, now: &'a str) -> WorkerEvents<'a> {
        WorkerEvents {
            role: self.arguments.capability.name(),
            turn,
            now,
        }
    }

    /// Recalls for a turn: with the summary of a document, or with the objective for other tasks.
    async fn recall_for_turn(&self, turn: &TurnContext) -> MemoryAnswer {
        let (query, kinds): (&str, &[MemoryKind]) = match &turn.task {
            Task::Write { summary, .. } if summary.trim().is_empty() => {
                (&turn.objective, &PRIOR_WORK)
            }
            Task::Write { summary, .. } => (summary, &PRIOR_WORK),
            Task::Run { .. } | Task::Search { .. } => (&turn.objective, &[]),
        };
        self.memory.recall(query, MEMORIES, kinds).await
    }

    async fn run_task(
        &self,
        turn: &TurnContext,
        started_at: &str,
        context: &SystemContext,
    ) -> TurnOutcome {
        let WorkerArguments {
            emitter, workspace, ..
        } = &self.arguments;
        match &turn.task {
            Task::Run {
                folder,
                files,
                command,
                instead,
            } => {
                let commands = terminal::order_commands(command, instead, context);
                let choice = terminal::describe_choice(command, &commands);
                let mut events = Vec::new();
                let mut last = None;
                for command in commands {
                    let began = emitter.format_now();
                    let call = self
                        .turn_events(turn, &began)
                        .tool_call_event(terminal::TOOL, &command);
                    let limits = Arc::clone(&self.arguments.commands);
                    let report =
                        terminal::run_command(workspace.clone(), folder, files, &command, limits);
                    let report = report.await;
                    let now = emitter.format_now();
                    let events_now = self.turn_events(turn, &now);
                    events.extend([
                        call,
                        terminal::build_result_event(&report, events_now, &began),
                    ]);
                    let is_retried = terminal::is_retryable(&report);
                    last = Some((report, command));
                    if !is_retried {
                        break;
                    }
                }
                match last {
                    Some((report, command)) => TurnOutcome {
                        choice,
                        ..terminal::build_outcome(&report, command, events)
                    },
                    None => refuse_task(self.arguments.capability, turn),
                }
            }
            Task::Search { words } => {
                let lines = researcher::search_workspace(workspace.clone(), words, context).await;
                let choice = researcher::describe_choice(&lines);
                let now = emitter.format_now();
                let events = self.turn_events(turn, &now);
                TurnOutcome {
                    choice,
                    ..researcher::build_outcome(workspace.clone(), lines, words, events, started_at)
                        .await
                }
            }
            Task::Write {
                path,
                text,
                summary,
            } => {
                let related = context.memory().results();
                let revised = writer::write_revision(workspace.clone(), path, text, related).await;
                let (now, patch_id) = (emitter.format_now(), emitter.new_id());
                let events = self.turn_events(turn, &now);
                TurnOutcome {
                    choice: writer::describe_choice(related),
                    ..writer::build_outcome(&revised, path, summary, events, &patch_id)
                }
            }
        }
    }
}

/// Builds the events at the beginning of a task.
fn build_start_events(events: WorkerEvents<'_>, task: &Task) -> Vec<EventDraft> {
    match task {
        // Each command emits its own event.
        Task::Run { .. } => Vec::new(),
        Task::Search { words } => vec![events.tool_call_event(researcher::TOOL, &words.join(" "))],
        Task::Write { path, summary, .. } => {
            let document = events.document_events(path, 0);
            vec![document.started_event(), document.progress_event(summary)]
        }
    }
}

fn refuse_task(worker: Capability, turn: &TurnContext) -> TurnOutcome {
    let (own, wanted) = (worker.name(), turn.task.capability().name());
    let summary = format!("the {own} does not do the {wanted}'s work");
    TurnOutcome {
        status: WorkerStatus::Blocked,
        failure: Some(FailureKind::Unknown),
        progress: summary.clone(),
        summary,
        findings: Vec::new(),
        command: None,
        choice: None,
        events: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
