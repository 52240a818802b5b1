//! The supervisors of the conductors and their workers, and the dispatch of a conductor's tasks.

use std::collections::BTreeMap;

use ractor::{ActorCell, ActorId, SpawnErr};
use reprise_types::limits::RECALL_BUDGET_MS;

use super::per_user::{ArgumentsOf, PerUserMsg, PerUserSupervisor};
use crate::actors::{
    Capability, CommandLimits, ConductorActor, ConductorArguments, ConductorMsg, Emitter,
    ModelGateway, WorkerActor, WorkerArguments, WorkerMsg, WorkerReport,
};
use crate::prelude::*;

/// Time limit for draining a supervisor's children.
const DRAIN: Duration = Duration::from_mins(2);
/// Time limit of a worker's turn: longer than that of any command.
const WORKER_MS: u64 = 15 * 60 * 1_000;
/// Time limit for starting a worker.
const START_MS: u64 = 30_000;

/// Configuration of conductors and workers.
#[derive(Clone)]
pub struct WorkersConfig {
    /// The workers' directory, created if missing.
    pub workspace: PathBuf,
    pub gateway: Arc<dyn ModelGateway>,
    pub commands: CommandLimits,
    /// Time budget of a call to memory.
    pub memory_budget: Duration,
}

impl WorkersConfig {
    /// The defaults, with this directory and this planner.
    pub fn new(workspace: PathBuf, gateway: Arc<dyn ModelGateway>) -> Self {
        Self {
            workspace,
            gateway,
            commands: CommandLimits::default(),
            memory_budget: Duration::from_millis(RECALL_BUDGET_MS),
        }
    }
}

reprise_types::show_fields!(WorkersConfig {
    workspace,
    memory_budget
});

/// The memory of a user, if any.
pub(crate) type MemoryOf = Arc<dyn Fn(&UserId) -> Option<Arc<dyn MemoryProvider>> + Send + Sync>;

/// Shared by every conductor and worker of a session.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) config: WorkersConfig,
    pub(crate) store: ActorRef<EventStoreMsg>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) memory: MemoryOf,
}

/// The supervisors of the workers of each kind.
#[derive(Debug, Clone)]
pub struct Workers(BTreeMap<Capability, ActorRef<PerUserMsg<WorkerMsg>>>);

impl Workers {
    /// Runs one turn of the user's worker for this task.
    pub async fn call(&self, user: &UserId, turn: TurnContext) -> Result<WorkerReport, RunError> {
        let capability = turn.task.capability();
        let gone = |error: &dyn std::fmt::Display| RunError::gone(capability.name(), error);
        let supervisor = self.0.get(&capability).ok_or(RunError::NoWorkers)?;
        let user_id = user.clone();
        let get = |reply| PerUserMsg::GetOrCreate { user_id, reply };
        let worker = call_t!(supervisor, get, START_MS).map_err(|error| gone(&error))??;
        let report = call_t!(worker, |reply| WorkerMsg::Run { turn, reply }, WORKER_MS);
        Ok(report.map_err(|error| gone(&error))??)
    }
}

/// The running supervisors of conductors and workers.
#[derive(Debug)]
pub(crate) struct WorkerTree {
    pub(crate) desktop: ActorRef<PerUserMsg<ConductorMsg>>,
    workers: Workers,
}

impl WorkerTree {
    pub(crate) async fn start(
        shared: Shared,
        session: Option<ActorCell>,
    ) -> Result<Self, SpawnErr> {
        let worker = |capability| {
            let shared = shared.clone();
            let arguments: ArgumentsOf<WorkerActor> = Arc::new(move |user| {
                Ok(WorkerArguments {
                    capability,
                    emitter: shared.emitter(user),
                    workspace: shared.workspace()?,
                    commands: Arc::new(shared.config.commands.clone()),
                    memory_provider: (shared.memory)(user),
                    memory_budget: shared.config.memory_budget,
                })
            });
            spawn::<WorkerActor>(arguments, session.clone())
        };
        let mut workers = Workers(BTreeMap::new());
        for capability in Capability::ALL {
            workers.0.insert(capability, worker(capability).await?);
        }
        let reached = workers.clone();
        let conductor: ArgumentsOf<ConductorActor> = Arc::new(move |user| {
            Ok(ConductorArguments {
                emitter: shared.emitter(user),
                workers: reached.clone(),
                gateway: Arc::clone(&shared.config.gateway),
                memory_provider: (shared.memory)(user),
                memory_budget: shared.config.memory_budget,
            })
        });
        let desktop = spawn::<ConductorActor>(conductor, session).await?;
        Ok(Self { desktop, workers })
    }

    pub(crate) fn holds(&self, actor: ActorId) -> bool {
        self.desktop.get_id() == actor || self.workers.0.values().any(|one| one.get_id() == actor)
    }

    /// Shuts down the conductors, then the workers, which the conductors need until then.
    pub(crate) async fn shut_down(self) {
        let workers = self.workers.0.values().map(ActorRef::get_cell);
        for supervisor in std::iter::once(self.desktop.get_cell()).chain(workers) {
            if let Err(error) = supervisor.drain_and_wait(Some(DRAIN)).await {
                tracing::warn!(%error, "a supervisor of workers did not end in time");
            }
        }
    }
}

impl Shared {
    fn emitter(&self, user: &UserId) -> Emitter {
        Emitter::new(self.store.clone(), Arc::clone(&self.clock), user.clone())
    }

    fn workspace(&self) -> Result<Workspace, RunError> {
        let workspace = Workspace::new(&self.config.workspace);
        workspace.map_err(|error| RunError::gone("worker", &error))
    }
}

async fn spawn<A: Actor + Default>(
    arguments: ArgumentsOf<A>,
    parent: Option<ActorCell>,
) -> Result<ActorRef<PerUserMsg<A::Msg>>, SpawnErr> {
    let supervisor = PerUserSupervisor::<A>::default();
    let spawned = match parent {
        Some(parent) => PerUserSupervisor::spawn_linked(None, supervisor, arguments, parent).await,
        None => PerUserSupervisor::spawn(None, supervisor, arguments).await,
    };
    spawned.map(|(actor, _)| actor)
}
