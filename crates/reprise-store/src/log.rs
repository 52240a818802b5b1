//! The writer's handle: append, checkpoint, and the state that readers get snapshots of.
//!
//! Lives here: the commit protocol and poisoning. Never here: how the file is opened (`log/open`),
//! recovered (`recover`) or compacted (`compact`).

mod open;
mod validate;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use chrono::DateTime;
use reprise_types::EmbeddingSpace;

use crate::checkpoint;
use crate::codec::{Encoded, encode};
use crate::commit::{self, CommitHead, FileFacts};
use crate::directory::{Directory, Folding};
use crate::disk::{Disk, DiskFile, DiskLock};
use crate::entry::{Commit, CommitSeq, Entry};
use crate::error::StoreError;
use crate::frame::is_derived;
use crate::options::{LogStats, ReplayReport};
use crate::reader::{LogReader, ReadTools, Snapshot};
use crate::replay;
use crate::squeeze::Squeezer;

pub(crate) use open::{SUFFIX_COMPACT, beside};

/// An open log: one writer, any number of readers. Dropping it releases the lock; it does not write
/// a checkpoint, so a caller that closes in peace calls [`Log::checkpoint`] first.
#[derive(Debug)]
pub struct Log {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) path: PathBuf,
    pub(crate) facts: FileFacts,
    pub(crate) file: Arc<dyn DiskFile>,
    /// `None` where opened read-only.
    pub(crate) lock: Option<Box<dyn DiskLock>>,
    pub(crate) directory: Directory,
    /// Where the next segment goes.
    pub(crate) end: u64,
    /// Sequence and end of the newest checkpoint.
    pub(crate) checkpoint: Option<(u64, u64)>,
    pub(crate) poisoned: Option<String>,
    pub(crate) squeezer: Squeezer,
    pub(crate) tools: Arc<ReadTools>,
    /// Set while a compaction is prepared, running or waiting to be finished.
    pub(crate) compacting: Arc<AtomicBool>,
}

impl Log {
    /// Writes entries as one commit: one write, one sync, all or nothing. After `Ok` they are on
    /// stable storage. Records take the next ordinals in order. No entries: nothing is written.
    ///
    /// Any failure of the disk poisons the log: reading goes on, writing needs a reopen.
    pub fn append(&mut self, entries: &[Entry]) -> Result<Commit, StoreError> {
        self.check_writable()?;
        let first_ordinal = self.records();
        validate::check(entries, &self.facts, &self.directory)?;
        if entries.is_empty() {
            let seq = self.seq();
            return Ok(Commit { seq, first_ordinal });
        }
        let mut ids = Vec::new();
        let mut next = first_ordinal;
        let mut encoded: Vec<Encoded> = Vec::with_capacity(entries.len());
        for entry in entries {
            let Some(one) = encode(entry) else { continue };
            if one.vector.is_some() {
                ids.push(match entry {
                    Entry::Embedded { ordinal, .. } => u64::from(*ordinal),
                    _ => u64::from(next),
                });
            }
            next += u32::from(one.outline.takes_ordinal());
            encoded.push(one);
        }
        validate::check_size(&encoded)?;
        self.commit(encoded, &ids)?;
        let seq = self.seq();
        Ok(Commit { seq, first_ordinal })
    }

    /// Writes entries that were checked, syncs them, and takes them in.
    fn commit(&mut self, encoded: Vec<Encoded>, ids: &[u64]) -> Result<(), StoreError> {
        let first_ordinal = self.records();
        let ordinals = encoded.iter().filter(|e| e.outline.takes_ordinal()).count();
        let head = CommitHead {
            seq: self.directory.seq + 1,
            packed: false,
            previous: self.directory.last_commit,
            seal: self.directory.seal,
            vectors_size: 0,
            first_ordinal,
            ordinals: ordinals as u32,
            entries: 0,
            blocks: 0,
        };
        let built = commit::build(
            head,
            &self.facts,
            self.end,
            encoded,
            ids,
            &mut self.squeezer,
        )
        .map_err(StoreError::io("compress a commit for", &self.path))?;
        let written = self.file.write_all_at(self.end, &built.bytes);
        let written = written.and_then(|()| self.file.sync());
        if let Err(source) = written {
            return Err(self.poison("write to", source));
        }
        self.end += built.bytes.len() as u64;
        self.directory.fold(
            &self.facts,
            Folding {
                seq: built.head.seq,
                packed: false,
                offset: built.offset,
                first_ordinal,
                vectors_size: built.head.vectors_size,
                placed: built.placed,
                damaged_vectors: None,
            },
        );
        Ok(())
    }

    /// The last acknowledged commit.
    pub fn seq(&self) -> CommitSeq {
        CommitSeq(self.directory.seq)
    }

    /// The ordinal that the next record will get.
    pub fn records(&self) -> u32 {
        self.directory.records()
    }

    /// Length of every vector.
    pub fn dimensions(&self) -> u16 {
        self.facts.dimensions
    }

    /// The space of the vectors in the file; where there are several, the one met last.
    pub fn space(&self) -> Option<EmbeddingSpace> {
        self.directory.spaces.last().cloned()
    }

    /// How far a stream was consumed: the `seq` of its last [`Entry::Cursor`].
    pub fn cursor(&self, stream: &str) -> Option<u64> {
        self.directory.cursors.get(stream).copied()
    }

    /// A snapshot as of the last commit, for any thread; costs a few words however long the log is.
    pub fn reader(&self) -> LogReader {
        LogReader::new(Snapshot {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
            facts: self.facts,
            seq: self.directory.seq,
            end: self.end,
            slots: self.directory.slots.clone(),
            tombstones: self.directory.tombstones.clone(),
            spaces: Arc::clone(&self.directory.spaces),
            tools: Arc::clone(&self.tools),
        })
    }

    /// Hands every entry behind commit `after` to `visit`, in log order, with the ordinal it takes
    /// (records, stubs of records forgotten and compacted away, lost records) or `None`. Records
    /// come with their vectors. `CommitSeq(0)` means everything.
    pub fn replay(
        &self,
        after: CommitSeq,
        visit: &mut dyn FnMut(Option<u32>, Entry),
    ) -> Result<ReplayReport, StoreError> {
        if after.0 != 0 && after.0 < self.directory.horizon {
            return Err(StoreError::Compacted {
                after: after.0,
                horizon: self.directory.horizon,
            });
        }
        let behind_checkpoint = self.checkpoint.filter(|(seq, _)| *seq <= after.0);
        let range = replay::Range {
            file: &self.file,
            facts: self.facts,
            after: after.0,
            from: behind_checkpoint.map_or(0, |(_, end)| end),
            end: self.end,
            records: self.records(),
        };
        replay::run(&range, visit).map_err(StoreError::io("read", &self.path))
    }

    /// Writes the directory, the caller's derived blobs (tags 0x41 to 0x47, 0x4b) as of the last
    /// commit, and rvf-runtime's manifest; the file then opens fast, and in stock rvf-runtime.
    pub fn checkpoint(&mut self, derived: &[(u8, Vec<u8>)]) -> Result<(), StoreError> {
        self.check_writable()?;
        check_tags(derived)?;
        let mut directory = self.directory.clone();
        let written =
            checkpoint::write(&*self.file, &self.facts, &mut directory, self.end, derived);
        match written {
            Ok(end) => {
                self.end = end;
                self.checkpoint = Some((directory.seq, end));
                self.directory = directory;
                Ok(())
            }
            Err(source) => Err(self.poison("write a checkpoint to", source)),
        }
    }

    /// Figures, from memory.
    pub fn stats(&self) -> LogStats {
        let directory = &self.directory;
        LogStats {
            file_bytes: self.end,
            records: directory.records(),
            forgotten: directory.forgotten,
            lost: directory.lost,
            commits: directory.seq,
            bytes_reclaimable: directory.reclaimable(),
            created_at: DateTime::from_timestamp_millis(self.facts.created_ms).unwrap_or_default(),
        }
    }

    /// The file's path as it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        let path = self.path.clone();
        if let Some(cause) = &self.poisoned {
            let cause = cause.clone();
            return Err(StoreError::Poisoned { path, cause });
        }
        if self.lock.is_none() {
            return Err(StoreError::ReadOnly { path });
        }
        Ok(())
    }

    /// Takes note of a failed write and takes its bytes back where the disk lets us; where it does
    /// not, recovery will find them torn, or whole but never acknowledged.
    pub(crate) fn poison(&mut self, action: &'static str, source: std::io::Error) -> StoreError {
        self.poisoned = Some(source.to_string());
        if let Err(error) = self.file.set_size(self.end) {
            tracing::warn!(path = %self.path.display(), %error, "cannot take back a failed write");
        }
        StoreError::Io {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

pub(crate) fn check_tags(derived: &[(u8, Vec<u8>)]) -> Result<(), StoreError> {
    let mut seen = Vec::new();
    for (index, (tag, _)) in derived.iter().enumerate() {
        if !is_derived(*tag) || seen.contains(tag) {
            let why = format!("derived tag {tag:#x} is outside 0x41..=0x47, 0x4b or there twice");
            return Err(StoreError::BadEntry { index, why });
        }
        seen.push(*tag);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
