//! The actor that writes, and hands on what was announced.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde_json::{Value, json};

use super::{Reply, answer, blocking};
use crate::care::Tended;
use crate::checkpoint::Saved;
use crate::error::Result;
use crate::event::{EventCursor, WorkspaceEvent};
use crate::transaction::Receipt;
use crate::workspace::{Workspace, WriteRequest};

/// Most events that are handed on at a time.
const BATCH: usize = 256;

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
    /// Writes artifacts, all or none.
    Write {
        request: WriteRequest,
        reply: Reply<Receipt>,
    },
    /// Saves an agent's state (W10).
    Checkpoint {
        actor: crate::Actor,
        /// A JSON object.
        state: Value,
        reply: Reply<Receipt>,
    },
    /// Gives an agent's newest state back (W11).
    State {
        agent: String,
        /// Nothing where it saved none.
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
                let events = workspace.events_since(&mut cursor, BATCH)?;
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

    fn count<T>(&mut self, done: &Result<T>) {
        if done.is_ok() {
            self.transactions += 1;
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
            OrchestratorMsg::Write { request, reply } => {
                let done = blocking(&workspace, move |workspace| workspace.write(&request)).await;
                state.count(&done);
                answer(reply, done);
            }
            OrchestratorMsg::Checkpoint {
                actor,
                state: saved,
                reply,
            } => {
                let done = blocking(&workspace, move |workspace| {
                    workspace.checkpoint(&actor, saved.to_string().as_bytes(), None)
                });
                let done = done.await;
                state.count(&done);
                answer(reply, done);
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
