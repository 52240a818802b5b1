//! Keeps a host's parts in step with the log: a second store of its vectors, and a learner.

use std::path::{Path, PathBuf};

use reprise_store::StoreEntry;
use reprise_types::{EmbeddingSpace, HelperError, LearningEngine, LearningEvent, RunStep};

use crate::engine::Engine;
use crate::error::EngineError;

/// More records than a memory can have.
const NEVER: usize = u32::MAX as usize;

/// Returns the file of the second store of the log at `path`. A memory has that store if the file
/// exists.
pub(crate) fn vectors_path(path: &Path) -> PathBuf {
    path.with_extension("vectors.rvf")
}

impl Engine {
    /// Opens the second store of vectors, if this memory has one or is new and one was chosen, and
    /// brings it in step. `is_there` says whether its file exists.
    pub(crate) fn open_vectors(&mut self, is_there: bool) -> Result<(), EngineError> {
        let is_read_only = self.log.is_read_only();
        let is_new = self.log.record_count() == 0 && !is_read_only;
        if !(is_there || is_new && self.ports.vectors_for_new) {
            return Ok(());
        }
        let path = vectors_path(self.log.path());
        let unusable = |why: String| {
            let path = path.clone();
            EngineError::VectorsUnusable { path, why }
        };
        let Some(open) = &self.ports.vectors else {
            let why = "this program has no such store".to_owned();
            return if is_there { Err(unusable(why)) } else { Ok(()) };
        };
        let dimensions = self.state.index.dimensions() as u16;
        let store = open(&path, dimensions, is_read_only);
        let store = store.map_err(|error| unusable(error.message))?;
        let (index, reader) = (&self.snapshot.index, &self.snapshot.reader);
        let read = |ordinal: u32, out: &mut [f32]| {
            index.has_vector(ordinal)
                && reprise_types::VectorStore::copy_vector(reader, ordinal, out)
        };
        let adopted = store.adopt(self.log.record_count(), &read);
        adopted.map_err(|error| unusable(error.message))?;
        // It answers in place of the graph and the cells, which are not made then.
        self.state.index.set_graph_threshold(NEVER);
        self.state.index.set_cells_threshold(NEVER);
        self.second_store = Some(store);
        self.publish();
        Ok(())
    }

    /// Opens the second store anew, as after the log was folded again.
    pub(crate) fn reopen_vectors(&mut self) -> Result<(), EngineError> {
        if self.second_store.take().is_none() {
            return Ok(());
        }
        // The snapshot holds it, too, and readers of an older one may go on to read from it.
        self.publish();
        self.open_vectors(true)
    }

    /// Tells a host's parts what a commit, whose first record is `first`, has put on disk. A store
    /// that fails is left out until the memory is opened again: the log and its index then answer.
    pub(crate) fn tell_ports(&mut self, first: u32, entries: &[StoreEntry]) {
        if let Some(learning) = &self.ports.learning {
            for entry in entries {
                if let StoreEntry::Learning(event) = entry {
                    tell_learner(learning.as_ref(), event);
                }
            }
        }
        let told = self.tell_vectors(first, entries);
        if let Err(error) = told {
            let path = vectors_path(self.log.path());
            let path = path.display();
            tracing::warn!(%path, %error, "left out until the memory is opened again");
            self.second_store = None;
        }
    }

    fn tell_vectors(&self, first: u32, entries: &[StoreEntry]) -> Result<(), HelperError> {
        let Some(store) = &self.second_store else {
            return Ok(());
        };
        let is_own = |space: Option<&EmbeddingSpace>| {
            space.is_some_and(|space| self.state.space.as_ref() == Some(space))
        };
        let (mut vectors, mut gone) = (Vec::new(), Vec::new());
        let mut next = first;
        for entry in entries {
            match entry {
                StoreEntry::Record(record) => {
                    if is_own(record.embedding_space.as_ref()) && !record.embedding.is_empty() {
                        vectors.push((next, record.embedding.as_slice()));
                    }
                    next += 1;
                }
                StoreEntry::Embedded {
                    ordinal,
                    vector,
                    space,
                } => {
                    if is_own(Some(space)) {
                        vectors.push((*ordinal, vector.as_slice()));
                    } else {
                        gone.push(*ordinal);
                    }
                }
                StoreEntry::Forgotten { ordinal, .. } => gone.push(*ordinal),
                _ => {}
            }
        }
        if !vectors.is_empty() {
            store.ingest(&vectors)?;
        }
        if gone.is_empty() {
            return Ok(());
        }
        store.delete(&gone)
    }

    /// Writes what the second store has kept for a larger batch.
    pub(crate) fn flush_vectors(&self) {
        let flushed = self.second_store.as_ref().map(|store| store.flush());
        if let Some(Err(error)) = flushed {
            // The log has every vector; the next opening brings the store in step.
            tracing::warn!(%error, "the second store of vectors could not be written");
        }
    }
}

/// Tells a host's learner of an event that is on disk.
fn tell_learner(learning: &dyn LearningEngine, event: &LearningEvent) {
    match event {
        LearningEvent::Begun { run_id, query, .. } => learning.begin(run_id, query.as_ref()),
        LearningEvent::Stepped {
            run_id,
            action,
            used,
            result,
            ..
        } => learning.step(&RunStep {
            run_id: run_id.clone(),
            action: action.clone(),
            used: used.clone(),
            result: *result,
        }),
        LearningEvent::Ended(run) => learning.end(run),
        _ => {}
    }
}
