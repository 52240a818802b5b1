//! The one seam to the operating system: files that can be read at an offset, written, cut, synced,
//! renamed and locked.
//!
//! The `Disk` traits.

mod real;
mod sim;

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub use real::RealDisk;
pub use sim::{Crash, SimDisk};

/// Which file a name or a handle stands for: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
}

/// A place that holds files.
pub trait Disk: Debug + Send + Sync {
    /// Opens an existing file for reading, and for writing where `writable`.
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading and writing, making it empty where there was none.
    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Takes the writer's lock on an existing file, through a handle of its own.
    fn lock(&self, path: &Path) -> io::Result<LockAttempt>;

    /// What `path` names now, `None` where there is nothing.
    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>>;

    /// Makes `to` name what `from` names, replacing what it named before, in one step.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Lets `to` name what `from` names, too; where it names something, `AlreadyExists`.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the folder of `path` where it is missing, closed to other users.
    fn make_folder(&self, path: &Path) -> io::Result<()>;

    /// Removes a name; fine where there is none.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes creations, renames and removals within the folder of `path` durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

pub trait DiskFile: Debug + Send + Sync {
    /// Bytes in it.
    fn size(&self) -> io::Result<u64>;

    /// Fills `out` from `offset`; fails with `UnexpectedEof` where the file ends earlier.
    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`.
    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file to `size` bytes, or extends it with zeros.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Returns once content and size are on stable storage.
    fn sync(&self) -> io::Result<()>;

    fn identity(&self) -> io::Result<FileIdentity>;

    /// How many names it has; 0 once it is removed.
    fn links(&self) -> io::Result<u64>;
}

/// What came of asking for the lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// Ours until the value is dropped.
    Held(Box<dyn DiskLock>),
    /// Another writer has it: who, where the system tells.
    Refused(Option<String>),
}

/// The writer's lock; dropping it releases the file.
pub trait DiskLock: Debug + Send + Sync {
    /// The file that is locked, which may no longer be the one its name stands for.
    fn identity(&self) -> io::Result<FileIdentity>;
}
