//! The memories of this process: what operations have in common in front of the actors.

mod evidence;
mod learnings;
mod lessons;
mod maintenance;
mod memory;
mod outcomes;
mod pausing;
mod projecting;
mod prompts;
mod publishing;
mod reading;
mod recent;
mod records;
mod repositories;
mod requests;
mod sessions;
mod sharing;
mod tagging;
mod workspaces;

use std::cmp::Reverse;

use lru::LruCache;
use reprise_agent::MemoryService;
use tokio::sync::broadcast;

use crate::prelude::*;
use crate::wire::UndoneReport;
use maintenance::{PLANNERS_MAX, SharedPlanner};
use sessions::{LiveSession, SESSIONS_MAX, TokenDay};

pub use learnings::Extracted;
pub(crate) use learnings::{count_store, list_learnings};
pub use lessons::Lesson;
pub(crate) use lessons::{own_title, title_or_beginning};
pub use maintenance::{
    DoubtfulPair, KnownRecord, MergedSet, format_count, format_size, maintenance_factory,
};
pub(crate) use maintenance::{
    RecordNames, get_live_record_id, hide_sensitive, maintenance_report, short_beginning,
};
pub(crate) use memory::RequestContents;
pub use memory::{Memory, describe_empty_memory};
pub use outcomes::build_run_outcome;
pub use pausing::{PauseMode, PauseRule, PauseStore};
pub use projecting::{ConfiguredProjection, compare_with_memory, update_projections};
pub use prompts::{
    FollowingRecord, InjectedBlock, InjectedLine, InjectedPart, LeftOutReason, NotedRecord, Prompt,
    PromptOutcome, PromptRecall, PromptReplay, ReceivedText, ReplayedRecord, UnansweredReason,
};
pub(crate) use prompts::{list_prompts, replay_prompt};
pub use publishing::{PublicationAct, PublishedCopy, ReceiptLine};
pub(crate) use publishing::{ReceiptLog, list_own_taken_down};
pub use reading::BodyParts;
pub use recent::{ChangeNotice, MemoryChange, PastRecall};
pub(crate) use records::{MAY_CHANGE, no_such_memory_problem, no_whole_name_problem};
pub use repositories::{Repositories, read_redacted_lessons, redact_and_list_rules};
pub(crate) use requests::hash_request;
pub(crate) use sharing::PublicationDraft;
pub use sharing::{Sharing, TierOpener};
pub use tagging::TagRules;
pub(crate) use tagging::{AlikeTags, find_alike_pairs, refuse_receipt_change, refuse_receipt_tag};
pub(crate) use workspaces::WorkspaceSelector;
pub use workspaces::{RegisteredWorkspace, TreeHost, Workspaces};

/// Changes that a slow listener may lag behind before it is told that it missed some.
const CHANGES_MAX: usize = 1_024;

/// Settings of all memories, from the configuration.
#[derive(Debug, Clone, Default)]
pub struct MemorySettings {
    pub tags: TagRules,
    pub workspaces: Workspaces,
    /// Where these are served.
    pub trees: Option<Arc<dyn TreeHost>>,
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
    service: MemoryService,
    clock: Arc<dyn Clock>,
    changes: broadcast::Sender<MemoryChange>,
    /// By user and name.
    sessions: Arc<Mutex<LruCache<(UserId, String), LiveSession>>>,
    recalls: Arc<recent::RecentEntries<PastRecall>>,
    told: Arc<recent::RecentEntries<ChangeNotice>>,
    /// By the names of the requests.
    taken_back: Arc<recent::RecentEntries<(String, UndoneReport)>>,
    requests: Arc<requests::RequestLedger>,
    around: Arc<MemorySettings>,
    /// Why projections were not written when that was last tried, by user and place.
    failing: Arc<Mutex<BTreeMap<(UserId, PathBuf), String>>>,
    /// Tokens that went into prompts today, by user.
    token_days: Arc<Mutex<BTreeMap<UserId, TokenDay>>>,
    planners: Arc<Mutex<LruCache<UserId, SharedPlanner>>>,
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
    fn has_listeners(&self) -> bool {
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

/// The live version of the record with this external id or id.
pub(crate) fn find_current_version(memory: &Snapshot, name: &str) -> Option<RecordId> {
    memory.current_version(find_record_id(memory, name)?)
}

/// The record with this external id or id; a name with a secret is kept without it.
pub(crate) fn find_record_id(memory: &Snapshot, name: &str) -> Option<RecordId> {
    let external = |name: &str| {
        let mut named = ExternalId::CALLER_NAMESPACES.iter();
        named.find_map(|namespace| memory.find_by_external_id(&ExternalId::new(*namespace, name)))
    };
    let as_kept = || external(&Redactor::new().redacted_name(name));
    external(name)
        .or_else(|| name.parse().ok())
        .or_else(as_kept)
}

/// Every live record with this tag, the newest first.
fn list_tagged(memory: &Snapshot, tag: &str) -> Vec<MemoryRecord> {
    let mut found = memory.list_matching_records(&MemoryFilter {
        tags: Some(vec![tag.to_owned()]),
        ..MemoryFilter::default()
    });
    found.sort_by_key(|record| Reverse(Cursor::of(record)));
    found
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
