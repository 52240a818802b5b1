//! The writer's handle, which appends and writes checkpoints, and the state of which readers get
//! snapshots.

mod checkpoint;
mod displacement;
mod open;
mod torn_tail;
mod validate;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use chrono::DateTime;
use reprise_types::EmbeddingSpace;

use crate::block::COMMIT_BYTES_MAX;
use crate::codec::{EncodedEntry, encode_entry};
use crate::commit::{self, CommitHead, FileFacts};
use crate::compress::Compressor;
use crate::directory::LogDirectory;
use crate::disk::{Disk, DiskFile, DiskLock};
use crate::entry::{CommitReceipt, CommitSeq, StoreEntry};
use crate::error::{Displacement, StoreError, StoreResult};
use crate::options::{LogStats, RecoveryReport};
use crate::reader::{BlockCache, LogReader, LogSnapshot};

use validate::{COMMIT_ENTRIES_MAX, EntryChecks, PART_BYTES_MAX, too_large_error};

pub(crate) use checkpoint::Checkpoint;
pub(crate) use open::SUFFIX_COMPACT;
pub use torn_tail::SUFFIX_TORN;

/// An open log and the result of its recovery.
#[derive(Debug)]
pub struct OpenedLog {
    pub log: Log,
    pub report: RecoveryReport,
}

/// An open log, with one writer and any number of readers. Dropping it releases the lock without
/// writing anything; call [`Log::complete_checkpoint`] first to make the next open fast.
#[derive(Debug)]
pub struct Log {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) path: PathBuf,
    pub(crate) facts: FileFacts,
    pub(crate) file: Arc<dyn DiskFile>,
    /// `None` if the log is open read-only.
    pub(crate) lock: Option<Box<dyn DiskLock>>,
    pub(crate) directory: LogDirectory,
    /// File offset of the next segment.
    pub(crate) end: u64,
    pub(crate) checkpoint: Checkpoint,
    /// The error of the last write if it failed; the next write first cuts off its bytes.
    pub(crate) poisoned: Option<String>,
    /// Set once another file has replaced this one; nothing more is written then.
    pub(crate) displaced: Option<Displacement>,
    pub(crate) compressor: Compressor,
    pub(crate) block_cache: Arc<BlockCache>,
    /// The token of the running compaction.
    pub(crate) compacting: Weak<()>,
}

/// Finds the start of the last record before a split at `entry_count` that would separate the
/// record from the entries that belong to it.
fn find_split_before_record(entries: &[StoreEntry], entry_count: usize) -> Option<usize> {
    let is_record = |entry: &StoreEntry| matches!(entry, StoreEntry::Record(_));
    let is_separated = entries
        .get(entry_count)
        .is_some_and(|next| !is_record(next));
    let last = entries[..entry_count].iter().rposition(is_record);
    last.filter(|last| is_separated && *last > 0)
}

impl Log {
    /// Writes entries as one commit, with one write and one sync, all or nothing. After `Ok` they
    /// are on stable storage. Records get the next ordinals in order. Without entries nothing is
    /// written.
    ///
    /// If the disk fails, nothing was appended, reads still work, and the next write first cuts off
    /// the bytes of the failed one.
    pub fn append(&mut self, entries: &[StoreEntry]) -> StoreResult<CommitReceipt> {
        let (encoded, count) = self.encode_entries(entries, COMMIT_BYTES_MAX)?;
        if count < entries.len() {
            return Err(too_large_error(entries, self.facts.dimensions));
        }
        self.commit_encoded(encoded)
    }

    /// Creates a file at `path`, which must not exist, as a copy-on-write clone of this one.
    /// Returns `false` and creates nothing if the file system does not support clones, if something
    /// forgotten may still be in the file, or if another process wrote to it since it was read.
    pub fn clone_to(&self, path: &Path) -> StoreResult<bool> {
        if self.may_hold_forgotten()? {
            return Ok(false);
        }
        let cloned = self.disk.create_parent_folder(path).and_then(|()| {
            let mut cloned = self.disk.clone_file(&self.path, path)?;
            if cloned && !self.is_as_read(path)? {
                self.disk.remove(path)?;
                cloned = false;
            }
            self.disk.sync_parent_folder(path)?;
            Ok(cloned)
        });
        cloned.map_err(StoreError::io("clone to", path))
    }

    /// Whether a compaction has not yet removed everything forgotten, or the commits since the last
    /// one do not tell.
    fn may_hold_forgotten(&self) -> StoreResult<bool> {
        let LogDirectory {
            seq,
            horizon,
            forgotten,
            ..
        } = self.directory;
        if forgotten == 0 || horizon == 0 {
            return Ok(forgotten > 0);
        }
        let mut found = false;
        let since = self.replay(CommitSeq(horizon), &mut |_, entry| {
            found |= matches!(entry, StoreEntry::Forgotten { .. });
        })?;
        Ok(found || !since.damage.is_empty() || since.commits != seq - horizon)
    }

    /// Whether a clone that was made of the path has this file up to its last commit, and no more.
    fn is_as_read(&self, clone: &Path) -> io::Result<bool> {
        let is_same_file = self.disk.identity(&self.path)? == Some(self.file.identity()?);
        Ok(is_same_file && self.disk.open(clone, false)?.size()? == self.end)
    }

    /// Writes as many of the first entries as fit into one commit, and returns their count. The
    /// caller passes the rest again. A record is not separated from the entries between it and the
    /// next record.
    pub fn append_prefix(&mut self, entries: &[StoreEntry]) -> StoreResult<(CommitReceipt, usize)> {
        let (mut encoded, mut count) = self.encode_entries(entries, PART_BYTES_MAX)?;
        if let Some(whole) = find_split_before_record(entries, count) {
            (encoded, count) = self.encode_entries(&entries[..whole], PART_BYTES_MAX)?;
        }
        Ok((self.commit_encoded(encoded)?, count))
    }

    /// Checks and encodes the first entries, up to `bytes_max` bytes or the most entries of one
    /// commit, and returns how many of them that are.
    fn encode_entries(
        &mut self,
        entries: &[StoreEntry],
        bytes_max: usize,
    ) -> StoreResult<(Vec<EncodedEntry>, usize)> {
        self.make_ready()?;
        let mut checks = EntryChecks::new(&self.directory);
        let (mut encoded, mut bytes, mut count) = (Vec::new(), 0, 0);
        let mut next = self.record_count();
        for (index, entry) in entries.iter().take(COMMIT_ENTRIES_MAX).enumerate() {
            checks.check_next(index, entry)?;
            let before = encoded.len();
            encode_entry(&mut encoded, entry, next, self.facts.dimensions);
            let new = &encoded[before..];
            bytes += new.iter().map(EncodedEntry::size).sum::<usize>();
            if bytes > bytes_max && index > 0 {
                encoded.truncate(before);
                break;
            }
            if bytes > COMMIT_BYTES_MAX {
                return Err(too_large_error(&entries[..1], self.facts.dimensions));
            }
            next += new
                .iter()
                .map(|one| u32::from(one.has_ordinal()))
                .sum::<u32>();
            count = index + 1;
        }
        Ok((encoded, count))
    }

    /// Writes and syncs checked entries, then applies them to the directory.
    fn commit_encoded(&mut self, encoded: Vec<EncodedEntry>) -> StoreResult<CommitReceipt> {
        let first_ordinal = self.record_count();
        if encoded.is_empty() {
            let seq = self.seq();
            return Ok(CommitReceipt { seq, first_ordinal });
        }
        self.check_path_for_commit()?;
        let head = CommitHead {
            previous: self.directory.last_commit,
            manifest: self.directory.manifest,
            ..CommitHead::new(&self.facts, self.directory.seq + 1, false, first_ordinal)
        };
        let built = commit::build_commit(head, self.end, encoded, &mut self.compressor)
            .map_err(StoreError::io("compress a commit for", &self.path))?;
        let written = self.file.write_all_at(self.end, &built.bytes);
        let written = written.and_then(|()| self.file.sync());
        written.map_err(|source| self.record_failed_write("write to", source))?;
        // A commit is acknowledged only if the path still names the file that was written.
        if let Err(error) = self.check_path_for_commit() {
            self.poisoned = Some(error.to_string());
            self.cut_failed_write();
            return Err(error);
        }
        self.end += built.bytes.len() as u64;
        self.checkpoint.begun_bytes = 0;
        self.directory
            .apply_commit(&built.head, built.offset, built.entries, true);
        let seq = self.seq();
        Ok(CommitReceipt { seq, first_ordinal })
    }

    pub fn seq(&self) -> CommitSeq {
        CommitSeq(self.directory.seq)
    }

    /// Returns the count of ordinals, which is also the next record's ordinal.
    pub fn record_count(&self) -> u32 {
        self.directory.record_count()
    }

    /// Returns the length of the vectors that rvf-runtime can read; vectors of other spaces may be
    /// longer or shorter.
    pub fn dimensions(&self) -> u16 {
        self.facts.dimensions
    }

    /// Returns the newest space of the vectors in the file.
    pub fn newest_space(&self) -> Option<EmbeddingSpace> {
        self.directory.spaces.last().cloned()
    }

    /// Returns the `seq` of the stream's last [`StoreEntry::Cursor`].
    pub fn cursor(&self, stream: &str) -> Option<u64> {
        self.directory.cursors.get(stream).copied()
    }

    /// Iterates over the streams that have a cursor, by name.
    pub fn streams(&self) -> impl Iterator<Item = &str> {
        self.directory.cursors.keys().map(String::as_str)
    }

    /// Returns a snapshot as of the last commit, for any thread; its cost does not depend on the
    /// length of the log.
    pub fn reader(&self) -> LogReader {
        self.reader_of(Arc::clone(&self.file))
    }

    /// Returns a snapshot that reads through `file`, which shows the bytes of this one.
    pub(crate) fn reader_of(&self, file: Arc<dyn DiskFile>) -> LogReader {
        let snapshot = Arc::new(LogSnapshot {
            file,
            path: self.path.clone(),
            facts: self.facts,
            seq: self.directory.seq,
            end: self.end - self.checkpoint.begun_bytes,
            slots: self.directory.slots.clone(),
            tombstones: self.directory.tombstones.clone(),
            spaces: Arc::clone(&self.directory.spaces),
            block_cache: Arc::clone(&self.block_cache),
        });
        LogReader { snapshot }
    }

    pub fn stats(&self) -> LogStats {
        let directory = &self.directory;
        LogStats {
            file_bytes: self.end,
            records: directory.record_count(),
            forgotten: directory.forgotten,
            lost: directory.lost,
            commits: directory.seq,
            bytes_reclaimable: directory.reclaimable_bytes(self.checkpoint.sections.stored_bytes()),
            compacted_to: directory.horizon,
            created_at: DateTime::from_timestamp_millis(self.facts.created_ms).unwrap_or_default(),
        }
    }

    /// Returns the path with which the log was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the log is open read-only.
    pub fn is_read_only(&self) -> bool {
        self.lock.is_none()
    }

    pub(crate) fn check_writable(&self) -> StoreResult<()> {
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

    /// Checks that the log is writable, and repairs the file if an earlier write failed. Every
    /// acknowledged commit had a successful sync of its own, so cutting off the bytes after the
    /// last of them, with a sync, leaves exactly the acknowledged commits.
    pub(crate) fn make_ready(&mut self) -> StoreResult<()> {
        self.check_writable()?;
        let path = self.path.clone();
        if self.file.size().map_err(StoreError::io("look at", &path))? < self.end {
            // A whole file may have replaced it.
            self.check_path()?;
            let (offset, what) = (self.end, "another program cut it off");
            return Err(StoreError::Damaged { path, offset, what });
        }
        let Some(cause) = &self.poisoned else {
            return Ok(());
        };
        let cut = self.file.set_size(self.end);
        let synced = cut.and_then(|()| self.file.sync());
        if synced
            .and_then(|()| self.disk.sync_parent_folder(&path))
            .is_err()
        {
            let cause = cause.clone();
            return Err(StoreError::Poisoned { path, cause });
        }
        tracing::info!(path = %path.display(), %cause, "recovered after a failed write");
        self.poisoned = None;
        Ok(())
    }

    fn cut_failed_write(&self) {
        if let Err(error) = self.file.set_size(self.end) {
            tracing::warn!(path = %self.path.display(), %error, "cannot cut off a failed write");
        }
    }

    /// Records a failed write and cuts off its bytes if the disk permits it. Otherwise recovery
    /// finds them torn, or whole but never acknowledged.
    pub(crate) fn record_failed_write(
        &mut self,
        action: &'static str,
        cause: io::Error,
    ) -> StoreError {
        self.poisoned = Some(cause.to_string());
        self.cut_failed_write();
        StoreError::Io {
            action,
            path: self.path.clone(),
            cause,
        }
    }
}

#[cfg(test)]
mod tests;
