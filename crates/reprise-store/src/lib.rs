//! The log of one memory: a single append-only `.rvf` file, checksummed, recoverable, compactable.

mod apart;
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
mod log;
mod options;
mod projection;
mod reader;
mod recover;
mod replay;
mod scan;
mod swap;
mod window;

pub use compact::{Compacted, Compaction};
pub use disk::{Disk, DiskFile, DiskLock, FileIdentity, LockAttempt, RealDisk};
pub use entry::{Commit, CommitSeq, Entry, Tombstone};
pub use error::{Displacement, StoreError};
pub use inspect::{Scrub, SegmentInfo, inspect, verify};
pub use log::{Log, Opened};
pub use options::{
    CompactionReport, Damage, DerivedPart, DerivedSet, LogStats, OpenOptions, RecoveryReport,
    ReplayReport, Verify,
};
pub use reader::LogReader;
pub use swap::{place_file, replace_file};
