//! The writer's handle (signatures first; the bodies follow).

use std::path::Path;
use std::sync::Arc;

use crate::compact::{Compacted, Compaction};
use crate::disk::Disk;
use crate::entry::{Commit, CommitSeq, Entry};
use crate::error::StoreError;
use crate::options::{CompactionReport, LogStats, OpenOptions, Opened, ReplayReport};
use crate::reader::LogReader;

/// An open log: one writer, any number of readers.
#[derive(Debug)]
pub struct Log {}

impl Log {
    /// Opens or creates the log at `path`.
    pub fn open(
        _disk: Arc<dyn Disk>,
        _path: &Path,
        _options: &OpenOptions,
    ) -> Result<Opened, StoreError> {
        unimplemented!()
    }
    /// One write, one sync; all or nothing.
    pub fn append(&mut self, _entries: &[Entry]) -> Result<Commit, StoreError> {
        unimplemented!()
    }
    /// The last commit.
    pub fn seq(&self) -> CommitSeq {
        unimplemented!()
    }
    /// The next ordinal.
    pub fn records(&self) -> u32 {
        unimplemented!()
    }
    /// How far `stream` was consumed.
    pub fn cursor(&self, _stream: &str) -> Option<u64> {
        unimplemented!()
    }
    /// A snapshot for readers.
    pub fn reader(&self) -> LogReader {
        unimplemented!()
    }
    /// Streams every entry after a commit.
    pub fn replay(
        &self,
        _after: CommitSeq,
        _visit: &mut dyn FnMut(Option<u32>, Entry),
    ) -> Result<ReplayReport, StoreError> {
        unimplemented!()
    }
    /// Writes directory, derived blobs and the RVF manifest.
    pub fn checkpoint(&mut self, _derived: &[(u8, Vec<u8>)]) -> Result<(), StoreError> {
        unimplemented!()
    }
    /// Prepares a compaction.
    pub fn start_compaction(&self) -> Result<Compaction, StoreError> {
        unimplemented!()
    }
    /// Puts a finished compaction in place of the file.
    pub fn finish_compaction(
        &mut self,
        _done: Compacted,
        _derived: &[(u8, Vec<u8>)],
    ) -> Result<CompactionReport, StoreError> {
        unimplemented!()
    }
    /// Figures.
    pub fn stats(&self) -> LogStats {
        unimplemented!()
    }
}
