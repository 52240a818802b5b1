//! The log of one memory: a single append-only `.rvf` file, checksummed, recoverable, compactable.
//!
//! Lives here: the file format and everything that touches the disk. Must never live here: search,
//! ranking, the meaning of a record, a clock or a source of randomness.

mod block;
mod bytes;
mod checkpoint;
mod chunked;
mod codec;
mod commit;
mod compact;
mod directory;
mod disk;
mod entry;
mod error;
mod frame;
mod inspect;
mod log;
mod options;
mod projection;
mod reader;
mod recover;
mod replay;
mod scan;
mod squeeze;
mod swap;
#[cfg(feature = "testing")]
pub mod testing;
mod window;

pub use chunked::Chunked;
pub use compact::{Compacted, Compaction};
#[cfg(feature = "testing")]
pub use disk::{Crash, SimDisk};
pub use disk::{Disk, DiskFile, DiskLock, FileIdentity, LockAttempt, RealDisk};
pub use entry::{Commit, CommitSeq, Entry};
pub use error::{Displacement, StoreError};
pub use inspect::{Scrub, SegmentInfo, inspect, verify};
pub use log::Log;
pub use options::{
    CompactionReport, Damage, DerivedPart, DerivedSet, LogStats, OpenOptions, Opened,
    RecoveryReport, ReplayReport, Verify,
};
pub use reader::LogReader;
pub use swap::{place_file, replace_file};
