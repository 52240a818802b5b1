//! Options for opening a log, and the reports of its operations.

use std::fmt;
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use crate::entry::CommitSeq;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Length of the vectors of a new file, 1..=4096; ignored for an existing file.
    pub dimensions: u16,
    /// Random number for a new file; every segment repeats it. Ignored for an existing file.
    pub file_id: u128,
    /// Creation time of a new file, stored in milliseconds.
    pub created_at: DateTime<Utc>,
    /// Create the file if it does not exist.
    pub create: bool,
    /// Take no lock and never write.
    pub read_only: bool,
    /// How much of an existing file is hashed before the call returns.
    pub verify: Verify,
}

/// How much of an existing file is verified at open. Every read is verified in any case, because
/// records and vectors have checksums of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Every segment.
    Everything,
    /// The newest checkpoint and everything after it; `LogReader::scrub` does the rest.
    Tail,
}

/// The result of recovery. Empty lists and zero bytes for an undamaged file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryReport {
    /// Whether this call created the file.
    pub created: bool,
    /// Whether recovery started from the checkpoint and read only what follows it.
    pub from_checkpoint: bool,
    /// Commits that were read and applied: those after the checkpoint, or all.
    pub commits_read: u64,
    /// Bytes after the last whole commit, which were written but never acknowledged. They are cut
    /// off unless the file was opened read-only.
    pub torn_bytes: u64,
    /// File in which this call kept the bytes that it cut off.
    pub kept_tail: Option<PathBuf>,
    /// Whole segments that Reprise did not write; they are ignored.
    pub foreign_segments: u64,
    pub damage: Vec<DamagedRange>,
    /// Commits that can no longer be read, as first and last of each range.
    pub missing_commits: Vec<(CommitSeq, CommitSeq)>,
    /// Records that can no longer be read, as first and last ordinal of each range.
    pub missing_records: Vec<(u32, u32)>,
}

impl RecoveryReport {
    /// Whether everything that was acknowledged is readable.
    pub fn is_whole(&self) -> bool {
        self.damage.is_empty() && self.missing_commits.is_empty() && self.missing_records.is_empty()
    }

    /// Whether the report already lists damage that begins at the same offset.
    pub(crate) fn has_damage_at(&self, damage: &DamagedRange) -> bool {
        let mut known = self.damage.iter();
        known.any(|known| known.offset == damage.offset)
    }
}

/// A byte range of the file with unexpected content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedRange {
    pub offset: u64,
    /// Bytes up to the next whole segment.
    pub length: u64,
    pub what: String,
}

impl DamagedRange {
    pub(crate) fn new(offset: u64, length: u64, what: impl Into<String>) -> Self {
        let what = what.into();
        Self {
            offset,
            length,
            what,
        }
    }
}

impl fmt::Display for DamagedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, offset) = (self.length, self.offset);
        write!(f, "{length} bytes from offset {offset}: {}", self.what)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStats {
    pub file_bytes: u64,
    /// Count of ordinals, forgotten and lost records included.
    pub records: u32,
    pub forgotten: u32,
    /// Records that damage made unreadable.
    pub lost: u32,
    /// Commits acknowledged since the file was created.
    pub commits: u64,
    /// Bytes that a compaction frees at least; better packing frees more.
    pub bytes_reclaimable: u64,
    /// The last commit merged by a compaction; 0 for none.
    pub compacted_to: u64,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayReport {
    pub commits: u64,
    pub entries: u64,
    /// Skipped entries, whose kinds this version does not know.
    pub unknown: u64,
    /// Vectors whose checksum did not match; their records were passed on without a vector.
    pub damaged_vectors: u64,
    pub damage: Vec<DamagedRange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionReport {
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Records whose content was copied.
    pub records: u32,
    /// Forgotten records, which were copied as stubs only.
    pub forgotten: u32,
}
