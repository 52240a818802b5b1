//! Compaction: a new file beside the old one, with what is live and nothing else.
//!
//! Until the rename at the very end the old file is the memory; a compaction that fails or is
//! killed before then changes nothing.

mod pack;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::checkpoint::{self, Sealed};
use crate::codec::{Encoded, Outline, apart, decode_apart, embedded, outline, remark_record};
use crate::commit::{self, CommitHead, FileFacts, ReadCommit};
use crate::compress::{Compressor, LEVEL_APPEND};
use crate::directory::Directory;
use crate::disk::{Disk, DiskFile, LockAttempt};
use crate::entry::CommitSeq;
use crate::error::{Result, StoreError};
use crate::log::{Log, SUFFIX_COMPACT, beside, check_tags};
use crate::options::CompactionReport;
use crate::reader::{LogReader, ReadTools};
use crate::scan::{Found, Scan};

/// A compaction of the log as of one commit, to be run on any thread.
#[derive(Debug)]
pub struct Compaction {
    disk: Arc<dyn Disk>,
    then: LogReader,
    directory: Directory,
    /// Dropped, it permits the next one.
    turn: Arc<()>,
}

/// The new file, complete up to the commit at which the compaction was started.
#[derive(Debug)]
pub struct Compacted {
    source: LogReader,
    /// Where in the source the commits begin that are not in the new file.
    source_end: u64,
    temporary: PathBuf,
    file: Arc<dyn DiskFile>,
    facts: FileFacts,
    directory: Directory,
    end: u64,
    /// As of the commit at which it was started.
    checkpoint: Sealed,
    /// Whether commits were copied since it was synced.
    is_ahead_of_sync: bool,
    _turn: Arc<()>,
}

impl Log {
    /// Whether a compaction is prepared, running or waiting to be finished.
    pub fn is_compacting(&self) -> bool {
        self.compacting.strong_count() > 0
    }

    /// Prepares a compaction of everything up to the last commit. Cheap: no data is copied yet.
    pub fn start_compaction(&mut self) -> Result<Compaction> {
        self.make_ready()?;
        self.check_place()?;
        if self.is_compacting() {
            let path = self.path.clone();
            return Err(StoreError::CompactionUnderWay { path });
        }
        let turn = Arc::new(());
        self.compacting = Arc::downgrade(&turn);
        Ok(Compaction {
            disk: Arc::clone(&self.disk),
            then: self.reader(),
            directory: self.directory.clone(),
            turn,
        })
    }

    /// Writes all that can still be read of this log, whatever is damaged, into a new file at `to`.
    /// Records keep their ordinals; those that cannot be read are marked as lost.
    pub fn salvage_to(&self, to: &Path) -> Result<CompactionReport> {
        let io = StoreError::io("write what can be read into", to);
        let then = self.reader();
        let packed = || {
            let (_, new) = packed_to(&*self.disk, to, (&then, &self.directory), &[])?;
            self.disk.sync_dir(to)?;
            Ok(self.report(&new.directory, new.end))
        };
        packed().map_err(io)
    }

    fn report(&self, new: &Directory, end: u64) -> CompactionReport {
        CompactionReport {
            bytes_before: self.end,
            bytes_after: end,
            records: new.records() - new.forgotten - new.lost,
            forgotten: new.forgotten,
        }
    }

    /// Appends to the new file what was committed meanwhile, and renames it over the old one.
    /// Existing readers go on with the old file.
    pub fn finish_compaction(&mut self, done: Compacted) -> Result<CompactionReport> {
        let temporary = done.temporary.clone();
        let finished = self.try_finish(done);
        if finished.is_err()
            && let Err(error) = self.disk.remove(&temporary)
        {
            tracing::warn!(%error, path = %temporary.display(), "failed compaction left behind");
        }
        finished
    }

    fn try_finish(&mut self, mut done: Compacted) -> Result<CompactionReport> {
        self.make_ready()?;
        if !Arc::ptr_eq(&done.source.snapshot.file, &self.file) {
            let path = self.path.clone();
            return Err(StoreError::StaleCompaction { path });
        }
        let path = self.path.clone();
        let io = StoreError::io("compact", &path);
        done.copy_until(self.end)?;
        if done.directory.records() != self.records() || done.directory.seq != self.directory.seq {
            return Err(damaged(&path, done.source_end));
        }
        if done.is_ahead_of_sync {
            done.file.sync().map_err(&io)?;
        }
        let end = done.end;
        // Taken before the new file gets its public name.
        let lock = self.disk.lock(&done.temporary);
        let lock = lock.and_then(LockAttempt::held).map_err(&io)?;
        if lock.identity().map_err(&io)? != done.file.identity().map_err(&io)? {
            // A compaction of an earlier handle to this log already uses the temporary name.
            let path = path.clone();
            return Err(StoreError::StaleCompaction { path });
        }
        self.check_place()?;
        self.disk.rename(&done.temporary, &self.path).map_err(&io)?;
        let report = self.report(&done.directory, end);
        self.file = done.file;
        self.facts = done.facts;
        self.lock = Some(lock);
        self.directory = done.directory;
        self.end = end;
        self.unsealed = 0;
        self.checkpoint = Some(done.checkpoint);
        self.tools = Arc::new(ReadTools::default());
        if let Err(source) = self.disk.sync_dir(&self.path) {
            // The rename may not survive a power loss, and then neither would later commits.
            return Err(self.poison("make the compaction durable in", source));
        }
        Ok(report)
    }
}

impl Compacted {
    /// Copies what was committed up to a snapshot of the same log, so that `finish_compaction` has
    /// less to do. May run on any thread.
    pub fn catch_up(&mut self, to: &LogReader) -> Result<()> {
        if Arc::ptr_eq(&to.snapshot.file, &self.source.snapshot.file) {
            self.copy_until(to.snapshot.end)?;
        }
        Ok(())
    }

    pub fn covers(&self) -> CommitSeq {
        CommitSeq(self.checkpoint.seq)
    }

    /// Bytes of the log, up to a snapshot of it, not yet copied to the new file.
    pub fn behind(&self, to: &LogReader) -> u64 {
        to.snapshot.end.saturating_sub(self.source_end)
    }

    /// Copies the commits up to `end`, with their offsets rewritten.
    fn copy_until(&mut self, end: u64) -> Result<()> {
        let source = self.source.clone();
        let path = source.path();
        let io = StoreError::io("compact", path);
        let file = Arc::clone(&source.snapshot.file);
        let mut scan = Scan::new(file, self.source_end, end, self.facts.file_id);
        while let Some(found) = scan.next().map_err(&io)? {
            match found {
                Found::Commit(commit, true) => {
                    copy_commit(self, &commit).map_err(&io)?;
                    self.is_ahead_of_sync = true;
                }
                Found::Commit(commit, false) => return Err(damaged(path, commit.offset)),
                Found::Damage(found) => return Err(damaged(path, found.offset)),
                Found::Seal { .. } | Found::Own { .. } | Found::Foreign { .. } => {}
            }
        }
        self.source_end = self.source_end.max(end);
        Ok(())
    }
}

fn damaged(path: &Path, offset: u64) -> StoreError {
    StoreError::Damaged {
        path: path.to_path_buf(),
        offset,
        what: "commits written during the compaction cannot be read back",
    }
}

/// Copies a commit; vectors whose width is not the new file's own change places.
fn copy_commit(done: &mut Compacted, commit: &ReadCommit) -> io::Result<()> {
    let (source, facts) = (&*done.source.snapshot, done.facts);
    let nonsense = || io::Error::other("a commit cannot be read back");
    let mut vectors = vec![0; commit.head.vectors_size as usize];
    source
        .file
        .read_exact_at(commit.vectors_offset(), &mut vectors)?;
    let first = facts.vector_offset(0, 0) as usize - 8;
    let vectors = vectors.get(first..).unwrap_or_default();
    let mut vectors = vectors.chunks_exact(source.facts.stride() as usize);
    let mut encoded = Vec::new();
    let mut next = commit.head.first_ordinal;
    let same_width = source.facts.dimensions == facts.dimensions;
    for raw in commit.raw_entries(facts.file_id).ok_or_else(nonsense)? {
        let takes = raw.takes_ordinal();
        let outline = outline(&raw).ok_or_else(nonsense)?;
        let vector = match outline.mark() {
            Some(_) => vectors.next().and_then(<[u8]>::split_first_chunk),
            None => None,
        };
        match (outline, vector) {
            (Outline::Record(Some(mark)), Some((_, vector))) if !same_width => {
                let raw = remark_record(&raw.body, None).ok_or_else(nonsense)?;
                encoded.push(Encoded::alone(raw));
                encoded.push(apart(next, &mark, vector));
            }
            (Outline::Embedded { ordinal, mark }, Some((_, vector))) if !same_width => {
                encoded.push(apart(ordinal, &mark, vector));
            }
            (Outline::Apart { ordinal, mark }, _) if mark.space.dimensions == facts.dimensions => {
                let (_, _, vector) = decode_apart(&raw.body).ok_or_else(nonsense)?;
                encoded.push(embedded(ordinal, &mark, vector.to_vec()));
            }
            (_, vector) => {
                let vector = vector.map(|(id, vector)| (u64::from_le_bytes(*id), vector.to_vec()));
                encoded.push(Encoded { raw, vector });
            }
        }
        next += u32::from(takes);
    }
    let head = CommitHead {
        previous: done.directory.last_commit,
        seal: done.directory.seal,
        vectors_size: 0,
        ..commit.head
    };
    let mut compressor = Compressor::new(LEVEL_APPEND, facts.file_id)?;
    let built = commit::build(head, &facts, done.end, encoded, &mut compressor)?;
    done.file.write_all_at(done.end, &built.bytes)?;
    done.end += built.bytes.len() as u64;
    done.directory.take(&facts, built);
    Ok(())
}

impl Compaction {
    /// Writes the new file beside the old one, with a checkpoint of the caller's blobs as of the
    /// commit at which it was prepared, and syncs it. Takes as long as reading the log does; the
    /// log can be read and appended to meanwhile.
    pub fn run(self, derived: &[(u8, Vec<u8>)]) -> Result<Compacted> {
        check_tags(derived)?;
        let temporary = beside(self.then.path(), SUFFIX_COMPACT);
        let from = (&self.then, &self.directory);
        match packed_to(&*self.disk, &temporary, from, derived) {
            Ok((file, new)) => Ok(Compacted {
                source_end: self.then.snapshot.end,
                source: self.then,
                temporary,
                file,
                facts: new.facts,
                checkpoint: Sealed::of(&new.directory, new.end),
                directory: new.directory,
                end: new.end,
                is_ahead_of_sync: false,
                _turn: self.turn,
            }),
            Err(source) => {
                if let Err(error) = self.disk.remove(&temporary) {
                    let path = temporary.display();
                    tracing::warn!(%path, %error, "cannot remove a failed compaction");
                }
                Err(StoreError::io("compact", self.then.path())(source))
            }
        }
    }
}

/// Writes a new file at `to`, with a checkpoint, and syncs it.
fn packed_to(
    disk: &dyn Disk,
    to: &Path,
    (then, old): (&LogReader, &Directory),
    derived: &[(u8, Vec<u8>)],
) -> io::Result<(Arc<dyn DiskFile>, pack::Packed)> {
    disk.remove(to)?;
    let file = disk.open_or_create(to)?;
    let mut new = pack::run(&then.snapshot, old, &*file)?;
    new.end = checkpoint::write(&*file, &new.facts, &mut new.directory, new.end, derived)?;
    Ok((file, new))
}
