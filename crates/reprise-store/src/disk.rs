//! The crate's only interface to the file system (read at an offset, write, truncate, sync, rename,
//! lock) and its implementation for real files, which uses `fs_err` so that every error names its
//! path.

mod unreadable;

use std::fmt::Debug;
use std::fs::{Metadata, TryLockError};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err::File;
use reprise_files::{OpenMode, clone_path, move_path_to_free, open_path};

pub(crate) use unreadable::PastUnreadable;

/// Returns `path` with a suffix, for a file in the same folder.
pub(crate) fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Identity of a file: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
}

/// A file system: the real one or a simulated one.
pub trait Disk: Debug + Send + Sync {
    /// Opens an existing file for reading, and also for writing if `writable` is set.
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading and writing, and creates an empty one if it does not exist.
    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Tries to acquire the writer's lock on an existing file, through a separate handle.
    fn try_lock(&self, path: &Path) -> io::Result<LockAttempt>;

    /// Returns the identity of the file that `path` names now; `None` if there is none.
    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>>;

    /// Renames atomically and replaces an existing file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Creates a hard link; fails with `AlreadyExists` if `to` exists.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames to a name that must be free; fails with `AlreadyExists` if `to` exists. Where this
    /// is two steps, a crash between them leaves both names.
    fn move_to_free(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.link(from, to)?;
        self.remove(from)
    }

    /// Creates `to`, which must not exist, as a copy-on-write clone of `from`. Returns `false` and
    /// creates nothing if the file system does not support clones.
    fn clone_file(&self, _from: &Path, _to: &Path) -> io::Result<bool> {
        Ok(false)
    }

    /// Creates the parent folder of `path` if it is missing, accessible to its owner only.
    fn create_parent_folder(&self, path: &Path) -> io::Result<()>;

    /// Removes a file; succeeds if it does not exist.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Syncs the parent folder of `path`, which makes creations, renames and removals durable.
    fn sync_parent_folder(&self, path: &Path) -> io::Result<()>;
}

pub trait DiskFile: Debug + Send + Sync {
    fn size(&self) -> io::Result<u64>;

    /// Fills `out` from `offset`; fails with `UnexpectedEof` if the file ends earlier.
    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`.
    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the file to `size` bytes, or extends it with zeros.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Waits until content and size are on stable storage.
    fn sync(&self) -> io::Result<()>;

    fn identity(&self) -> io::Result<FileIdentity>;

    /// Returns the number of hard links; 0 once the file is removed.
    fn link_count(&self) -> io::Result<u64>;
}

/// Reads `size` bytes from `offset`; returns `None` if they extend beyond `end`.
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

/// Reads a range of a file piece by piece, with the offset of each, until `visit` returns `false`.
pub(crate) fn read_pieces(
    file: &dyn DiskFile,
    range: Range<u64>,
    mut visit: impl FnMut(u64, &[u8]) -> io::Result<bool>,
) -> io::Result<()> {
    const PIECE: u64 = 1 << 20;
    let size = range.end.saturating_sub(range.start);
    let mut bytes = vec![0; size.min(PIECE) as usize];
    for at in range.clone().step_by(PIECE as usize) {
        let piece = &mut bytes[..(range.end - at).min(PIECE) as usize];
        file.read_exact_at(at, piece)?;
        if !visit(at, piece)? {
            break;
        }
    }
    Ok(())
}

/// Result of trying to acquire the lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// This process holds the lock until the value is dropped.
    Held(Box<dyn DiskLock>),
    /// Another writer holds the lock; names the process if the system reports it.
    Refused(Option<String>),
}

impl LockAttempt {
    /// Returns the lock on a file that no one else should use; fails if another process holds it.
    pub(crate) fn into_lock(self) -> io::Result<Box<dyn DiskLock>> {
        match self {
            Self::Held(lock) => Ok(lock),
            Self::Refused(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// The writer's lock, which is released when it is dropped.
pub trait DiskLock: Debug + Send + Sync {
    /// Returns the identity of the locked file, which its path may no longer name.
    fn identity(&self) -> io::Result<FileIdentity>;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

#[derive(Debug)]
struct RealFile(File);

#[derive(Debug)]
struct RealLock(File);

impl Disk for RealDisk {
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>> {
        let access = if writable {
            OpenMode::Write
        } else {
            OpenMode::Read
        };
        Ok(Arc::new(RealFile(open_file(path, access)?)))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        // Private to its owner whatever the umask is, because it contains what a person's agents
        // did.
        Ok(Arc::new(RealFile(open_file(path, OpenMode::Create)?)))
    }

    fn try_lock(&self, path: &Path) -> io::Result<LockAttempt> {
        let file = open_file(path, OpenMode::Write)?;
        match file.file().try_lock() {
            Ok(()) => Ok(LockAttempt::Held(Box::new(RealLock(file)))),
            Err(TryLockError::WouldBlock) => Ok(LockAttempt::Refused(find_lock_holder(
                file.metadata()?.ino(),
            ))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        match fs_err::metadata(path) {
            Ok(metadata) => Ok(Some(identity_of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs_err::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs_err::hard_link(from, to)
    }

    fn move_to_free(&self, from: &Path, to: &Path) -> io::Result<()> {
        if move_path_to_free(from, to)? {
            return Ok(());
        }
        // Not every file system can do it in one step.
        self.link(from, to)?;
        self.remove(from)
    }

    fn clone_file(&self, from: &Path, to: &Path) -> io::Result<bool> {
        Ok(clone_path(from, to)?)
    }

    fn create_parent_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(parent_folder(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs_err::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn sync_parent_folder(&self, path: &Path) -> io::Result<()> {
        File::open(parent_folder(path))?.sync_all()
    }
}

/// Opens a regular file; refuses a link if the file is opened for writing.
fn open_file(path: &Path, access: OpenMode) -> io::Result<File> {
    Ok(File::from_parts(open_path(path, access)?, path))
}

fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

impl DiskFile for RealFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.file().read_exact_at(out, offset)
    }

    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.file().write_all_at(bytes, offset)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.set_len(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity_of(&self.0.metadata()?))
    }

    fn link_count(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.nlink())
    }
}

impl DiskLock for RealLock {
    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity_of(&self.0.metadata()?))
    }
}

fn identity_of(metadata: &Metadata) -> FileIdentity {
    FileIdentity {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

/// Finds the process that holds the lock, as Linux lists it in `/proc/locks`: `1: FLOCK ADVISORY
/// WRITE 1234 fd:01:5678 0 EOF`.
fn find_lock_holder(inode: u64) -> Option<String> {
    let inode = format!(":{inode}");
    let locks = fs_err::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1).filter(|word| *word != "->");
        let (kind, _, _) = (words.next()?, words.next()?, words.next()?);
        let (pid, place) = (words.next()?, words.next()?);
        (kind == "FLOCK" && place.ends_with(&inode)).then(|| format!("process {pid}"))
    })
}
