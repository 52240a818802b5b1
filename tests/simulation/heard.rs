//! The real disk, with a test that is notified of each call before it is made.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use reprise_store::{Disk, DiskFile, FileIdentity, LockAttempt, RealDisk};

/// A disk call that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskCall {
    Open,
    Read,
    Write,
    Sync,
}

/// The real disk, which calls a function before a file is opened, read, written or synced.
#[derive(Clone)]
pub struct ObservedDisk(Arc<dyn Fn(DiskCall) + Send + Sync>);

struct ObservedFile(Arc<dyn DiskFile>, ObservedDisk);

impl ObservedDisk {
    pub fn new(before: impl Fn(DiskCall) + Send + Sync + 'static) -> Self {
        Self(Arc::new(before))
    }

    fn wrap_file(&self, file: io::Result<Arc<dyn DiskFile>>) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(ObservedFile(file?, self.clone())))
    }
}

impl fmt::Debug for ObservedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeardDisk")
    }
}

impl fmt::Debug for ObservedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Disk for ObservedDisk {
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>> {
        (self.0)(DiskCall::Open);
        self.wrap_file(RealDisk.open(path, writable))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        (self.0)(DiskCall::Open);
        self.wrap_file(RealDisk.open_or_create(path))
    }

    fn try_lock(&self, path: &Path) -> io::Result<LockAttempt> {
        RealDisk.try_lock(path)
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

    fn create_parent_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_parent_folder(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_parent_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_parent_folder(path)
    }
}

impl DiskFile for ObservedFile {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        (self.1.0)(DiskCall::Read);
        self.0.read_exact_at(offset, out)
    }

    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        (self.1.0)(DiskCall::Write);
        self.0.write_all_at(offset, bytes)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.set_size(size)
    }

    fn sync(&self) -> io::Result<()> {
        (self.1.0)(DiskCall::Sync);
        self.0.sync()
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.0.identity()
    }

    fn link_count(&self) -> io::Result<u64> {
        self.0.link_count()
    }
}
