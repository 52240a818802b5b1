//! What a memory service starts from: places, bounds, and the functions that open things.
//!
//! Options with their defaults.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, EngineOptions, LearnSettings, OpenReport, Snapshot};
use reprise_types::limits::RECALL_BUDGET_MS;
use reprise_types::{
    Clock, EmbeddingSpace, LearningEngine, QueryExpander, Reranker, SystemClock, UserId,
};

use crate::embedder::{OpenEmbedder, PoolOptions};
use crate::others::OtherModels;

/// Opens one user's file. The caller chooses the disk.
pub type OpenEngine = Arc<
    dyn Fn(&Path, &EngineOptions) -> Result<(Engine, OpenReport), EngineError>
        + Send
        + Sync
        + 'static,
>;

/// Finds out what is to be done to a memory for as long as it is told to go on; `None` where there
/// was no time for that.
pub type Tend = Arc<
    dyn Fn(&Snapshot, DateTime<Utc>, &dyn Fn() -> bool) -> Option<TendWork> + Send + Sync + 'static,
>;

/// Does it.
pub type TendWork = Box<dyn FnOnce(&mut Engine) -> Result<(), EngineError> + Send + 'static>;

/// Starts a thread of this name, or says why the system does not.
pub(crate) type SpawnThread =
    Arc<dyn Fn(String, Box<dyn FnOnce() + Send>) -> std::io::Result<()> + Send + Sync>;

/// The whole configuration.
#[derive(Clone)]
pub struct MemoryConfig {
    /// Holds one folder per user.
    pub data_dir: PathBuf,
    /// Length of every vector.
    pub dimensions: u16,
    /// Opens a user's file.
    pub open_engine: OpenEngine,
    pub open_embedder: OpenEmbedder,
    /// The space of its vectors, where that is known before it is opened; else the first of them
    /// that a memory waits for says it.
    pub space: Option<EmbeddingSpace>,
    /// Models before that one; without, what they made is found by words until it is made anew.
    pub others: Option<OtherModels>,
    pub pool: PoolOptions,
    /// What adjusts scores; `None` is each memory's own learner, fed by its runs.
    pub learning: Option<Arc<dyn LearningEngine>>,
    /// How much failures from outside and implied uses teach a memory's own learner (C34).
    pub learn: LearnSettings,
    /// Puts questions in other words; `None` asks them as they stand.
    pub expander: Option<Arc<dyn QueryExpander>>,
    /// Judges what was found a second time; `None` leaves the ranking as it is.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Tends memories while nobody asks; `None` leaves them as they are.
    pub tend: Option<Tend>,
    pub clock: Arc<dyn Clock>,
    pub limits: ServiceLimits,
    /// Starts the writers' threads; a test refuses some.
    pub(crate) spawn_thread: SpawnThread,
}

/// Every bound of the service in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceLimits {
    /// Recalls under way; one more is refused at once.
    pub recalls_max: usize,
    /// Requests under way that are neither recalls nor writes; one more is refused at once.
    pub calls_max: usize,
    /// Bytes of text in writes under way; more is refused at once, but for the relay, which waits.
    pub write_bytes_max: usize,
    /// Writes waiting for one user's writer; whoever brings one more waits.
    pub writer_queue_max: usize,
    /// Records of one group commit.
    pub group_records_max: usize,
    /// Records that the relay embeds and commits at a time.
    pub relay_batch: usize,
    /// How long a recall may take before it is answered without its late parts, or not at all.
    pub recall_budget: Duration,
    /// How long other wordings of a question are waited for.
    pub expansion_wait: Duration,
    /// Of those, so many are asked.
    pub wordings_max: usize,
    /// How long a second judgement is waited for.
    pub rerank_wait: Duration,
    /// Results that are judged a second time.
    pub reranked_max: usize,
    /// Without use for so long: the file is checkpointed.
    pub checkpoint_after: Duration,
    /// Without use for so long: the file is closed and the memory given back.
    pub passivate_after: Duration,
    /// Without use for so long, and with enough that is new: it is tended,
    pub tend_after: Duration,
    /// for at most so long.
    pub tend_budget: Duration,
    /// Memories open at once; where one more is asked for, those unused for longest are closed
    /// early.
    pub open_max: usize,
    /// But none that was used within so long.
    pub crowded_out_after: Duration,
    /// How often an agent looks whether it is idle and whether texts wait for a model.
    pub tick: Duration,
    /// How long each step of the shutdown may take.
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
    #[must_use]
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
            others: None,
            pool: PoolOptions::default(),
            learning: None,
            learn: LearnSettings::default(),
            expander: None,
            reranker: None,
            tend: None,
            clock: Arc::new(SystemClock),
            limits: ServiceLimits::default(),
            spawn_thread: Arc::new(|name, work| {
                std::thread::Builder::new().name(name).spawn(work).map(drop)
            }),
        }
    }

    /// The file of a user.
    #[must_use]
    pub fn file_of(&self, user: &UserId) -> PathBuf {
        self.data_dir.join(user.as_str()).join("memory.rvf")
    }
}

impl fmt::Debug for MemoryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryConfig")
            .field("data_dir", &self.data_dir)
            .field("dimensions", &self.dimensions)
            .field("pool", &self.pool)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
