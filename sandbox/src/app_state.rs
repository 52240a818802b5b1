//! The state of the host: the event log, and the supervision tree, which is started on first use.

use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{ActorStatus, RactorErr};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use crate::actors::{ConductorMsg, EventEmitter, RunReport, verdict_event};
use crate::app_config::AppConfig;
use crate::event_store::EventStoreActor;
use crate::prelude::*;
use crate::supervisor::{
    ApplicationArguments, ApplicationSupervisor, ApplicationSupervisorMsg, SessionSupervisorMsg,
};

/// Time limit for creating a memory.
const MEMORY_MS: u64 = 60_000;
/// Time limit for opening a memory's file before a run.
const MEMORY_OPEN_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of a run, including the runs queued before it.
const RUN_MS: u64 = 60 * 60 * 1_000;
/// Most runs in progress or queued; one more is refused at once.
const RUNS_MAX: usize = 32;
/// First and longest wait for the successor of a conductor that ended with a request in its queue.
const SUCCESSOR_WAIT_FIRST: Duration = Duration::from_millis(1);
const SUCCESSOR_WAIT_LONGEST: Duration = Duration::from_millis(64);
/// Time limit for shutting down the whole tree.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_mins(4);

/// Why the host could not start or end.
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

    /// Returns the root of the tree, which is started if it does not run.
    pub async fn ensure_supervisor(&self) -> Result<ActorRef<ApplicationSupervisorMsg>, AppError> {
        let mut slot = self.supervisor.lock().await;
        if let Some(running) = slot.as_ref().filter(|slot| is_running(slot)) {
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
        *slot = Some(supervisor.clone());
        Ok(supervisor)
    }

    /// Returns the memory of a user, which is the same on every call.
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

    /// Runs a request with the user's conductor. Memory is optional: a request is run even without
    /// memory, or with one that is late, wrong or dead.
    pub async fn execute(
        &self,
        user: &UserId,
        objective: &str,
        desktop_id: &str,
    ) -> Result<RunReport, RunError> {
        let _slot = self
            .runs
            .try_acquire()
            .map_err(|_| RunError::Overloaded { limit: RUNS_MAX })?;
        self.open_memory(user).await;
        let mut wait = SUCCESSOR_WAIT_FIRST;
        loop {
            let conductor = self.ensure_conductor(user).await?;
            let has_begun = Arc::new(AtomicBool::new(false));
            let execute = |reply| ConductorMsg::Execute {
                objective: objective.to_owned(),
                desktop_id: desktop_id.to_owned(),
                has_begun: Arc::clone(&has_begun),
                reply,
            };
            match call_t!(conductor, execute, RUN_MS) {
                Ok(done) => return done,
                // The run had not begun, so the conductor's successor may run it.
                Err(error)
                    if wait <= SUCCESSOR_WAIT_LONGEST
                        && !has_begun.load(Ordering::SeqCst)
                        && !matches!(error, RactorErr::Timeout) =>
                {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                Err(error) => return Err(RunError::no_answer("conductor", &error)),
            }
        }
    }

    /// Opens the memory's file before the run, so that its first recall is not late; the run
    /// continues without a memory that cannot be opened.
    async fn open_memory(&self, user: &UserId) {
        if self.config.workers.is_none() {
            return;
        }
        match timeout(MEMORY_OPEN_TIMEOUT, self.ensure_memory(user)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the run begins without memory"),
            Err(_) => tracing::warn!("memory is slow to open; the run begins without it"),
        }
    }

    async fn ensure_conductor(&self, user: &UserId) -> Result<ActorRef<ConductorMsg>, RunError> {
        let supervisor = self.ensure_supervisor().await;
        let no_answer = |error: &dyn std::fmt::Display| RunError::no_answer("host", error);
        let supervisor = supervisor.map_err(|error| no_answer(&error))?;
        let user_id = user.clone();
        let get = |reply| SessionSupervisorMsg::GetOrCreateConductor { user_id, reply };
        let get = |reply| ApplicationSupervisorMsg::Session(get(reply));
        call_t!(supervisor, get, MEMORY_MS).map_err(|error| no_answer(&error))?
    }

    /// Logs the user's verdict on a run, which memory reads from the log; an approval means quality
    /// 1.0.
    pub async fn log_verdict(
        &self,
        user: &UserId,
        run_id: &str,
        approved: bool,
    ) -> Result<(), RunError> {
        let clock = Arc::clone(&self.config.clock);
        let emitter = EventEmitter::new(self.store.clone(), clock, user.clone());
        let draft = verdict_event(run_id, approved, user.as_str(), &emitter.format_now());
        Ok(emitter.emit(vec![draft]).await?)
    }

    /// Shuts down the tree from the edge inwards, then the log. Everything queued is finished
    /// first.
    pub async fn shut_down(self) -> Result<(), AppError> {
        let ended = |error: RactorErr<()>| AppError::Tree {
            message: error.to_string(),
        };
        if let Some(supervisor) = self.supervisor.lock().await.take() {
            supervisor
                .drain_and_wait(Some(SHUTDOWN_TIMEOUT))
                .await
                .map_err(ended)?;
        }
        self.store
            .drain_and_wait(Some(SHUTDOWN_TIMEOUT))
            .await
            .map_err(ended)
    }
}

/// Returns whether the supervisor runs or starts; `Starting` is its state just after the spawn.
fn is_running(supervisor: &ActorRef<ApplicationSupervisorMsg>) -> bool {
    matches!(
        supervisor.get_status(),
        ActorStatus::Unstarted | ActorStatus::Starting | ActorStatus::Running
    )
}

#[cfg(test)]
mod tests;
