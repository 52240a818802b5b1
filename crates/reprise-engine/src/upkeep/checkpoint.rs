//! Checkpoints: what changed since the last one is appended to the file, in steps between commits.

use reprise_types::SectionPages;

use crate::engine::Engine;
use crate::error::EngineError;

/// The result of writing a checkpoint.
pub type CheckpointOutcome = Result<(), EngineError>;

/// A checkpoint is due once one entry in so many is new in the log.
const TAIL_ONE_IN: u64 = 64;
/// So many new entries make a checkpoint due: the next opening would have to fold them.
const TAIL_MAX: u64 = 2_048;
/// The graph is saved as a whole, so it is due once one record in so many is new in it.
const GRAPH_ONE_IN: u64 = 16;

/// Bytes appended in one step, for which a commit may wait.
const STEP_BYTES: usize = 1 << 20;

impl Engine {
    /// Saves what changed and writes the manifest that other RVF readers understand, so that the
    /// next opening is quick.
    pub fn checkpoint(&mut self) -> CheckpointOutcome {
        if self.has_unsaved_changes() {
            self.save_checkpoint()?;
        }
        self.write_manifest()
    }

    /// Writes the manifest of rvf-runtime, unless the last commit has one.
    pub fn write_manifest(&mut self) -> CheckpointOutcome {
        Ok(self.log.write_manifest()?)
    }

    /// Writes a checkpoint if it is worth its bytes: not for a few entries that the next opening
    /// folds in a moment, nor for a few records in the graph, nor for half a graph.
    pub fn checkpoint_if_due(&mut self) -> CheckpointOutcome {
        if self.is_checkpoint_due() {
            self.save_checkpoint()?;
        }
        Ok(())
    }

    /// Whether [`Self::checkpoint_if_due`] has something to write.
    pub fn is_checkpoint_due(&self) -> bool {
        self.is_save_due(self.graph_pending == 0)
    }

    /// Returns work for any thread that encodes the search graph, for [`Self::put_graph`]; `None`
    /// if too little of it is new.
    pub fn graph_to_save(
        &mut self,
    ) -> Result<Option<impl FnOnce() -> Vec<SectionPages> + Send + use<>>, EngineError> {
        self.load()?;
        let grown = self.state.graph_unsaved.saturating_mul(GRAPH_ONE_IN);
        let is_due = grown > 0 && grown >= u64::from(self.log.record_count());
        if self.state.index.is_graph_saved() && !is_due {
            return Ok(None);
        }
        self.state.graph_encoded = self.state.graph_unsaved;
        Ok(self.state.index.graph_to_save())
    }

    /// Takes the encoded graph, which the next checkpoint saves.
    pub fn put_graph(&mut self, encoded: Vec<SectionPages>) {
        self.state.index.put_graph(encoded);
    }

    /// Appends some of what changed since the last checkpoint; `true` once all of it is in the file
    /// and counts. Call it between commits, as often as it returns `false`.
    pub fn advance_checkpoint(&mut self) -> Result<bool, EngineError> {
        self.load()?;
        let budget = &mut STEP_BYTES.clone();
        let pages = self.state.pages_to_save(budget);
        let is_last = *budget > 0;
        let written = if is_last {
            self.drop_unused_sections();
            self.log.seal(&pages)
        } else {
            self.log.write_pages(&pages)
        };
        if let Err(error) = written {
            self.state.mark_unsaved();
            return Err(error.into());
        }
        self.state.mark_saved(&pages);
        if is_last {
            self.checkpointed_seq = self.log.seq();
            self.state.entries_saved = self.state.entries_applied;
            let encoded = std::mem::take(&mut self.state.graph_encoded);
            self.state.graph_unsaved = self.state.graph_unsaved.saturating_sub(encoded);
            // Saving merges small segments of words: readers look each term up in fewer of them.
            self.publish();
        }
        Ok(is_last)
    }

    fn drop_unused_sections(&mut self) {
        let unused = self
            .log
            .section_keys()
            .filter(|key| !self.state.is_in_use(*key));
        for key in unused.collect::<Vec<_>>() {
            self.log.drop_section(key);
        }
    }

    /// Whether anything is new since the last checkpoint.
    pub fn has_unsaved_changes(&self) -> bool {
        self.log.seq() > self.checkpointed_seq || self.state.graph_unsaved > 0
    }

    pub(crate) fn is_save_due(&self, with_graph: bool) -> bool {
        let records = u64::from(self.log.record_count());
        let new = self.state.entries_since_checkpoint();
        let grown = self.state.graph_unsaved.saturating_mul(GRAPH_ONE_IN);
        new > 0 && (new >= TAIL_MAX || new.saturating_mul(TAIL_ONE_IN) >= records)
            || with_graph && grown > 0 && grown >= records
    }

    /// Writes a whole checkpoint.
    pub(crate) fn save_checkpoint(&mut self) -> Result<(), EngineError> {
        if let Some(encode) = self.graph_to_save()? {
            self.put_graph(encode());
        }
        while !self.advance_checkpoint()? {}
        Ok(())
    }
}
