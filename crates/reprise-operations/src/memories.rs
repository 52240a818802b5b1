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

use reprise_agent::{MemoryService, ServiceStats};
use tokio::sync::broadcast;

use crate::operations::tending::TakenBack;
use crate::prelude::*;
use tending::Planners;

pub(crate) use evidence::suggestion;
pub use lately::{Change, PastRecall, Told};
pub use learnings::Extracted;
pub(crate) use learnings::{learnings_of, store_counts};
pub use lessons::Lesson;
pub(crate) use lessons::{own_title, title_of};
pub use memory::Memory;
pub use outcomes::run_outcome;
pub use projecting::{Projection, bring_up_to_date, differences};
pub use prompts::{Credited, Followed, Prompt, Quoted, Replayed};
pub(crate) use prompts::{prompts, replay};
pub(crate) use publishing::Receipts;
pub use publishing::{Deed, ReceiptLine, Standing};
pub use reading::Parts;
pub(crate) use records::{MAY_CHANGE, missing};
pub use repositories::{Repositories, shared_by, without_secrets};
pub use sessions::{Given, LeftOut, Noted};
pub(crate) use sharing::Wanted;
pub use sharing::{Reach, Sharing};
pub use tagging::TagRules;
pub(crate) use tagging::{Alike, alike_pairs, refuse_receipt, refuse_receipts};
pub use tending::{Doubted, Known, Merged, counted, size, tend};
pub(crate) use tending::{Names, beginning, changed, live};
pub(crate) use workspaces::Asked;
pub use workspaces::{Registered, Workspaces};

/// Changes that a slow listener may lag behind before it is told that it missed some.
const CHANGES_MAX: usize = 1_024;

/// Every user's memory. Cheap to clone.
#[derive(Clone)]
pub struct Memories {
    service: MemoryService,
    clock: Arc<dyn Clock>,
    changes: broadcast::Sender<Change>,
    sessions: Arc<sessions::Sessions>,
    recalls: Arc<lately::Lately<PastRecall>>,
    told: Arc<lately::Lately<Told>>,
    /// By the names of the requests.
    taken_back: Arc<lately::Lately<(String, TakenBack)>>,
    tag_rules: Arc<TagRules>,
    workspaces: Arc<Workspaces>,
    sharing: Sharing,
    repositories: Repositories,
    projections: Arc<[Projection]>,
    /// Why projections were not written when that was last tried, by user and place.
    failing: Arc<Mutex<BTreeMap<(UserId, PathBuf), String>>>,
    planners: Arc<Planners>,
}

reprise_types::show_fields!(Memories { service });

impl Memories {
    /// The memories of a running service.
    pub fn new(service: MemoryService, clock: Arc<dyn Clock>) -> Self {
        Self {
            service,
            clock,
            changes: broadcast::Sender::new(CHANGES_MAX),
            sessions: Arc::default(),
            recalls: Arc::default(),
            told: Arc::default(),
            taken_back: Arc::default(),
            tag_rules: Arc::default(),
            workspaces: Arc::default(),
            sharing: Sharing::default(),
            repositories: Repositories::default(),
            projections: Arc::default(),
            failing: Arc::default(),
            planners: Arc::default(),
        }
    }

    /// The service that runs them.
    pub fn service(&self) -> &MemoryService {
        &self.service
    }

    /// The same with these rules for tags.
    #[must_use]
    pub fn with_tags(mut self, rules: TagRules) -> Self {
        self.tag_rules = Arc::new(rules);
        self
    }

    /// The same with these governed workspaces.
    #[must_use]
    pub fn with_workspaces(mut self, workspaces: Workspaces) -> Self {
        self.workspaces = Arc::new(workspaces);
        self
    }

    /// The same with this way to published knowledge.
    #[must_use]
    pub fn with_sharing(self, sharing: Sharing) -> Self {
        Self { sharing, ..self }
    }

    pub fn service_stats(&self) -> ServiceStats {
        self.service.stats()
    }

    pub async fn is_ready(&self) -> bool {
        self.service.is_ready().await
    }

    /// Returns once the service has ended, by itself or because it was told to.
    pub async fn ended(&self) {
        self.service.ended().await;
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
        Ok(self.with_engine(user, settle).await??)
    }

    /// What changes from now on.
    pub fn listen(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn tell(&self, user: &UserId, what: &'static str, ids: Vec<RecordId>) {
        if what == "forgotten" {
            self.recalls.forget(user);
            self.told.forget(user);
            self.taken_back.forget(user);
        }
        self.send(Change {
            user: user.clone(),
            what,
            ids,
            event: Map::new(),
        });
    }

    fn send(&self, change: Change) {
        if let Some(told) = Told::of(&change, self.clock.now()) {
            self.told.note(&change.user, told);
        }
        // Nobody may be listening.
        let _heard = self.changes.send(change).is_ok();
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

    /// A slip in a user's name makes no memory: only what is kept does.
    fn refuse_unknown(&self, user: &UserId) -> Result<(), Problem> {
        if self.service.has_memory(user) {
            return Ok(());
        }
        Err(Problem::not_found(format!(
            "user `{user}` has no memory yet; keep a record first, or name another user"
        )))
    }

    /// The present moment of a user's memory, opened where it sleeps.
    async fn snapshot(&self, user: &UserId) -> Result<Arc<Snapshot>, Problem> {
        self.refuse_unknown(user)?;
        Ok(self.service.snapshot(user).await?)
    }

    /// Reads a user's memory as of now, on a thread that may wait for the disk.
    async fn read<T: Send + 'static>(
        &self,
        user: &UserId,
        read: impl FnOnce(&Snapshot) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let snapshot = self.snapshot(user).await?;
        let done = lent(move || read(&snapshot)).await;
        done.map_err(|error| {
            let why = format!("the records could not be read ({error}); run `reprise check`");
            Problem::new(ProblemKind::Internal, why)
        })
    }

    async fn with_engine<T: Send + 'static>(
        &self,
        user: &UserId,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.refuse_unknown(user)?;
        Ok(self.service.with_engine(user, work).await?)
    }

    /// The days of whoever asks: those of this machine.
    fn calendar(&self) -> Calendar {
        Calendar::of_machine(self.clock.now())
    }

    fn unix_ms(&self) -> u64 {
        u64::try_from(self.clock.now().timestamp_millis()).unwrap_or_default()
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
    let mut asked = ListRequest {
        filter: MemoryFilter {
            tags: Some(vec![tag.to_owned()]),
            ..MemoryFilter::default()
        },
        limit: PAGE_MAX,
        after: None,
    };
    let mut found = Vec::new();
    loop {
        let page = memory.list(&asked);
        found.extend(page.records);
        asked.after = page.next;
        if asked.after.is_none() {
            return found;
        }
    }
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
