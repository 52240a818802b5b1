//! How others ask the actors: with a bound on those who wait, since mailboxes have none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ractor::{ActorRef, Message, call_t};
use serde_json::Value;

use super::{GovernorMsg, OrchestratorMsg, Reply};
use crate::actor::Actor;
use crate::checkpoint::Saved;
use crate::error::{Result, WorkspaceError};
use crate::transaction::Receipt;
use crate::workspace::WriteRequest;

/// Questions under way or waiting; one more is refused at once.
const WAITING_MAX: usize = 64;
/// How long an answer may take: a minute for the workspace's lock, and as long again for the work.
const ANSWER_MS: u64 = 120_000;

/// The way to a workspace's actors; cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkspaceHandle {
    orchestrator: ActorRef<OrchestratorMsg>,
    governor: ActorRef<GovernorMsg>,
    waiting: Arc<AtomicUsize>,
}

/// A place among those who wait.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl WorkspaceHandle {
    /// The way to these two.
    pub fn new(orchestrator: ActorRef<OrchestratorMsg>, governor: ActorRef<GovernorMsg>) -> Self {
        Self {
            orchestrator,
            governor,
            waiting: Arc::default(),
        }
    }

    /// The actor in whose hands merges are.
    pub fn governor(&self) -> &ActorRef<GovernorMsg> {
        &self.governor
    }

    /// An actor's answer, once there is a place to wait in.
    async fn ask<M: Message, T: Send + 'static>(
        &self,
        actor: &ActorRef<M>,
        message: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T> {
        let _place = Place(Arc::clone(&self.waiting));
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= WAITING_MAX {
            return Err(WorkspaceError::Busy {
                what: format!("the workspace, for {WAITING_MAX} others wait already; it"),
            });
        }
        let answered = call_t!(actor, message, ANSWER_MS);
        answered.map_err(|error| WorkspaceError::Busy {
            what: format!("the workspace's actor did not answer ({error}); it"),
        })?
    }

    /// Writes artifacts, all or none.
    pub async fn write(&self, request: WriteRequest) -> Result<Receipt> {
        self.ask(&self.orchestrator, |reply| OrchestratorMsg::Write {
            request,
            reply,
        })
        .await
    }

    /// Saves an agent's state, a JSON object.
    pub async fn checkpoint(&self, actor: Actor, state: Value) -> Result<Receipt> {
        self.ask(&self.orchestrator, |reply| OrchestratorMsg::Checkpoint {
            actor,
            state,
            reply,
        })
        .await
    }

    /// An agent's newest state; nothing where it saved none.
    pub async fn state(&self, agent: String) -> Result<Option<Saved>> {
        self.ask(&self.orchestrator, |reply| OrchestratorMsg::State {
            agent,
            reply,
        })
        .await
    }

    /// Merges a branch into the one that is checked out.
    pub async fn merge(&self, actor: Actor, branch: String) -> Result<Receipt> {
        self.ask(&self.governor, |reply| GovernorMsg::Merge {
            actor,
            branch,
            reply,
        })
        .await
    }

    /// Records that a person approves a branch or commit as it stands.
    pub async fn approve(&self, human: Actor, reference: String) -> Result<Receipt> {
        self.ask(&self.governor, |reply| GovernorMsg::Approve {
            human,
            reference,
            reply,
        })
        .await
    }

    /// Takes back what a commit did to `core/`.
    pub async fn rollback(&self, actor: Actor, commit: String) -> Result<Receipt> {
        self.ask(&self.governor, |reply| GovernorMsg::Rollback {
            actor,
            commit,
            reply,
        })
        .await
    }
}
