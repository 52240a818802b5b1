//! The log of one memory: a single append-only `.rvf` file, checksummed, recoverable, compactable.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//!
//! use chrono::DateTime;
//! use reprise_store::{CommitSeq, Log, OpenOptions, RealDisk, StoreEntry, Verify};
//! use reprise_types::LearningEvent;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let options = OpenOptions {
//!     dimensions: 384,
//!     file_id: 7,
//!     created_at: DateTime::UNIX_EPOCH,
//!     create: true,
//!     read_only: false,
//!     verify: Verify::Tail,
//! };
//! let mut log = Log::open(Arc::new(RealDisk), &folder.path().join("memory.rvf"), &options)?.log;
//! let at = DateTime::UNIX_EPOCH;
//! // Once it returns, the entry is on the disk.
//! log.append(&[StoreEntry::Learning(Box::new(LearningEvent::Reset { at }))])?;
//! assert_eq!(log.replay(CommitSeq(0), &mut |_, _| {})?.entries, 1);
//! # Ok(())
//! # }
//! ```

mod block;
mod codec;
mod commit;
mod compact;
mod compress;
mod directory;
mod disk;
mod entry;
mod error;
mod frame;
mod inspect;
mod log;
mod manifest;
mod options;
mod reader;
mod recover;
mod replay;
mod scan;
mod sections;
mod swap;

pub use compact::CompactedLog;
pub use disk::{Disk, DiskFile, DiskLock, FileIdentity, LockAttempt, RealDisk};
pub use entry::{CommitReceipt, CommitSeq, StoreEntry, Tombstone};
pub use error::{Displacement, StoreError};
pub use inspect::{SegmentInfo, list_segments, locate_section};
pub use log::{Log, OpenedLog, SUFFIX_TORN};
pub use options::{
    CompactionReport, DamagedRange, LogStats, OpenOptions, RecoveryReport, ReplayReport, Verify,
};
pub use reader::LogReader;
pub use swap::{move_to_free_path, replace_file};
