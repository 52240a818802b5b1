//! Checkpoints: what changed since the last one is appended to the file. One is begun by encoding
//! what changes as a whole, advanced in steps between commits, and completed by a manifest.

use reprise_types::SectionPages;

use crate::engine::Engine;
use crate::error::EngineError;

/// The result of writing a checkpoint.
pub type CheckpointOutcome = Result<(), EngineError>;

/// Bytes appended in one step, for which a commit may wait.
const STEP_BYTES: usize = 1 << 20;

impl Engine {
    /// Saves what changed and writes the closing index, which other RVF readers understand, so that
    /// the next opening is quick.
    pub fn checkpoint(&mut self) -> CheckpointOutcome {
        if self.has_unsaved_changes() {
            self.save_checkpoint()?;
        }
        self.write_closing_index()
    }

    /// Writes the closing index for rvf-runtime, unless the last commit has one.
    pub fn write_closing_index(&mut self) -> CheckpointOutcome {
        Ok(self.log.write_closing_index()?)
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

    /// Begins a checkpoint: returns work for any thread that encodes what is saved as a whole, for
    /// [`Self::put_encoded`]; that is the graph, if enough of it is new, what was learned, and tags
    /// and links.
    pub fn begin_checkpoint(
        &mut self,
    ) -> Result<impl FnOnce() -> Vec<SectionPages> + Send + use<>, EngineError> {
        self.load()?;
        let state = &mut self.state;
        let is_graph_due = state
            .checkpoint
            .is_graph_due(self.log.record_count().into());
        let graph = if is_graph_due || !state.index.is_graph_saved() {
            state.checkpoint.begin_graph();
            state.index.begin_graph_encoding()
        } else {
            None
        };
        let (learning, marks) = (
            state.learning.begin_encoding(),
            state.marks.begin_encoding(),
        );
        Ok(move || {
            let mut all = graph.map_or_else(Vec::new, |encode| encode());
            all.extend(learning.map(|encode| encode()));
            all.extend(marks.map(|encode| encode()));
            all
        })
    }

    /// Takes what was encoded, which the checkpoint saves.
    pub fn put_encoded(&mut self, encoded: Vec<SectionPages>) {
        self.state.put_encoded(encoded);
    }

    /// Appends some of what changed since the last checkpoint; `true` once all of it is in the file
    /// and counts. Call it between commits, as often as it returns `false`.
    pub fn advance_checkpoint(&mut self) -> Result<bool, EngineError> {
        self.load()?;
        // The log's own pages come first, so that few of them are left for the last step.
        let budget = &mut STEP_BYTES.saturating_sub(self.log.own_unsaved_bytes());
        let pages = match *budget {
            0 => Vec::new(),
            _ => self.state.take_unsaved(budget),
        };
        let is_last = *budget > 0;
        let written = if is_last {
            self.drop_unused_sections();
            self.log.complete_checkpoint(&pages)
        } else {
            self.log.write_pages(&pages, STEP_BYTES)
        };
        if let Err(error) = written {
            self.state.mark_unsaved();
            return Err(error.into());
        }
        if is_last {
            self.state.checkpoint.complete(self.log.seq());
            // Saving merges small segments of words: readers look each term up in fewer of them.
            self.publish();
        }
        Ok(is_last)
    }

    fn drop_unused_sections(&mut self) {
        for key in self.log.section_keys().collect::<Vec<_>>() {
            if !self.state.is_in_use(key) {
                self.log.drop_section(key);
            }
        }
    }

    /// Whether anything is new since the last checkpoint.
    pub fn has_unsaved_changes(&self) -> bool {
        self.state.checkpoint.is_behind(self.log.seq())
    }

    pub(crate) fn is_save_due(&self, with_graph: bool) -> bool {
        let records = self.log.record_count().into();
        let checkpoint = &self.state.checkpoint;
        checkpoint.is_tail_due(records) || with_graph && checkpoint.is_graph_due(records)
    }

    /// Writes a whole checkpoint.
    pub(crate) fn save_checkpoint(&mut self) -> Result<(), EngineError> {
        let encode = self.begin_checkpoint()?;
        self.put_encoded(encode());
        while !self.advance_checkpoint()? {}
        Ok(())
    }
}
