//! Options for opening a log, and the reports of its operations.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::disk::DiskFile;
use crate::entry::CommitSeq;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Length of the vectors of a new file, 1..=4096; an existing file has its own.
    pub dimensions: u16,
    /// A random number, used only when the file is created; every segment repeats it.
    pub file_id: u128,
    /// When the file is created; kept in milliseconds.
    pub created_at: DateTime<Utc>,
    /// Create the file where there is none.
    pub create: bool,
    /// Take no lock and never write.
    pub read_only: bool,
    /// How much of an existing file is hashed before the call returns.
    pub verify: Verify,
    /// Tags of derived blobs to leave in the file, returned as [`DerivedSet::left`].
    pub leave: &'static [u8],
}

/// How much of an existing file is verified at open. Reads are always verified: records and vectors
/// have checksums of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Every segment.
    Everything,
    /// The newest checkpoint and everything after it; `LogReader::scrub` does the rest.
    Tail,
}

/// A derived blob left in the file. Its hash was not verified; the blob's own format must have
/// checks. Stays readable after further commits, a compaction or closing the log.
#[derive(Debug, Clone)]
pub struct DerivedPart {
    file: Arc<dyn DiskFile>,
    /// In order, each where the one before ends in the blob.
    pieces: Vec<Piece>,
    size: u64,
}

/// Bytes of a blob that stand together in the file.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// The first of them in the blob,
    at: u64,
    /// and in the file.
    offset: u64,
    size: u64,
}

impl DerivedPart {
    pub(crate) fn new(file: Arc<dyn DiskFile>, offset: u64, size: u64) -> Self {
        let at = 0;
        Self {
            file,
            pieces: vec![Piece { at, offset, size }],
            size,
        }
    }

    /// Appends what follows in the blob.
    pub(crate) fn extend(&mut self, more: Self) {
        for piece in more.pieces {
            let at = self.size;
            self.size += piece.size;
            self.pieces.push(Piece { at, ..piece });
        }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `out` from byte `at` of the blob; `false` where the blob ends earlier or the disk
    /// fails.
    pub fn read_at(&self, mut at: u64, mut out: &mut [u8]) -> bool {
        let end = at.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return false;
        }
        let first = self.pieces.partition_point(|piece| piece.at <= at);
        for piece in self.pieces.iter().skip(first.saturating_sub(1)) {
            if out.is_empty() {
                break;
            }
            let skipped = at - piece.at;
            let there = piece.size.saturating_sub(skipped).min(out.len() as u64);
            let (now, later) = std::mem::take(&mut out).split_at_mut(there as usize);
            if self
                .file
                .read_exact_at(piece.offset + skipped, now)
                .is_err()
            {
                return false;
            }
            at += there;
            out = later;
        }
        true
    }
}

/// The caller's derived blobs as of one commit.
#[derive(Debug, Clone)]
pub struct DerivedSet {
    /// They cover the log up to this commit, which may be before the checkpoint's; replay from
    /// here.
    pub covers: CommitSeq,
    /// Tag (0x41..=0x47, 0x4b, 0x4c) and bytes, as given to `checkpoint`.
    pub parts: Vec<(u8, Vec<u8>)>,
    /// The blobs left in the file, each with its tag.
    pub left: Vec<(u8, DerivedPart)>,
}

/// The result of recovery. Empty lists and zero bytes for an undamaged file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryReport {
    /// The file was created by this call.
    pub created: bool,
    /// Recovery started from the checkpoint and read only what follows it.
    pub from_checkpoint: bool,
    /// Commits read and applied: those after the checkpoint, or all.
    pub commits_read: u64,
    /// Bytes after the last whole commit: written but never acknowledged. Cut off, unless the file
    /// was opened read-only.
    pub torn_bytes: u64,
    /// Whole segments that Reprise did not write; left alone.
    pub foreign_segments: u64,
    pub damage: Vec<Damage>,
    /// Commits that can no longer be read: first and last of each run.
    pub missing_commits: Vec<(CommitSeq, CommitSeq)>,
    /// Records that can no longer be read: first and last ordinal of each run.
    pub missing_records: Vec<(u32, u32)>,
}

impl RecoveryReport {
    /// Whether nothing that was acknowledged is damaged or missing.
    pub fn is_whole(&self) -> bool {
        self.damage.is_empty() && self.missing_commits.is_empty() && self.missing_records.is_empty()
    }

    /// Whether damage is known that begins where this one does.
    pub(crate) fn knows(&self, damage: &Damage) -> bool {
        let mut known = self.damage.iter();
        known.any(|known| known.offset == damage.offset)
    }
}

/// A stretch of the file that does not hold what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub offset: u64,
    /// Bytes up to the next whole segment.
    pub length: u64,
    pub what: String,
}

impl Damage {
    pub(crate) fn new(offset: u64, length: u64, what: impl Into<String>) -> Self {
        let what = what.into();
        Self {
            offset,
            length,
            what,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, offset) = (self.length, self.offset);
        write!(f, "{length} bytes from offset {offset}: {}", self.what)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStats {
    pub file_bytes: u64,
    /// Ordinals given out, forgotten and lost ones included.
    pub records: u32,
    pub forgotten: u32,
    /// Records that damage made unreadable.
    pub lost: u32,
    /// Commits acknowledged since the file was made.
    pub commits: u64,
    /// Bytes that a compaction frees at least, before any gain from better packing.
    pub bytes_reclaimable: u64,
    /// The last commit merged by a compaction; 0 for none.
    pub compacted_to: u64,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayReport {
    pub commits: u64,
    pub entries: u64,
    /// Entries of kinds that this version does not know, skipped.
    pub unknown: u64,
    /// Vectors whose checksum did not hold; their records came without one.
    pub damaged_vectors: u64,
    pub damage: Vec<Damage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionReport {
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Records whose content was carried over.
    pub records: u32,
    /// Forgotten records, of which only a stub was kept.
    pub forgotten: u32,
}
