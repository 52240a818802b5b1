//! The reader's handle (signatures first; the bodies follow).

use reprise_types::{MemoryRecord, VectorStore};

use crate::entry::CommitSeq;
use crate::error::StoreError;
use crate::inspect::{Scrub, SegmentInfo};
use crate::options::Damage;

/// A snapshot of the log.
#[derive(Debug, Clone)]
pub struct LogReader {}

impl LogReader {
    /// The record, its embedding left empty.
    pub fn record(&self, _ordinal: u32) -> Result<MemoryRecord, StoreError> {
        unimplemented!()
    }
    /// The commit this snapshot was taken at.
    pub fn seq(&self) -> CommitSeq {
        unimplemented!()
    }
    /// Ordinals in this snapshot.
    pub fn records(&self) -> u32 {
        unimplemented!()
    }
    /// Hashes the next `budget_bytes` of the file; returns what it found damaged.
    pub fn scrub(&self, _scrub: &mut Scrub, _budget_bytes: u64) -> Result<Vec<Damage>, StoreError> {
        unimplemented!()
    }
    /// Every segment of the file.
    pub fn inspect(&self) -> Result<Vec<SegmentInfo>, StoreError> {
        unimplemented!()
    }
}

impl VectorStore for LogReader {
    fn dimensions(&self) -> usize {
        unimplemented!()
    }
    fn vector(&self, _ordinal: u32, _out: &mut [f32]) -> bool {
        unimplemented!()
    }
}
