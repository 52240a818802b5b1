//! The crate's only interface to the file system: read at an offset, write, truncate, sync, rename,
//! lock.

mod real;

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub use real::RealDisk;

/// Identity of a file: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
}

/// A file system: the real one or a simulated one.
pub trait Disk: Debug + Send + Sync {
    /// Opens an existing file for reading, and for writing where `writable`.
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading and writing, making it empty where there was none.
    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Takes the writer's lock on an existing file, through a handle of its own.
    fn lock(&self, path: &Path) -> io::Result<LockAttempt>;

    /// The file that `path` names now; `None` for none.
    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>>;

    /// Renames atomically, replacing what `to` named before.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// A hard link; `AlreadyExists` where `to` names something.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes `to`, which names nothing, a copy-on-write clone of `from`; `false` where this file
    /// system has none, and then nothing is there.
    fn clone_file(&self, _from: &Path, _to: &Path) -> io::Result<bool> {
        Ok(false)
    }

    /// Makes the parent folder of `path` where it is missing, accessible to its owner only.
    fn make_folder(&self, path: &Path) -> io::Result<()>;

    /// Removes a name; not an error where there is none.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Syncs the parent folder of `path`: makes creations, renames and removals durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

pub trait DiskFile: Debug + Send + Sync {
    fn size(&self) -> io::Result<u64>;

    /// Fills `out` from `offset`; fails with `UnexpectedEof` where the file ends earlier.
    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`.
    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the file to `size` bytes, or extends it with zeros.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Returns once content and size are on stable storage.
    fn sync(&self) -> io::Result<()>;

    fn identity(&self) -> io::Result<FileIdentity>;

    /// Number of hard links; 0 once it is removed.
    fn links(&self) -> io::Result<u64>;
}

/// `size` bytes from `offset`; `None` where they do not end by `end`.
pub(crate) fn read_within(
    file: &dyn DiskFile,
    offset: u64,
    size: usize,
    end: u64,
) -> io::Result<Option<Vec<u8>>> {
    if offset.saturating_add(size as u64) > end {
        return Ok(None);
    }
    let mut bytes = vec![0; size];
    file.read_exact_at(offset, &mut bytes)?;
    Ok(Some(bytes))
}

/// Result of trying to take the lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// Ours until the value is dropped.
    Held(Box<dyn DiskLock>),
    /// Another writer holds it; names the process where the system reports it.
    Refused(Option<String>),
}

impl LockAttempt {
    /// The lock on a file that nobody else should have: an error where somebody does.
    pub(crate) fn held(self) -> io::Result<Box<dyn DiskLock>> {
        match self {
            Self::Held(lock) => Ok(lock),
            Self::Refused(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// The writer's lock; dropping it releases the file.
pub trait DiskLock: Debug + Send + Sync {
    /// The locked file, which may no longer be the one its path names.
    fn identity(&self) -> io::Result<FileIdentity>;
}
