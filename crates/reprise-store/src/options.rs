//! Options for opening a log, and the reports of its operations.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::disk::DiskFile;
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
    /// Tags of derived blobs that are not read now; they are returned as [`DerivedSet::unread`].
    pub leave_unread: &'static [u8],
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

/// Reads a derived blob that was left in the file. Its hash was not verified, so the blob's own
/// format must have checks. It stays readable after further commits, after a compaction and after
/// the log is closed.
#[derive(Debug, Clone)]
pub struct DerivedBlobReader {
    file: Arc<dyn DiskFile>,
    /// Pieces in blob order, without gaps.
    pieces: Vec<BlobPiece>,
    size: u64,
}

/// Bytes of a blob that are contiguous in the file.
#[derive(Debug, Clone, Copy)]
struct BlobPiece {
    /// Offset of the first byte in the blob.
    blob_offset: u64,
    /// Offset of the first byte in the file.
    file_offset: u64,
    size: u64,
}

impl DerivedBlobReader {
    pub(crate) fn new(file: Arc<dyn DiskFile>, offset: u64, size: u64) -> Self {
        let piece = BlobPiece {
            blob_offset: 0,
            file_offset: offset,
            size,
        };
        Self {
            file,
            pieces: vec![piece],
            size,
        }
    }

    /// Appends the pieces that follow in the blob.
    pub(crate) fn append(&mut self, more: Self) {
        for piece in more.pieces {
            let blob_offset = self.size;
            self.size += piece.size;
            self.pieces.push(BlobPiece {
                blob_offset,
                ..piece
            });
        }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `out` from byte `at` of the blob; returns `false` if the blob ends earlier or the disk
    /// fails.
    pub fn read_at(&self, mut at: u64, mut out: &mut [u8]) -> bool {
        let end = at.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return false;
        }
        let first = self.pieces.partition_point(|piece| piece.blob_offset <= at);
        for piece in self.pieces.iter().skip(first.saturating_sub(1)) {
            if out.is_empty() {
                break;
            }
            let skipped = at - piece.blob_offset;
            let count = piece.size.saturating_sub(skipped).min(out.len() as u64);
            let (now, later) = std::mem::take(&mut out).split_at_mut(count as usize);
            if self
                .file
                .read_exact_at(piece.file_offset + skipped, now)
                .is_err()
            {
                return false;
            }
            at += count;
            out = later;
        }
        true
    }
}

/// The caller's derived blobs as of one commit.
#[derive(Debug, Clone)]
pub struct DerivedSet {
    /// The last commit that the blobs cover. It may precede the checkpoint's commit; replay starts
    /// after it.
    pub covered_seq: CommitSeq,
    /// Tag (0x41..=0x47, 0x4b, 0x4c) and bytes of each blob, as passed to `checkpoint`.
    pub blobs: Vec<(u8, Vec<u8>)>,
    /// Blobs that were left in the file, each with its tag.
    pub unread: Vec<(u8, DerivedBlobReader)>,
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
