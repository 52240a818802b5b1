//! Errors of the store. Each message says what to do next.

use std::io;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use reprise_files::FileError;
use reprise_types::ErrorKind;

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why the store refused. Nothing changed in the file unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("cannot {action} {}: {cause}; {}", .path.display(), advice(.cause))]
    Io {
        /// The operation, as a verb phrase.
        action: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    /// No file there and `create` was not asked for.
    #[error("there is no memory at {}; check the path or create it first", .path.display())]
    Missing { path: PathBuf },
    /// Something else lives under this name; it was not touched.
    #[error(
        "{} is not a Reprise memory ({why}); move it away or choose another directory",
        .path.display()
    )]
    NotAStore { path: PathBuf, why: &'static str },
    /// Written by a later version; it was not touched.
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
    #[error(
        "{} is in use by {holder}; try again when that has ended (a daemon: `reprise stop`)",
        .path.display()
    )]
    Locked {
        path: PathBuf,
        /// A process id where the system tells, else "another process".
        holder: String,
    },
    #[error("{} was opened read-only; open it for writing", .path.display())]
    ReadOnly { path: PathBuf },
    /// An earlier write or sync failed, and what it left in the file could not be cut off.
    #[error(
        "an earlier write to {} failed ({cause}) and cannot be taken back yet; check the disk, \
         what was acknowledged is safe",
        .path.display()
    )]
    Poisoned { path: PathBuf, cause: String },
    /// The path does not name the file in use any more. The write was not kept.
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
    /// A record whose bytes are damaged or were skipped by recovery. Never served.
    #[error("record {ordinal} is damaged on disk (offset {offset}); restore it from a backup")]
    DamagedRecord {
        ordinal: u32,
        /// File offset of its block; 0 where unknown.
        offset: u64,
    },
    /// Something in the file is damaged beyond what recovery can step over.
    #[error("{} is damaged at offset {offset} ({what}); restore it from a backup", .path.display())]
    Damaged {
        path: PathBuf,
        offset: u64,
        what: &'static str,
    },
    /// An entry that cannot be written as given.
    #[error("entry {index} of the commit cannot be written: {why}; correct it and append again")]
    BadEntry {
        /// Position in the slice given to `append`.
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
    /// The commits asked for were merged by compaction.
    #[error("commits up to {horizon} were merged, so replay after {after} is not possible; use 0")]
    Compacted { after: u64, horizon: u64 },
    /// Only one compaction at a time.
    #[error("a compaction of {} is under way; wait for it to finish", .path.display())]
    CompactionUnderWay { path: PathBuf },
    /// The compaction was made from another log or from an earlier file of this one.
    #[error("this compaction does not belong to {}; start a new one", .path.display())]
    StaleCompaction { path: PathBuf },
}

/// How another process displaced a file in use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Displacement {
    /// Removed, and not put back yet.
    #[error("removed while it was in use; the next record that is kept puts it back")]
    Removed,
    /// Removed; all that was acknowledged stands in its place again.
    #[error(
        "removed while it was in use: what it held is back in its place, but this write was not \
         kept; send it again (to remove a memory for good, run `reprise stop` first)"
    )]
    PutBack,
    /// Moved away, or removed while it had another name.
    #[error(
        "moved away while it was in use, so nothing more is written; move it back, or run \
         `reprise stop`"
    )]
    Moved,
    /// Another file stands in its place.
    #[error(
        "replaced by another file while it was in use: this write was not kept, what the old file \
         held {}; send it again, and the new file takes it",
        kept_at(.rescued.as_deref())
    )]
    Replaced {
        /// Where the old one's content was saved; `None` where it still has a name of its own.
        rescued: Option<PathBuf>,
    },
}

fn kept_at(rescued: Option<&std::path::Path>) -> String {
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
                what: Displacement::PutBack,
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
            cause: FileError::bare(cause),
        }
    }
}

fn advice(cause: &io::Error) -> &'static str {
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
