//! The worker actor: runs a turn with a recall of its own, and reports.

use reprise_types::MemoryKind;

use super::emitter::{Emitter, EventDraft};
use super::events::WorkerEvents;
use super::memory_client::MemoryClient;
use super::task::Capability;
use super::terminal::{self, CommandLimits};
use super::turn::{Outcome, WorkerReport};
use super::{researcher, writer};
use crate::prelude::*;

/// Records recalled for one turn (M39).
const MEMORIES: usize = 3;
/// Kinds of records that the writer relates a document to (M39).
const PRIOR_WORK: [MemoryKind; 2] = [MemoryKind::Finding, MemoryKind::Pattern];

#[derive(Debug, Default)]
pub struct WorkerActor;

#[derive(Clone)]
pub struct WorkerArguments {
    pub capability: Capability,
    pub emitter: Emitter,
    pub workspace: Workspace,
    pub commands: Arc<CommandLimits>,
    /// The user's memory, if any (M41).
    pub memory_provider: Option<Arc<dyn MemoryProvider>>,
    /// Time budget of a call to memory.
    pub memory_budget: Duration,
}

reprise_types::show_fields!(WorkerArguments { capability });

#[derive(Debug)]
pub enum WorkerMsg {
    Run {
        turn: TurnContext,
        /// The report; an error where it could not be logged.
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
        let _gone = reply.send(state.turn(&turn).await).is_err();
        Ok(())
    }
}

/// The system prompt of a turn: role, objective and recalled memories.
pub fn get_system_context(worker: Capability, objective: &str, memory: &MemoryAnswer) -> String {
    let role = match worker {
        Capability::Terminal => terminal::ROLE,
        Capability::Researcher => researcher::ROLE,
        Capability::Writer => writer::ROLE,
    };
    let wanted = format!("{role}\n\nObjective: {objective}");
    match memory.block(worker.memory_heading()) {
        Some(memory) => format!("{wanted}\n\n{memory}"),
        None => wanted,
    }
}

impl WorkerState {
    async fn turn(&self, turn: &TurnContext) -> Result<WorkerReport, EventStoreError> {
        let WorkerArguments {
            capability,
            emitter,
            ..
        } = &self.arguments;
        let memory = self.ask_memory(turn).await;
        let started_at = emitter.now();
        // The prompt is made before the work, which reads what it says.
        let system_context = get_system_context(*capability, &turn.objective, &memory);
        let outcome = if turn.task.capability() == *capability {
            let events = self.events(turn, &started_at);
            let mut started = vec![events.progress("started", &turn.objective)];
            started.extend(begun(events, &turn.task));
            emitter.emit(started).await?;
            self.work(turn, &started_at, &memory).await
        } else {
            not_ours(*capability, turn)
        };
        let report = WorkerReport {
            status: outcome.status,
            failure: outcome.failure,
            summary: format!("{}: {}", turn.objective, outcome.summary),
            system_context,
            command: outcome.command,
            memory,
        };
        let now = emitter.now();
        let mut done = outcome.events;
        let events = self.events(turn, &now);
        done.push(events.progress(report.status.name(), &outcome.progress));
        done.push(events.report(&report, &outcome.findings));
        emitter.emit(done).await?;
        Ok(report)
    }

    fn events<'a>(&self, turn: &'a TurnContext, now: &'a str) -> WorkerEvents<'a> {
        WorkerEvents {
            role: self.arguments.capability.name(),
            turn,
            now,
        }
    }

    /// The turn's recall: by the summary of a document, for other tasks by the objective.
    async fn ask_memory(&self, turn: &TurnContext) -> MemoryAnswer {
        let (query, kinds): (&str, &[MemoryKind]) = match &turn.task {
            Task::Write { summary, .. } if summary.trim().is_empty() => {
                (&turn.objective, &PRIOR_WORK)
            }
            Task::Write { summary, .. } => (summary, &PRIOR_WORK),
            Task::Run { .. } | Task::Search { .. } => (&turn.objective, &[]),
        };
        self.memory.ask(query, MEMORIES, kinds).await
    }

    async fn work(&self, turn: &TurnContext, started_at: &str, memory: &MemoryAnswer) -> Outcome {
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
                let commands = terminal::by_experience(command, instead, memory);
                let mut events = Vec::new();
                let mut last = None;
                for command in commands {
                    let began = emitter.now();
                    let call = self
                        .events(turn, &began)
                        .tool_call(terminal::TOOL, &command);
                    let limits = Arc::clone(&self.arguments.commands);
                    let ran = terminal::run(workspace.clone(), folder, files, &command, limits);
                    let ran = ran.await;
                    let now = emitter.now();
                    let done = self.events(turn, &now);
                    events.extend([call, terminal::result(&ran, done, &began)]);
                    let goes_on = terminal::may_go_on(&ran);
                    last = Some((ran, command));
                    if !goes_on {
                        break;
                    }
                }
                match last {
                    Some((ran, command)) => terminal::outcome(&ran, command, events),
                    None => not_ours(self.arguments.capability, turn),
                }
            }
            Task::Search { words } => {
                let found = researcher::look_up(workspace.clone(), words, memory).await;
                let now = emitter.now();
                let events = self.events(turn, &now);
                researcher::outcome(workspace.clone(), found, words, events, started_at).await
            }
            Task::Write {
                path,
                text,
                summary,
            } => {
                let revised = writer::revise(workspace.clone(), path, text, memory.results()).await;
                let (now, patch_id) = (emitter.now(), emitter.id());
                writer::outcome(&revised, path, summary, self.events(turn, &now), &patch_id)
            }
        }
    }
}

/// The events at the beginning of a task.
fn begun(events: WorkerEvents<'_>, task: &Task) -> Vec<EventDraft> {
    match task {
        // Said with each command.
        Task::Run { .. } => Vec::new(),
        Task::Search { words } => vec![events.tool_call(researcher::TOOL, &words.join(" "))],
        Task::Write { path, summary, .. } => {
            let document = events.document(path, 0);
            vec![document.started(), document.progress(summary)]
        }
    }
}

fn not_ours(worker: Capability, turn: &TurnContext) -> Outcome {
    let (own, wanted) = (worker.name(), turn.task.capability().name());
    let summary = format!("the {own} does not do the {wanted}'s work");
    Outcome {
        status: WorkerStatus::Blocked,
        failure: Some(FailureKind::Unknown),
        progress: summary.clone(),
        summary,
        findings: Vec::new(),
        command: None,
        events: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
