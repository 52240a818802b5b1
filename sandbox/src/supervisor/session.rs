//! The session supervisor: memory, and beside it the supervisors of conductors and workers.

use ractor::SupervisionEvent;
use reprise_types::RestartBudget;

use super::application::ApplicationArguments;
use super::per_user::PerUserMsg;
use super::workers::{Shared, WorkerTree};
use crate::actors::ConductorMsg;
use crate::memory_bridge::RunningMemory;
use crate::prelude::*;
use crate::workspace_bridge::RunningWorkspace;

#[derive(Debug)]
pub struct SessionSupervisor;

#[derive(Debug, Clone)]
pub struct SessionArguments {
    pub host: ApplicationArguments,
    /// The bus that memory subscribes to; changes when it is restarted.
    pub bus: watch::Receiver<ActorRef<EventBusMsg>>,
}

pub enum SessionSupervisorMsg {
    /// The memory of a user, created if there is none.
    GetOrCreateMemory {
        user_id: UserId,
        reply: RpcReplyPort<Result<Arc<dyn MemoryProvider>, MemoryError>>,
    },
    /// The conductor of a user, started if there is none.
    GetOrCreateConductor {
        user_id: UserId,
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

#[derive(Debug)]
pub struct SessionState {
    arguments: SessionArguments,
    memory: RunningMemory,
    workers: Option<WorkerTree>,
    governed: Option<RunningWorkspace>,
    budget: RestartBudget,
}

impl SessionState {
    /// Restarts memory. Memory is optional: where it keeps failing, the session goes on without it.
    async fn heal(&mut self, myself: &ActorRef<SessionSupervisorMsg>, why: &str) {
        tracing::warn!(why, "memory ended; it is replaced");
        if !self.budget.take(Instant::now()) {
            tracing::error!(
                why,
                "memory ended too often; the session goes on without it"
            );
            self.memory.shut_down().await;
            return;
        }
        self.memory = start(&self.arguments, myself).await.unwrap_or_else(|error| {
            tracing::error!(%error, "memory could not be restarted; the session goes on without it");
            RunningMemory::default()
        });
    }

    /// Restarts the workspace's actors. Where they keep failing, the session goes on without them.
    async fn heal_workspace(&mut self, myself: &ActorRef<SessionSupervisorMsg>, why: &str) {
        tracing::warn!(why, "an actor of the workspace ended; both are replaced");
        if let Some(running) = self.governed.take() {
            running.shut_down().await;
        }
        if !self.budget.take(Instant::now()) {
            tracing::error!(
                why,
                "the workspace ended too often; the session goes on without it"
            );
            return;
        }
        self.governed = start_workspace(&self.arguments, myself).await;
    }

    /// A supervisor of workers handles their failures and should not end itself: where one does,
    /// the session restarts.
    fn miss(&self, ended: ractor::ActorId, why: &str) -> Result<(), ActorProcessingErr> {
        let ours = |workers: &WorkerTree| workers.holds(ended);
        if self.workers.as_ref().is_some_and(ours) {
            return Err(format!("a supervisor of workers ended: {why}").into());
        }
        Ok(())
    }
}

async fn start(
    arguments: &SessionArguments,
    myself: &ActorRef<SessionSupervisorMsg>,
) -> Result<RunningMemory, MemoryError> {
    let ApplicationArguments { store, config } = &arguments.host;
    let (cell, store, bus) = (myself.get_cell(), store.clone(), arguments.bus.clone());
    config.memory.start(cell, store, bus).await
}

async fn start_workspace(
    arguments: &SessionArguments,
    myself: &ActorRef<SessionSupervisorMsg>,
) -> Option<RunningWorkspace> {
    let bridge = arguments.host.config.governed.as_ref()?;
    let started = bridge.start(myself.get_cell(), arguments.host.store.clone());
    started
        .await
        .inspect_err(|error| tracing::error!(%error, "the session goes on without the workspace"))
        .ok()
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
        let ApplicationArguments { store, config } = arguments.host.clone();
        let workers = match config.workers {
            Some(workers) => {
                let shared = Shared {
                    config: workers,
                    store,
                    clock: config.clock,
                    memory: Arc::new(move |user| config.memory.provider(user)),
                };
                Some(WorkerTree::start(shared, Some(myself.get_cell())).await?)
            }
            None => None,
        };
        let governed = start_workspace(&arguments, &myself).await;
        Ok(SessionState {
            arguments,
            memory,
            workers,
            governed,
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
                let memory = state.memory.clone();
                // Opening a file may take long and must not block other requests.
                tokio::spawn(async move {
                    let _gone = reply.send(memory.of(&user_id).await).is_err();
                });
            }
            SessionSupervisorMsg::GetOrCreateConductor { user_id, reply } => match &state.workers {
                Some(workers) => {
                    let get = PerUserMsg::GetOrCreate { user_id, reply };
                    // A dropped reply port tells the caller that the supervisor is gone.
                    let _gone = workers.desktop.cast(get).is_err();
                }
                None => {
                    let _gone = reply.send(Err(RunError::NoWorkers)).is_err();
                }
            },
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let Some((who, why)) = super::ended(event) else {
            return Ok(());
        };
        if state.memory.is(who) {
            state.heal(&myself, &why).await;
        } else if state.governed.iter().any(|running| running.is(who)) {
            state.heal_workspace(&myself, &why).await;
        } else {
            state.miss(who, &why)?;
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // The workers first: their running turns still need memory.
        if let Some(workers) = state.workers.take() {
            workers.shut_down().await;
        }
        if let Some(running) = state.governed.take() {
            running.shut_down().await;
        }
        state.memory.shut_down().await;
        Ok(())
    }
}
