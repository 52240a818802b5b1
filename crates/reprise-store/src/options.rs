//! What a caller says when opening a log, and what the log says back.
//!
//! Plain data of the public API.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::disk::DiskFile;
use crate::entry::CommitSeq;

/// How to open a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Length of every vector, 1..=4096; 0 accepts whatever an existing file has.
    pub dimensions: u16,
    /// A random number, used only when the file is created: what binds segments to their file.
    pub file_id: u128,
    /// When the file is created; kept in milliseconds.
    pub created_at: DateTime<Utc>,
    /// Make the file where there is none.
    pub create: bool,
    /// Take no lock and never write.
    pub read_only: bool,
    /// How much of an existing file is hashed before the call returns.
    pub verify: Verify,
    /// Tags of derived blobs that are not read but handed out as [`DerivedSet::left`].
    pub leave: &'static [u8],
}

/// How much of an existing file is hashed at open. Nothing is ever served unhashed: records and
/// vectors carry checksums of their own that every read compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Every segment.
    Everything,
    /// The newest checkpoint and everything after it; `LogReader::scrub` does the rest in steps.
    Tail,
}

/// A derived blob left in the file. Its hash was not compared: whoever made the blob has put checks
/// of its own into it. Stays readable while the log moves on, is compacted or closed.
#[derive(Debug, Clone)]
pub struct DerivedPart {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl DerivedPart {
    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `out` from byte `at` of the blob; `false` where the blob ends earlier or the disk
    /// fails.
    pub fn read_at(&self, at: u64, out: &mut [u8]) -> bool {
        let end = at.checked_add(out.len() as u64);
        end.is_some_and(|end| end <= self.size)
            && self.file.read_exact_at(self.offset + at, out).is_ok()
    }
}

/// Blobs that a caller derived from the log, as of one commit.
#[derive(Debug, Clone)]
pub struct DerivedSet {
    /// Everything up to this commit is in them; replay what follows.
    pub covers: CommitSeq,
    /// Tag (0x41..=0x47, 0x4b) and bytes, as given to `checkpoint`.
    pub parts: Vec<(u8, Vec<u8>)>,
    /// The blobs that were to be left, each with its tag.
    pub left: Vec<(u8, DerivedPart)>,
}

/// What opening a file met. All empty on an undamaged file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryReport {
    /// The file was created by this call.
    pub created: bool,
    /// The checkpoint was used, so that only what follows it was read.
    pub from_checkpoint: bool,
    /// Commits read and applied, after the checkpoint or in all.
    pub commits_read: u64,
    /// Bytes after the last whole commit: written but never acknowledged. Cut off, unless the file
    /// was opened read-only.
    pub torn_bytes: u64,
    /// Whole segments that Reprise did not write; left alone.
    pub foreign_segments: u64,
    /// Damaged stretches, in file order.
    pub damage: Vec<Damage>,
    /// Commits that can no longer be read: first and last of each run.
    pub missing_commits: Vec<(CommitSeq, CommitSeq)>,
    /// Records that can no longer be read: first and last ordinal of each run.
    pub missing_records: Vec<(u32, u32)>,
}

impl RecoveryReport {
    /// Whether nothing that was acknowledged is damaged or missing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.damage.is_empty() && self.missing_commits.is_empty() && self.missing_records.is_empty()
    }
}

/// A stretch of the file that does not hold what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub offset: u64,
    /// Bytes up to the next whole segment.
    pub length: u64,
    /// What is wrong, for people.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            length,
            what,
        } = self;
        write!(f, "{length} bytes from offset {offset}: {what}")
    }
}

/// Figures about an open log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStats {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Ordinals given out, forgotten and lost ones included.
    pub records: u32,
    pub forgotten: u32,
    /// Records that damage made unreadable.
    pub lost: u32,
    /// Commits acknowledged since the file was made.
    pub commits: u64,
    /// Bytes that a compaction would certainly give back, before any gain from better packing.
    pub bytes_reclaimable: u64,
    /// The last commit that a compaction merged; 0 where there was none.
    pub compacted_to: u64,
    /// When the file was made.
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayReport {
    pub commits: u64,
    /// Entries handed to the visitor.
    pub entries: u64,
    /// Entries of kinds that this version does not know, skipped.
    pub unknown: u64,
    /// Vectors whose checksum did not hold; their records came without one.
    pub damaged_vectors: u64,
    /// Damaged stretches met on the way.
    pub damage: Vec<Damage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionReport {
    /// Size of the file before.
    pub bytes_before: u64,
    /// Size of the file after.
    pub bytes_after: u64,
    /// Records whose content was carried over.
    pub records: u32,
    /// Records of which only the stub was.
    pub forgotten: u32,
}
