//! The memory service as a host starts, uses and stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ractor::{Actor, ActorCell, ActorId, ActorRef, ActorStatus};
use reprise_engine::{CheckpointOutcome, CompactionOutcome, Engine, Snapshot, WriteBatch, Written};
use reprise_types::{Embedding, MemoryError, NewRecord, UserId, WriteOutcome};
use serde::Serialize;
use tokio::sync::broadcast;

use crate::admission::Admission;
use crate::agent::embed_some;
use crate::config::{MemoryConfig, TendDone};
use crate::embedder::{EmbedPool, PoolStats};
use crate::job::Job;
use crate::protocol::{EngineWork, MemoryAgentMsg};
use crate::provider::ActorMemoryProvider;
use crate::relay::{FeedSource, Mapper, RelayHandle, SourceBinding};
use crate::shutdown::{self, ShutdownReport};
use crate::supervisor::{
    ANSWER_MS, Directory, MemorySupervisor, MemorySupervisorArguments, MemorySupervisorMsg,
};

/// Time limit for a host to start a supervisor that ended again, and how often that is looked at.
const RESTART: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);
/// Time limit for a ping of the supervisor.
const PING_MS: u64 = 1_000;

/// A running memory service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MemoryService(Arc<Shared>);

struct Shared {
    config: Arc<MemoryConfig>,
    directory: Arc<Directory>,
    pool: EmbedPool,
    stages: Arc<Stages>,
    admission: Admission,
    /// A host's supervisor starts what ends.
    hosted: AtomicBool,
}

/// The service could not start.
#[derive(Debug, thiserror::Error)]
#[error("the memory service could not be started ({message}); see the log for the first cause")]
pub struct StartError {
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ServiceStats {
    pub pool: PoolStats,
    /// Query embedding, cache hits included.
    pub embed: StageStats,
    pub search: StageStats,
    /// Whole recalls.
    pub recall: StageStats,
    /// Whole direct writes, embedding included.
    pub write: StageStats,
    /// Free recall slots.
    pub recalls_free: usize,
}

reprise_types::show_fields!(Shared { config });

impl MemoryService {
    /// Starts the pool and the supervisor, linked to `parent` if given. No file is opened and no
    /// model is needed yet.
    pub async fn start(
        config: MemoryConfig,
        parent: Option<ActorCell>,
    ) -> Result<Self, StartError> {
        let pool = EmbedPool::start(config.pool.clone(), Arc::clone(&config.open_embedder));
        let admission = Admission::new(&config.limits);
        let stages = Arc::new(Stages::default());
        let config = Arc::new(config);
        let service = Self(Arc::new(Shared {
            config,
            directory: Arc::default(),
            pool,
            stages,
            admission,
            hosted: AtomicBool::new(false),
        }));
        service.supervise(parent).await?;
        Ok(service)
    }

    async fn supervise(&self, parent: Option<ActorCell>) -> Result<(), StartError> {
        let shared = &self.0;
        let arguments = MemorySupervisorArguments {
            config: Arc::clone(&shared.config),
            pool: shared.pool.clone(),
            directory: Arc::clone(&shared.directory),
            stages: Arc::clone(&shared.stages),
        };
        let started = match parent {
            Some(parent) => {
                MemorySupervisor::spawn_linked(None, MemorySupervisor, arguments, parent).await
            }
            None => MemorySupervisor::spawn(None, MemorySupervisor, arguments).await,
        };
        started.map(drop).map_err(|error| StartError {
            message: error.to_string(),
        })
    }

    /// Puts the memories of a running service under a host's supervisor, which sees when theirs
    /// ends and calls this again: then they are started anew.
    pub async fn join_host(&self, host: ActorCell) -> Result<(), StartError> {
        self.0.hosted.store(true, Ordering::Release);
        let running = self.0.directory.supervisor().map(|actor| actor.get_cell());
        match running.filter(|actor| actor.get_status() < ActorStatus::Draining) {
            Some(actor) => {
                actor.link(host);
                Ok(())
            }
            None => self.supervise(Some(host)).await,
        }
    }

    /// Takes them out of it again: they outlive a host that ends.
    pub fn leave_host(&self, host: ActorCell) {
        self.0.hosted.store(false, Ordering::Release);
        if let Some(supervisor) = self.0.directory.supervisor() {
            supervisor.get_cell().unlink(host);
        }
    }

    /// The supervisor's actor id, by which its parent identifies it.
    pub fn supervisor_id(&self) -> Option<ActorId> {
        self.0
            .directory
            .supervisor()
            .map(|supervisor| supervisor.get_id())
    }

    /// Whether it accepts requests: it is not shutting down, and its supervisor answers.
    pub async fn is_ready(&self) -> bool {
        let ping = |reply| MemorySupervisorMsg::Ping { reply };
        !self.0.admission.is_closing() && self.0.directory.call(ping, PING_MS).await.is_some()
    }

    /// What maintenance does from now on, and to whose memory.
    pub fn listen_to_tending(&self) -> broadcast::Receiver<(UserId, TendDone)> {
        self.0.config.tended.subscribe()
    }

    /// Returns once the supervisor has ended and no host starts another; from then on no request
    /// is answered.
    pub async fn ended(&self) {
        while let Some(supervisor) = self.0.directory.supervisor() {
            // Without a time limit this cannot fail.
            let _ended = supervisor.wait(None).await.is_ok();
            let since = Instant::now();
            while self.supervisor_id() == Some(supervisor.get_id()) {
                if !self.0.hosted.load(Ordering::Acquire) || since.elapsed() > RESTART {
                    return;
                }
                tokio::time::sleep(LOOK).await;
            }
        }
    }

    /// The port to a user's memory. The file is opened by the first request.
    pub fn provider(&self, user: &UserId) -> ActorMemoryProvider {
        ActorMemoryProvider {
            directory: Arc::clone(&self.0.directory),
            admission: self.0.admission.clone(),
            budget: self.0.config.limits.recall_budget,
            user: user.clone(),
        }
    }

    /// The agent of a user's memory, with its file open: any actor may send it messages, with a
    /// permit of [`Self::admission`]. It stops when idle for long; then call this again.
    pub async fn agent(&self, user: &UserId) -> Result<ActorRef<MemoryAgentMsg>, MemoryError> {
        self.0.admission.refuse_if_closing(user)?;
        let agent = self.0.directory.agent(user).await?;
        agent.actor().cloned().ok_or_else(|| agent.unavailable())
    }

    pub fn admission(&self) -> &Admission {
        &self.0.admission
    }

    /// Opens a user's memory now.
    pub async fn open(&self, user: &UserId) -> Result<(), MemoryError> {
        self.0.admission.refuse_if_closing(user)?;
        self.0.directory.agent(user).await.map(drop)
    }

    /// Whether this user has a memory, open or on disk. `true` where the file cannot be checked:
    /// opening it then reports the error.
    pub fn has_memory(&self, user: &UserId) -> bool {
        let absent = || matches!(self.0.config.file_of(user).try_exists(), Ok(false));
        self.0.directory.is_open(user) || !absent()
    }

    /// Stores records (see [`MemoryAgentMsg::Ingest`]).
    pub async fn observe(
        &self,
        user: &UserId,
        records: Vec<NewRecord>,
    ) -> Result<Vec<WriteOutcome>, MemoryError> {
        self.provider(user).observe(records).await
    }

    /// Writes a batch (see [`MemoryAgentMsg::Write`]).
    pub async fn write(&self, user: &UserId, batch: WriteBatch) -> Result<Written, MemoryError> {
        let permit = Some(self.0.admission.write(user, &batch.records)?);
        let write = |reply| MemoryAgentMsg::Write {
            batch,
            permit,
            reply,
        };
        self.provider(user).ask(write).await
    }

    /// The latest snapshot of a user's memory; opens its file where it is closed.
    pub async fn snapshot(&self, user: &UserId) -> Result<Arc<Snapshot>, MemoryError> {
        let ask = |permit, reply| MemoryAgentMsg::Snapshot { permit, reply };
        self.provider(user).call(ask).await
    }

    /// The vector of a query outside a recall, by the user's model or by that of all; `None`
    /// without a model.
    pub async fn query_vector(&self, user: Option<&UserId>, query: &str) -> Option<Embedding> {
        let (all, config) = (&self.0.pool, &self.0.config);
        let pool = user.map_or_else(|| all.clone(), |user| config.pool_for(all, user));
        let embedding = pool.query(query).await.ok()?;
        Some(Arc::unwrap_or_clone(embedding))
    }

    /// The vector of a text that a user stores; `None` without a model.
    pub async fn document_vector(&self, user: &UserId, text: &str) -> Option<Embedding> {
        let pool = self.0.config.pool_for(&self.0.pool, user);
        pool.document(text).await.vector().await.ok()
    }

    /// Runs work on a user's engine, between commits: checks, links, tags and whatever has no
    /// message of its own.
    pub async fn with_engine<T: Send + 'static>(
        &self,
        user: &UserId,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        let work = |permit, reply| {
            let work = |engine: &mut Engine| Ok(work(engine));
            MemoryAgentMsg::Work(EngineWork(Job::answering(permit, reply, work)))
        };
        self.provider(user).call(work).await
    }

    /// Embeds some of what waits for the model in a user's memory; whether it is worth going on. An
    /// agent does the same by itself while it is open.
    pub async fn embed_waiting(&self, user: &UserId) -> Result<bool, MemoryError> {
        self.0.admission.refuse_if_closing(user)?;
        let handle = self.0.directory.agent(user).await?;
        embed_some(&handle, &self.0.config.pool_for(&self.0.pool, user)).await
    }

    /// Saves what makes the next opening of a user's file quick; writes continue meanwhile.
    pub async fn checkpoint(&self, user: &UserId) -> Result<CheckpointOutcome, MemoryError> {
        let ask = |permit, reply| MemoryAgentMsg::Checkpoint { permit, reply };
        self.provider(user).call(ask).await
    }

    /// Compacts a user's file; writes continue meanwhile. Runs to the end even where the caller has
    /// gone.
    pub async fn compact(&self, user: &UserId) -> Result<CompactionOutcome, MemoryError> {
        let ask = |permit, reply| MemoryAgentMsg::Compact { permit, reply };
        self.provider(user).call(ask).await
    }

    /// Closes a user's file once everything accepted is written, so that another program can use
    /// it. The next request opens it again.
    pub async fn release(&self, user: &UserId) -> Result<(), MemoryError> {
        self.0.admission.refuse_if_closing(user)?;
        self.0.directory.release(user).await
    }

    /// Starts a relay that turns a source's events into the user's records, from the stored cursor
    /// on.
    pub async fn attach(
        &self,
        binding: SourceBinding,
        mapper: Arc<Mapper>,
        feed: FeedSource,
    ) -> Result<RelayHandle, MemoryError> {
        self.0.admission.refuse_if_closing(&binding.user)?;
        let unavailable = MemoryError::unavailable(&binding.user);
        let start = |reply| MemorySupervisorMsg::StartRelay {
            binding,
            mapper,
            feed,
            reply,
        };
        let started = self.0.directory.call(start, ANSWER_MS).await;
        started.unwrap_or(Err(unavailable))
    }

    pub fn stats(&self) -> ServiceStats {
        ServiceStats {
            pool: self.0.pool.stats(),
            embed: self.0.stages.embed.stats(),
            search: self.0.stages.search.stats(),
            recall: self.0.stages.recall.stats(),
            write: self.0.stages.write.stats(),
            recalls_free: self.0.admission.recalls_free(),
        }
    }

    /// Shuts the service down from the edge inwards; everything accepted is on disk afterwards.
    pub async fn shut_down(&self) -> ShutdownReport {
        let Shared {
            admission,
            directory,
            pool,
            config,
            ..
        } = &*self.0;
        let pools = (pool, config.others.as_ref());
        shutdown::run(admission, directory, pools, config.limits.shutdown_step).await
    }
}

/// Timing of a stage of a request, measured where the work is done.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    count: AtomicU64,
    total_us: AtomicU64,
    longest_us: AtomicU64,
}

/// The stages of a service.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    pub(crate) embed: Stage,
    pub(crate) search: Stage,
    pub(crate) recall: Stage,
    pub(crate) write: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StageStats {
    pub count: u64,
    /// Microseconds, summed.
    pub total_us: u64,
    /// The longest, in microseconds.
    pub longest_us: u64,
}

impl Stage {
    pub(crate) fn record(&self, took: Duration) {
        let took = took.as_micros() as u64;
        self.count.fetch_add(1, Ordering::Relaxed);
        self.total_us.fetch_add(took, Ordering::Relaxed);
        self.longest_us.fetch_max(took, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> StageStats {
        StageStats {
            count: self.count.load(Ordering::Relaxed),
            total_us: self.total_us.load(Ordering::Relaxed),
            longest_us: self.longest_us.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests;
