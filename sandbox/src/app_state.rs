//! The host: the event log, and the supervision tree, started on first use.

use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{ActorStatus, RactorErr};
use reprise_types::SystemClock;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use crate::actors::{ConductorMsg, Emitter, RunReport, verdict};
use crate::event_store::EventStoreActor;
use crate::memory_bridge::MemoryBridge;
use crate::prelude::*;
use crate::supervisor::{
    ApplicationArguments, ApplicationSupervisor, ApplicationSupervisorMsg, SessionSupervisorMsg,
    WorkersConfig,
};
use crate::workspace_bridge::WorkspaceBridge;

/// Time limit for creating a memory.
const MEMORY_MS: u64 = 60_000;
/// How long a run waits for its memory's file to open.
const MEMORY_OPEN: Duration = Duration::from_secs(5);
/// Time limit of a run, including the runs queued before it.
const RUN_MS: u64 = 60 * 60 * 1_000;
/// Runs in progress or queued; one more is refused at once.
const RUNS_MAX: usize = 32;
/// First and longest wait for the successor of a conductor that ended with a request in its queue.
const SUCCESSOR_FIRST: Duration = Duration::from_millis(1);
const SUCCESSOR_LAST: Duration = Duration::from_millis(64);
/// Time limit for shutting down the whole tree.
const SHUTDOWN: Duration = Duration::from_mins(4);
/// Poll interval of the relay.
const POLL: Duration = Duration::from_millis(120);

#[derive(Clone)]
pub struct AppConfig {
    /// The SQLite file of the event log.
    pub events_path: PathBuf,
    pub memory: MemoryBridge,
    /// Configuration of conductors and workers; `None` for a host without them.
    pub workers: Option<WorkersConfig>,
    /// The governed workspace; `None` for a host without one.
    pub governed: Option<WorkspaceBridge>,
    /// Poll interval of the relay.
    pub poll: Duration,
    pub clock: Arc<dyn Clock>,
}

impl AppConfig {
    /// A host with its log at `events_path`, the machine's clock and choiros's poll interval.
    pub fn new(events_path: PathBuf, memory: MemoryBridge) -> Self {
        Self {
            events_path,
            memory,
            workers: None,
            governed: None,
            poll: POLL,
            clock: Arc::new(SystemClock),
        }
    }
}

reprise_types::show_fields!(AppConfig { events_path, poll });

/// Why the host could not start.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(
        "the event log {path} could not be opened ({message}); check its folder and permissions"
    )]
    EventStore { path: PathBuf, message: String },
    #[error("the host could not be started ({message}); see the log above for the first cause")]
    Tree { message: String },
}

#[derive(Debug)]
pub struct AppState {
    config: AppConfig,
    store: ActorRef<EventStoreMsg>,
    supervisor: Mutex<Option<ActorRef<ApplicationSupervisorMsg>>>,
    runs: Semaphore,
}

impl AppState {
    /// Opens the log. The tree is started on first use.
    pub async fn start(config: AppConfig) -> Result<Self, AppError> {
        let path = config.events_path.clone();
        let started = EventStoreActor::spawn(None, EventStoreActor, path.clone()).await;
        let (store, _) = started.map_err(|error| AppError::EventStore {
            path,
            message: error.to_string(),
        })?;
        Ok(Self {
            config,
            store,
            supervisor: Mutex::new(None),
            runs: Semaphore::new(RUNS_MAX),
        })
    }

    pub fn event_store(&self) -> &ActorRef<EventStoreMsg> {
        &self.store
    }

    /// The root of the tree, started if it does not run.
    pub async fn ensure_supervisor(&self) -> Result<ActorRef<ApplicationSupervisorMsg>, AppError> {
        let mut held = self.supervisor.lock().await;
        if let Some(running) = held.as_ref().filter(|held| lives(held)) {
            return Ok(running.clone());
        }
        let arguments = ApplicationArguments {
            store: self.store.clone(),
            config: self.config.clone(),
        };
        let (supervisor, _) = ApplicationSupervisor::spawn(None, ApplicationSupervisor, arguments)
            .await
            .map_err(|error| AppError::Tree {
                message: error.to_string(),
            })?;
        *held = Some(supervisor.clone());
        Ok(supervisor)
    }

    /// The memory of a user, the same one on every call.
    pub async fn ensure_memory(
        &self,
        user: &UserId,
    ) -> Result<Arc<dyn MemoryProvider>, MemoryError> {
        let unavailable = || MemoryError::unavailable(user);
        let supervisor = self.ensure_supervisor().await.map_err(|error| {
            tracing::error!(%error, "no memory: the tree does not run");
            unavailable()
        })?;
        let user_id = user.clone();
        let get = |reply| SessionSupervisorMsg::GetOrCreateMemory { user_id, reply };
        let get = |reply| ApplicationSupervisorMsg::Session(get(reply));
        call_t!(supervisor, get, MEMORY_MS).unwrap_or_else(|_| Err(unavailable()))
    }

    /// Runs a request with the user's conductor. Memory is optional: without it, or with one that
    /// is late, wrong or dead, the request is still carried out.
    pub async fn execute(
        &self,
        user: &UserId,
        objective: &str,
        desktop_id: &str,
    ) -> Result<RunReport, RunError> {
        let _place = self
            .runs
            .try_acquire()
            .map_err(|_| RunError::Overloaded { limit: RUNS_MAX })?;
        self.open_memory(user).await;
        let mut wait = SUCCESSOR_FIRST;
        loop {
            let conductor = self.conductor(user).await?;
            let begun = Arc::new(AtomicBool::new(false));
            let execute = |reply| ConductorMsg::Execute {
                objective: objective.to_owned(),
                desktop_id: desktop_id.to_owned(),
                begun: Arc::clone(&begun),
                reply,
            };
            match call_t!(conductor, execute, RUN_MS) {
                Ok(done) => return done,
                // It was not started, so the conductor's successor may run it.
                Err(error)
                    if wait <= SUCCESSOR_LAST
                        && !begun.load(Ordering::SeqCst)
                        && !matches!(error, RactorErr::Timeout) =>
                {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                Err(error) => return Err(RunError::gone("conductor", &error)),
            }
        }
    }

    /// Opens the memory's file before the run, so that its first recall is not late; the run goes
    /// on without a memory that cannot be opened.
    async fn open_memory(&self, user: &UserId) {
        if self.config.workers.is_none() {
            return;
        }
        match timeout(MEMORY_OPEN, self.ensure_memory(user)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the run begins without memory"),
            Err(_) => tracing::warn!("memory is slow to open; the run begins without it"),
        }
    }

    async fn conductor(&self, user: &UserId) -> Result<ActorRef<ConductorMsg>, RunError> {
        let supervisor = self.ensure_supervisor().await;
        let gone = |error: &dyn std::fmt::Display| RunError::gone("host", error);
        let supervisor = supervisor.map_err(|error| gone(&error))?;
        let user_id = user.clone();
        let get = |reply| SessionSupervisorMsg::GetOrCreateConductor { user_id, reply };
        let get = |reply| ApplicationSupervisorMsg::Session(get(reply));
        call_t!(supervisor, get, MEMORY_MS).map_err(|error| gone(&error))?
    }

    /// Logs the user's verdict on a run; memory reads it from the log (quality 1.0 for an
    /// approval).
    pub async fn judge(&self, user: &UserId, run_id: &str, approved: bool) -> Result<(), RunError> {
        let clock = Arc::clone(&self.config.clock);
        let emitter = Emitter::new(self.store.clone(), clock, user.clone());
        let said = verdict(run_id, approved, user.as_str(), &emitter.now());
        Ok(emitter.emit(vec![said]).await?)
    }

    /// Shuts down the tree from the edge inwards, then the log. Everything queued is finished
    /// first.
    pub async fn shut_down(self) -> Result<(), AppError> {
        let ended = |error: RactorErr<()>| AppError::Tree {
            message: error.to_string(),
        };
        if let Some(supervisor) = self.supervisor.lock().await.take() {
            supervisor
                .drain_and_wait(Some(SHUTDOWN))
                .await
                .map_err(ended)?;
        }
        self.store
            .drain_and_wait(Some(SHUTDOWN))
            .await
            .map_err(ended)
    }
}

/// Includes `Starting`, the state of an actor just after its spawn.
fn lives(supervisor: &ActorRef<ApplicationSupervisorMsg>) -> bool {
    matches!(
        supervisor.get_status(),
        ActorStatus::Unstarted | ActorStatus::Starting | ActorStatus::Running
    )
}

#[cfg(test)]
mod tests;
