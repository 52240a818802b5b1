//! Configuration of a memory service: paths, limits, and the functions that open files and models.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, EngineOptions, LearnSettings, OpenReport, Snapshot};
use reprise_types::limits::RECALL_BUDGET_MS;
use reprise_types::{
    Clock, EmbeddingSpace, LearningEngine, QueryExpander, RecordId, Reranker, SystemClock, UserId,
};

use tokio::sync::broadcast;

use crate::embedder::{EmbedPool, OpenEmbedder, PoolOptions};
use crate::others::OtherModels;

/// Maintenances that a listener may lag behind.
const TENDED_MAX: usize = 64;

/// Opens one user's file on the caller's choice of disk.
pub type OpenEngine = Arc<
    dyn Fn(&Path, &EngineOptions) -> Result<(Engine, OpenReport), EngineError>
        + Send
        + Sync
        + 'static,
>;

/// Makes what maintains one memory, given the log position up to which it was examined before.
pub type Tend = Arc<dyn Fn(u64) -> Tender + Send + Sync + 'static>;

/// Computes the maintenance of a memory, for as long as the callback permits; `None` where it ran
/// out of time.
pub type Tender =
    Box<dyn FnMut(&Snapshot, DateTime<Utc>, &dyn Fn() -> bool) -> Option<Tended> + Send + 'static>;

/// Applies the maintenance, and returns what it did.
pub type TendWork = Box<dyn FnOnce(&mut Engine) -> Result<TendDone, EngineError> + Send + 'static>;

/// What maintenance did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TendDone {
    pub forgotten: Vec<RecordId>,
    /// The records that answer no more; `None` where nothing was done.
    pub consolidated: Option<Vec<RecordId>>,
}

/// The maintenance that was computed.
pub struct Tended {
    pub work: TendWork,
    /// The log position up to which the memory was examined.
    pub through: u64,
    /// Whether time ran out before the end.
    pub cut: bool,
}

reprise_types::show_fields!(Tended { through, cut });

/// Knows the space of a user's model, for users who have one.
pub type SpaceOf = Arc<dyn Fn(&UserId) -> Option<EmbeddingSpace> + Send + Sync + 'static>;

/// Starts a thread with this name, or returns why the system refused.
pub(crate) type SpawnThread =
    Arc<dyn Fn(String, Box<dyn FnOnce() + Send>) -> std::io::Result<()> + Send + Sync>;

#[derive(Clone)]
pub struct MemoryConfig {
    /// Holds one folder per user.
    pub data_dir: PathBuf,
    pub dimensions: u16,
    pub open_engine: OpenEngine,
    pub open_embedder: OpenEmbedder,
    /// The space of the model's vectors, if known before it is opened; else it is taken from the
    /// first vector.
    pub space: Option<EmbeddingSpace>,
    /// The space of the model of a user who has another one than all; `None` for that of all.
    pub space_of: Option<SpaceOf>,
    /// Models before that one, and those of such users; without, what they made is found by words
    /// until it is made anew.
    pub others: Option<OtherModels>,
    pub pool: PoolOptions,
    /// Adjusts scores; `None` for each memory's own learner.
    pub learning: Option<Arc<dyn LearningEngine>>,
    /// Weights of exogenous failures and implicit credit in a memory's own learner (C34).
    pub learn: LearnSettings,
    /// Expands queries; `None` for no expansion.
    pub expander: Option<Arc<dyn QueryExpander>>,
    /// Reranks results; `None` for no reranking.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Maintenance of idle memories; `None` for none.
    pub tend: Option<Tend>,
    /// What maintenance did, for whoever listens.
    pub(crate) tended: broadcast::Sender<(UserId, TendDone)>,
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
    /// Time budget of a recall; late parts are left out, and without any the recall fails.
    pub recall_budget: Duration,
    /// Time limit of query expansion.
    pub expansion_wait: Duration,
    /// Most expansions used.
    pub wordings_max: usize,
    /// Time limit of reranking.
    pub rerank_wait: Duration,
    /// Most results reranked.
    pub reranked_max: usize,
    /// Idle time after which the file is checkpointed.
    pub checkpoint_after: Duration,
    /// Idle time after which the file is closed and its memory released.
    pub passivate_after: Duration,
    /// Idle time after which maintenance runs, where enough is new,
    pub tend_after: Duration,
    /// with at most this time for computing it.
    pub tend_budget: Duration,
    /// Memories open at once; for one more, those idle for longest are closed early,
    pub open_max: usize,
    /// but none idle for less than this.
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
            expansion_wait: Duration::from_millis(150),
            wordings_max: 3,
            rerank_wait: Duration::from_millis(200),
            reranked_max: 20,
            checkpoint_after: Duration::from_secs(5),
            passivate_after: Duration::from_mins(10),
            tend_after: Duration::from_mins(1),
            tend_budget: Duration::from_secs(5),
            open_max: 256,
            crowded_out_after: Duration::from_secs(2),
            tick: Duration::from_secs(1),
            shutdown_step: Duration::from_secs(30),
        }
    }
}

impl MemoryConfig {
    /// The defaults, with the machine's clock and each memory's own learner.
    pub fn new(
        data_dir: PathBuf,
        dimensions: u16,
        open_engine: OpenEngine,
        open_embedder: OpenEmbedder,
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
            tend: None,
            tended: broadcast::Sender::new(TENDED_MAX),
            clock: Arc::new(SystemClock),
            limits: ServiceLimits::default(),
            spawn_thread: Arc::new(|name, work| {
                std::thread::Builder::new().name(name).spawn(work).map(drop)
            }),
        }
    }

    /// The space of the model in use for a user.
    pub(crate) fn space_for(&self, user: &UserId) -> Option<EmbeddingSpace> {
        self.own_space(user).or_else(|| self.space.clone())
    }

    /// The pool that makes a user's vectors: that of all, unless the user has a model.
    pub(crate) fn pool_for(&self, all: &EmbedPool, user: &UserId) -> EmbedPool {
        let own = self.own_space(user);
        let own = own.filter(|own| self.space.as_ref() != Some(own));
        match own.zip(self.others.as_ref()) {
            Some((space, models)) => models.in_use(&space, &self.pool),
            None => all.clone(),
        }
    }

    fn own_space(&self, user: &UserId) -> Option<EmbeddingSpace> {
        self.space_of.as_ref().and_then(|space_of| space_of(user))
    }

    pub fn file_of(&self, user: &UserId) -> PathBuf {
        self.data_dir.join(user.as_str()).join("memory.rvf")
    }
}

reprise_types::show_fields!(MemoryConfig {
    data_dir,
    dimensions,
    pool,
    limits
});
