//! A simulated disk in memory with injected faults.
//!
//! Faults it may inject, and why each is what a real machine does:
//! - power loss at any sync: that sync and every later operation fail, as if the process were gone;
//! - after a power loss, any prefix of what was not synced, torn at any byte: a write cache that
//!   was flushed in order and stopped in the middle;
//! - or any subset of the 512-byte sectors not synced: a drive that reorders, so that a later
//!   sector is there and an earlier one is not;
//! - names not synced (created, renamed, removed) as they were before or after: the folder is a
//!   file of its own, with its own sync;
//! - the n-th write fails after half of its bytes, or the n-th sync fails: full or failing disk;
//! - every write fails after half of its bytes until there is room again: a disk that stays full;
//! - reads of a range of a file fail, some times or always: a sector that cannot be read;
//! - the n-th look at a name fails, or the next cuts do: a folder or disk that fails for a moment;
//! - a name removed, or changed to another file, while a process has the old file open;
//! - a changed bit or a cut file: rot.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reprise_store::{Disk, DiskFile, DiskLock, FileIdentity, LockAttempt};

const SECTOR: u64 = 512;

/// Which unsynced operations survive a power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The first so many bytes written; renames and cuts count as one byte each.
    Prefix(u64),
    /// Each sector, cut and rename with probability one half, by this seed.
    Scattered(u64),
}

/// The simulated disk; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Clone, Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    pending: Vec<PendingOperation>,
    syncs: u64,
    writes: u64,
    power_cut_at_sync: Option<u64>,
    failing_write: Option<(u64, io::ErrorKind)>,
    failing_sync: Option<(u64, io::ErrorKind)>,
    removal_at_sync: Option<(u64, PathBuf)>,
    looks: u64,
    failing_look: Option<u64>,
    failing_cuts: u64,
    full: bool,
    power_off: bool,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    locked: bool,
    failing_reads: Vec<FailingReads>,
}

/// A range of which reads fail, and how many of them.
type FailingReads = (Range<u64>, u64);

#[derive(Debug, Clone)]
enum PendingOperation {
    Write(usize, u64, Vec<u8>),
    Resize(usize, u64),
    Name(PathBuf, Option<usize>),
}

fn write_into(image: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let end = offset as usize + bytes.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset as usize..end].copy_from_slice(bytes);
}

/// The next number of a xorshift sequence, enough to scatter sectors.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

impl State {
    fn check_power(&self) -> io::Result<()> {
        if self.power_off {
            return Err(io::Error::other("the power is off"));
        }
        Ok(())
    }

    /// Counts a sync; fails if it is the one set to fail.
    fn count_sync(&mut self) -> io::Result<()> {
        self.check_power()?;
        let number = self.syncs;
        self.syncs += 1;
        if self.power_cut_at_sync == Some(number) {
            self.power_off = true;
        }
        if let Some((at, path)) = &self.removal_at_sync
            && *at == number
        {
            self.names.remove(path);
            self.durable_names.remove(path);
        }
        self.check_power()?;
        match self.failing_sync {
            Some((at, kind)) if at == number => Err(kind.into()),
            _ => Ok(()),
        }
    }

    fn lookup(&self, path: &Path) -> io::Result<usize> {
        self.check_power()?;
        let inode = self.names.get(path).copied();
        inode.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn apply(&mut self, operation: &PendingOperation) {
        match operation {
            PendingOperation::Write(inode, offset, bytes) => {
                write_into(&mut self.inodes[*inode].durable, *offset, bytes);
            }
            PendingOperation::Resize(inode, size) => {
                self.inodes[*inode].durable.resize(*size as usize, 0);
            }
            PendingOperation::Name(path, Some(inode)) => {
                self.durable_names.insert(path.clone(), *inode);
            }
            PendingOperation::Name(path, None) => {
                self.durable_names.remove(path);
            }
        }
    }

    fn make_durable(&mut self, is_durable: impl Fn(&PendingOperation) -> bool) {
        let pending = std::mem::take(&mut self.pending);
        for operation in pending {
            if is_durable(&operation) {
                self.apply(&operation);
            } else {
                self.pending.push(operation);
            }
        }
    }
}

impl SimDisk {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs so far, of files and of folders.
    pub fn sync_count(&self) -> u64 {
        self.state().syncs
    }

    pub fn write_count(&self) -> u64 {
        self.state().writes
    }

    /// Cuts the power at sync number `sync` (from 0, counted since the disk was made).
    pub fn cut_power_at_sync(&self, sync: u64) {
        self.state().power_cut_at_sync = Some(sync);
    }

    /// Fails write number `write` (from 0) after half of its bytes.
    pub fn fail_write(&self, write: u64, kind: io::ErrorKind) {
        self.state().failing_write = Some((write, kind));
    }

    /// Fills the disk or frees it: while full, every write fails after half of its bytes.
    pub fn set_full(&self, full: bool) {
        self.state().full = full;
    }

    /// Fails sync number `sync` (from 0); its data may or may not survive a later power loss.
    pub fn fail_sync(&self, sync: u64, kind: io::ErrorKind) {
        self.state().failing_sync = Some((sync, kind));
    }

    /// Looks so far at what file a name is of.
    pub fn look_count(&self) -> u64 {
        self.state().looks
    }

    /// Fails look number `look` (from 0).
    pub fn fail_look(&self, look: u64) {
        self.state().failing_look = Some(look);
    }

    /// Fails the next `times` changes of a file's size.
    pub fn fail_cuts(&self, times: u64) {
        self.state().failing_cuts = times;
    }

    /// Fails the next `times` reads of the file at `path` that touch `range`.
    pub fn fail_reads(&self, path: &Path, range: Range<u64>, times: u64) {
        let mut state = self.state();
        if let Some(inode) = state.names.get(path).copied() {
            state.inodes[inode].failing_reads.push((range, times));
        }
    }

    /// Makes every sector readable again.
    pub fn heal_reads(&self) {
        for inode in &mut self.state().inodes {
            inode.failing_reads.clear();
        }
    }

    /// Removes `path`, as another process would, during sync number `sync` (from 0).
    pub fn remove_at_sync(&self, sync: u64, path: &Path) {
        self.state().removal_at_sync = Some((sync, path.to_path_buf()));
    }

    /// Unsynced bytes, truncations and renames: the upper bound of [`Crash::Prefix`].
    pub fn pending_bytes(&self) -> u64 {
        let state = self.state();
        let size = |operation: &PendingOperation| match operation {
            PendingOperation::Write(_, _, bytes) => bytes.len() as u64,
            PendingOperation::Resize(..) | PendingOperation::Name(..) => 1,
        };
        state.pending.iter().map(size).sum()
    }

    /// The disk as a machine finds it after a power loss now. This one stays as it is.
    #[must_use]
    pub fn crash(&self, crash: Crash) -> Self {
        let mut state = self.state().clone();
        let pending = std::mem::take(&mut state.pending);
        match crash {
            Crash::Prefix(bytes) => {
                let mut left = bytes;
                for operation in pending {
                    if left == 0 {
                        break;
                    }
                    if let PendingOperation::Write(inode, offset, bytes) = &operation {
                        let part = left.min(bytes.len() as u64);
                        left -= part;
                        let torn = bytes[..part as usize].to_vec();
                        state.apply(&PendingOperation::Write(*inode, *offset, torn));
                    } else {
                        left -= 1;
                        state.apply(&operation);
                    }
                }
            }
            Crash::Scattered(seed) => {
                let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                for operation in pending {
                    apply_scattered(&mut state, &operation, &mut random);
                }
            }
        }
        Self::after_restart(state)
    }

    /// The disk after the process died but the machine did not: everything written is there.
    #[must_use]
    pub fn crash_process(&self) -> Self {
        let mut state = self.state().clone();
        state.make_durable(|_| true);
        Self::after_restart(state)
    }

    fn after_restart(mut state: State) -> Self {
        for inode in &mut state.inodes {
            inode.live.clone_from(&inode.durable);
            inode.locked = false;
            inode.failing_reads.clear();
        }
        Self {
            state: Arc::new(Mutex::new(State {
                names: state.durable_names.clone(),
                durable_names: state.durable_names,
                inodes: state.inodes,
                ..State::default()
            })),
        }
    }

    pub fn file_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = *state.names.get(path)?;
        Some(state.inodes[inode].live.clone())
    }

    pub fn file_names(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }

    /// Creates a file, durably.
    pub fn create_file(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.state();
        state.inodes.push(Inode {
            live: bytes.clone(),
            durable: bytes,
            ..Inode::default()
        });
        let inode = state.inodes.len() - 1;
        state.names.insert(path.to_path_buf(), inode);
        state.durable_names.insert(path.to_path_buf(), inode);
    }

    fn open_file(&self, inode: usize, writable: bool) -> Arc<dyn DiskFile> {
        Arc::new(SimFile {
            disk: self.clone(),
            inode,
            writable,
        })
    }
}

fn apply_scattered(state: &mut State, operation: &PendingOperation, random: &mut u64) {
    let PendingOperation::Write(inode, offset, bytes) = operation else {
        if next_random(random).is_multiple_of(2) {
            state.apply(operation);
        }
        return;
    };
    let mut from = 0u64;
    while from < bytes.len() as u64 {
        let at = offset + from;
        let to = (from + SECTOR - at % SECTOR).min(bytes.len() as u64);
        if next_random(random) & 0x100 != 0 {
            let sector = bytes[from as usize..to as usize].to_vec();
            state.apply(&PendingOperation::Write(*inode, at, sector));
        }
        from = to;
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>> {
        let inode = self.state().lookup(path)?;
        Ok(self.open_file(inode, writable))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        let inode = match state.lookup(path) {
            Ok(inode) => inode,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                state.inodes.push(Inode::default());
                let inode = state.inodes.len() - 1;
                state.names.insert(path.to_path_buf(), inode);
                state
                    .pending
                    .push(PendingOperation::Name(path.to_path_buf(), Some(inode)));
                inode
            }
            Err(error) => return Err(error),
        };
        drop(state);
        Ok(self.open_file(inode, true))
    }

    fn try_lock(&self, path: &Path) -> io::Result<LockAttempt> {
        let mut state = self.state();
        let inode = state.lookup(path)?;
        if state.inodes[inode].locked {
            return Ok(LockAttempt::Refused(None));
        }
        state.inodes[inode].locked = true;
        let disk = self.clone();
        Ok(LockAttempt::Held(Box::new(SimLock { disk, inode })))
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        let mut state = self.state();
        state.looks += 1;
        if state.failing_look == Some(state.looks - 1) {
            return Err(io::Error::other("the folder cannot be read"));
        }
        match state.lookup(path) {
            Ok(inode) => Ok(Some(identity(inode))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let inode = state.lookup(from)?;
        // POSIX: renaming one hard link over another of the same file does nothing.
        if state.names.get(to) == Some(&inode) {
            return Ok(());
        }
        state.names.remove(from);
        state.names.insert(to.to_path_buf(), inode);
        // The new name becomes durable before the old one goes: a crash in between leaves both,
        // never neither.
        state
            .pending
            .push(PendingOperation::Name(to.to_path_buf(), Some(inode)));
        state
            .pending
            .push(PendingOperation::Name(from.to_path_buf(), None));
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let inode = state.lookup(from)?;
        if state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.names.insert(to.to_path_buf(), inode);
        state
            .pending
            .push(PendingOperation::Name(to.to_path_buf(), Some(inode)));
        Ok(())
    }

    fn clone_file(&self, from: &Path, to: &Path) -> io::Result<bool> {
        let bytes = {
            let state = self.state();
            if state.names.contains_key(to) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let inode = state.lookup(from)?;
            state.inodes[inode].live.clone()
        };
        let clone = self.open_or_create(to)?;
        clone.write_all_at(0, &bytes)?;
        clone.sync()?;
        Ok(true)
    }

    fn create_parent_folder(&self, _path: &Path) -> io::Result<()> {
        self.state().check_power()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.check_power()?;
        if state.names.remove(path).is_some() {
            state
                .pending
                .push(PendingOperation::Name(path.to_path_buf(), None));
        }
        Ok(())
    }

    fn sync_parent_folder(&self, _path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.count_sync()?;
        state.make_durable(|operation| matches!(operation, PendingOperation::Name(..)));
        Ok(())
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    inode: usize,
    writable: bool,
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    inode: usize,
}

fn identity(inode: usize) -> FileIdentity {
    FileIdentity {
        device: 0,
        inode: inode as u64,
    }
}

impl SimFile {
    fn check_writable(&self, state: &State) -> io::Result<()> {
        state.check_power()?;
        if self.writable {
            Ok(())
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

impl DiskFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        let state = self.disk.state();
        state.check_power()?;
        Ok(state.inodes[self.inode].live.len() as u64)
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        state.check_power()?;
        let Inode {
            live: image,
            failing_reads,
            ..
        } = &mut state.inodes[self.inode];
        let end = offset.checked_add(out.len() as u64);
        let range = end.filter(|end| *end <= image.len() as u64);
        let end = range.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut hits = failing_reads.iter_mut();
        let hit = hits.find(|(range, left)| *left > 0 && range.start < end && offset < range.end);
        if let Some((_, left)) = hit {
            *left -= 1;
            return Err(io::Error::other("a sector cannot be read"));
        }
        out.copy_from_slice(&image[offset as usize..end as usize]);
        Ok(())
    }

    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        self.check_writable(&state)?;
        let number = state.writes;
        state.writes += 1;
        let failure = state.failing_write.filter(|(at, _)| *at == number);
        let full = state.full.then_some((number, io::ErrorKind::StorageFull));
        let failure = failure.or(full);
        let written = if failure.is_some() {
            &bytes[..bytes.len() / 2]
        } else {
            bytes
        };
        write_into(&mut state.inodes[self.inode].live, offset, written);
        let operation = PendingOperation::Write(self.inode, offset, written.to_vec());
        state.pending.push(operation);
        match failure {
            Some((_, kind)) => Err(kind.into()),
            None => Ok(()),
        }
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        self.check_writable(&state)?;
        if state.failing_cuts > 0 {
            state.failing_cuts -= 1;
            return Err(io::Error::other("the file cannot be cut"));
        }
        state.inodes[self.inode].live.resize(size as usize, 0);
        state
            .pending
            .push(PendingOperation::Resize(self.inode, size));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        self.check_writable(&state)?;
        state.count_sync()?;
        let inode = self.inode;
        state.make_durable(|operation| match operation {
            PendingOperation::Write(of, ..) | PendingOperation::Resize(of, _) => *of == inode,
            PendingOperation::Name(..) => false,
        });
        Ok(())
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity(self.inode))
    }

    fn link_count(&self) -> io::Result<u64> {
        let state = self.disk.state();
        let names = state.names.values().filter(|inode| **inode == self.inode);
        Ok(names.count() as u64)
    }
}

impl DiskLock for SimLock {
    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity(self.inode))
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.state().inodes[self.inode].locked = false;
    }
}
