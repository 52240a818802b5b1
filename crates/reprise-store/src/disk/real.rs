//! The operating system's files, through `fs_err` so that every error names its path.

use std::fs::{Metadata, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use std::os::unix::fs::DirBuilderExt;

use fs_err::File;
use reprise_files::{Access, clone_path, open_path};

use super::{Disk, DiskFile, DiskLock, FileIdentity, LockAttempt};

#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

#[derive(Debug)]
struct RealFile(File);

#[derive(Debug)]
struct RealLock(File);

impl Disk for RealDisk {
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>> {
        let access = if writable {
            Access::Write
        } else {
            Access::Read
        };
        Ok(Arc::new(RealFile(opened(path, access)?)))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        // Private to its owner whatever the umask: it holds what a person's agents did.
        Ok(Arc::new(RealFile(opened(path, Access::Make)?)))
    }

    fn lock(&self, path: &Path) -> io::Result<LockAttempt> {
        let file = opened(path, Access::Write)?;
        match file.file().try_lock() {
            Ok(()) => Ok(LockAttempt::Held(Box::new(RealLock(file)))),
            Err(TryLockError::WouldBlock) => {
                Ok(LockAttempt::Refused(lock_holder(file.metadata()?.ino())))
            }
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

    fn clone_file(&self, from: &Path, to: &Path) -> io::Result<bool> {
        Ok(clone_path(from, to)?)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder_of(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs_err::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(folder_of(path))?.sync_all()
    }
}

/// A regular file; one that is written to is no link to a file elsewhere.
fn opened(path: &Path, access: Access) -> io::Result<File> {
    Ok(File::from_parts(open_path(path, access)?, path))
}

fn folder_of(path: &Path) -> &Path {
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

    fn links(&self) -> io::Result<u64> {
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

/// The process that holds the lock, as Linux lists it in `/proc/locks`:
/// `1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF`.
fn lock_holder(inode: u64) -> Option<String> {
    let inode = format!(":{inode}");
    let locks = fs_err::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1).filter(|word| *word != "->");
        let (kind, _, _) = (words.next()?, words.next()?, words.next()?);
        let (pid, place) = (words.next()?, words.next()?);
        (kind == "FLOCK" && place.ends_with(&inode)).then(|| format!("process {pid}"))
    })
}
