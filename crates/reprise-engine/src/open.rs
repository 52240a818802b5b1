//! Opens a memory: the log first, then the index, from the checkpoint and the log's tail, or from
//! the whole log if any part of the checkpoint is missing, stale or damaged.

use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_index::{CELLS_THRESHOLD, GRAPH_THRESHOLD};
use reprise_learn::LearnSettings;
use reprise_store::{Disk, Log, OpenOptions, OpenedLog, RecoveryReport, Verify};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{EmbeddingSpace, UserId};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::ports::EnginePorts;
use crate::snapshot::Snapshot;
use crate::snapshot::owner::check_user;
use crate::snapshot::second_store::vectors_path;
use crate::state::EngineState;
use crate::write::id_source::IdSource;
use crate::write::lineage::LineageCache;

/// Options for opening a memory.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Length of the vectors of a new file when no model is configured.
    pub dimensions: u16,
    /// Space of the model in use; `None` takes the file's. Records with a vector of another space
    /// wait for a new one, and are searched in their own space meanwhile.
    pub space: Option<EmbeddingSpace>,
    /// Random bits that name a new file and seed its ids.
    pub entropy: u128,
    /// The present instant, stamped on a new file.
    pub now: DateTime<Utc>,
    /// Whether a missing file is created.
    pub create: bool,
    /// Whether the file is opened read-only: without a lock and without writes.
    pub read_only: bool,
    /// How much of the file is hashed before the first answer.
    pub verify: Verify,
    /// Number of records from which on [`Engine::advance_graph`] grows a graph.
    pub graph_from: usize,
    /// Number of records with a vector from which on cells are built as well, which find the first
    /// answers after an opening.
    pub cells_from: usize,
    /// How much the weaker kinds of runs teach.
    pub learn: LearnSettings,
    /// Longest text that a record keeps, in bytes; a longer one is cut.
    pub text_bytes_max: usize,
    /// Whether the older of two records with the same score comes first; the newer does otherwise.
    pub prefer_oldest: bool,
    /// Whose memory it is: the file of another user is refused, and a file that names no user names
    /// this one from the first write on.
    pub user: Option<UserId>,
    /// Replacements for parts of the engine.
    pub ports: EnginePorts,
}

impl EngineOptions {
    /// Creates options that open for writing, create a missing file and verify the tail first.
    pub fn new(dimensions: u16, entropy: u128, now: DateTime<Utc>) -> Self {
        Self {
            dimensions,
            space: None,
            entropy,
            now,
            create: true,
            read_only: false,
            verify: Verify::Tail,
            graph_from: GRAPH_THRESHOLD,
            cells_from: CELLS_THRESHOLD,
            learn: LearnSettings::default(),
            text_bytes_max: TEXT_BYTES_MAX,
            prefer_oldest: false,
            user: None,
            ports: EnginePorts::default(),
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
    /// Opens or creates the file at `path`. Recovery is the only way to start, so every start
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
        };
        let vectors = vectors_path(path);
        let is_there = disk.identity(&vectors);
        let is_there = is_there.map_err(|error| EngineError::VectorsUnusable {
            path: vectors,
            why: error.to_string(),
        })?;
        let OpenedLog { log, report } = Log::open(disk, path, &open)?;
        if let Some(user) = &options.user {
            check_user(&log, user)?;
        }
        let ready = log.open_sections().and_then(|(covers, sections)| {
            let space = options.space.as_ref();
            let reader = log.reader();
            let state = EngineState::from_sections(options.learn, space, &sections, &reader)?;
            state.replay(&log, covers).ok()
        });
        let (mut state, origin) = if let Some(state) = ready {
            (state, IndexOrigin::Checkpoint)
        } else {
            let space = options.space.clone();
            let state = EngineState::from_log(options.learn, space, &log)?;
            (state, IndexOrigin::Rebuilt)
        };
        state.index.set_graph_threshold(options.graph_from);
        state.index.set_cells_threshold(options.cells_from);
        let (first_told, parts) = (options.prefer_oldest, options.ports.clone());
        let lineages = Arc::<LineageCache>::default();
        let snapshot = Arc::new(Snapshot::from_state(
            &mut state,
            log.reader(),
            first_told,
            &parts,
            None,
            Arc::clone(&lineages),
        ));
        let (low, high) = (options.entropy as u64, (options.entropy >> 64) as u64);
        let ids = IdSource::new(low ^ high, state.index.last().map(|last| last.0));
        let mut engine = Self {
            log,
            state,
            ids,
            lineages,
            snapshot,
            graph_pending: 0,
            crossover_measured_records: 0,
            text_bytes_max: options.text_bytes_max,
            prefer_oldest: first_told,
            ports: parts,
            user: options.user.clone(),
            second_store: None,
        };
        engine.open_vectors(is_there.is_some())?;
        Ok((
            engine,
            OpenReport {
                recovery: report,
                origin,
            },
        ))
    }
}
