//! The memory service as a host starts, uses and stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ractor::{Actor, ActorCell, ActorId, ActorRef, ActorStatus};
use reprise_engine::{
    CheckpointOutcome, CompactionOutcome, Engine, Snapshot, WriteBatch, WriteBatchReport,
};
use reprise_types::{
    Embedding, MemoryError, NewRecord, RecallId, RecallReceipt, RecordId, UserId, WriteOutcome,
};
use serde::Serialize;
use tokio::sync::broadcast;

use crate::admission::Admission;
use crate::agent::embed_waiting_batch;
use crate::config::{MaintenanceReport, MemoryConfig};
use crate::embedder::{EmbedPool, PoolStats};
use crate::protocol::MemoryAgentMsg;
use crate::provider::ActorMemoryProvider;
use crate::relay::{EventMapper, FeedSource, RelayHandle, SourceBinding};
use crate::shutdown::{self, ShutdownReport};
use crate::stage_timers::StageStats;
use crate::supervisor::{
    ANSWER_MS, MemorySupervisor, MemorySupervisorArguments, MemorySupervisorMsg,
};

/// Time limit for a host to restart a supervisor that ended.
const RESTART_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval at which that is checked.
const RESTART_POLL: Duration = Duration::from_millis(10);
/// Time limit for a ping of the supervisor.
const PING_MS: u64 = 1_000;

/// A running memory service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MemoryService(Arc<ServiceInner>);

struct ServiceInner {
    shared: MemorySupervisorArguments,
    admission: Admission,
    /// Whether a host's supervisor restarts the memory supervisor when that ends.
    is_hosted: AtomicBool,
}

/// The error of a service that could not start.
#[derive(Debug, thiserror::Error)]
#[error("the memory service could not be started ({message}); see the log for the first cause")]
pub struct StartError {
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ServiceStats {
    pub pool: PoolStats,
    /// Embedding of queries, cache hits included.
    pub embed: StageStats,
    pub search: StageStats,
    /// Whole recalls.
    pub recall: StageStats,
    /// Whole direct writes, embedding included.
    pub write: StageStats,
    /// Free recall slots.
    pub recalls_free: usize,
}

reprise_types::show_fields!(ServiceInner { shared });

impl MemoryService {
    /// Starts the pool and the supervisor, linked to `parent` if given. No file is opened and no
    /// model is needed yet.
    pub async fn start(
        config: MemoryConfig,
        parent: Option<ActorCell>,
    ) -> Result<Self, StartError> {
        let pool = EmbedPool::start(config.pool.clone(), Arc::clone(&config.open_embedder));
        let admission = Admission::new(&config.limits);
        let service = Self(Arc::new(ServiceInner {
            shared: MemorySupervisorArguments {
                config: Arc::new(config),
                pool,
                directory: Arc::default(),
                stages: Arc::default(),
            },
            admission,
            is_hosted: AtomicBool::new(false),
        }));
        service.start_supervisor(parent).await?;
        Ok(service)
    }

    async fn start_supervisor(&self, parent: Option<ActorCell>) -> Result<(), StartError> {
        let arguments = self.0.shared.clone();
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

    /// Puts the supervisor of a running service under a host's supervisor. When the service's
    /// supervisor ends, the host's is notified and calls this again, which starts another.
    pub async fn attach_to_host(&self, host: ActorCell) -> Result<(), StartError> {
        self.0.is_hosted.store(true, Ordering::Release);
        let running = self
            .0
            .shared
            .directory
            .supervisor()
            .map(|actor| actor.get_cell());
        match running.filter(|actor| actor.get_status() < ActorStatus::Draining) {
            Some(actor) => {
                actor.link(host);
                Ok(())
            }
            None => self.start_supervisor(Some(host)).await,
        }
    }

    /// Takes the service's supervisor out of the host's tree again, so that it outlives the host.
    pub fn detach_from_host(&self, host: ActorCell) {
        self.0.is_hosted.store(false, Ordering::Release);
        if let Some(supervisor) = self.0.shared.directory.supervisor() {
            supervisor.get_cell().unlink(host);
        }
    }

    /// Returns the supervisor's actor id, by which its parent identifies it.
    pub fn supervisor_id(&self) -> Option<ActorId> {
        self.0
            .shared
            .directory
            .supervisor()
            .map(|supervisor| supervisor.get_id())
    }

    /// Returns whether the service accepts requests: it is not shutting down, and its supervisor
    /// replies.
    pub async fn is_ready(&self) -> bool {
        let ping = |reply| MemorySupervisorMsg::Ping { reply };
        !self.0.admission.is_closing()
            && self
                .0
                .shared
                .directory
                .call_supervisor(ping, PING_MS)
                .await
                .is_some()
    }

    /// Subscribes to reports of what maintenance does from now on, and to whose memory.
    pub fn subscribe_to_maintenance(&self) -> broadcast::Receiver<(UserId, MaintenanceReport)> {
        self.0.shared.config.maintenance_reports.subscribe()
    }

    /// Waits until the supervisor has ended and no host starts another; from then on every request
    /// fails.
    pub async fn wait_for_end(&self) {
        while let Some(supervisor) = self.0.shared.directory.supervisor() {
            // Without a time limit this cannot fail.
            let _ended = supervisor.wait(None).await.is_ok();
            let since = Instant::now();
            while self.supervisor_id() == Some(supervisor.get_id()) {
                if !self.0.is_hosted.load(Ordering::Acquire) || since.elapsed() > RESTART_TIMEOUT {
                    return;
                }
                tokio::time::sleep(RESTART_POLL).await;
            }
        }
    }

    /// Returns the port to a user's memory. The first request opens the file.
    pub fn provider(&self, user: &UserId) -> ActorMemoryProvider {
        ActorMemoryProvider {
            shared: self.0.shared.clone(),
            admission: self.0.admission.clone(),
            budget: self.0.shared.config.limits.recall_budget,
            user: user.clone(),
        }
    }

    /// Returns the port for a person or a tool call, who ask on purpose: its recalls wait for the
    /// model to load.
    pub fn patient_provider(&self, user: &UserId) -> ActorMemoryProvider {
        ActorMemoryProvider {
            budget: self.0.shared.config.limits.purposeful_budget,
            ..self.provider(user)
        }
    }

    /// Returns the agent of a user's memory, with its file open. Any actor may send it messages,
    /// with a permit of [`Self::admission`]. An agent that is idle for long stops; then call this
    /// again.
    pub async fn agent(&self, user: &UserId) -> Result<ActorRef<MemoryAgentMsg>, MemoryError> {
        self.0.admission.refuse_if_closing(user)?;
        let agent = self.0.shared.directory.open_agent(user).await?;
        agent
            .actor()
            .cloned()
            .ok_or_else(|| agent.unavailable_error())
    }

    pub fn admission(&self) -> &Admission {
        &self.0.admission
    }

    /// Opens a user's memory now.
    pub async fn open_memory(&self, user: &UserId) -> Result<(), MemoryError> {
        self.0.admission.refuse_if_closing(user)?;
        self.0.shared.directory.open_agent(user).await.map(drop)
    }

    /// Returns whether this user has a memory, open or on disk. It is `true` if the file cannot be
    /// checked, because opening it then reports the error.
    pub fn has_memory(&self, user: &UserId) -> bool {
        let is_absent = || matches!(self.0.shared.config.file_path(user).try_exists(), Ok(false));
        self.0.shared.directory.is_open(user) || !is_absent()
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
    pub async fn write(
        &self,
        user: &UserId,
        batch: WriteBatch,
    ) -> Result<WriteBatchReport, MemoryError> {
        let permit = Some(self.0.admission.admit_write(user, &batch.records)?);
        let write = |reply| MemoryAgentMsg::Write {
            batch,
            permit,
            reply,
        };
        self.0.shared.directory.send_request(user, write).await
    }

    /// Adds records to the receipt of a recall, which the caller returned in its answer, so that an
    /// outcome can give them credit.
    pub async fn add_to_receipt(
        &self,
        user: &UserId,
        recall_id: RecallId,
        records: Vec<RecordId>,
    ) -> Result<(), MemoryError> {
        let memory = self.0.shared.directory.open_agent(user).await?;
        memory.queue_receipt(RecallReceipt {
            recall_id,
            at: self.0.shared.config.clock.now(),
            query: None,
            records,
        });
        Ok(())
    }

    /// Returns the latest snapshot of a user's memory, whose file is opened if it is closed.
    pub async fn snapshot(&self, user: &UserId) -> Result<Arc<Snapshot>, MemoryError> {
        let _permit = self.0.admission.admit_call(user)?;
        let memory = self.0.shared.directory.open_agent(user).await?;
        memory.touch();
        memory.snapshot()
    }

    /// Returns the vector of a query outside a recall, by the user's model or by the shared one;
    /// `None` without a model.
    pub async fn query_vector(&self, user: Option<&UserId>, query: &str) -> Option<Embedding> {
        let MemorySupervisorArguments { config, pool, .. } = &self.0.shared;
        let pool = user.map_or_else(|| pool.clone(), |user| config.pool_for(pool, user));
        let embedding = pool.embed_query(query).await.ok()?;
        Some(Arc::unwrap_or_clone(embedding))
    }

    /// Returns the vector of a text that a user stores; `None` without a model.
    pub async fn document_vector(&self, user: &UserId, text: &str) -> Option<Embedding> {
        let pool = self.0.shared.config.pool_for(&self.0.shared.pool, user);
        pool.queue_document(text).await.wait().await.ok()
    }

    /// Runs work on a user's engine, between commits: checks, links, tags and everything that has
    /// no message of its own.
    pub async fn with_engine<T: Send + 'static>(
        &self,
        user: &UserId,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, MemoryError> {
        let permit = self.0.admission.admit_call(user)?;
        self.0
            .shared
            .directory
            .run_on_engine(user, permit, work)
            .await
    }

    /// Embeds some of the texts in a user's memory that have no vector; returns whether to
    /// continue. An open agent does this by itself.
    pub async fn embed_waiting(&self, user: &UserId) -> Result<bool, MemoryError> {
        self.0.admission.refuse_if_closing(user)?;
        let handle = self.0.shared.directory.open_agent(user).await?;
        embed_waiting_batch(
            &handle,
            &self.0.shared.config.pool_for(&self.0.shared.pool, user),
        )
        .await
    }

    /// Saves what makes the next opening of a user's file quick; writes continue meanwhile.
    pub async fn checkpoint(&self, user: &UserId) -> Result<CheckpointOutcome, MemoryError> {
        let ask = |permit, reply| MemoryAgentMsg::Checkpoint { permit, reply };
        self.provider(user).send_call(ask).await
    }

    /// Compacts a user's file; writes continue meanwhile. It runs to the end even if the caller is
    /// gone.
    pub async fn compact(&self, user: &UserId) -> Result<CompactionOutcome, MemoryError> {
        let ask = |permit, reply| MemoryAgentMsg::Compact { permit, reply };
        self.provider(user).send_call(ask).await
    }

    /// Closes a user's file once everything accepted is written, so that another program can use
    /// it. The next request opens it again.
    pub async fn release_file(&self, user: &UserId) -> Result<(), MemoryError> {
        self.0.admission.refuse_if_closing(user)?;
        self.0.shared.directory.release_file(user).await
    }

    /// Starts a relay, which turns a source's events into the user's records, from the stored
    /// cursor on.
    pub async fn attach_relay(
        &self,
        binding: SourceBinding,
        mapper: Arc<EventMapper>,
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
        let started = self
            .0
            .shared
            .directory
            .call_supervisor(start, ANSWER_MS)
            .await;
        started.unwrap_or(Err(unavailable))
    }

    pub fn stats(&self) -> ServiceStats {
        ServiceStats {
            pool: self.0.shared.pool.stats(),
            embed: self.0.shared.stages.embed.stats(),
            search: self.0.shared.stages.search.stats(),
            recall: self.0.shared.stages.recall.stats(),
            write: self.0.shared.stages.write.stats(),
            recalls_free: self.0.admission.recalls_free(),
        }
    }

    /// Whether the service was told to shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.0.admission.is_closing()
    }

    /// Shuts the service down from the edge inwards; every accepted write is on disk afterwards.
    pub async fn shut_down(&self) -> ShutdownReport {
        let admission = &self.0.admission;
        let MemorySupervisorArguments {
            config,
            pool,
            directory,
            ..
        } = &self.0.shared;
        let pools = (pool, config.others.as_ref());
        shutdown::shut_down(admission, directory, pools, config.limits.shutdown_step).await
    }
}

#[cfg(test)]
mod tests;
