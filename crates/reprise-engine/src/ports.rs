//! The parts of the engine that a host may replace.

use std::path::Path;
use std::sync::Arc;

use reprise_types::{HelperError, LearningEngine, VectorStore, show_fields};

/// Opens the store of vectors in a file, for vectors of so many numbers, and creates the file if it
/// is missing; `true` only reads.
pub type OpenVectors =
    Arc<dyn Fn(&Path, u16, bool) -> Result<Arc<dyn VectorStore>, HelperError> + Send + Sync>;

/// Replacements for parts of the engine behind a port. Without them the index answers for vectors,
/// and the memory's own learner adjusts scores.
#[derive(Clone, Default)]
pub struct EnginePorts {
    /// Opens the second store of vectors of a memory that has one.
    pub vectors: Option<OpenVectors>,
    /// Whether a new memory gets such a store.
    pub vectors_for_new: bool,
    pub learning: Option<Arc<dyn LearningEngine>>,
}

show_fields!(EnginePorts { vectors_for_new });
