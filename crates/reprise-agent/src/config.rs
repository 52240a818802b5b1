//! Configuration of a memory service: paths, limits, and the functions that open files and models.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, EngineOptions, LearnSettings, OpenReport, Snapshot};
use reprise_types::limits::{PURPOSEFUL_BUDGET_MS, RECALL_BUDGET_MS};
use reprise_types::{
    Clock, EmbeddingSpace, LearningEngine, QueryExpander, RecallResponse, RecordId, Reranker,
    SystemClock, UserId,
};

use tokio::sync::broadcast;

use crate::embedder::{EmbedPool, EmbedderOpener, PoolOptions};
use crate::other_models::OtherModels;

/// Most maintenance reports by which a listener may lag behind.
const MAINTENANCE_REPORTS_MAX: usize = 64;

/// Opens one user's file, on a disk of the caller's choice.
pub type EngineOpener = Arc<
    dyn Fn(&Path, &EngineOptions) -> Result<(Engine, OpenReport), EngineError>
        + Send
        + Sync
        + 'static,
>;

/// Creates the planner of one memory's maintenance, given the log position up to which the memory
/// was examined before.
pub type MaintenanceFactory = Arc<dyn Fn(u64) -> MaintenancePlanner + Send + Sync + 'static>;

/// Plans the maintenance of a memory, for as long as the callback permits; `None` if there is none
/// or the time ran out.
pub type MaintenancePlanner = Box<
    dyn FnMut(&Snapshot, DateTime<Utc>, &dyn Fn() -> bool) -> Option<MaintenancePlan>
        + Send
        + 'static,
>;

/// Applies planned maintenance, and reports what it did.
pub type MaintenanceWork =
    Box<dyn FnOnce(&mut Engine) -> Result<MaintenanceReport, EngineError> + Send + 'static>;

/// Records that maintenance changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    pub forgotten: Vec<RecordId>,
    /// Records that recalls no longer return because others replace them; `None` if consolidation
    /// did nothing.
    pub consolidated: Option<Vec<RecordId>>,
}

/// Planned maintenance of one memory, to be applied by the writer.
pub struct MaintenancePlan {
    pub work: MaintenanceWork,
    /// Log position up to which the memory was examined.
    pub through: u64,
    /// Whether time ran out before the end.
    pub is_incomplete: bool,
}

reprise_types::show_fields!(MaintenancePlan {
    through,
    is_incomplete
});

/// Returns the space of a user's own model, for users who have one.
pub type SpaceLookup = Arc<dyn Fn(&UserId) -> Option<EmbeddingSpace> + Send + Sync + 'static>;

/// Starts a thread with the given name, or returns why the system refused.
pub(crate) type SpawnThread =
    Arc<dyn Fn(String, Box<dyn FnOnce() + Send>) -> std::io::Result<()> + Send + Sync>;

#[derive(Clone)]
pub struct MemoryConfig {
    /// Folder with one subfolder per user.
    pub data_dir: PathBuf,
    pub dimensions: u16,
    pub open_engine: EngineOpener,
    pub open_embedder: EmbedderOpener,
    /// Space of the model's vectors, if it is known before the model is opened; otherwise it is
    /// that of the first vector.
    pub space: Option<EmbeddingSpace>,
    /// Finds the model spaces of users who have a model of their own; `None` if no user has.
    pub space_of: Option<SpaceLookup>,
    /// Earlier models, and the models of single users. Without them, records with vectors of such
    /// models are found by words only, until they are embedded anew.
    pub others: Option<OtherModels>,
    pub pool: PoolOptions,
    /// Adjusts scores; `None` for each memory's own learner.
    pub learning: Option<Arc<dyn LearningEngine>>,
    /// Weights of exogenous failures and implicit credit in a memory's own learner.
    pub learn: LearnSettings,
    /// Expands queries; `None` for no expansion.
    pub expander: Option<Arc<dyn QueryExpander>>,
    /// Reranks results; `None` for no reranking.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Maintenance of idle memories; `None` for none.
    pub maintenance: Option<MaintenanceFactory>,
    /// Sends what maintenance did, and to whose memory, to all listeners.
    pub(crate) maintenance_reports: broadcast::Sender<(UserId, MaintenanceReport)>,
    pub clock: Arc<dyn Clock>,
    pub limits: ServiceLimits,
    /// Starts the writers' threads; tests replace it to fail.
    pub(crate) spawn_thread: SpawnThread,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceLimits {
    /// Recalls in flight; one more is refused at once.
    pub recalls_max: usize,
    /// Requests in flight that are neither recalls nor writes; one more is refused at once.
    pub calls_max: usize,
    /// Bytes of text in writes in flight; more is refused at once, except from the relay, which
    /// waits.
    pub write_bytes_max: usize,
    /// Writes queued for one user's writer; a caller with one more waits.
    pub writer_queue_max: usize,
    /// Records of one group commit.
    pub group_records_max: usize,
    /// Records that the relay embeds and commits at a time.
    pub relay_batch: usize,
    /// Time budget of a recall that a host makes unbidden; late parts are left out, and without
    /// any the recall fails.
    pub recall_budget: Duration,
    /// Time budget of a recall that was asked for on purpose: it waits for the model to load.
    pub purposeful_budget: Duration,
    /// Time limit of query expansion.
    pub expansion_wait: Duration,
    /// Most expansions used.
    pub wordings_max: usize,
    /// Time limit of reranking for a recall that was asked for on purpose.
    pub rerank_wait: Duration,
    /// Time limit of reranking for a recall that a host makes unbidden, as for a prompt.
    pub rerank_prompt_wait: Duration,
    /// Most results reranked.
    pub reranked_max: usize,
    /// Idle time after which the file is checkpointed.
    pub checkpoint_after: Duration,
    /// Idle time after which the file is closed and its memory released.
    pub passivate_after: Duration,
    /// Idle time after which maintenance runs, if enough records are new.
    pub maintain_after: Duration,
    /// Most time for planning one maintenance.
    pub maintain_budget: Duration,
    /// Memories open at once; for one more, those that were idle for longest are closed early.
    pub open_max: usize,
    /// Idle time that a memory must have had before it can be closed early.
    pub crowded_out_after: Duration,
    /// Interval at which an agent checks for maintenance.
    pub tick: Duration,
    /// Time limit of each step of the shutdown.
    pub shutdown_step: Duration,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            recalls_max: 64,
            calls_max: 1_024,
            write_bytes_max: 32 * 1024 * 1024,
            writer_queue_max: 64,
            group_records_max: 512,
            relay_batch: 64,
            recall_budget: Duration::from_millis(RECALL_BUDGET_MS),
            purposeful_budget: Duration::from_millis(PURPOSEFUL_BUDGET_MS),
            expansion_wait: Duration::from_millis(150),
            wordings_max: 3,
            rerank_wait: Duration::from_millis(150),
            rerank_prompt_wait: Duration::from_millis(60),
            reranked_max: 8,
            checkpoint_after: Duration::from_secs(5),
            passivate_after: Duration::from_mins(10),
            maintain_after: Duration::from_mins(1),
            maintain_budget: Duration::from_secs(5),
            open_max: 256,
            crowded_out_after: Duration::from_secs(2),
            tick: Duration::from_secs(1),
            shutdown_step: Duration::from_secs(30),
        }
    }
}

impl ServiceLimits {
    /// Returns the time limit of reranking within a recall of this time budget.
    pub(crate) fn rerank_wait_within(&self, budget: Duration) -> Duration {
        if budget >= self.purposeful_budget {
            self.rerank_wait
        } else {
            self.rerank_prompt_wait
        }
    }

    /// Whether a second look at an answer is worth its time: to a prompt that gets no line it would
    /// hardly give one.
    pub(crate) fn is_worth_reranking(&self, recall: &RecallResponse, budget: Duration) -> bool {
        budget >= self.purposeful_budget || recall.results.iter().any(|found| found.shown)
    }
}

impl MemoryConfig {
    /// Creates a configuration with the default limits, the machine's clock and each memory's own
    /// learner.
    pub fn new(
        data_dir: PathBuf,
        dimensions: u16,
        open_engine: EngineOpener,
        open_embedder: EmbedderOpener,
    ) -> Self {
        Self {
            data_dir,
            dimensions,
            open_engine,
            open_embedder,
            space: None,
            space_of: None,
            others: None,
            pool: PoolOptions::default(),
            learning: None,
            learn: LearnSettings::default(),
            expander: None,
            reranker: None,
            maintenance: None,
            maintenance_reports: broadcast::Sender::new(MAINTENANCE_REPORTS_MAX),
            clock: Arc::new(SystemClock),
            limits: ServiceLimits::default(),
            spawn_thread: Arc::new(|name, work| {
                std::thread::Builder::new().name(name).spawn(work).map(drop)
            }),
        }
    }

    /// Returns the space of the model in use for a user.
    pub(crate) fn space_for(&self, user: &UserId) -> Option<EmbeddingSpace> {
        self.find_user_space(user).or_else(|| self.space.clone())
    }

    /// Returns the pool that makes a user's vectors: the common one, unless the user has a model of
    /// their own.
    pub(crate) fn pool_for(&self, all: &EmbedPool, user: &UserId) -> EmbedPool {
        let user_space = self.find_user_space(user);
        let user_space = user_space.filter(|user_space| self.space.as_ref() != Some(user_space));
        match user_space.zip(self.others.as_ref()) {
            Some((space, models)) => models.ensure_user_pool(&space, &self.pool),
            None => all.clone(),
        }
    }

    fn find_user_space(&self, user: &UserId) -> Option<EmbeddingSpace> {
        self.space_of.as_ref().and_then(|space_of| space_of(user))
    }

    pub fn file_path(&self, user: &UserId) -> PathBuf {
        self.data_dir.join(user.as_str()).join("memory.rvf")
    }
}

reprise_types::show_fields!(MemoryConfig {
    data_dir,
    dimensions,
    pool,
    limits
});
