//! Orchestrator and Governor as actors, for hosts that live in a tree of them.
//!
//! The Orchestrator writes, keeps and gives back agents' states, and hands every event on; the
//! Governor merges, records approvals and rolls back. Work is done on blocking threads, one
//! transaction at a time in each.

mod handle;
mod orchestrator;

pub use handle::WorkspaceHandle;
pub use orchestrator::{
    EventSink, OrchestratorActor, OrchestratorArguments, OrchestratorMsg, OrchestratorState,
};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::error::{Result, WorkspaceError};
use crate::transaction::Receipt;
use crate::workspace::Workspace;

pub type Reply<T> = RpcReplyPort<Result<T>>;

/// Does blocking work off the runtime's threads.
async fn blocking<T: Send + 'static>(
    workspace: &Workspace,
    work: impl FnOnce(&Workspace) -> Result<T> + Send + 'static,
) -> Result<T> {
    let workspace = workspace.clone();
    let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
    done.unwrap_or_else(|error| {
        Err(WorkspaceError::Busy {
            what: format!("the workspace's worker ended ({error}); what it was at"),
        })
    })
}

/// An answer that nobody waits for any more is no failure: the work is done.
fn answer<T>(reply: Reply<T>, done: Result<T>) {
    let _gone = reply.send(done).is_err();
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

#[derive(Debug)]
pub enum GovernorMsg {
    /// Merges a branch into the one that is checked out.
    Merge {
        actor: crate::Actor,
        branch: String,
        reply: Reply<Receipt>,
    },
    /// Records that a person approves a branch or commit as it stands.
    Approve {
        human: crate::Actor,
        reference: String,
        reply: Reply<Receipt>,
    },
    /// Takes back what a commit did to `core/`.
    Rollback {
        actor: crate::Actor,
        commit: String,
        reply: Reply<Receipt>,
    },
}

#[async_trait::async_trait]
impl Actor for GovernorActor {
    type Msg = GovernorMsg;
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
        message: Self::Msg,
        state: &mut Self::State,
    ) -> std::result::Result<(), ActorProcessingErr> {
        let workspace = &state.workspace;
        match message {
            GovernorMsg::Merge {
                actor,
                branch,
                reply,
            } => {
                let done = blocking(workspace, move |workspace| {
                    workspace.merge(&actor, &branch, None)
                });
                answer(reply, done.await);
            }
            GovernorMsg::Approve {
                human,
                reference,
                reply,
            } => {
                let done = blocking(workspace, move |workspace| {
                    workspace.approve(&human, &reference)
                });
                answer(reply, done.await);
            }
            GovernorMsg::Rollback {
                actor,
                commit,
                reply,
            } => {
                let done = blocking(workspace, move |workspace| {
                    workspace.rollback(&actor, &commit, None)
                });
                answer(reply, done.await);
            }
        }
        // One that is being replaced looks by itself when it starts.
        let _gone = state.orchestrator.cast(OrchestratorMsg::Announce).is_err();
        Ok(())
    }
}
