//! The composition root: the only file of the host that may name `reprise-agent`.
//!
//! It has the memory that the host uses, or a null memory, and adapts the host's log and bus to the
//! memory's feed.

use ractor::{ActorCell, ActorId};
use reprise_agent::{
    ActorMemoryProvider, EventFeed, FeedError, FeedSource, MemoryService, RelayHandle,
    RelayProgress,
};
pub use reprise_agent::{EventMapper, MemoryConfig, SourceBinding};
#[cfg(test)]
use reprise_agent::{HostEvent, MapOutcome, MemoryAgentMsg, MemorySupervisorMsg};
use reprise_types::{
    ContextBlock, RecallId, RecallRequest, RecallResponse, RelevanceVerdict, Revision,
    RunBeginning, RunEnding, RunStep, TokenUnit, system_entropy,
};

use crate::event_bus::Subscription;
use crate::event_store::EventQuery;
use crate::prelude::*;

/// Capacity of the queue of live events; events beyond it are missed and read from the log.
const LIVE_MAX: usize = 1_024;
/// Most live events per batch.
const BATCH: usize = 64;
/// Time limit for a reply of the store or the bus.
const CALL_MS: u64 = 10_000;

/// Wraps a user's memory in another provider, for example one that adds published knowledge.
pub type ProviderWrapper =
    dyn Fn(&UserId, Arc<dyn MemoryProvider>) -> Arc<dyn MemoryProvider> + Send + Sync;

/// The bridge to the memory that the host uses. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct MemoryBridge(Option<Arc<BridgedMemory>>);

/// Where the memories come from.
enum MemoryOrigin {
    /// From a service of the host itself, under its session.
    InHost(Box<MemoryConfig>),
    /// From the service of a daemon. While the host runs, the service's supervisor is a child of
    /// the host's session; it outlives the host.
    Daemon(MemoryService),
}

struct BridgedMemory {
    origin: MemoryOrigin,
    binding: SourceBinding,
    mapper: Arc<EventMapper>,
    wrapper: Option<Arc<ProviderWrapper>>,
    /// The running service, for callers outside the tree.
    running: watch::Sender<Option<RunningService>>,
}

reprise_types::show_fields!(BridgedMemory { binding, running });

/// Builds the port to a user's memory; each call goes to the service that runs at that time.
fn build_user_provider(memory: &Arc<BridgedMemory>, user: &UserId) -> Arc<dyn MemoryProvider> {
    let provider = Arc::new(UserMemory {
        memory: Arc::clone(memory),
        user: user.clone(),
    });
    match &memory.wrapper {
        Some(wrapper) => wrapper(user, provider),
        None => provider,
    }
}

#[derive(Debug, Clone)]
struct RunningService {
    service: MemoryService,
    relay: RelayHandle,
}

/// The memory that runs under the session, and its supervisor; empty by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningMemory(Option<(RunningService, Arc<BridgedMemory>, ActorCell)>);

impl MemoryBridge {
    /// Creates the bridge of a host without memory, where every recall is empty.
    pub fn without_memory() -> Self {
        Self(None)
    }

    /// Creates the bridge of a host with a memory of its own, which is fed from the host's log as
    /// `binding` says. Each user's memory is wrapped by `wrapper`, if given.
    pub fn with_memory(
        config: MemoryConfig,
        binding: SourceBinding,
        mapper: Arc<EventMapper>,
        wrapper: Option<Arc<ProviderWrapper>>,
    ) -> Self {
        Self::new(
            MemoryOrigin::InHost(config.into()),
            binding,
            mapper,
            wrapper,
        )
    }

    /// Creates the bridge of a host that feeds the memory of a daemon in the same process.
    pub fn with_daemon(
        service: MemoryService,
        binding: SourceBinding,
        mapper: Arc<EventMapper>,
    ) -> Self {
        Self::new(MemoryOrigin::Daemon(service), binding, mapper, None)
    }

    fn new(
        origin: MemoryOrigin,
        binding: SourceBinding,
        mapper: Arc<EventMapper>,
        wrapper: Option<Arc<ProviderWrapper>>,
    ) -> Self {
        Self(Some(Arc::new(BridgedMemory {
            origin,
            binding,
            mapper,
            wrapper,
            running: watch::Sender::new(None),
        })))
    }

    /// Waits until everything logged by now is in memory; returns the relay's progress. `None`
    /// without memory, or while memory does not run.
    pub async fn catch_up(&self) -> Option<Result<RelayProgress, MemoryError>> {
        Some(self.find_service_with_relay()?.relay.catch_up().await)
    }

    /// Returns the running service; `None` without memory, or while memory does not run.
    pub fn service(&self) -> Option<MemoryService> {
        Some(self.find_service_with_relay()?.service)
    }

    /// Returns the port to a user's memory; each call goes to the service that runs at that time.
    /// `None` without memory.
    pub fn provider(&self, user: &UserId) -> Option<Arc<dyn MemoryProvider>> {
        Some(build_user_provider(self.0.as_ref()?, user))
    }

    fn find_service_with_relay(&self) -> Option<RunningService> {
        self.0.as_ref()?.running.borrow().clone()
    }

    pub(crate) async fn start(
        &self,
        supervisor: ActorCell,
        store: ActorRef<EventStoreMsg>,
        bus: watch::Receiver<ActorRef<EventBusMsg>>,
    ) -> Result<RunningMemory, MemoryError> {
        let Some(memory) = &self.0 else {
            return Ok(RunningMemory::default());
        };
        let failed = |error: &dyn std::fmt::Display| MemoryError::Storage {
            message: error.to_string(),
        };
        let service = match &memory.origin {
            MemoryOrigin::InHost(config) => {
                let started = MemoryService::start((**config).clone(), Some(supervisor.clone()));
                started.await.map_err(|error| failed(&error))?
            }
            MemoryOrigin::Daemon(service) => {
                let joined = service.attach_to_host(supervisor.clone()).await;
                joined.map_err(|error| failed(&error))?;
                service.clone()
            }
        };
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
            .attach_relay(binding, Arc::clone(&memory.mapper), feed)
            .await?;
        let running = RunningService { service, relay };
        memory.running.send_replace(Some(running.clone()));
        let memory = Arc::clone(memory);
        Ok(RunningMemory(Some((running, memory, supervisor))))
    }
}

impl RunningMemory {
    pub(crate) fn is_supervised_by(&self, actor: ActorId) -> bool {
        let running = self.0.as_ref();
        running.and_then(|(running, ..)| running.service.supervisor_id()) == Some(actor)
    }

    /// Whether the daemon that owns the service is shutting it down.
    pub(crate) fn ends_with_daemon(&self) -> bool {
        self.0.as_ref().is_some_and(|(running, memory, _)| {
            let is_of_daemon = matches!(memory.origin, MemoryOrigin::Daemon(_));
            is_of_daemon && running.service.is_shutting_down()
        })
    }

    /// Opens a user's file, and returns the port to the memory.
    pub(crate) async fn open_provider(
        &self,
        user: &UserId,
    ) -> Result<Arc<dyn MemoryProvider>, MemoryError> {
        let Some((running, memory, _)) = &self.0 else {
            return Ok(Arc::new(NullMemory));
        };
        running.service.open_memory(user).await?;
        Ok(build_user_provider(memory, user))
    }

    pub(crate) async fn shut_down(&mut self) {
        let Some((running, memory, host)) = self.0.take() else {
            return;
        };
        memory.running.send_replace(None);
        match &memory.origin {
            MemoryOrigin::Daemon(service) => service.detach_from_host(host),
            MemoryOrigin::InHost(_) => {
                let report = running.service.shut_down().await;
                if !report.is_clean() {
                    tracing::warn!(?report, "memory did not end in time");
                }
            }
        }
    }
}

/// One user's memory, which uses the service that runs at the time of a call, so that callers
/// survive a restart of memory.
struct UserMemory {
    memory: Arc<BridgedMemory>,
    user: UserId,
}

impl UserMemory {
    fn current_provider(&self) -> Result<ActorMemoryProvider, MemoryError> {
        let running = self.memory.running.borrow();
        let running = running
            .as_ref()
            .ok_or_else(|| MemoryError::unavailable(&self.user))?;
        Ok(running.service.provider(&self.user))
    }
}

#[async_trait]
impl MemoryProvider for UserMemory {
    async fn execute_recall(&self, request: RecallRequest) -> Result<RecallResponse, MemoryError> {
        self.current_provider()?.execute_recall(request).await
    }

    async fn begin_run(&self, run: RunBeginning) -> Result<(), MemoryError> {
        self.current_provider()?.begin_run(run).await
    }

    async fn add_run_step(&self, step: RunStep) -> Result<(), MemoryError> {
        self.current_provider()?.add_run_step(step).await
    }

    async fn end_run(&self, run: RunEnding) -> Result<(), MemoryError> {
        self.current_provider()?.end_run(run).await
    }

    async fn revise_run(
        &self,
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        self.current_provider()?
            .revise_run(run_id, revision, quality)
            .await
    }

    async fn build_context_block(
        &self,
        query: &str,
        budget: usize,
    ) -> Result<ContextBlock, MemoryError> {
        self.current_provider()?
            .build_context_block(query, budget)
            .await
    }
}

/// The host's log and bus as a feed for memory.
struct HostFeed {
    store: ActorRef<EventStoreMsg>,
    bus: watch::Receiver<ActorRef<EventBusMsg>>,
    live: Option<Subscription>,
    /// Number of missed events of the subscription that were reported already.
    missed: u64,
}

impl HostFeed {
    /// Subscribes to every topic, because the memory also counts events that it ignores.
    async fn subscribe(&mut self) -> Option<Subscription> {
        loop {
            let bus = self.bus.borrow_and_update().clone();
            let patterns = vec!["*".to_owned()];
            let answer = call_t!(
                bus,
                |reply| EventBusMsg::Subscribe {
                    patterns,
                    capacity: LIVE_MAX,
                    reply
                },
                CALL_MS
            );
            match answer {
                Ok(subscription) => return Some(subscription),
                // The bus has ended, so this waits for its successor, or ends with the host.
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
            // Earlier events must be read from the log.
            return Some(Vec::new());
        };
        // Missed events are reported after the received ones have been delivered.
        let missed = live.missed_count();
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
        let query = |reply| EventStoreMsg::Query { query, reply };
        let events = call_store(&self.store, query, CALL_MS)
            .await
            .map_err(to_feed_error)?;
        let value = |event| serde_json::to_value(event).map_err(to_feed_error);
        events.iter().map(value).collect()
    }

    async fn latest_seq(&mut self) -> Result<u64, FeedError> {
        let latest = |reply| EventStoreMsg::GetLatestSeq { reply };
        call_store(&self.store, latest, CALL_MS)
            .await
            .map_err(to_feed_error)
    }
}

fn to_feed_error(error: impl std::fmt::Display) -> FeedError {
    let message = error.to_string();
    FeedError { message }
}

/// A memory that stores nothing and returns no results.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullMemory;

#[async_trait]
impl MemoryProvider for NullMemory {
    async fn execute_recall(&self, _request: RecallRequest) -> Result<RecallResponse, MemoryError> {
        let recall_id = RecallId::from_u128(system_entropy());
        Ok(RecallResponse::empty(recall_id))
    }

    async fn build_context_block(
        &self,
        _query: &str,
        _budget: usize,
    ) -> Result<ContextBlock, MemoryError> {
        Ok(ContextBlock {
            text: String::new(),
            tokens: 0,
            counted_by: TokenUnit::BytesOverFour,
            records: Vec::new(),
            left_out: 0,
            nothing_relevant: true,
            verdict: RelevanceVerdict::Nothing,
            recall_id: RecallId::from_u128(system_entropy()),
            degraded: Vec::new(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
