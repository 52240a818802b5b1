//! Orchestrator and Governor as actors, for hosts that live in a tree of them.
//!
//! The Orchestrator writes, keeps and gives back agents' states, and hands every event on; the
//! Governor merges, records approvals and rolls back. Work is done on blocking threads, one
//! transaction at a time in each. Mailboxes have no bound, so that those who wait have one.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, Message, RpcReplyPort, call_t};
use reprise_workspace_types::{Receipt, SavedCheckpoint, WorkspaceEvent};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::error::{Result, WorkspaceError};
use crate::event::EventCursor;
use crate::maintenance::MaintenanceState;
use crate::workspace::{Workspace, WriteRequest};

/// Most events that are handed on at a time.
const BATCH: usize = 256;
/// Questions under way or waiting; one more is refused at once.
const WAITING_MAX: usize = 64;
/// How long an answer may take: a minute for the workspace's lock, and as long again for the work.
const ANSWER_MS: u64 = 120_000;

pub type Reply<T> = RpcReplyPort<Result<T>>;

type Transaction = Box<dyn FnOnce(&Workspace) -> Result<Receipt> + Send>;

/// A transaction that an actor is asked for.
pub struct TransactionJob {
    work: Transaction,
    reply: Reply<Receipt>,
}

reprise_types::show_fields!(TransactionJob {});

impl TransactionJob {
    /// Runs the transaction and sends the reply; returns whether it succeeded.
    async fn execute_and_reply(self, workspace: &Workspace) -> bool {
        let done = run_blocking(workspace, self.work).await;
        let stands = done.is_ok();
        send_reply(self.reply, done);
        stands
    }
}

/// Runs blocking work on a thread outside the async runtime.
async fn run_blocking<T: Send + 'static>(
    workspace: &Workspace,
    work: impl FnOnce(&Workspace) -> Result<T> + Send + 'static,
) -> Result<T> {
    let workspace = workspace.clone();
    let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
    done.unwrap_or_else(|error| {
        let what = format!("the workspace's worker ended ({error}); what it was at");
        Err(WorkspaceError::busy(what))
    })
}

/// Sends a reply. A caller that no longer waits is no failure, because the work is done.
fn send_reply<T>(reply: Reply<T>, done: Result<T>) {
    let _gone = reply.send(done).is_err();
}

/// A handle to a workspace's actors that is cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkspaceHandle {
    orchestrator: ActorRef<OrchestratorMsg>,
    governor: ActorRef<TransactionJob>,
    /// Limits how many callers may wait at a time.
    waiting: Arc<Semaphore>,
}

impl WorkspaceHandle {
    /// Creates a handle to the two actors.
    pub fn new(
        orchestrator: ActorRef<OrchestratorMsg>,
        governor: ActorRef<TransactionJob>,
    ) -> Self {
        Self {
            orchestrator,
            governor,
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
        }
    }

    /// Returns the actor that writes and announces.
    pub fn orchestrator(&self) -> &ActorRef<OrchestratorMsg> {
        &self.orchestrator
    }

    /// Returns the actor that merges.
    pub fn governor(&self) -> &ActorRef<TransactionJob> {
        &self.governor
    }

    /// Sends a request to an actor and waits for its reply, unless too many callers wait.
    async fn send_and_await_reply<M: Message, T: Send + 'static>(
        &self,
        actor: &ActorRef<M>,
        message: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T> {
        let _place = self.waiting.try_acquire().map_err(|_| {
            let what = format!("the workspace, for {WAITING_MAX} others wait already; it");
            WorkspaceError::busy(what)
        })?;
        let answered = call_t!(actor, message, ANSWER_MS);
        answered.map_err(|error| {
            let what = format!("the workspace's actor did not answer ({error}); it");
            WorkspaceError::busy(what)
        })?
    }

    async fn send_to_orchestrator(
        &self,
        work: impl FnOnce(&Workspace) -> Result<Receipt> + Send + 'static,
    ) -> Result<Receipt> {
        let work = Box::new(work);
        let message = |reply| OrchestratorMsg::Transact(TransactionJob { work, reply });
        self.send_and_await_reply(&self.orchestrator, message).await
    }

    async fn send_to_governor(
        &self,
        work: impl FnOnce(&Workspace) -> Result<Receipt> + Send + 'static,
    ) -> Result<Receipt> {
        let work = Box::new(work);
        self.send_and_await_reply(&self.governor, |reply| TransactionJob { work, reply })
            .await
    }

    /// Writes artifacts, all or none.
    pub async fn write(&self, request: WriteRequest) -> Result<Receipt> {
        let work = move |workspace: &Workspace| workspace.write(&request);
        self.send_to_orchestrator(work).await
    }

    /// Saves an agent's state, a JSON object.
    pub async fn checkpoint(&self, actor: crate::Actor, state: Value) -> Result<Receipt> {
        let state = state.to_string();
        let work =
            move |workspace: &Workspace| workspace.checkpoint(&actor, state.as_bytes(), None);
        self.send_to_orchestrator(work).await
    }

    /// Returns an agent's newest state, or `None` if it never saved one.
    pub async fn state(&self, agent: String) -> Result<Option<SavedCheckpoint>> {
        let message = |reply| OrchestratorMsg::State { agent, reply };
        self.send_and_await_reply(&self.orchestrator, message).await
    }

    /// Merges a branch into the one that is checked out.
    pub async fn merge(&self, actor: crate::Actor, branch: String) -> Result<Receipt> {
        let work = move |workspace: &Workspace| workspace.merge(&actor, &branch, None);
        self.send_to_governor(work).await
    }

    /// Records that a person approves a branch or commit in its present state.
    pub async fn approve(&self, human: crate::Actor, reference: String) -> Result<Receipt> {
        let work = move |workspace: &Workspace| workspace.approve(&human, &reference);
        self.send_to_governor(work).await
    }

    /// Takes back what a commit did to `core/`.
    pub async fn rollback(&self, actor: crate::Actor, commit: String) -> Result<Receipt> {
        let work = move |workspace: &Workspace| workspace.rollback(&actor, &commit, None);
        self.send_to_governor(work).await
    }
}

/// The actor that merges, approves and rolls back.
#[derive(Debug)]
pub struct GovernorActor;

/// What the actor starts from.
#[derive(Debug, Clone)]
pub struct GovernorArguments {
    pub workspace: Workspace,
    /// The actor that delivers the events.
    pub orchestrator: ActorRef<OrchestratorMsg>,
}

#[async_trait::async_trait]
impl Actor for GovernorActor {
    type Msg = TransactionJob;
    type State = GovernorArguments;
    type Arguments = GovernorArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> std::result::Result<Self::State, ActorProcessingErr> {
        Ok(arguments)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        job: Self::Msg,
        state: &mut Self::State,
    ) -> std::result::Result<(), ActorProcessingErr> {
        job.execute_and_reply(&state.workspace).await;
        // One that is being replaced looks by itself when it starts.
        let _gone = state.orchestrator.cast(OrchestratorMsg::Announce).is_err();
        Ok(())
    }
}

/// The actor that writes, and delivers the events that were published.
#[derive(Debug)]
pub struct OrchestratorActor;

/// Receives the events of a workspace, whichever process published them: each event at least
/// once, in order.
#[async_trait::async_trait]
pub trait EventSink: Send + Sync + 'static {
    /// Receives a batch of events; a batch that it refuses is sent again.
    async fn take(&self, events: Vec<WorkspaceEvent>) -> std::result::Result<(), String>;
}

/// What the actor starts from.
#[derive(Clone)]
pub struct OrchestratorArguments {
    pub workspace: Workspace,
    pub sink: Arc<dyn EventSink>,
    /// How often the actor looks for events of other processes.
    pub look: Duration,
}

reprise_types::show_fields!(OrchestratorArguments { workspace });

#[derive(Debug)]
pub enum OrchestratorMsg {
    /// Writes artifacts, or saves an agent's state.
    Transact(TransactionJob),
    /// Returns an agent's newest state, or `None` if it never saved one.
    State {
        agent: String,
        reply: Reply<Option<SavedCheckpoint>>,
    },
    /// Maintains the tree, and delivers the events published since.
    Announce,
}

/// What the actor keeps between messages.
#[derive(Debug)]
pub struct OrchestratorState {
    arguments: OrchestratorArguments,
    cursor: EventCursor,
    /// Transactions since it first started, over all restarts.
    transactions: u64,
    has_moved: bool,
    maintained: MaintenanceState,
}

impl OrchestratorState {
    /// Delivers new events. Events that the sink refuses are sent again next time.
    async fn announce(&mut self) {
        loop {
            let mut cursor = self.cursor.clone();
            let read = run_blocking(&self.arguments.workspace, move |workspace| {
                let events = cursor.read(workspace.root(), BATCH)?;
                Ok((events, cursor))
            });
            let (events, cursor) = match read.await {
                Ok((events, _)) if events.is_empty() => return,
                Ok(read) => read,
                Err(error) => {
                    tracing::warn!(%error, "the workspace's events could not be read");
                    return;
                }
            };
            if let Err(error) = self.arguments.sink.take(events).await {
                tracing::warn!(error, "the workspace's events wait: nobody took them");
                return;
            }
            self.cursor = cursor;
            self.has_moved = true;
        }
    }
}

/// Finishes what a crash left open, and reads where the previous actor stopped.
fn recover_cursor(workspace: &Workspace) -> Result<(EventCursor, u64)> {
    workspace.recover()?;
    let me = crate::Actor::orchestrator();
    let Some(saved) = workspace.state(me.as_str())? else {
        return Ok((EventCursor::default(), 0));
    };
    let field = |name: &str| saved.checkpoint.get(name).cloned().unwrap_or_default();
    // A state that does not read is one of another version: everything is told again.
    let cursor = serde_json::from_value(field("events")).unwrap_or_default();
    Ok((cursor, field("transactions").as_u64().unwrap_or_default()))
}

#[async_trait::async_trait]
impl Actor for OrchestratorActor {
    type Msg = OrchestratorMsg;
    type State = OrchestratorState;
    type Arguments = OrchestratorArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> std::result::Result<Self::State, ActorProcessingErr> {
        let (cursor, transactions) = run_blocking(&arguments.workspace, recover_cursor).await?;
        myself.send_interval(arguments.look, || OrchestratorMsg::Announce);
        Ok(OrchestratorState {
            arguments,
            cursor,
            transactions,
            has_moved: false,
            maintained: MaintenanceState::default(),
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> std::result::Result<(), ActorProcessingErr> {
        let workspace = state.arguments.workspace.clone();
        match message {
            OrchestratorMsg::Transact(job) => {
                state.transactions += u64::from(job.execute_and_reply(&workspace).await);
            }
            OrchestratorMsg::State { agent, reply } => {
                let found =
                    run_blocking(&workspace, move |workspace| workspace.state(&agent)).await;
                send_reply(reply, found);
                return Ok(());
            }
            OrchestratorMsg::Announce => {
                let mut maintained = state.maintained.clone();
                let done = run_blocking(&workspace, move |workspace| {
                    workspace.maintain(&mut maintained)?;
                    Ok(maintained)
                });
                match done.await {
                    Ok(maintained) => state.maintained = maintained,
                    Err(error) => tracing::warn!(%error, "the workspace was not looked after"),
                }
            }
        }
        state.announce().await;
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> std::result::Result<(), ActorProcessingErr> {
        state.announce().await;
        if !state.has_moved {
            return Ok(());
        }
        let saved = json!({
            "events": state.cursor,
            "transactions": state.transactions,
            "next_action": "announce",
        });
        let done = run_blocking(&state.arguments.workspace, move |workspace| {
            let me = crate::Actor::orchestrator();
            workspace.checkpoint(
                &me,
                saved.to_string().as_bytes(),
                Some("The end of a session"),
            )
        });
        // Without it the next one tells some events again, which is harmless.
        if let Err(error) = done.await {
            tracing::warn!(%error, "the Orchestrator's state was not saved");
        }
        Ok(())
    }
}
