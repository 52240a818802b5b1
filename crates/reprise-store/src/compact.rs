//! Compaction: a new file beside the old one, with what is live and nothing else.
//!
//! Until the rename at the very end the old file is the memory; a compaction that fails or is
//! killed before then changes nothing.

mod pack;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::checkpoint::{self, Sealed};
use crate::codec::{Encoded, Outline, apart, decode_apart, embedded, outline, remark_record};
use crate::commit::{self, CommitHead, FileFacts, ReadCommit};
use crate::compress::{Compressor, Decompressor, LEVEL_APPEND};
use crate::directory::Directory;
use crate::disk::{Disk, DiskFile, LockAttempt};
use crate::entry::CommitSeq;
use crate::error::{Result, StoreError};
use crate::log::{Log, SUFFIX_COMPACT, beside, check_tags};
use crate::options::CompactionReport;
use crate::reader::{LogReader, ReadTools};
use crate::scan::{Found, Scan};

/// Permits the next compaction when dropped.
#[derive(Debug)]
struct Turn(Arc<AtomicBool>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A compaction of the log as of one commit, to be run on any thread.
#[derive(Debug)]
pub struct Compaction {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    facts: FileFacts,
    file: Arc<dyn DiskFile>,
    directory: Directory,
    end: u64,
    derived: Vec<(u8, Vec<u8>)>,
    turn: Turn,
}

/// The new file, complete up to the commit at which the compaction was started.
#[derive(Debug)]
pub struct Compacted {
    source: Arc<dyn DiskFile>,
    /// Where in the source the commits begin that are not in the new file.
    source_end: u64,
    temporary: PathBuf,
    file: Arc<dyn DiskFile>,
    source_facts: FileFacts,
    facts: FileFacts,
    directory: Directory,
    end: u64,
    /// As of the commit at which it was started.
    checkpoint: Sealed,
    /// Whether commits were copied since it was synced.
    is_ahead_of_sync: bool,
    _turn: Turn,
}

impl Log {
    /// Whether a compaction is prepared, running or waiting to be finished.
    pub fn is_compacting(&self) -> bool {
        self.compacting.load(Ordering::Acquire)
    }

    /// Prepares a compaction of everything up to the last commit, with the caller's blobs as of
    /// that commit, which [`Compaction::with_derived`] may bring later. Cheap: no data is copied
    /// yet.
    pub fn start_compaction(&mut self, derived: Vec<(u8, Vec<u8>)>) -> Result<Compaction> {
        self.make_ready()?;
        self.check_place()?;
        check_tags(&derived)?;
        if self.compacting.swap(true, Ordering::AcqRel) {
            let path = self.path.clone();
            return Err(StoreError::CompactionUnderWay { path });
        }
        Ok(Compaction {
            disk: Arc::clone(&self.disk),
            path: self.path.clone(),
            facts: self.facts,
            file: Arc::clone(&self.file),
            directory: self.directory.clone(),
            end: self.end - self.unsealed,
            derived,
            turn: Turn(Arc::clone(&self.compacting)),
        })
    }

    /// Writes all that can still be read of this log, whatever is damaged, into a new file at `to`.
    /// Records keep their ordinals; those that cannot be read are marked as lost.
    pub fn salvage_to(&self, to: &Path) -> Result<CompactionReport> {
        let io = StoreError::io("write what can be read into", to);
        let packed = || {
            let source = pack::Source::new(&self.file, self.facts, &self.directory, self.end);
            let (_, directory, end) = packed_to(&*self.disk, to, &source, &[])?;
            self.disk.sync_dir(to)?;
            Ok(self.report(&directory, end))
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
        if !Arc::ptr_eq(&done.source, &self.file) {
            let path = self.path.clone();
            return Err(StoreError::StaleCompaction { path });
        }
        let path = self.path.clone();
        let io = StoreError::io("compact", &path);
        done.copy_until(self.end, &path)?;
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
        let snapshot = &*to.snapshot;
        if Arc::ptr_eq(&snapshot.file, &self.source) {
            self.copy_until(snapshot.end, &snapshot.path)?;
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
    fn copy_until(&mut self, end: u64, path: &Path) -> Result<()> {
        let io = StoreError::io("compact", path);
        let (source, file_id) = (Arc::clone(&self.source), self.facts.file_id);
        let mut scan = Scan::new(source, self.source_end, end, file_id);
        let tool = Decompressor::default();
        while let Some(found) = scan.next().map_err(&io)? {
            match found {
                Found::Commit(commit, true) => {
                    copy_commit(self, &commit, &tool).map_err(&io)?;
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
fn copy_commit(done: &mut Compacted, commit: &ReadCommit, tool: &Decompressor) -> io::Result<()> {
    let (from, facts) = (done.source_facts, done.facts);
    let nonsense = || io::Error::other("a commit cannot be read back");
    let mut vectors = vec![0; commit.head.vectors_size as usize];
    done.source
        .read_exact_at(commit.vectors_offset(), &mut vectors)?;
    let first = facts.vector_offset(0, 0) as usize - 8;
    let vectors = vectors.get(first..).unwrap_or_default();
    let mut vectors = vectors.chunks_exact(from.stride() as usize);
    let mut encoded = Vec::new();
    let mut next = commit.head.first_ordinal;
    let same_width = from.dimensions == facts.dimensions;
    for raw in commit
        .raw_entries(facts.file_id, tool)
        .ok_or_else(nonsense)?
    {
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
    /// The same with these blobs, as of the commit at which it was prepared.
    pub fn with_derived(self, derived: Vec<(u8, Vec<u8>)>) -> Result<Self> {
        check_tags(&derived)?;
        Ok(Self { derived, ..self })
    }

    /// Writes the new file beside the old one, with a checkpoint, and syncs it. Takes as long as
    /// reading the log does; the log can be read and appended to meanwhile.
    pub fn run(self) -> Result<Compacted> {
        let temporary = beside(&self.path, SUFFIX_COMPACT);
        let source = pack::Source::new(&self.file, self.facts, &self.directory, self.end);
        let target = source.target;
        match packed_to(&*self.disk, &temporary, &source, &self.derived) {
            Ok((file, directory, end)) => Ok(Compacted {
                source: self.file,
                source_end: self.end,
                temporary,
                file,
                source_facts: self.facts,
                facts: target,
                checkpoint: Sealed::of(&directory, end),
                directory,
                end,
                is_ahead_of_sync: false,
                _turn: self.turn,
            }),
            Err(source) => {
                if let Err(error) = self.disk.remove(&temporary) {
                    let path = temporary.display();
                    tracing::warn!(%path, %error, "cannot remove a failed compaction");
                }
                Err(StoreError::io("compact", &self.path)(source))
            }
        }
    }
}

/// Writes a new file at `to`, with a checkpoint, and syncs it.
fn packed_to(
    disk: &dyn Disk,
    to: &Path,
    source: &pack::Source<'_>,
    derived: &[(u8, Vec<u8>)],
) -> io::Result<(Arc<dyn DiskFile>, Directory, u64)> {
    disk.remove(to)?;
    let file = disk.open_or_create(to)?;
    let (mut directory, end) = pack::run(source, &*file)?;
    let end = checkpoint::write(&*file, &source.target, &mut directory, end, derived)?;
    Ok((file, directory, end))
}
