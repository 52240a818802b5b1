//! The memories of this process: what operations have in common in front of the actors.

mod journal;
mod memory;
mod recent;
mod requests;

use lru::LruCache;
use reprise_agent::MemoryService;
use tokio::sync::broadcast;

use crate::operations::care::ConfiguredProjection;
use crate::operations::lessons::Repositories;
use crate::operations::maintenance::{PLANNERS_MAX, SharedPlanner};
use crate::operations::sessions::hooks::{LiveSession, SESSIONS_MAX, TokenDay};
use crate::operations::sessions::pausing::PauseStore;
use crate::operations::sharing::Sharing;
use crate::operations::tags::TagRules;
use crate::prelude::*;
use crate::wire::UndoneReport;

pub use journal::{ChangeKind, ChangeOrigin, JournalEntry};
pub(crate) use memory::RequestContents;
pub use memory::{Memory, describe_empty_memory};
pub use recent::{ChangeNotice, MemoryChange, PastRecall};
pub(crate) use requests::hash_request;

/// Changes that a slow listener may lag behind before it is told that it missed some.
const CHANGES_MAX: usize = 1_024;

/// Settings of all memories, from the configuration.
#[derive(Debug, Clone, Default)]
pub struct MemorySettings {
    pub tags: TagRules,
    /// The way to published knowledge.
    pub sharing: Sharing,
    /// The checkouts that are trusted.
    pub repositories: Repositories,
    pub projections: Vec<ConfiguredProjection>,
    /// Where memory is off or only read.
    pub pauses: PauseStore,
    /// Most tokens that hooks put into prompts on one day; no limit if `None`.
    pub prompt_tokens_per_day: Option<usize>,
}

/// Every user's memory. Cheap to clone.
#[derive(Clone)]
pub struct Memories {
    pub(crate) service: MemoryService,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) changes: broadcast::Sender<MemoryChange>,
    /// By user and name.
    pub(crate) sessions: Arc<Mutex<LruCache<(UserId, String), LiveSession>>>,
    pub(crate) recalls: Arc<recent::RecentEntries<PastRecall>>,
    pub(crate) told: Arc<recent::RecentEntries<ChangeNotice>>,
    /// By the names of the requests.
    pub(crate) taken_back: Arc<recent::RecentEntries<(String, UndoneReport)>>,
    pub(crate) requests: Arc<requests::RequestLedger>,
    pub(crate) around: Arc<MemorySettings>,
    /// Why projections were not written when that was last tried, by user and place.
    pub(crate) failing: Arc<Mutex<BTreeMap<(UserId, PathBuf), String>>>,
    /// Tokens that went into prompts today, by user.
    pub(crate) token_days: Arc<Mutex<BTreeMap<UserId, TokenDay>>>,
    pub(crate) planners: Arc<Mutex<LruCache<UserId, SharedPlanner>>>,
}

reprise_types::show_fields!(Memories { service });

impl Memories {
    /// The memories of a running service.
    pub fn new(service: MemoryService, clock: Arc<dyn Clock>) -> Self {
        Self {
            service,
            clock,
            changes: broadcast::Sender::new(CHANGES_MAX),
            sessions: Arc::new(Mutex::new(LruCache::new(SESSIONS_MAX))),
            recalls: Arc::default(),
            told: Arc::default(),
            taken_back: Arc::default(),
            requests: Arc::default(),
            around: Arc::default(),
            failing: Arc::default(),
            token_days: Arc::default(),
            planners: Arc::new(Mutex::new(LruCache::new(PLANNERS_MAX))),
        }
    }

    /// The service that runs them.
    pub fn service(&self) -> &MemoryService {
        &self.service
    }

    /// Sets the settings of all memories.
    #[must_use]
    pub fn with_settings(mut self, around: MemorySettings) -> Self {
        self.around = Arc::new(around);
        self
    }

    /// Ends the service; everything accepted is on disk afterwards.
    pub async fn shut_down(&self) -> Duration {
        let began = Instant::now();
        let report = self.service.shut_down().await;
        tracing::debug!(?report, "the service has ended");
        began.elapsed()
    }

    /// Does at once what an agent does while nobody asks: fits the adapter where that is due.
    pub async fn consolidate_and_refresh_now(&self, user: &UserId) -> Result<(), Problem> {
        let settle = |engine: &mut Engine| -> Result<(), EngineError> {
            if let Some(job) = engine.start_adapter_fit() {
                engine.finish_adapter_fit(job.run())?;
            }
            engine.refresh_sona().map(drop)
        };
        Ok(self.user_memory(user).run_on_engine(settle).await??)
    }

    /// What changes from now on.
    pub fn subscribe_to_changes(&self) -> broadcast::Receiver<MemoryChange> {
        self.changes.subscribe()
    }

    /// Whether somebody listens.
    pub(crate) fn has_listeners(&self) -> bool {
        self.changes.receiver_count() > 0
    }

    /// Whose memory is asked from now on. Asking changes nothing, so that no listener of changes
    /// hears of it.
    pub fn subscribe_to_recalls(&self) -> broadcast::Receiver<UserId> {
        self.recalls.subscribe()
    }

    /// What was asked of a user's memory lately, newest first: as far as this process holds it,
    /// and but for what the page asked.
    pub fn list_recent_recalls(&self, user: &UserId) -> Vec<PastRecall> {
        self.recalls.list_for_user(user)
    }

    /// What listeners were told of a user's learnings lately, newest first.
    pub fn list_recent_change_notices(&self, user: &UserId) -> Vec<ChangeNotice> {
        self.told.list_for_user(user)
    }
}

/// A span of one operation on a user's memory, for example `search_memory`, as the `GenAI`
/// conventions of OpenTelemetry name it (semantic-conventions-genai, status Development).
pub(crate) fn operation_span(operation: &'static str, user: &UserId) -> tracing::Span {
    tracing::info_span!(
        target: "reprise::memory",
        "memory",
        otel.name = operation,
        otel.kind = "internal",
        gen_ai.operation.name = operation,
        gen_ai.memory.store.id = %user,
        gen_ai.memory.record.count = tracing::field::Empty,
        gen_ai.memory.record.id = tracing::field::Empty,
    )
}

/// What the operation is about: how many records, and which where it is one.
pub(crate) fn note_records_in_span(span: &tracing::Span, count: usize, id: Option<RecordId>) {
    span.record("gen_ai.memory.record.count", count);
    if let (1, Some(id)) = (count, id) {
        span.record("gen_ai.memory.record.id", tracing::field::display(id));
    }
}

#[cfg(test)]
mod tests;
