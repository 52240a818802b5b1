//! The composition root: the only file of the host that may name `reprise-agent`.
//!
//! It holds the memory that the host uses, or one that is none, and adapts the host's log and bus
//! to the memory's feed.

use ractor::{ActorCell, ActorId};
use reprise_agent::{
    ActorMemoryProvider, EventFeed, FeedError, FeedSource, MemoryService, RelayHandle,
    RelayProgress,
};
#[cfg(test)]
use reprise_agent::{Event, MapOutcome, MemoryAgentMsg, MemorySupervisorMsg};
pub use reprise_agent::{Mapper, MemoryConfig, SourceBinding};
use reprise_types::{
    ContextBlock, Recall, RecallId, RecallRequest, Revision, RunBeginning, RunEnding, TokensBy,
    Verdict, system_entropy,
};

use crate::event_bus::Subscription;
use crate::event_store::EventQuery;
use crate::prelude::*;

/// Capacity of the queue of live events; further ones are missed and read from the log.
const LIVE_MAX: usize = 1_024;
/// Live events per batch.
const BATCH: usize = 64;
/// Time limit of the store or the bus.
const CALL_MS: u64 = 10_000;

/// Wraps a user's memory in another provider, for example one that adds published knowledge.
pub type Before = dyn Fn(&UserId, Arc<dyn MemoryProvider>) -> Arc<dyn MemoryProvider> + Send + Sync;

/// The memory to use. Clones are cheap and share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryBridge(Option<Arc<Memory>>);

/// Where the memories come from.
enum Origin {
    /// A service of the host's own, under its session.
    Own(Box<MemoryConfig>),
    /// A daemon's: while the host runs its memories are children of the host's session, and they
    /// outlive it.
    Beside(MemoryService),
}

struct Memory {
    origin: Origin,
    binding: SourceBinding,
    mapper: Arc<Mapper>,
    before: Option<Arc<Before>>,
    /// The running service, for callers outside the tree.
    running: watch::Sender<Option<Running>>,
}

reprise_types::show_fields!(Memory { binding, running });

/// The port to a user's memory; each call goes to the service running at that time.
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

/// The memory running under the session, and the supervisor that it is under; none by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningMemory(Option<(Running, Arc<Memory>, ActorCell)>);

impl MemoryBridge {
    /// A host without memory: every recall is empty.
    pub fn without_memory() -> Self {
        Self(None)
    }

    /// A host with memory, fed from the host's log as `binding` says; each user's memory is wrapped
    /// by `before`, if given.
    pub fn with_memory(
        config: MemoryConfig,
        binding: SourceBinding,
        mapper: Arc<Mapper>,
        before: Option<Arc<Before>>,
    ) -> Self {
        Self::of(Origin::Own(config.into()), binding, mapper, before)
    }

    /// A host that feeds a service which runs beside it.
    pub fn beside(service: MemoryService, binding: SourceBinding, mapper: Arc<Mapper>) -> Self {
        Self::of(Origin::Beside(service), binding, mapper, None)
    }

    fn of(
        origin: Origin,
        binding: SourceBinding,
        mapper: Arc<Mapper>,
        before: Option<Arc<Before>>,
    ) -> Self {
        Self(Some(Arc::new(Memory {
            origin,
            binding,
            mapper,
            before,
            running: watch::Sender::new(None),
        })))
    }

    /// Waits until everything logged by now is in memory; returns the relay's progress. `None`
    /// without memory, or while it does not run.
    pub async fn catch_up(&self) -> Option<Result<RelayProgress, MemoryError>> {
        Some(self.running()?.relay.catch_up().await)
    }

    /// The running service. `None` without memory, or while it does not run.
    pub fn service(&self) -> Option<MemoryService> {
        Some(self.running()?.service)
    }

    /// The port to a user's memory; each call goes to the service running at that time. `None`
    /// without memory.
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
            return Ok(RunningMemory::default());
        };
        let failed = |error: &dyn std::fmt::Display| MemoryError::Storage {
            message: error.to_string(),
        };
        let service = match &memory.origin {
            Origin::Own(config) => {
                let started = MemoryService::start((**config).clone(), Some(supervisor.clone()));
                started.await.map_err(|error| failed(&error))?
            }
            Origin::Beside(service) => {
                let joined = service.join_host(supervisor.clone()).await;
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
            .attach(binding, Arc::clone(&memory.mapper), feed)
            .await?;
        let running = Running { service, relay };
        memory.running.send_replace(Some(running.clone()));
        let memory = Arc::clone(memory);
        Ok(RunningMemory(Some((running, memory, supervisor))))
    }
}

impl RunningMemory {
    pub(crate) fn is(&self, actor: ActorId) -> bool {
        let running = self.0.as_ref();
        running.and_then(|(running, ..)| running.service.supervisor_id()) == Some(actor)
    }

    /// The port to a user's memory, once its file is open.
    pub(crate) async fn of(&self, user: &UserId) -> Result<Arc<dyn MemoryProvider>, MemoryError> {
        let Some((running, memory, _)) = &self.0 else {
            return Ok(Arc::new(NullMemory));
        };
        running.service.open(user).await?;
        Ok(port(memory, user))
    }

    pub(crate) async fn shut_down(&mut self) {
        let Some((running, memory, host)) = self.0.take() else {
            return;
        };
        memory.running.send_replace(None);
        match &memory.origin {
            Origin::Beside(service) => service.leave_host(host),
            Origin::Own(_) => {
                let report = running.service.shut_down().await;
                if !report.is_clean() {
                    tracing::warn!(?report, "memory did not end in time");
                }
            }
        }
    }
}

/// One user's memory, over the service running now, so that a restart of memory does not restart
/// its users.
struct UserMemory {
    memory: Arc<Memory>,
    user: UserId,
}

impl UserMemory {
    fn now(&self) -> Result<ActorMemoryProvider, MemoryError> {
        let running = self.memory.running.borrow();
        let running = running
            .as_ref()
            .ok_or_else(|| MemoryError::unavailable(&self.user))?;
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

/// The host's log and bus as a feed for memory.
struct HostFeed {
    store: ActorRef<EventStoreMsg>,
    bus: watch::Receiver<ActorRef<EventBusMsg>>,
    live: Option<Subscription>,
    /// Missed events of the subscription that were already reported.
    missed: u64,
}

impl HostFeed {
    /// Subscribes to every topic, as the memory also counts what it ignores.
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
                // The bus has ended: waits for its successor, or ends with the host.
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
            // Events published before must be read from the log.
            return Some(Vec::new());
        };
        // Missed events are reported after the received ones have been delivered.
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
        let query = |reply| EventStoreMsg::Query { query, reply };
        let events = ask(&self.store, query, CALL_MS).await.map_err(failed)?;
        let value = |event| serde_json::to_value(event).map_err(failed);
        events.iter().map(value).collect()
    }

    async fn latest_seq(&mut self) -> Result<u64, FeedError> {
        let latest = |reply| EventStoreMsg::GetLatestSeq { reply };
        ask(&self.store, latest, CALL_MS).await.map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> FeedError {
    let message = error.to_string();
    FeedError { message }
}

/// Stores nothing and answers with nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullMemory;

#[async_trait]
impl MemoryProvider for NullMemory {
    async fn recall_request(&self, _request: RecallRequest) -> Result<Recall, MemoryError> {
        let recall_id = RecallId::from_u128(system_entropy());
        Ok(Recall::nothing(recall_id))
    }

    async fn context_block(
        &self,
        _query: &str,
        _budget: usize,
    ) -> Result<ContextBlock, MemoryError> {
        Ok(ContextBlock {
            text: String::new(),
            tokens: 0,
            counted_by: TokensBy::BytesOverFour,
            records: Vec::new(),
            left_out: 0,
            nothing_relevant: true,
            verdict: Verdict::Nothing,
            recall_id: RecallId::from_u128(system_entropy()),
            degraded: Vec::new(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
