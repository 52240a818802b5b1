//! Orchestrator and Governor as actors, for hosts that live in a tree of them.
//!
//! The Orchestrator writes, keeps and gives back agents' states, and hands every event on; the
//! Governor merges, records approvals and rolls back. Work is done on blocking threads, one
//! transaction at a time in each. Mailboxes have no bound, so that those who wait have one.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, Message, RpcReplyPort, call_t};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::care::Tended;
use crate::checkpoint::Saved;
use crate::error::{Result, WorkspaceError};
use crate::event::{EventCursor, WorkspaceEvent};
use crate::transaction::Receipt;
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
pub struct Job {
    work: Transaction,
    reply: Reply<Receipt>,
}

reprise_types::show_fields!(Job {});

impl Job {
    /// Carries it out and answers; whether it stands.
    async fn carry_out(self, workspace: &Workspace) -> bool {
        let done = blocking(workspace, self.work).await;
        let stands = done.is_ok();
        answer(self.reply, done);
        stands
    }
}

/// Does blocking work off the runtime's threads.
async fn blocking<T: Send + 'static>(
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

/// An answer that nobody waits for any more is no failure: the work is done.
fn answer<T>(reply: Reply<T>, done: Result<T>) {
    let _gone = reply.send(done).is_err();
}

/// The way to a workspace's actors; cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkspaceHandle {
    orchestrator: ActorRef<OrchestratorMsg>,
    governor: ActorRef<Job>,
    /// The places of those who wait.
    waiting: Arc<Semaphore>,
}

impl WorkspaceHandle {
    /// The way to these two.
    pub fn new(orchestrator: ActorRef<OrchestratorMsg>, governor: ActorRef<Job>) -> Self {
        Self {
            orchestrator,
            governor,
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
        }
    }

    /// The actor in whose hands merges are.
    pub fn governor(&self) -> &ActorRef<Job> {
        &self.governor
    }

    /// An actor's answer, once there is a place to wait in.
    async fn ask<M: Message, T: Send + 'static>(
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

    async fn orchestrated(
        &self,
        work: impl FnOnce(&Workspace) -> Result<Receipt> + Send + 'static,
    ) -> Result<Receipt> {
        let work = Box::new(work);
        let message = |reply| OrchestratorMsg::Transact(Job { work, reply });
        self.ask(&self.orchestrator, message).await
    }

    async fn governed(
        &self,
        work: impl FnOnce(&Workspace) -> Result<Receipt> + Send + 'static,
    ) -> Result<Receipt> {
        let work = Box::new(work);
        self.ask(&self.governor, |reply| Job { work, reply }).await
    }

    /// Writes artifacts, all or none.
    pub async fn write(&self, request: WriteRequest) -> Result<Receipt> {
        let work = move |workspace: &Workspace| workspace.write(&request);
        self.orchestrated(work).await
    }

    /// Saves an agent's state, a JSON object (W10).
    pub async fn checkpoint(&self, actor: crate::Actor, state: Value) -> Result<Receipt> {
        let state = state.to_string();
        let work =
            move |workspace: &Workspace| workspace.checkpoint(&actor, state.as_bytes(), None);
        self.orchestrated(work).await
    }

    /// An agent's newest state (W11); nothing where it saved none.
    pub async fn state(&self, agent: String) -> Result<Option<Saved>> {
        let message = |reply| OrchestratorMsg::State { agent, reply };
        self.ask(&self.orchestrator, message).await
    }

    /// Merges a branch into the one that is checked out.
    pub async fn merge(&self, actor: crate::Actor, branch: String) -> Result<Receipt> {
        let work = move |workspace: &Workspace| workspace.merge(&actor, &branch, None);
        self.governed(work).await
    }

    /// Records that a person approves a branch or commit as it stands.
    pub async fn approve(&self, human: crate::Actor, reference: String) -> Result<Receipt> {
        let work = move |workspace: &Workspace| workspace.approve(&human, &reference);
        self.governed(work).await
    }

    /// Takes back what a commit did to `core/`.
    pub async fn rollback(&self, actor: crate::Actor, commit: String) -> Result<Receipt> {
        let work = move |workspace: &Workspace| workspace.rollback(&actor, &commit, None);
        self.governed(work).await
    }
}

/// The actor in whose hands merges, approvals and rollbacks are.
#[derive(Debug)]
pub struct GovernorActor;

/// What the actor starts from.
#[derive(Debug, Clone)]
pub struct GovernorArguments {
    pub workspace: Workspace,
    /// Who hands on what is announced.
    pub orchestrator: ActorRef<OrchestratorMsg>,
}

#[async_trait::async_trait]
impl Actor for GovernorActor {
    type Msg = Job;
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
        job.carry_out(&state.workspace).await;
        // One that is being replaced looks by itself when it starts.
        let _gone = state.orchestrator.cast(OrchestratorMsg::Announce).is_err();
        Ok(())
    }
}

/// The actor that writes, and hands on what was announced.
#[derive(Debug)]
pub struct OrchestratorActor;

/// Who is told what was announced, whichever process announced it: each event at least once, in
/// order.
#[async_trait::async_trait]
pub trait EventSink: Send + Sync + 'static {
    /// Takes events; those that it refuses come again.
    async fn take(&self, events: Vec<WorkspaceEvent>) -> std::result::Result<(), String>;
}

/// What the actor starts from.
#[derive(Clone)]
pub struct OrchestratorArguments {
    pub workspace: Workspace,
    pub sink: Arc<dyn EventSink>,
    /// How often it looks for what other processes announced.
    pub look: Duration,
}

reprise_types::show_fields!(OrchestratorArguments { workspace });

#[derive(Debug)]
pub enum OrchestratorMsg {
    /// Writes artifacts, or saves an agent's state.
    Transact(Job),
    /// Gives an agent's newest state back; nothing where it saved none.
    State {
        agent: String,
        reply: Reply<Option<Saved>>,
    },
    /// Looks after the tree, and hands on what was announced since.
    Announce,
}

/// What it knows between messages.
#[derive(Debug)]
pub struct OrchestratorState {
    arguments: OrchestratorArguments,
    cursor: EventCursor,
    /// Transactions since it first started, over all restarts.
    transactions: u64,
    has_moved: bool,
    tended: Tended,
}

impl OrchestratorState {
    /// Hands on what is new. What the sink refuses stays for the next time.
    async fn announce(&mut self) {
        loop {
            let mut cursor = self.cursor.clone();
            let read = blocking(&self.arguments.workspace, move |workspace| {
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

/// Ties up what a crash left, and reads where the one before stopped.
fn resume(workspace: &Workspace) -> Result<(EventCursor, u64)> {
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
        let (cursor, transactions) = blocking(&arguments.workspace, resume).await?;
        myself.send_interval(arguments.look, || OrchestratorMsg::Announce);
        Ok(OrchestratorState {
            arguments,
            cursor,
            transactions,
            has_moved: false,
            tended: Tended::default(),
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
                state.transactions += u64::from(job.carry_out(&workspace).await);
            }
            OrchestratorMsg::State { agent, reply } => {
                let found = blocking(&workspace, move |workspace| workspace.state(&agent)).await;
                answer(reply, found);
                return Ok(());
            }
            OrchestratorMsg::Announce => {
                let mut tended = state.tended.clone();
                let done = blocking(&workspace, move |workspace| {
                    workspace.tend(&mut tended)?;
                    Ok(tended)
                });
                match done.await {
                    Ok(tended) => state.tended = tended,
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
        let done = blocking(&state.arguments.workspace, move |workspace| {
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
