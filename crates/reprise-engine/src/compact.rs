//! Compaction beside the running store: begin and finish are short and on the writer, the copying
//! runs wherever the caller likes.

use reprise_store::{Compacted, Compaction, CompactionReport, StoreError};

use crate::engine::{Engine, GraphGrown};
use crate::error::EngineError;

/// The copying, to be run off the writer.
#[derive(Debug)]
pub struct CompactionJob(Compaction);

impl CompactionJob {
    /// Writes the new file beside the old one. The store serves and writes meanwhile.
    pub fn run(self) -> Result<Compacted, StoreError> {
        self.0.run()
    }
}

impl Engine {
    /// Begins a compaction of what is on disk now.
    pub fn start_compaction(&self) -> Result<CompactionJob, EngineError> {
        Ok(CompactionJob(self.log.start_compaction()?))
    }

    /// Takes the new file into use. Readers of older snapshots go on with the old one.
    pub fn finish_compaction(&mut self, done: Compacted) -> Result<CompactionReport, EngineError> {
        self.load()?;
        // The words and codes of forgotten records leave the derived parts as well.
        self.state.index.purge();
        let parts = self.state.parts();
        let report = self.log.finish_compaction(done, &parts)?;
        self.checkpointed = self.log.seq();
        self.graph = GraphGrown::Saved;
        self.publish();
        Ok(report)
    }

    /// The three steps in one, for a command line that has nothing else to do.
    pub fn compact(&mut self) -> Result<CompactionReport, EngineError> {
        let done = self.start_compaction()?.run()?;
        self.finish_compaction(done)
    }
}
