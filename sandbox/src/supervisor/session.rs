//! The session: what lives as long as a user works: memory, and a desk of workers per user.
//!
//! Lives here: starting both and answering who asks for them. Must never live here: which memory it
//! is, or what the workers do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use reprise_types::{Clock, MemoryError, MemoryProvider, UserId};
use tokio::sync::watch;
use tokio::time::timeout;

use super::budget::RestartBudget;
use crate::actors::{ConductorMsg, Desk, DeskConfig, RunError};
use crate::event_bus::EventBusMsg;
use crate::event_store::EventStoreMsg;
use crate::memory_bridge::{MemoryBridge, RunningMemory};

/// How long a desk waits for its memory's file to be open; then it starts without.
const MEMORY: Duration = Duration::from_secs(5);

/// The actor type.
#[derive(Debug)]
pub struct SessionSupervisor;

/// What the session starts from.
#[derive(Clone)]
pub struct SessionArguments {
    /// The way to memory.
    pub memory: MemoryBridge,
    /// Where memory catches up.
    pub store: ActorRef<EventStoreMsg>,
    /// Where memory listens; changes when the bus is restarted.
    pub bus: watch::Receiver<ActorRef<EventBusMsg>>,
    /// What a desk of workers starts from; `None` is a session without workers.
    pub desk: Option<DeskConfig>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for SessionArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionArguments")
            .field("desk", &self.desk)
            .finish_non_exhaustive()
    }
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
    /// The conductor of a user, started with its workers where there is none yet.
    GetOrCreateConductor {
        /// Whose.
        user_id: UserId,
        /// Its address.
        reply: RpcReplyPort<Result<ActorRef<ConductorMsg>, RunError>>,
    },
}

impl std::fmt::Debug for SessionSupervisorMsg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::GetOrCreateMemory { user_id, .. } => write!(f, "GetOrCreateMemory({user_id})"),
            Self::GetOrCreateConductor { user_id, .. } => {
                write!(f, "GetOrCreateConductor({user_id})")
            }
        }
    }
}

/// The running memory.
#[derive(Debug)]
pub struct SessionState {
    arguments: SessionArguments,
    memory: RunningMemory,
    desks: BTreeMap<UserId, Seat>,
    budget: RestartBudget,
}

/// A desk, and whether it has the memory that it should have.
#[derive(Debug)]
struct Seat {
    desk: Desk,
    remembers: bool,
}

impl SessionState {
    /// Memory is optional and never defines correctness: when it cannot be kept up, the session
    /// goes on without it.
    async fn heal(&mut self, myself: &ActorRef<SessionSupervisorMsg>, why: &str) {
        tracing::warn!(why, "memory ended; it is replaced");
        // They know the one that ended; the next request starts them with its successor.
        for (_, seat) in std::mem::take(&mut self.desks) {
            retire(seat);
        }
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

impl SessionState {
    async fn conductor(
        &mut self,
        myself: &ActorRef<SessionSupervisorMsg>,
        user: &UserId,
    ) -> Result<ActorRef<ConductorMsg>, RunError> {
        let Some(config) = &self.arguments.desk else {
            return Err(RunError::NoDesk);
        };
        if let Some(seat) = self.desks.get(user).filter(|seat| seat.remembers) {
            return Ok(seat.desk.conductor.clone());
        }
        let memory = match timeout(MEMORY, self.memory.of(user)).await {
            Ok(Ok(memory)) => Some(memory),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the workers start without memory");
                None
            }
            Err(_) => {
                tracing::warn!("memory is slow to open; the workers start without it");
                None
            }
        };
        let remembers = memory.is_some();
        if let Some(seat) = self.desks.get(user).filter(|_| !remembers) {
            return Ok(seat.desk.conductor.clone());
        }
        let (store, clock) = (
            self.arguments.store.clone(),
            Arc::clone(&self.arguments.clock),
        );
        let cell = myself.get_cell();
        let desk = Desk::start(config, user, memory, store, clock, cell).await;
        let desk = desk.map_err(|error| RunError::Gone {
            who: "desk",
            message: error.to_string(),
        })?;
        let conductor = desk.conductor.clone();
        let seat = Seat { desk, remembers };
        if let Some(old) = self.desks.insert(user.clone(), seat) {
            retire(old);
        }
        Ok(conductor)
    }

    /// A desk of which one actor has ended is replaced as a whole, by the next request.
    fn leave(&mut self, ended: ractor::ActorId) {
        let of = self.desks.iter().find(|(_, seat)| seat.desk.holds(ended));
        if let Some(user) = of.map(|(user, _)| user.clone())
            && let Some(seat) = self.desks.remove(&user)
        {
            tracing::warn!(%user, "a worker ended; its desk is replaced");
            retire(seat);
        }
    }
}

/// Lets a desk finish what it does, without being waited for.
fn retire(seat: Seat) {
    tokio::spawn(seat.desk.shut_down());
}

async fn start(
    arguments: &SessionArguments,
    myself: &ActorRef<SessionSupervisorMsg>,
) -> Result<RunningMemory, MemoryError> {
    let SessionArguments {
        memory, store, bus, ..
    } = arguments;
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
            desks: BTreeMap::new(),
            budget: RestartBudget::default(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SessionSupervisorMsg::GetOrCreateMemory { user_id, reply } => {
                let _gone = reply.send(state.memory.of(&user_id).await).is_err();
            }
            SessionSupervisorMsg::GetOrCreateConductor { user_id, reply } => {
                let conductor = state.conductor(&myself, &user_id).await;
                let _gone = reply.send(conductor).is_err();
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
            SupervisionEvent::ActorFailed(who, error) => {
                tracing::warn!(%error, "a worker failed");
                state.leave(who.get_id());
            }
            SupervisionEvent::ActorTerminated(who, _, _) => state.leave(who.get_id()),
            _ => {}
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // The desks first: what they have under way still needs memory.
        for (_, seat) in std::mem::take(&mut state.desks) {
            seat.desk.shut_down().await;
        }
        state.memory.shut_down().await;
        Ok(())
    }
}
