//! Looking into a file (signatures first; the bodies follow).

use std::path::Path;

use crate::disk::Disk;
use crate::error::StoreError;
use crate::options::RecoveryReport;

/// One segment of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Where it begins.
    pub offset: u64,
    /// Header, payload and padding.
    pub bytes: u64,
    /// The RVF segment type.
    pub segment_type: u8,
    /// Its name.
    pub name: &'static str,
    /// What it holds, in a few words.
    pub holds: String,
    /// Whether its hash holds.
    pub whole: bool,
}

/// How far a scrub has come.
#[derive(Debug, Clone, Default)]
pub struct Scrub {
    pub(crate) offset: u64,
}

impl Scrub {
    /// Whether every byte of the snapshot was hashed.
    pub fn is_done(&self) -> bool {
        unimplemented!()
    }
}

/// Every segment of the file at `path`.
pub fn inspect(_disk: &dyn Disk, _path: &Path) -> Result<Vec<SegmentInfo>, StoreError> {
    unimplemented!()
}

/// Hashes the whole file at `path` and says what is wrong with it; never writes.
pub fn verify(_disk: &dyn Disk, _path: &Path) -> Result<RecoveryReport, StoreError> {
    unimplemented!()
}
