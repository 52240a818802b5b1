//! The writer's handle: append, checkpoint, and the state that readers get snapshots of.

mod open;
mod place;
mod validate;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use chrono::DateTime;
use reprise_types::EmbeddingSpace;

use crate::checkpoint::{self, Sealed};
use crate::codec::{Encoded, encode, encode_apart};
use crate::commit::{self, CommitHead, FileFacts};
use crate::compress::Compressor;
use crate::directory::Directory;
use crate::disk::{Disk, DiskFile, DiskLock};
use crate::entry::{Commit, CommitSeq, Entry};
use crate::error::{Displacement, Result, StoreError};
use crate::frame::is_derived;
use crate::options::{DerivedSet, LogStats, RecoveryReport};
use crate::reader::{LogReader, ReadTools, Snapshot};

use validate::{COMMIT_BYTES_MAX, COMMIT_ENTRIES_MAX, Checks, PART_BYTES_MAX, too_large};

pub(crate) use open::{SUFFIX_COMPACT, beside};

/// An open log and the result of its recovery.
#[derive(Debug)]
pub struct Opened {
    pub log: Log,
    /// The derived blobs of the newest checkpoint; `None` where one of them is damaged.
    pub derived: Option<DerivedSet>,
    pub report: RecoveryReport,
}

/// An open log: one writer, any number of readers. Dropping it releases the lock without writing a
/// checkpoint; for a fast next open call [`Log::checkpoint`] first.
#[derive(Debug)]
pub struct Log {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) path: PathBuf,
    pub(crate) facts: FileFacts,
    pub(crate) file: Arc<dyn DiskFile>,
    /// `None` where opened read-only.
    pub(crate) lock: Option<Box<dyn DiskLock>>,
    pub(crate) directory: Directory,
    /// File offset of the next segment.
    pub(crate) end: u64,
    /// How much before it belongs to a checkpoint that has no seal yet: readers and compactions do
    /// without.
    pub(crate) unsealed: u64,
    /// The newest checkpoint.
    pub(crate) checkpoint: Option<Sealed>,
    /// The error of the last write, if it failed; its bytes are cut off before the next write.
    pub(crate) poisoned: Option<String>,
    /// Set once another file was found in this one's place: nothing more is written.
    pub(crate) displaced: Option<Displacement>,
    pub(crate) compressor: Compressor,
    pub(crate) tools: Arc<ReadTools>,
    /// The turn of a compaction under way.
    pub(crate) compacting: Weak<()>,
}

/// Where to cut instead, where a cut at `taken` would part a record from what follows it.
fn parted_at(entries: &[Entry], taken: usize) -> Option<usize> {
    let is_record = |entry: &Entry| matches!(entry, Entry::Record(_));
    let parted = entries.get(taken).is_some_and(|next| !is_record(next));
    let last = entries[..taken].iter().rposition(is_record);
    last.filter(|last| parted && *last > 0)
}

impl Log {
    /// Writes entries as one commit: one write, one sync, all or nothing. After `Ok` they are on
    /// stable storage. Records take the next ordinals in order. No entries: nothing is written.
    ///
    /// Where the disk fails nothing was appended, reading goes on, and the next write cuts off what
    /// the failed one left.
    pub fn append(&mut self, entries: &[Entry]) -> Result<Commit> {
        let staged = self.stage(entries, COMMIT_BYTES_MAX)?;
        if staged.taken < entries.len() {
            return Err(too_large(entries, self.facts.dimensions));
        }
        self.commit(staged)
    }

    /// Makes the file at `path`, where there is none, a copy-on-write clone of this one; `false`
    /// where the file system cannot.
    pub fn clone_to(&self, path: &Path) -> Result<bool> {
        let cloned = self.disk.make_folder(path).and_then(|()| {
            let cloned = self.disk.clone_file(&self.path, path)?;
            self.disk.sync_dir(path)?;
            Ok(cloned)
        });
        cloned.map_err(StoreError::io("clone to", path))
    }

    /// Writes as many of the entries, from the first on, as fit one commit, and returns how many.
    /// The caller passes the rest again. A record is not parted from what follows it up to the next
    /// one.
    pub fn append_part(&mut self, entries: &[Entry]) -> Result<(Commit, usize)> {
        let mut staged = self.stage(entries, PART_BYTES_MAX)?;
        if let Some(whole) = parted_at(entries, staged.taken) {
            staged = self.stage(&entries[..whole], PART_BYTES_MAX)?;
        }
        let taken = staged.taken;
        Ok((self.commit(staged)?, taken))
    }

    /// Checks and encodes entries until `bytes_max` are reached or one commit has enough of them.
    fn stage(&mut self, entries: &[Entry], bytes_max: usize) -> Result<Staged> {
        self.make_ready()?;
        let mut checks = Checks::new(&self.directory);
        let mut staged = Staged::default();
        let mut next = self.records();
        for (index, entry) in entries.iter().take(COMMIT_ENTRIES_MAX).enumerate() {
            checks.check(index, entry)?;
            if let Some(one) = encode(entry, next, self.facts.dimensions) {
                let apart = encode_apart(entry, next, self.facts.dimensions);
                let bytes = staged.bytes + one.size() + apart.as_ref().map_or(0, Encoded::size);
                if bytes > bytes_max && index > 0 {
                    break;
                }
                if bytes > COMMIT_BYTES_MAX {
                    return Err(too_large(&entries[..1], self.facts.dimensions));
                }
                next += u32::from(one.raw.takes_ordinal());
                staged.bytes = bytes;
                staged.encoded.push(one);
                staged.encoded.extend(apart);
            }
            staged.taken = index + 1;
        }
        Ok(staged)
    }

    /// Writes and syncs checked entries, then applies them to the directory.
    fn commit(&mut self, staged: Staged) -> Result<Commit> {
        let encoded = staged.encoded;
        let first_ordinal = self.records();
        if encoded.is_empty() {
            let seq = self.seq();
            return Ok(Commit { seq, first_ordinal });
        }
        self.check_place_of_commit()?;
        let ordinals = encoded.iter().filter(|e| e.raw.takes_ordinal()).count();
        let head = CommitHead {
            seq: self.directory.seq + 1,
            packed: false,
            previous: self.directory.last_commit,
            seal: self.directory.seal,
            first_ordinal,
            ordinals: ordinals as u32,
            ..CommitHead::default()
        };
        let built = commit::build(head, &self.facts, self.end, encoded, &mut self.compressor)
            .map_err(StoreError::io("compress a commit for", &self.path))?;
        let written = self.file.write_all_at(self.end, &built.bytes);
        let written = written.and_then(|()| self.file.sync());
        written.map_err(|source| self.poison("write to", source))?;
        // A commit is acknowledged only if the path still names the file it went to.
        if let Err(error) = self.check_place_of_commit() {
            self.take_back();
            return Err(error);
        }
        self.end += built.bytes.len() as u64;
        self.unsealed = 0;
        self.directory.take(&self.facts, built);
        let seq = self.seq();
        Ok(Commit { seq, first_ordinal })
    }

    pub fn seq(&self) -> CommitSeq {
        CommitSeq(self.directory.seq)
    }

    /// Count of ordinals; the next record gets this one.
    pub fn records(&self) -> u32 {
        self.directory.records()
    }

    /// Numbers of the vectors that rvf-runtime reads, too; those of other spaces may have more or
    /// fewer.
    pub fn dimensions(&self) -> u16 {
        self.facts.dimensions
    }

    /// The space of the vectors in the file; of several, the newest.
    pub fn space(&self) -> Option<EmbeddingSpace> {
        self.directory.spaces.last().cloned()
    }

    /// The `seq` of the stream's last [`Entry::Cursor`].
    pub fn cursor(&self, stream: &str) -> Option<u64> {
        self.directory.cursors.get(stream).copied()
    }

    /// A snapshot as of the last commit, for any thread; costs a few words however long the log is.
    pub fn reader(&self) -> LogReader {
        let snapshot = Arc::new(Snapshot {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
            facts: self.facts,
            seq: self.directory.seq,
            end: self.end - self.unsealed,
            slots: self.directory.slots.clone(),
            tombstones: self.directory.tombstones.clone(),
            spaces: Arc::clone(&self.directory.spaces),
            tools: Arc::clone(&self.tools),
        });
        LogReader { snapshot }
    }

    /// Writes the directory, the caller's derived blobs (tags 0x41 to 0x47, 0x4b, 0x4c) as of the
    /// last commit, and rvf-runtime's manifest; the file then opens fast, and in stock rvf-runtime.
    pub fn checkpoint(&mut self, derived: &[(u8, Vec<u8>)]) -> Result<()> {
        self.make_ready()?;
        self.check_place()?;
        check_tags(derived)?;
        let mut directory = self.directory.clone();
        let written =
            checkpoint::write(&*self.file, &self.facts, &mut directory, self.end, derived);
        let end = written.map_err(|source| self.poison("write a checkpoint to", source))?;
        self.take_checkpoint(directory, end);
        Ok(())
    }

    /// Takes over a checkpoint that was written: the directory that names its seal, and its end.
    pub(crate) fn take_checkpoint(&mut self, directory: Directory, end: u64) {
        self.end = end;
        self.unsealed = 0;
        self.checkpoint = Some(Sealed::of(&directory, end));
        self.directory = directory;
    }

    /// Writes rvf-runtime's manifest alone, where none covers the last commit: the file opens
    /// there, and here as fast as what stands behind its newest checkpoint allows.
    pub fn write_manifest(&mut self) -> Result<()> {
        if self.directory.shown == self.directory.seq {
            return Ok(());
        }
        self.make_ready()?;
        self.check_place()?;
        let bytes = checkpoint::manifest_alone(&self.facts, &self.directory, self.end);
        let written = self.file.write_all_at(self.end, &bytes);
        let written = written.and_then(|()| self.file.sync());
        written.map_err(|source| self.poison("write a manifest to", source))?;
        self.end += bytes.len() as u64;
        self.unsealed = 0;
        self.directory.showed(bytes.len() as u64);
        Ok(())
    }

    pub fn stats(&self) -> LogStats {
        let directory = &self.directory;
        LogStats {
            file_bytes: self.end,
            records: directory.records(),
            forgotten: directory.forgotten,
            lost: directory.lost,
            commits: directory.seq,
            bytes_reclaimable: directory.reclaimable(),
            compacted_to: directory.horizon,
            created_at: DateTime::from_timestamp_millis(self.facts.created_ms).unwrap_or_default(),
        }
    }

    /// The file's path as it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.lock.is_none()
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        let path = self.path.clone();
        match &self.displaced {
            Some(what) => {
                let what = what.clone();
                Err(StoreError::Displaced { path, what })
            }
            None if self.is_read_only() => Err(StoreError::ReadOnly { path }),
            None => Ok(()),
        }
    }

    /// The same, after bringing the file in order where an earlier write failed. Every commit that
    /// was acknowledged had a sync of its own that succeeded, so cutting off what came after the
    /// last of them, and syncing that, leaves what is known to be there and nothing else.
    pub(crate) fn make_ready(&mut self) -> Result<()> {
        self.check_writable()?;
        let path = self.path.clone();
        if self.file.size().map_err(StoreError::io("look at", &path))? < self.end {
            // A whole one may have been put in its place by now.
            self.check_place()?;
            let (offset, what) = (self.end, "it was cut from outside");
            return Err(StoreError::Damaged { path, offset, what });
        }
        let Some(cause) = &self.poisoned else {
            return Ok(());
        };
        let cut = self.file.set_size(self.end);
        let synced = cut.and_then(|()| self.file.sync());
        if synced.and_then(|()| self.disk.sync_dir(&path)).is_err() {
            let cause = cause.clone();
            return Err(StoreError::Poisoned { path, cause });
        }
        tracing::info!(path = %path.display(), %cause, "recovered after a failed write");
        self.poisoned = None;
        Ok(())
    }

    fn take_back(&self) {
        if let Err(error) = self.file.set_size(self.end) {
            tracing::warn!(path = %self.path.display(), %error, "cannot cut off a failed write");
        }
    }

    /// Records a failed write and cuts its bytes off where the disk permits; otherwise recovery
    /// finds them torn, or whole but never acknowledged.
    pub(crate) fn poison(&mut self, action: &'static str, cause: io::Error) -> StoreError {
        self.poisoned = Some(cause.to_string());
        self.take_back();
        StoreError::Io {
            action,
            path: self.path.clone(),
            cause,
        }
    }
}

/// The entries of one commit, checked and encoded.
#[derive(Default)]
struct Staged {
    encoded: Vec<Encoded>,
    bytes: usize,
    /// How many entries of the caller's list it covers.
    taken: usize,
}

pub(crate) fn check_tags(derived: &[(u8, Vec<u8>)]) -> Result<()> {
    let mut seen = Vec::new();
    for (index, (tag, _)) in derived.iter().enumerate() {
        if !is_derived(*tag) || seen.contains(tag) {
            let why =
                format!("derived tag {tag:#x} is outside 0x41..=0x47, 0x4b, 0x4c or there twice");
            return Err(StoreError::BadEntry { index, why });
        }
        seen.push(*tag);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
