//! The parts of the engine that a host may replace.

use std::path::Path;
use std::sync::Arc;

use reprise_types::{
    EmbeddingSpace, HelperError, LearningEngine, UnrelatedCosines, VectorStore, show_fields,
};

/// Opens the store of vectors in a file, for vectors of so many numbers, and creates the file if it
/// is missing; `true` only reads.
pub type OpenVectors =
    Arc<dyn Fn(&Path, u16, bool) -> Result<Arc<dyn VectorStore>, HelperError> + Send + Sync>;

/// Returns how similar the model of a space finds unrelated texts, which is a property of the model
/// alone. `None` for one that nobody has measured: it is treated like `REFERENCE_MODEL`.
pub type CosinesOfModel = Arc<dyn Fn(&EmbeddingSpace) -> Option<UnrelatedCosines> + Send + Sync>;

/// Replacements for parts of the engine behind a port. Without them the index answers for vectors,
/// and the memory's own learner adjusts scores.
#[derive(Clone, Default)]
pub struct EnginePorts {
    /// Opens the second store of vectors of a memory that has one.
    pub vectors: Option<OpenVectors>,
    /// Whether a new memory gets such a store.
    pub vectors_for_new: bool,
    pub learning: Option<Arc<dyn LearningEngine>>,
    /// What is known of the models; without it each is treated like `REFERENCE_MODEL`.
    pub cosines: Option<CosinesOfModel>,
}

show_fields!(EnginePorts { vectors_for_new });
