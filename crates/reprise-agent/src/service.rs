//! The whole service as one value: what a host starts, asks and ends.
//!
//! Lives here: admission and the way in. Must never live here: a mailbox of its own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ractor::{Actor, ActorCell, ActorId, call_t};
use reprise_engine::{CompactionOutcome, Engine, Snapshot};
use reprise_types::{MemoryError, NewRecord, QueryVector, UserId, WriteOutcome};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::agent::compact;
use crate::config::MemoryConfig;
use crate::embedder::{EmbedPool, PoolStats};
use crate::ingest::embed;
use crate::provider::ActorMemoryProvider;
use crate::relay::{FeedSource, Mapper, RelayHandle, SourceBinding};
use crate::shutdown::{self, ShutdownReport};
use crate::stages::{StageStats, Stages};
use crate::supervisor::{
    Directory, MemorySupervisor, MemorySupervisorArguments, MemorySupervisorMsg,
};

/// How long the supervisor may take to start a relay.
const START_RELAY_MS: u64 = 5_000;
/// How long it may take to say that it is there.
const PING_MS: u64 = 1_000;

/// A running memory service. Cheap to clone.
#[derive(Clone)]
pub struct MemoryService(Arc<Shared>);

/// What every part of the service shares.
pub(crate) struct Shared {
    pub(crate) config: Arc<MemoryConfig>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) pool: EmbedPool,
    pub(crate) stages: Stages,
    pub(crate) recalls: Arc<Semaphore>,
    pub(crate) write_bytes: Arc<Semaphore>,
    pub(crate) closing: AtomicBool,
}

/// The service could not start.
#[derive(Debug, thiserror::Error)]
#[error("the memory service could not be started ({message}); see the log for the first cause")]
pub struct StartError {
    message: String,
}

/// The service in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ServiceStats {
    /// The embedder pool.
    pub pool: PoolStats,
    /// Query embedding, cached answers included.
    pub embed: StageStats,
    /// Searching a snapshot.
    pub search: StageStats,
    /// Whole recalls.
    pub recall: StageStats,
    /// Whole direct writes, embedding included.
    pub write: StageStats,
    /// Recalls that could begin now.
    pub recalls_free: usize,
}

impl fmt::Debug for MemoryService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryService")
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// A place among the recalls under way, or the refusal at once.
    pub(crate) fn admit_recall(&self, user: &UserId) -> Result<OwnedSemaphorePermit, MemoryError> {
        self.refuse_if_closing(user)?;
        Arc::clone(&self.recalls)
            .try_acquire_owned()
            .map_err(|_| MemoryError::Overloaded {
                in_flight: self.config.limits.recalls_max,
            })
    }

    fn admit_write(
        &self,
        user: &UserId,
        records: &[NewRecord],
    ) -> Result<OwnedSemaphorePermit, MemoryError> {
        self.refuse_if_closing(user)?;
        let most = self.config.limits.write_bytes_max;
        let bytes = records
            .iter()
            .map(|record| record.encoded_bytes().max(1))
            .sum::<usize>()
            .min(most);
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        Arc::clone(&self.write_bytes)
            .try_acquire_many_owned(permits)
            .map_err(|_| MemoryError::WritesFull {
                bytes: most.saturating_sub(self.write_bytes.available_permits()),
                limit: most,
            })
    }

    fn refuse_if_closing(&self, user: &UserId) -> Result<(), MemoryError> {
        if self.closing.load(Ordering::Acquire) {
            return Err(MemoryError::Unavailable {
                user: user.to_string(),
            });
        }
        Ok(())
    }
}

impl MemoryService {
    /// Starts the pool and the supervisor, under `parent` where there is one. No file is opened and
    /// no model is needed yet.
    pub async fn start(
        config: MemoryConfig,
        parent: Option<ActorCell>,
    ) -> Result<Self, StartError> {
        let pool = EmbedPool::start(config.pool.clone(), Arc::clone(&config.open_embedder));
        let limits = &config.limits;
        let recalls = Arc::new(Semaphore::new(limits.recalls_max));
        let write_bytes = Arc::new(Semaphore::new(
            limits.write_bytes_max.min(u32::MAX as usize),
        ));
        let config = Arc::new(config);
        let directory = Arc::new(Directory::default());
        let arguments = MemorySupervisorArguments {
            config: Arc::clone(&config),
            pool: pool.clone(),
            directory: Arc::clone(&directory),
        };
        let started = match parent {
            Some(parent) => {
                MemorySupervisor::spawn_linked(None, MemorySupervisor, arguments, parent).await
            }
            None => MemorySupervisor::spawn(None, MemorySupervisor, arguments).await,
        };
        started.map_err(|error| StartError {
            message: error.to_string(),
        })?;
        Ok(Self(Arc::new(Shared {
            config,
            directory,
            pool,
            stages: Stages::default(),
            recalls,
            write_bytes,
            closing: AtomicBool::new(false),
        })))
    }

    /// The supervisor's actor id, so that its parent knows it again.
    #[must_use]
    pub fn supervisor_id(&self) -> Option<ActorId> {
        self.0
            .directory
            .supervisor()
            .map(|supervisor| supervisor.get_id())
    }

    /// Whether it takes requests: it is not ending, and its supervisor answers.
    pub async fn is_ready(&self) -> bool {
        let supervisor = self.0.directory.supervisor();
        let Some(supervisor) = supervisor.filter(|_| !self.0.closing.load(Ordering::Acquire))
        else {
            return false;
        };
        let answered = call_t!(
            supervisor,
            |reply| MemorySupervisorMsg::Ping { reply },
            PING_MS
        );
        answered.is_ok()
    }

    /// Returns once the supervisor has ended, however: from then on nothing is answered.
    pub async fn ended(&self) {
        if let Some(supervisor) = self.0.directory.supervisor() {
            // Without a limit of time it can only end.
            let _ended = supervisor.wait(None).await.is_ok();
        }
    }

    /// The port to a user's memory. The file is opened by the first question.
    #[must_use]
    pub fn provider(&self, user: &UserId) -> ActorMemoryProvider {
        ActorMemoryProvider::new(Arc::clone(&self.0), user.clone())
    }

    /// Opens a user's memory now, and says whether that worked.
    pub async fn open(&self, user: &UserId) -> Result<(), MemoryError> {
        self.0.refuse_if_closing(user)?;
        self.0.directory.agent(user).await.map(drop)
    }

    /// Whether this user has a memory, open or on the disk. One that may not be looked at is taken
    /// for there: opening it says why it is not.
    #[must_use]
    pub fn has_memory(&self, user: &UserId) -> bool {
        let absent = || matches!(self.0.config.file_of(user).try_exists(), Ok(false));
        self.0.directory.is_open(user) || !absent()
    }

    /// Keeps records, answering one outcome each, in order, once they are on disk and findable.
    /// They are kept without vectors where there is no model, and embedded later.
    pub async fn observe(
        &self,
        user: &UserId,
        mut records: Vec<NewRecord>,
    ) -> Result<Vec<WriteOutcome>, MemoryError> {
        let _permit = self.0.admit_write(user, &records)?;
        let began = Instant::now();
        let directory = &self.0.directory;
        // A memory that cannot be opened is known before anything is embedded.
        directory.agent(user).await?;
        embed(&self.0.pool, (directory, user), &mut records).await;
        let outcomes = directory.observe(user, records, None).await;
        self.0.stages.write.record(began.elapsed());
        outcomes
    }

    /// The present moment of a user's memory, for readers; its file is opened where it is closed.
    pub async fn snapshot(&self, user: &UserId) -> Result<Arc<Snapshot>, MemoryError> {
        self.0.refuse_if_closing(user)?;
        self.0.directory.agent(user).await?.snapshot()
    }

    /// The vector of a question that no recall asked; `None` where there is no model for it.
    pub async fn query_vector(&self, query: &str) -> Option<QueryVector> {
        let embedded = self.0.pool.query(query).await.ok()?;
        Some(QueryVector {
            space: embedded.space.clone(),
            vector: embedded.vector.clone(),
        })
    }

    /// Runs work on a user's engine, between commits: statistics, checks, forgetting, compaction.
    pub async fn with_engine<T: Send + 'static>(
        &self,
        user: &UserId,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        self.0.refuse_if_closing(user)?;
        self.0.directory.with_engine(user, work).await
    }

    /// Rewrites a user's file without what was forgotten; others write meanwhile. It comes to its
    /// end also where nobody waits for that any more.
    pub async fn compact(&self, user: &UserId) -> Result<CompactionOutcome, MemoryError> {
        self.0.refuse_if_closing(user)?;
        let agent = self.0.directory.agent(user).await?;
        let task = {
            let agent = agent.clone();
            tokio::spawn(async move { compact(&agent).await })
        };
        task.await.unwrap_or_else(|_| Err(agent.unavailable()))
    }

    /// Closes a user's file once everything accepted is in it, so that another program can have it.
    /// The next question opens it again.
    pub async fn release(&self, user: &UserId) -> Result<(), MemoryError> {
        self.0.refuse_if_closing(user)?;
        self.0.directory.release(user).await
    }

    /// Binds a source of events to a user: from now on, and from where it was left, its events
    /// become records.
    pub async fn attach(
        &self,
        binding: SourceBinding,
        mapper: Arc<Mapper>,
        feed: FeedSource,
    ) -> Result<RelayHandle, MemoryError> {
        self.0.refuse_if_closing(&binding.user)?;
        let unavailable = MemoryError::Unavailable {
            user: binding.user.to_string(),
        };
        let Some(supervisor) = self.0.directory.supervisor() else {
            return Err(unavailable);
        };
        call_t!(
            supervisor,
            |reply| MemorySupervisorMsg::StartRelay {
                binding,
                mapper,
                feed,
                reply
            },
            START_RELAY_MS
        )
        .unwrap_or(Err(unavailable))
    }

    /// The service in numbers.
    #[must_use]
    pub fn stats(&self) -> ServiceStats {
        ServiceStats {
            pool: self.0.pool.stats(),
            embed: self.0.stages.embed.stats(),
            search: self.0.stages.search.stats(),
            recall: self.0.stages.recall.stats(),
            write: self.0.stages.write.stats(),
            recalls_free: self.0.recalls.available_permits(),
        }
    }

    /// Ends the service from the edge inwards; everything accepted is on disk afterwards.
    pub async fn shut_down(&self) -> ShutdownReport {
        shutdown::run(&self.0).await
    }
}

#[cfg(test)]
mod tests;
