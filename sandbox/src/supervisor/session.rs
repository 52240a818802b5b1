//! The session supervisor, whose children are memory and the supervisors of conductors and workers.

use ractor::{ActorId, SupervisionEvent};
use reprise_types::RestartBudget;

use super::ApplicationArguments;
use super::per_user::PerUserMsg;
use super::workers::{WorkerResources, WorkerTree};
use crate::actors::ConductorMsg;
use crate::memory_bridge::RunningMemory;
use crate::prelude::*;

#[derive(Debug)]
pub struct SessionSupervisor;

#[derive(Debug, Clone)]
pub struct SessionArguments {
    pub host: ApplicationArguments,
    /// The bus that memory subscribes to; changes when it is restarted.
    pub bus: watch::Receiver<ActorRef<EventBusMsg>>,
}

pub enum SessionSupervisorMsg {
    /// Returns the memory of a user, which is created if there is none.
    GetOrCreateMemory {
        user_id: UserId,
        reply: RpcReplyPort<Result<Arc<dyn MemoryProvider>, MemoryError>>,
    },
    /// Returns the conductor of a user, which is started if there is none.
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
    /// The actors of the governed workspace; none while it does not run.
    governed: Vec<ActorId>,
    budget: RestartBudget,
}

impl SessionState {
    /// Restarts memory. Memory is optional; if it keeps failing, the session continues without it.
    async fn restart_memory(&mut self, myself: &ActorRef<SessionSupervisorMsg>, why: &str) {
        if self.memory.ends_with_daemon() {
            tracing::debug!("the daemon ends, and its memory with it");
            return;
        }
        tracing::warn!(why, "memory ended; it is replaced");
        if !self.budget.try_restart(Instant::now()) {
            tracing::error!(
                why,
                "memory ended too often; the session goes on without it"
            );
            self.memory.shut_down().await;
            return;
        }
        self.memory = start_memory(&self.arguments, myself).await.unwrap_or_else(|error| {
            tracing::error!(%error, "memory could not be restarted; the session goes on without it");
            RunningMemory::default()
        });
    }

    /// Restarts the workspace's actors; if they keep failing, the session continues without them.
    async fn restart_workspace(&mut self, myself: &ActorRef<SessionSupervisorMsg>, why: &str) {
        tracing::warn!(why, "an actor of the workspace ended; both are replaced");
        self.end_workspace().await;
        if !self.budget.try_restart(Instant::now()) {
            tracing::error!(
                why,
                "the workspace ended too often; the session goes on without it"
            );
            return;
        }
        self.governed = start_workspace(&self.arguments, myself).await;
    }

    async fn end_workspace(&mut self) {
        self.governed.clear();
        if let Some(workspace) = &self.arguments.host.config.governed {
            workspace.shut_down().await;
        }
    }

    /// Returns an error, which restarts the session, if a supervisor of workers ended; it handles
    /// its workers' failures and should never end itself.
    fn check_worker_supervisors(
        &self,
        ended: ActorId,
        why: &str,
    ) -> Result<(), ActorProcessingErr> {
        let is_ours = |workers: &WorkerTree| workers.has_supervisor(ended);
        if self.workers.as_ref().is_some_and(is_ours) {
            return Err(format!("a supervisor of workers ended: {why}").into());
        }
        Ok(())
    }
}

async fn start_memory(
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
) -> Vec<ActorId> {
    let Some(workspace) = &arguments.host.config.governed else {
        return Vec::new();
    };
    let started = workspace.start(myself.get_cell(), arguments.host.store.clone());
    started.await.unwrap_or_else(|error| {
        tracing::error!(%error, "the session goes on without the workspace");
        Vec::new()
    })
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
        let memory = start_memory(&arguments, &myself).await?;
        let ApplicationArguments { store, config } = arguments.host.clone();
        let workers = match config.workers {
            Some(workers) => {
                let shared = WorkerResources {
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
                    let _receiver_gone = reply.send(memory.open_provider(&user_id).await).is_err();
                });
            }
            SessionSupervisorMsg::GetOrCreateConductor { user_id, reply } => match &state.workers {
                Some(workers) => {
                    let get = PerUserMsg::GetOrCreate { user_id, reply };
                    // If this fails, the dropped reply port tells the caller that the supervisor is
                    // gone.
                    let _receiver_gone = workers.desktop.cast(get).is_err();
                }
                None => {
                    let _receiver_gone = reply.send(Err(RunError::NoWorkers)).is_err();
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
        let Some((who, why)) = super::find_ended_child(event) else {
            return Ok(());
        };
        if state.memory.is_supervised_by(who) {
            state.restart_memory(&myself, &why).await;
        } else if state.governed.contains(&who) {
            state.restart_workspace(&myself, &why).await;
        } else {
            state.check_worker_supervisors(who, &why)?;
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // The workers end first, because their running turns still need memory.
        if let Some(workers) = state.workers.take() {
            workers.shut_down().await;
        }
        state.end_workspace().await;
        state.memory.shut_down().await;
        Ok(())
    }
}
