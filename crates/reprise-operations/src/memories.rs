//! The memories of this process: what operations have in common in front of the actors.

mod evidence;
mod lately;
mod learnings;
mod lessons;
mod memory;
mod outcomes;
mod projecting;
mod prompts;
mod publishing;
mod reading;
mod records;
mod repositories;
mod sessions;
mod sharing;
mod tagging;
mod tending;
mod workspaces;

use std::cmp::Reverse;

use lru::LruCache;
use reprise_agent::MemoryService;
use tokio::sync::broadcast;

use crate::operations::tending::TakenBack;
use crate::prelude::*;
use sessions::{SESSIONS_MAX, Session};
use tending::{Held, PLANNERS_MAX};

pub(crate) use evidence::suggestion;
pub use lately::{Change, PastRecall, Told};
pub use learnings::Extracted;
pub(crate) use learnings::{learnings_of, store_counts};
pub use lessons::Lesson;
pub(crate) use lessons::{own_title, title_of};
pub use memory::Memory;
pub use outcomes::run_outcome;
pub use projecting::{Projection, bring_up_to_date, differences};
pub use prompts::{Credited, Followed, Given, LeftOut, Noted, Prompt, Quoted, Replayed};
pub(crate) use prompts::{prompts, replay};
pub use publishing::{Deed, ReceiptLine, Standing};
pub(crate) use publishing::{Receipts, taken_down};
pub use reading::Parts;
pub(crate) use records::{MAY_CHANGE, missing};
pub use repositories::{Repositories, shared_by, without_secrets};
pub(crate) use sharing::Wanted;
pub use sharing::{Reach, Sharing};
pub use tagging::TagRules;
pub(crate) use tagging::{Alike, alike_pairs, refuse_receipt, refuse_receipts};
pub use tending::{Doubted, Known, Merged, counted, size, tend};
pub(crate) use tending::{Names, beginning, changed, live, told_of};
pub(crate) use workspaces::Asked;
pub use workspaces::{Registered, Workspaces};

/// Changes that a slow listener may lag behind before it is told that it missed some.
const CHANGES_MAX: usize = 1_024;

/// What stands around memories, as the configuration says it.
#[derive(Debug, Clone, Default)]
pub struct Around {
    pub tags: TagRules,
    pub workspaces: Workspaces,
    /// The way to published knowledge.
    pub sharing: Sharing,
    /// The checkouts that are trusted.
    pub repositories: Repositories,
    pub projections: Vec<Projection>,
}

/// Every user's memory. Cheap to clone.
#[derive(Clone)]
pub struct Memories {
    service: MemoryService,
    clock: Arc<dyn Clock>,
    changes: broadcast::Sender<Change>,
    /// By user and name.
    sessions: Arc<Mutex<LruCache<(UserId, String), Session>>>,
    recalls: Arc<lately::Lately<PastRecall>>,
    told: Arc<lately::Lately<Told>>,
    /// By the names of the requests.
    taken_back: Arc<lately::Lately<(String, TakenBack)>>,
    around: Arc<Around>,
    /// Why projections were not written when that was last tried, by user and place.
    failing: Arc<Mutex<BTreeMap<(UserId, PathBuf), String>>>,
    planners: Arc<Mutex<LruCache<UserId, Held>>>,
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
            around: Arc::default(),
            failing: Arc::default(),
            planners: Arc::new(Mutex::new(LruCache::new(PLANNERS_MAX))),
        }
    }

    /// The service that runs them.
    pub fn service(&self) -> &MemoryService {
        &self.service
    }

    /// The same with what stands around them.
    #[must_use]
    pub fn with(mut self, around: Around) -> Self {
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
    pub async fn settle(&self, user: &UserId) -> Result<(), Problem> {
        let settle = |engine: &mut Engine| -> Result<(), EngineError> {
            if let Some(job) = engine.start_consolidation() {
                engine.finish_consolidation(job.run())?;
            }
            engine.refresh_sona().map(drop)
        };
        Ok(self.of(user).with_engine(settle).await??)
    }

    /// What changes from now on.
    pub fn listen(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Whether somebody listens.
    fn is_heard(&self) -> bool {
        self.changes.receiver_count() > 0
    }

    /// Whose memory is asked from now on. Asking changes nothing, so that no listener of changes
    /// hears of it.
    pub fn listen_to_recalls(&self) -> broadcast::Receiver<UserId> {
        self.recalls.listen()
    }

    /// What was asked of a user's memory lately, newest first: as far as this process holds it,
    /// and but for what the page asked.
    pub fn recalls(&self, user: &UserId) -> Vec<PastRecall> {
        self.recalls.of(user)
    }

    /// What listeners were told of a user's learnings lately, newest first.
    pub fn told(&self, user: &UserId) -> Vec<Told> {
        self.told.of(user)
    }
}

/// The live version of the record with this external id or id.
pub(crate) fn current(engine: &Engine, name: &str) -> Option<RecordId> {
    let id = resolve(engine, name)?;
    engine.snapshot().current(id)
}

/// The record with this external id or id; a name with a secret is kept without it.
pub(crate) fn resolve(engine: &Engine, name: &str) -> Option<RecordId> {
    let external = |name: &str| {
        let mut named = ExternalId::NAMED.iter();
        named.find_map(|namespace| engine.duplicate_of(&ExternalId::new(*namespace, name)))
    };
    let as_kept = || external(&Redactor::new().name_of(name));
    external(name)
        .or_else(|| name.parse().ok())
        .or_else(as_kept)
}

/// Every live record with this tag, the newest first.
fn all_tagged(memory: &Snapshot, tag: &str) -> Vec<MemoryRecord> {
    let mut found = memory.matching(&MemoryFilter {
        tags: Some(vec![tag.to_owned()]),
        ..MemoryFilter::default()
    });
    found.sort_by_key(|record| Reverse(Cursor::of(record)));
    found
}

/// A span of one operation on a user's memory, for example `search_memory`, as the `GenAI`
/// conventions of OpenTelemetry name it (semantic-conventions-genai, status Development).
pub(crate) fn span(operation: &'static str, user: &UserId) -> tracing::Span {
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
pub(crate) fn span_records(span: &tracing::Span, count: usize, id: Option<RecordId>) {
    span.record("gen_ai.memory.record.count", count);
    if let (1, Some(id)) = (count, id) {
        span.record("gen_ai.memory.record.id", tracing::field::display(id));
    }
}

#[cfg(test)]
mod tests;
