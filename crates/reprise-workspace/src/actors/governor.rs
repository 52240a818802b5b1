//! The actor in whose hands merges, approvals and rollbacks are.

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{OrchestratorMsg, Reply, answer, blocking};
use crate::transaction::Receipt;
use crate::workspace::Workspace;

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
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(arguments)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
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
