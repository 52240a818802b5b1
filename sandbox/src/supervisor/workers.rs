//! The supervisors of the conductors and their workers.

use std::collections::BTreeMap;

use ractor::{ActorCell, ActorId, SpawnErr};
use reprise_types::limits::RECALL_BUDGET_MS;

use super::dispatch::WorkerSupervisors;
use super::per_user::{ArgumentsFactory, PerUserMsg, PerUserSupervisor};
use crate::actors::{
    Capability, CommandLimits, ConductorActor, ConductorArguments, ConductorMsg, EventEmitter,
    ModelGateway, WorkerActor, WorkerArguments,
};
use crate::prelude::*;

/// Time limit for draining a supervisor's children.
const DRAIN: Duration = Duration::from_mins(2);

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
    /// Creates a configuration with the default limits.
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

/// Returns the memory of a user, if there is one.
pub(crate) type MemoryLookup =
    Arc<dyn Fn(&UserId) -> Option<Arc<dyn MemoryProvider>> + Send + Sync>;

/// What all conductors and workers of a session share.
#[derive(Clone)]
pub(crate) struct WorkerResources {
    pub(crate) config: WorkersConfig,
    pub(crate) store: ActorRef<EventStoreMsg>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) memory: MemoryLookup,
}

/// The running supervisors of conductors and workers.
#[derive(Debug)]
pub(crate) struct WorkerTree {
    pub(crate) desktop: ActorRef<PerUserMsg<ConductorMsg>>,
    workers: WorkerSupervisors,
}

impl WorkerTree {
    pub(crate) async fn start(
        shared: WorkerResources,
        session: Option<ActorCell>,
    ) -> Result<Self, SpawnErr> {
        let worker = |capability| {
            let shared = shared.clone();
            let arguments: ArgumentsFactory<WorkerActor> = Arc::new(move |user| {
                Ok(WorkerArguments {
                    capability,
                    emitter: shared.new_emitter(user),
                    workspace: shared.open_directory()?,
                    commands: Arc::new(shared.config.commands.clone()),
                    memory_provider: (shared.memory)(user),
                    memory_budget: shared.config.memory_budget,
                })
            });
            spawn_supervisor::<WorkerActor>(arguments, session.clone())
        };
        let mut workers = WorkerSupervisors(BTreeMap::new());
        for capability in Capability::ALL {
            workers.0.insert(capability, worker(capability).await?);
        }
        let supervisors = workers.clone();
        let conductor: ArgumentsFactory<ConductorActor> = Arc::new(move |user| {
            Ok(ConductorArguments {
                emitter: shared.new_emitter(user),
                workers: supervisors.clone(),
                gateway: Arc::clone(&shared.config.gateway),
                memory_provider: (shared.memory)(user),
                memory_budget: shared.config.memory_budget,
            })
        });
        let desktop = spawn_supervisor::<ConductorActor>(conductor, session).await?;
        Ok(Self { desktop, workers })
    }

    pub(crate) fn has_supervisor(&self, actor: ActorId) -> bool {
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

impl WorkerResources {
    fn new_emitter(&self, user: &UserId) -> EventEmitter {
        EventEmitter::new(self.store.clone(), Arc::clone(&self.clock), user.clone())
    }

    fn open_directory(&self) -> Result<WorkerDirectory, RunError> {
        let workspace = WorkerDirectory::new(&self.config.workspace);
        workspace.map_err(|error| RunError::no_answer("worker", &error))
    }
}

async fn spawn_supervisor<A: Actor + Default>(
    arguments: ArgumentsFactory<A>,
    parent: Option<ActorCell>,
) -> Result<ActorRef<PerUserMsg<A::Msg>>, SpawnErr> {
    let supervisor = PerUserSupervisor::<A>::default();
    let spawned = match parent {
        Some(parent) => PerUserSupervisor::spawn_linked(None, supervisor, arguments, parent).await,
        None => PerUserSupervisor::spawn(None, supervisor, arguments).await,
    };
    spawned.map(|(actor, _)| actor)
}
