//! The session: what lives as long as a user works, of which memory is the only part so far.
//!
//! Lives here: starting memory through the bridge and answering who asks for it. Must never live
//! here: which memory it is.

use std::sync::Arc;
use std::time::Instant;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use reprise_types::{MemoryError, MemoryProvider, UserId};
use tokio::sync::watch;

use super::budget::RestartBudget;
use crate::event_bus::EventBusMsg;
use crate::event_store::EventStoreMsg;
use crate::memory_bridge::{MemoryBridge, RunningMemory};

/// The actor type.
#[derive(Debug)]
pub struct SessionSupervisor;

/// What the session starts from.
#[derive(Debug, Clone)]
pub struct SessionArguments {
    /// The way to memory.
    pub memory: MemoryBridge,
    /// Where memory catches up.
    pub store: ActorRef<EventStoreMsg>,
    /// Where memory listens; changes when the bus is restarted.
    pub bus: watch::Receiver<ActorRef<EventBusMsg>>,
}

/// What the session understands.
pub enum SessionSupervisorMsg {
    /// The memory of a user, made where there is none yet.
    GetOrCreateMemory {
        /// Whose.
        user_id: UserId,
        /// The port to it.
        reply: RpcReplyPort<Result<Arc<dyn MemoryProvider>, MemoryError>>,
    },
}

impl std::fmt::Debug for SessionSupervisorMsg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::GetOrCreateMemory { user_id, .. } => write!(f, "GetOrCreateMemory({user_id})"),
        }
    }
}

/// The running memory.
#[derive(Debug)]
pub struct SessionState {
    arguments: SessionArguments,
    memory: RunningMemory,
    budget: RestartBudget,
}

impl SessionState {
    /// Memory is optional and never defines correctness: when it cannot be kept up, the session
    /// goes on without it.
    async fn heal(&mut self, myself: &ActorRef<SessionSupervisorMsg>, why: &str) {
        tracing::warn!(why, "memory ended; it is replaced");
        if !self.budget.take(Instant::now()) {
            tracing::error!(
                why,
                "memory ended too often; the session goes on without it"
            );
            self.memory = RunningMemory::none();
            return;
        }
        self.memory = start(&self.arguments, myself).await.unwrap_or_else(|error| {
            tracing::error!(%error, "memory could not be restarted; the session goes on without it");
            RunningMemory::none()
        });
    }
}

async fn start(
    arguments: &SessionArguments,
    myself: &ActorRef<SessionSupervisorMsg>,
) -> Result<RunningMemory, MemoryError> {
    let SessionArguments { memory, store, bus } = arguments;
    memory
        .start(myself.get_cell(), store.clone(), bus.clone())
        .await
}

#[async_trait::async_trait]
impl Actor for SessionSupervisor {
    type Msg = SessionSupervisorMsg;
    type State = SessionState;
    type Arguments = SessionArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let memory = start(&arguments, &myself).await?;
        Ok(SessionState {
            arguments,
            memory,
            budget: RestartBudget::default(),
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SessionSupervisorMsg::GetOrCreateMemory { user_id, reply } => {
                let _gone = reply.send(state.memory.of(&user_id).await).is_err();
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, error) if state.memory.is(who.get_id()) => {
                state.heal(&myself, &error.to_string()).await;
            }
            SupervisionEvent::ActorTerminated(who, _, _) if state.memory.is(who.get_id()) => {
                state.heal(&myself, "it ended").await;
            }
            _ => {}
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.memory.shut_down().await;
        Ok(())
    }
}
