//! The composition root: the one file of the host that may name the memory's crate.
//!
//! Which memory the host runs with, and the host's log and bus as the memory's feed.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ractor::{ActorCell, ActorId, ActorRef, call_t};
use reprise_agent::{
    ActorMemoryProvider, EventFeed, FeedError, FeedSource, MemoryService, RelayHandle,
    RelayProgress, ServiceStats,
};
#[cfg(test)]
use reprise_agent::{Event, MapOutcome, MemoryAgentMsg, MemorySupervisorMsg, TopicTable};
pub use reprise_agent::{Mapper, MemoryConfig, SourceBinding};
use reprise_types::{
    ContextBlock, MemoryError, MemoryProvider, Recall, RecallRequest, RecordId, Revision,
    RunBeginning, RunEnding, UserId,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::event_bus::{EventBusMsg, Subscription};
use crate::event_store::{EventQuery, EventStoreMsg};
use crate::null_memory::NullMemory;

/// Live events waiting for the memory; more are missed and read from the log.
const LIVE_MAX: usize = 1_024;
/// Live events handed over at a time.
const BATCH: usize = 64;
/// How long the store or the bus may take.
const CALL_MS: u64 = 10_000;

/// What stands before a user's memory and answers in its place: published knowledge beside it, for
/// example.
pub type Before = dyn Fn(&UserId, Arc<dyn MemoryProvider>) -> Arc<dyn MemoryProvider> + Send + Sync;

/// Which memory to run with; cheap to clone, and the same memory in every clone.
#[derive(Debug, Clone, Default)]
pub struct MemoryBridge(Option<Arc<Memory>>);

struct Memory {
    config: MemoryConfig,
    binding: SourceBinding,
    mapper: Arc<Mapper>,
    before: Option<Arc<Before>>,
    /// What runs now, for those who wait for it from outside the tree.
    running: watch::Sender<Option<Running>>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("binding", &self.binding)
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}

/// The port to a user's memory, whichever service runs it at the time of a question.
fn port(memory: &Arc<Memory>, user: &UserId) -> Arc<dyn MemoryProvider> {
    let own = Arc::new(UserMemory {
        memory: Arc::clone(memory),
        user: user.clone(),
    });
    match &memory.before {
        Some(before) => before(user, own),
        None => own,
    }
}

#[derive(Debug, Clone)]
struct Running {
    service: MemoryService,
    relay: RelayHandle,
}

/// A memory that runs under the session.
#[derive(Debug, Clone)]
pub(crate) struct RunningMemory {
    running: Option<Running>,
    memory: Option<Arc<Memory>>,
}

impl MemoryBridge {
    /// The host without memory: every recall answers nothing.
    #[must_use]
    pub fn without_memory() -> Self {
        Self(None)
    }

    /// The host with a memory, into which the events of its log go as `binding` says.
    #[must_use]
    pub fn with_memory(config: MemoryConfig, binding: SourceBinding, mapper: Arc<Mapper>) -> Self {
        Self::with_memory_behind(config, binding, mapper, None)
    }

    /// The same with something before each user's memory.
    #[must_use]
    pub fn with_memory_behind(
        config: MemoryConfig,
        binding: SourceBinding,
        mapper: Arc<Mapper>,
        before: Option<Arc<Before>>,
    ) -> Self {
        let running = watch::Sender::new(None);
        Self(Some(Arc::new(Memory {
            config,
            binding,
            mapper,
            before,
            running,
        })))
    }

    /// Waits until everything that is logged by now is in memory; what the relay has done so far.
    /// `None` for the host without memory, or while the memory does not run.
    pub async fn catch_up(&self) -> Option<Result<RelayProgress, MemoryError>> {
        Some(self.running()?.relay.catch_up().await)
    }

    /// The memory in numbers. `None` for the host without memory, or while it does not run.
    #[must_use]
    pub fn stats(&self) -> Option<ServiceStats> {
        Some(self.running()?.service.stats())
    }

    /// The running service. `None` for the host without memory, or while it does not run.
    #[must_use]
    pub fn service(&self) -> Option<MemoryService> {
        Some(self.running()?.service)
    }

    /// The port to a user's memory, whichever service runs it at the time of a question. `None` for
    /// the host without memory.
    #[must_use]
    pub fn provider(&self, user: &UserId) -> Option<Arc<dyn MemoryProvider>> {
        Some(port(self.0.as_ref()?, user))
    }

    fn running(&self) -> Option<Running> {
        self.0.as_ref()?.running.borrow().clone()
    }

    pub(crate) async fn start(
        &self,
        supervisor: ActorCell,
        store: ActorRef<EventStoreMsg>,
        bus: watch::Receiver<ActorRef<EventBusMsg>>,
    ) -> Result<RunningMemory, MemoryError> {
        let Some(memory) = &self.0 else {
            return Ok(RunningMemory::none());
        };
        let service = MemoryService::start(memory.config.clone(), Some(supervisor))
            .await
            .map_err(|error| MemoryError::Storage {
                message: error.to_string(),
            })?;
        let feed = FeedSource(Arc::new(move || {
            Box::new(HostFeed {
                store: store.clone(),
                bus: bus.clone(),
                live: None,
                missed: 0,
            })
        }));
        let binding = memory.binding.clone();
        let relay = service
            .attach(binding, Arc::clone(&memory.mapper), feed)
            .await?;
        let running = Running { service, relay };
        memory.running.send_replace(Some(running.clone()));
        Ok(RunningMemory {
            running: Some(running),
            memory: Some(Arc::clone(memory)),
        })
    }
}

impl RunningMemory {
    pub(crate) fn none() -> Self {
        Self {
            running: None,
            memory: None,
        }
    }

    pub(crate) fn is(&self, actor: ActorId) -> bool {
        let running = self.running.as_ref();
        running.and_then(|running| running.service.supervisor_id()) == Some(actor)
    }

    /// The port to a user's memory, once its file is open.
    pub(crate) async fn of(&self, user: &UserId) -> Result<Arc<dyn MemoryProvider>, MemoryError> {
        let (Some(running), Some(memory)) = (&self.running, &self.memory) else {
            return Ok(Arc::new(NullMemory));
        };
        running.service.open(user).await?;
        Ok(port(memory, user))
    }

    pub(crate) async fn shut_down(&mut self) {
        if let Some(memory) = &self.memory {
            memory.running.send_replace(None);
        }
        if let Some(running) = self.running.take() {
            let report = running.service.shut_down().await;
            if !report.is_clean() {
                tracing::warn!(?report, "memory did not end in time");
            }
        }
    }
}

/// One user's memory, whichever service runs it now: a restart of memory is no restart of those who
/// use it.
struct UserMemory {
    memory: Arc<Memory>,
    user: UserId,
}

impl UserMemory {
    fn now(&self) -> Result<ActorMemoryProvider, MemoryError> {
        let running = self.memory.running.borrow();
        let running = running.as_ref().ok_or_else(|| MemoryError::Unavailable {
            user: self.user.to_string(),
        })?;
        Ok(running.service.provider(&self.user))
    }
}

#[async_trait]
impl MemoryProvider for UserMemory {
    async fn recall_request(&self, request: RecallRequest) -> Result<Recall, MemoryError> {
        self.now()?.recall_request(request).await
    }

    async fn begin_run(&self, run: RunBeginning) -> Result<(), MemoryError> {
        self.now()?.begin_run(run).await
    }

    async fn step_run(
        &self,
        run_id: String,
        action: String,
        used: Vec<RecordId>,
    ) -> Result<(), MemoryError> {
        self.now()?.step_run(run_id, action, used).await
    }

    async fn end_run(&self, run: RunEnding) -> Result<(), MemoryError> {
        self.now()?.end_run(run).await
    }

    async fn revise_run(
        &self,
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        self.now()?.revise_run(run_id, revision, quality).await
    }

    async fn context_block(&self, query: &str, budget: usize) -> Result<ContextBlock, MemoryError> {
        self.now()?.context_block(query, budget).await
    }
}

/// The host's log and bus as the memory reads them.
struct HostFeed {
    store: ActorRef<EventStoreMsg>,
    bus: watch::Receiver<ActorRef<EventBusMsg>>,
    live: Option<Subscription>,
    /// Events that the subscription is known to have missed.
    missed: u64,
}

impl HostFeed {
    /// Subscribes to everything: the memory counts also what it leaves out.
    async fn subscribe(&mut self) -> Option<Subscription> {
        loop {
            let bus = self.bus.borrow_and_update().clone();
            let patterns = vec!["*".to_owned()];
            let asked = call_t!(
                bus,
                |reply| EventBusMsg::Subscribe {
                    patterns,
                    capacity: LIVE_MAX,
                    reply
                },
                CALL_MS
            );
            match asked {
                Ok(subscription) => return Some(subscription),
                // That bus has ended: its successor is announced, or the host ends too.
                Err(_) => self.bus.changed().await.ok()?,
            }
        }
    }
}

#[async_trait]
impl EventFeed for HostFeed {
    async fn next(&mut self) -> Option<Vec<Value>> {
        let Some(live) = &mut self.live else {
            self.live = Some(self.subscribe().await?);
            self.missed = 0;
            // What was published before is not heard here; it is in the log.
            return Some(Vec::new());
        };
        // Events that found no room: told once those that did have been handed over.
        let missed = live.missed();
        if missed > self.missed {
            self.missed = missed;
            return Some(Vec::new());
        }
        let events = live.next_batch(BATCH).await;
        if events.is_empty() {
            self.live = None;
            self.bus.changed().await.ok()?;
        }
        let values = events
            .iter()
            .filter_map(|event| serde_json::to_value(&**event).ok());
        Some(values.collect())
    }

    async fn history(&mut self, since_seq: u64, limit: u32) -> Result<Vec<Value>, FeedError> {
        let query = EventQuery {
            since_seq,
            limit,
            ..EventQuery::default()
        };
        let failed = |message: String| FeedError { message };
        let asked = call_t!(
            self.store,
            |reply| EventStoreMsg::Query { query, reply },
            CALL_MS
        );
        let events = asked
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))?;
        let value = |event| serde_json::to_value(event).map_err(|error| failed(error.to_string()));
        events.iter().map(value).collect()
    }

    async fn latest_seq(&mut self) -> Result<u64, FeedError> {
        let failed = |message: String| FeedError { message };
        call_t!(
            self.store,
            |reply| EventStoreMsg::GetLatestSeq { reply },
            CALL_MS
        )
        .map_err(|error| failed(error.to_string()))?
        .map_err(|error| failed(error.to_string()))
    }
}

#[cfg(test)]
pub(crate) mod tests;
