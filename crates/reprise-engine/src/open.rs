//! Opening: the log first, then the index, from the checkpoint's parts and the tail of the log, or
//! from the whole log where any part is missing, stale or damaged.

use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_index::{
    CELLS_DOCUMENTS, GRAPH_DOCUMENTS, PART_CELLS, PART_CODES, PART_DOCUMENTS, PART_GRAPH,
    PART_HOT_GRAPH, PART_WORDS,
};
use reprise_learn::LearnSettings;
use reprise_store::{CommitSeq, Disk, Log, LogReader, OpenOptions, Opened, RecoveryReport, Verify};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{EmbeddingSpace, LearningEngine, VectorStore, show_fields};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::keys::KEYS_TAG;
use crate::naming::IdSource;
use crate::snapshot::Snapshot;
use crate::state::State;

/// Parts that are read where they lie, or when they are first needed.
const LEFT: [u8; 7] = [
    PART_CELLS,
    PART_CODES,
    PART_WORDS,
    PART_DOCUMENTS,
    PART_GRAPH,
    PART_HOT_GRAPH,
    KEYS_TAG,
];

/// What the engine is given when it opens.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Length of the vectors of a new file where no model says it.
    pub dimensions: u16,
    /// The space of the model in use: records that have their vector in another wait for it, and
    /// are searched in the space they have meanwhile. `None` takes the file's.
    pub space: Option<EmbeddingSpace>,
    /// Random bits: they name a new file and make ids.
    pub entropy: u128,
    /// The present instant, stamped on a new file.
    pub now: DateTime<Utc>,
    /// Whether a missing file is made.
    pub create: bool,
    /// Read-only: no lock, no writes.
    pub read_only: bool,
    /// Hash the whole file before answering, or the tail alone.
    pub verify: Verify,
    /// Records from which on [`Engine::advance_graph`] grows a graph.
    pub graph_from: usize,
    /// Records with a vector from which on it makes the cells besides, by which the first answers
    /// after an opening are found.
    pub cells_from: usize,
    /// How much the weaker kinds of runs teach.
    pub learn: LearnSettings,
    /// Longest text that a record keeps, in bytes; a longer one is cut.
    pub text_bytes_max: usize,
    /// Of records that answer alike the first that was told comes first, else the last.
    pub first_told: bool,
    /// What is used in place of the engine's own parts.
    pub parts: Parts,
}

/// Makes the store that whole vectors are read from, over the file as it is at one moment.
pub type OpenVectors = Arc<dyn Fn(LogReader) -> Arc<dyn VectorStore> + Send + Sync>;

/// Parts behind a port (M13): without one the log serves vectors, and the memory's own learner
/// adjusts scores.
#[derive(Clone, Default)]
pub struct Parts {
    pub vectors: Option<OpenVectors>,
    pub learning: Option<Arc<dyn LearningEngine>>,
}

show_fields!(Parts {});

impl EngineOptions {
    /// Opens for writing, makes a missing file, verifies the tail first.
    pub fn new(dimensions: u16, entropy: u128, now: DateTime<Utc>) -> Self {
        Self {
            dimensions,
            space: None,
            entropy,
            now,
            create: true,
            read_only: false,
            verify: Verify::Tail,
            graph_from: GRAPH_DOCUMENTS,
            cells_from: CELLS_DOCUMENTS,
            learn: LearnSettings::default(),
            text_bytes_max: TEXT_BYTES_MAX,
            first_told: false,
            parts: Parts::default(),
        }
    }
}

/// Where the index came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexOrigin {
    /// The newest checkpoint, plus what was logged after it.
    Checkpoint,
    /// The whole log.
    Rebuilt,
}

#[derive(Debug)]
pub struct OpenReport {
    pub recovery: RecoveryReport,
    /// Where the index came from.
    pub origin: IndexOrigin,
}

impl Engine {
    /// Opens or makes the file at `path`. Recovery is the only way to start, so every start
    /// exercises it.
    pub fn open(
        disk: Arc<dyn Disk>,
        path: &Path,
        options: &EngineOptions,
    ) -> Result<(Self, OpenReport), EngineError> {
        let open = OpenOptions {
            dimensions: match &options.space {
                Some(space) => space.dimensions,
                None => options.dimensions,
            },
            file_id: options.entropy,
            created_at: options.now,
            create: options.create,
            read_only: options.read_only,
            verify: options.verify,
            leave: &LEFT,
        };
        let Opened {
            log,
            derived,
            report,
        } = Log::open(disk, path, &open)?;
        let ready = derived.and_then(|set| {
            let covers = set.covers;
            let space = options.space.as_ref();
            let reader = log.reader();
            let state = State::from_parts(options.learn, space, set, &reader)?;
            Some((state.replay(&log, covers).ok()?, covers))
        });
        let (mut state, checkpointed, origin) = if let Some((state, covers)) = ready {
            (state, covers, IndexOrigin::Checkpoint)
        } else {
            let space = options.space.clone();
            let state = State::of_log(options.learn, space, &log)?;
            (state, CommitSeq(0), IndexOrigin::Rebuilt)
        };
        state.index.set_graph_from(options.graph_from);
        state.index.set_cells_from(options.cells_from);
        let (first_told, parts) = (options.first_told, options.parts.clone());
        let snapshot = Arc::new(Snapshot::of(&mut state, log.reader(), first_told, &parts));
        let (low, high) = (options.entropy as u64, (options.entropy >> 64) as u64);
        let ids = IdSource::new(low ^ high, state.index.last().map(|last| last.0));
        let engine = Self {
            log,
            state,
            ids,
            snapshot,
            checkpointed,
            checkpoints: 0,
            graph_left: 0,
            measured_at: 0,
            text_bytes_max: options.text_bytes_max,
            first_told,
            parts,
        };
        Ok((
            engine,
            OpenReport {
                recovery: report,
                origin,
            },
        ))
    }
}
