//! The real disk, with a test that hears of each call before it is made.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use reprise_store::{Disk, DiskFile, FileIdentity, LockAttempt, RealDisk};

/// What is about to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Open,
    Read,
    Write,
    Sync,
}

/// The real disk; what it was made with is called before a file is opened, read, written or synced.
#[derive(Clone)]
pub struct HeardDisk(Arc<dyn Fn(Heard) + Send + Sync>);

struct HeardFile(Arc<dyn DiskFile>, HeardDisk);

impl HeardDisk {
    pub fn new(before: impl Fn(Heard) + Send + Sync + 'static) -> Self {
        Self(Arc::new(before))
    }

    fn opened(&self, file: io::Result<Arc<dyn DiskFile>>) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(HeardFile(file?, self.clone())))
    }
}

impl fmt::Debug for HeardDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeardDisk")
    }
}

impl fmt::Debug for HeardFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Disk for HeardDisk {
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>> {
        (self.0)(Heard::Open);
        self.opened(RealDisk.open(path, writable))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        (self.0)(Heard::Open);
        self.opened(RealDisk.open_or_create(path))
    }

    fn lock(&self, path: &Path) -> io::Result<LockAttempt> {
        RealDisk.lock(path)
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        RealDisk.identity(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.link(from, to)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.make_folder(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_dir(path)
    }
}

impl DiskFile for HeardFile {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        (self.1.0)(Heard::Read);
        self.0.read_exact_at(offset, out)
    }

    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        (self.1.0)(Heard::Write);
        self.0.write_all_at(offset, bytes)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.set_size(size)
    }

    fn sync(&self) -> io::Result<()> {
        (self.1.0)(Heard::Sync);
        self.0.sync()
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.0.identity()
    }

    fn links(&self) -> io::Result<u64> {
        self.0.links()
    }
}
