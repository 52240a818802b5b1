//! The log of one memory: a single append-only `.rvf` file, checksummed, recoverable, compactable.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//!
//! use chrono::DateTime;
//! use reprise_store::{CommitSeq, Entry, Log, OpenOptions, RealDisk, Verify};
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
//!     leave: &[],
//! };
//! let mut log = Log::open(Arc::new(RealDisk), &folder.path().join("memory.rvf"), &options)?.log;
//! let at = DateTime::UNIX_EPOCH;
//! // Once it returns, the entry is on the disk.
//! log.append(&[Entry::Learning(Box::new(LearningEvent::Reset { at }))])?;
//! assert_eq!(log.replay(CommitSeq(0), &mut |_, _| {})?.entries, 1);
//! # Ok(())
//! # }
//! ```

mod block;
mod checkpoint;
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
mod late;
mod log;
mod options;
mod reader;
mod recover;
mod replay;
mod scan;
mod swap;

pub use compact::{Compacted, Compaction};
pub use disk::{Disk, DiskFile, DiskLock, FileIdentity, LockAttempt, RealDisk};
pub use entry::{Commit, CommitSeq, Entry, Tombstone};
pub use error::{Displacement, StoreError};
pub use inspect::{SegmentInfo, inspect};
pub use late::{CheckpointStep, LateCheckpoint};
pub use log::{Log, Opened};
pub use options::{
    CompactionReport, Damage, DerivedPart, DerivedSet, LogStats, OpenOptions, RecoveryReport,
    ReplayReport, Verify,
};
pub use reader::LogReader;
pub use swap::{place_file, replace_file};
