//! Compaction: a new file beside the old one, with what is live and nothing else.
//!
//! Lives here: starting, running and finishing. Never here: the packing itself (`compact/pack`).
//! Until the rename at the very end the old file is the memory; a compaction that fails or is
//! killed before changes nothing.

mod pack;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::checkpoint;
use crate::commit::{CommitHead, FIXED_SIZE, FileFacts, ReadCommit};
use crate::directory::{Directory, Folding};
use crate::disk::{Disk, DiskFile, DiskLock, LockAttempt};
use crate::error::StoreError;
use crate::frame::{HEADER_SIZE, TYPE_COMMIT, TYPE_VECTORS, put_segment};
use crate::log::{Log, SUFFIX_COMPACT, beside, check_tags};
use crate::options::CompactionReport;
use crate::reader::ReadTools;
use crate::scan::{Found, Scan};
use crate::squeeze::Unsqueezer;

/// Frees the log for the next compaction when this one is done or dropped.
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
    directory: Directory,
    end: u64,
    _turn: Turn,
}

impl Log {
    /// Prepares a compaction of everything up to the last commit; costs next to nothing.
    pub fn start_compaction(&self) -> Result<Compaction, StoreError> {
        self.check_writable()?;
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
            end: self.end,
            turn: Turn(Arc::clone(&self.compacting)),
        })
    }

    /// Adds to the new file what was committed meanwhile and a checkpoint with `derived`, and puts
    /// it in the old one's place. Readers taken before go on with the old file.
    pub fn finish_compaction(
        &mut self,
        done: Compacted,
        derived: &[(u8, Vec<u8>)],
    ) -> Result<CompactionReport, StoreError> {
        let temporary = done.temporary.clone();
        let finished = self.try_finish(done, derived);
        if finished.is_err()
            && let Err(error) = self.disk.remove(&temporary)
        {
            tracing::warn!(%error, path = %temporary.display(), "failed compaction left behind");
        }
        finished
    }

    fn try_finish(
        &mut self,
        mut done: Compacted,
        derived: &[(u8, Vec<u8>)],
    ) -> Result<CompactionReport, StoreError> {
        self.check_writable()?;
        check_tags(derived)?;
        if !Arc::ptr_eq(&done.source, &self.file) {
            let path = self.path.clone();
            return Err(StoreError::StaleCompaction { path });
        }
        let path = self.path.clone();
        let io = StoreError::io("compact", &path);
        self.copy_tail(&mut done)?;
        if done.directory.records() != self.records() || done.directory.seq != self.directory.seq {
            return Err(self.damaged(done.source_end));
        }
        let end = checkpoint::write(
            &*done.file,
            &self.facts,
            &mut done.directory,
            done.end,
            derived,
        )
        .map_err(&io)?;
        let lock = lock_new(&*self.disk, &done.temporary).map_err(&io)?;
        if lock.identity().map_err(&io)? != done.file.identity().map_err(&io)? {
            // A compaction of a log that was closed meanwhile has taken the name.
            let path = path.clone();
            return Err(StoreError::StaleCompaction { path });
        }
        self.disk.rename(&done.temporary, &self.path).map_err(&io)?;
        let report = CompactionReport {
            bytes_before: self.end,
            bytes_after: end,
            records: done.directory.records() - done.directory.forgotten - done.directory.lost,
            forgotten: done.directory.forgotten,
        };
        self.file = done.file;
        self.lock = Some(lock);
        self.directory = done.directory;
        self.end = end;
        self.checkpoint = Some((self.directory.seq, end));
        self.tools = Arc::new(ReadTools::default());
        if let Err(source) = self.disk.sync_dir(&self.path) {
            // The rename may not survive a power loss, and then neither would later commits.
            return Err(self.poison("make the compaction durable in", source));
        }
        Ok(report)
    }

    /// Copies the commits that came after the compaction was started, with their places corrected.
    fn copy_tail(&self, done: &mut Compacted) -> Result<(), StoreError> {
        let io = StoreError::io("compact", &self.path);
        let file_id = self.facts.file_id;
        let source = Arc::clone(&done.source);
        let mut scan = Scan::new(source, done.source_end, self.end, file_id);
        let tool = Unsqueezer::default();
        while let Some(found) = scan.next().map_err(&io)? {
            match found {
                Found::Commit(commit, true) => {
                    copy_commit(done, &self.facts, &commit, &tool).map_err(&io)?;
                }
                Found::Commit(commit, false) => return Err(self.damaged(commit.offset)),
                Found::Damage(damage) => return Err(self.damaged(damage.offset)),
                Found::Seal { .. } | Found::Own { .. } | Found::Foreign { .. } => {}
            }
        }
        Ok(())
    }

    fn damaged(&self, offset: u64) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            offset,
            what: "commits written during the compaction cannot be read back",
        }
    }
}

fn copy_commit(
    done: &mut Compacted,
    facts: &FileFacts,
    commit: &ReadCommit,
    tool: &Unsqueezer,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    if commit.head.vectors_size > 0 {
        let count = commit.placed(facts.file_id, tool).map_or(0, |placed| {
            placed.iter().filter(|p| p.outline.has_vector()).count()
        });
        let mut payload = vec![0; 6 + facts.stride() as usize * count];
        let from = commit.vectors_offset() + HEADER_SIZE;
        done.source.read_exact_at(from, &mut payload)?;
        put_segment(&mut bytes, done.end, TYPE_VECTORS, &payload);
    }
    let head = CommitHead {
        previous: done.directory.last_commit,
        seal: 0,
        vectors_size: bytes.len() as u64,
        ..commit.head
    };
    let mut payload = Vec::with_capacity(commit.payload.len());
    head.put(&mut payload, facts);
    payload.extend_from_slice(commit.payload.get(FIXED_SIZE..).unwrap_or_default());
    let offset = put_segment(&mut bytes, done.end, TYPE_COMMIT, &payload);
    done.file.write_all_at(done.end, &bytes)?;
    done.end += bytes.len() as u64;
    let copied = ReadCommit {
        offset,
        head,
        payload,
    };
    let placed = copied.placed(facts.file_id, tool).unwrap_or_default();
    done.directory.fold(
        facts,
        Folding {
            seq: head.seq,
            packed: head.packed,
            offset,
            first_ordinal: head.first_ordinal,
            vectors_size: head.vectors_size,
            placed,
            damaged_vectors: None,
        },
    );
    Ok(())
}

/// The writer's lock on the new file, held before its name is known to anybody.
fn lock_new(disk: &dyn Disk, temporary: &Path) -> io::Result<Box<dyn DiskLock>> {
    match disk.lock(temporary)? {
        LockAttempt::Held(lock) => Ok(lock),
        LockAttempt::Refused(_) => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Compaction {
    /// Writes the new file beside the old one and syncs it. Takes as long as reading the log does;
    /// the log can be read and appended to meanwhile.
    pub fn run(self) -> Result<Compacted, StoreError> {
        let temporary = beside(&self.path, SUFFIX_COMPACT);
        let packed = self.pack(&temporary);
        match packed {
            Ok((file, directory, end)) => Ok(Compacted {
                source: self.file,
                source_end: self.end,
                temporary,
                file,
                directory,
                end,
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

    fn pack(&self, temporary: &Path) -> io::Result<(Arc<dyn DiskFile>, Directory, u64)> {
        self.disk.remove(temporary)?;
        let file = self.disk.open_or_create(temporary)?;
        let source = pack::Source {
            file: &self.file,
            facts: self.facts,
            directory: &self.directory,
            end: self.end,
        };
        let (directory, end) = pack::run(&source, &*file)?;
        file.sync()?;
        Ok((file, directory, end))
    }
}
