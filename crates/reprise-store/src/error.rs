//! Errors of the store. Each message tells what to do next.

use std::io;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use reprise_files::FileError;
use reprise_types::ErrorKind;

pub(crate) type StoreResult<T> = Result<T, StoreError>;

/// Why an operation of the store failed. The file is unchanged unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("cannot {action} {}: {cause}; {}", .path.display(), io_advice(.cause))]
    Io {
        /// The operation, as a verb phrase.
        action: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    /// There is no file at the path and `create` was not set.
    #[error("there is no memory at {}; check the path or create it first", .path.display())]
    Missing { path: PathBuf },
    /// The file at the path is not a memory; it was not touched.
    #[error(
        "{} is not a Reprise memory ({why}); move it away or choose another directory",
        .path.display()
    )]
    NotAStore { path: PathBuf, why: &'static str },
    /// A later version wrote the file; it was not touched.
    #[error(
        "{} was written by a newer Reprise (format {found}, this one reads up to {supported}); \
         update Reprise",
        .path.display()
    )]
    NewerFormat {
        path: PathBuf,
        found: u16,
        supported: u16,
    },
    /// An earlier version wrote the file; it was not touched.
    #[error(
        "{} was written by an earlier Reprise (format {found}), which this version does not read; \
         with that version `reprise export` it, then `reprise import` it here",
        .path.display()
    )]
    OlderFormat { path: PathBuf, found: u16 },
    #[error(
        "{} is in use by {holder}; try again when that has ended (a daemon: `reprise serve stop`)",
        .path.display()
    )]
    Locked {
        path: PathBuf,
        /// The process id if the system reports it, else "another process".
        holder: String,
    },
    #[error("{} was opened read-only; open it for writing", .path.display())]
    ReadOnly { path: PathBuf },
    /// An earlier write or sync failed, and its bytes could not be cut off.
    #[error(
        "an earlier write to {} failed ({cause}) and cannot be taken back yet; check the disk, \
         what was acknowledged is safe",
        .path.display()
    )]
    Poisoned { path: PathBuf, cause: String },
    /// The path no longer names the file in use. The write was not kept.
    #[error("{} was {what}", .path.display())]
    Displaced { path: PathBuf, what: Displacement },
    #[error("there is no record {ordinal}, the log has {records}; use an ordinal it returned")]
    NoRecord { ordinal: u32, records: u32 },
    #[error("record {ordinal} was forgotten at {at} ({reason}); its content is gone")]
    Forgotten {
        ordinal: u32,
        at: DateTime<Utc>,
        reason: String,
    },
    /// The record's bytes are damaged, or recovery skipped them. Such a record is never returned.
    #[error("record {ordinal} is damaged on disk (offset {offset}); restore it from a backup")]
    DamagedRecord {
        ordinal: u32,
        /// File offset of the record's block; 0 if unknown.
        offset: u64,
    },
    /// Part of the file is damaged, and recovery cannot skip it.
    #[error("{} is damaged at offset {offset} ({what}); restore it from a backup", .path.display())]
    Damaged {
        path: PathBuf,
        offset: u64,
        what: &'static str,
    },
    /// An entry of the commit is invalid.
    #[error("entry {index} of the commit cannot be written: {why}; correct it and append again")]
    BadEntry {
        /// Position in the slice passed to `append`.
        index: usize,
        why: String,
    },
    #[error("the commit has {got} {what}, at most {limit} fit; split it into several commits")]
    CommitTooLarge {
        /// The unit: entries or bytes.
        what: &'static str,
        got: usize,
        limit: usize,
    },
    #[error("the log holds {records} records, which is all one file can; start a new file")]
    Full { records: u32 },
    /// A compaction merged the requested commits.
    #[error("commits up to {horizon} were merged, so replay after {after} is not possible; use 0")]
    Compacted { after: u64, horizon: u64 },
    /// Another compaction of this log is running.
    #[error("a compaction of {} is under way; wait for it to finish", .path.display())]
    CompactionUnderWay { path: PathBuf },
    /// The compaction started from another log, or from an earlier file of this log.
    #[error("this compaction does not belong to {}; start a new one", .path.display())]
    StaleCompaction { path: PathBuf },
}

/// How another process displaced the file in use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Displacement {
    /// The file was removed and is not restored yet.
    #[error("removed while it was in use; the next record that is stored restores it")]
    Removed,
    /// The file was removed; everything acknowledged was restored to its path.
    #[error(
        "removed while it was in use: its content was restored, but this write was not \
         stored; send it again (to remove a memory for good, run `reprise serve stop` first)"
    )]
    Restored,
    /// The file was moved, or one of its names was removed.
    #[error(
        "moved away while it was in use, so nothing more is written; move it back, or run \
         `reprise serve stop`"
    )]
    Moved,
    /// Another file replaced it.
    #[error(
        "replaced by another file while it was in use: this write was not stored, and the old \
         content {}; send it again to write it into the new file",
        describe_rescue(.rescued.as_deref())
    )]
    Replaced {
        /// Where the old file's content was saved; `None` if the old file still has another name.
        rescued: Option<PathBuf>,
    },
}

fn describe_rescue(rescued: Option<&std::path::Path>) -> String {
    rescued.map_or_else(
        || "is where it was moved to".to_owned(),
        |path| format!("was saved as {}", path.display()),
    )
}

impl StoreError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Locked { .. }
            | Self::CompactionUnderWay { .. }
            | Self::Displaced {
                what: Displacement::Restored,
                ..
            } => ErrorKind::Retry,
            Self::NoRecord { .. }
            | Self::Forgotten { .. }
            | Self::BadEntry { .. }
            | Self::CommitTooLarge { .. }
            | Self::Compacted { .. }
            | Self::StaleCompaction { .. }
            | Self::ReadOnly { .. } => ErrorKind::Caller,
            Self::Io { .. }
            | Self::Missing { .. }
            | Self::NotAStore { .. }
            | Self::NewerFormat { .. }
            | Self::OlderFormat { .. }
            | Self::Poisoned { .. }
            | Self::Displaced { .. }
            | Self::DamagedRecord { .. }
            | Self::Damaged { .. }
            | Self::Full { .. } => ErrorKind::Operator,
        }
    }

    /// Wraps an I/O error of `action` on `path`.
    pub(crate) fn io(action: &'static str, path: &std::path::Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self::Io {
            action,
            path: path.to_path_buf(),
            cause: FileError::strip_path(cause),
        }
    }
}

fn io_advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, then try again"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make it writable for this user"
        }
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::InvalidInput => "move it away or choose another directory",
        _ => "check the disk",
    }
}
