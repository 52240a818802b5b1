//! Compaction: writes the live content to a new file next to the old one.
//!
//! Until the rename at the end the old file is the memory; a compaction that fails or is killed
//! before then changes nothing.

mod pack;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::codec::{EncodedEntry, Outline, push_record};
use crate::commit::{self, BuiltCommit, CommitHead, FileFacts, ReadCommit};
use crate::compress::{Compressor, LEVEL_APPEND};
use crate::directory::LogDirectory;
use crate::disk::{Disk, DiskFile, LockAttempt, PastUnreadable, sibling_path};
use crate::error::{StoreError, StoreResult};
use crate::frame::TYPE_PAGES;
use crate::log::{Checkpoint, Log, SUFFIX_COMPACT};
use crate::manifest::{self, is_of_caller};
use crate::options::CompactionReport;
use crate::reader::{BlockCache, LogReader};
use crate::scan::{ScanItem, SegmentScanner};
use crate::sections::Sections;

/// The new file, which is complete up to the commit at which the compaction started.
#[derive(Debug)]
pub struct CompactedLog {
    source: LogReader,
    /// Offset in the source of the first commit that is not in the new file.
    source_end: u64,
    /// The sections of the source that were copied.
    source_sections: Sections,
    temporary: PathBuf,
    file: Arc<dyn DiskFile>,
    /// Their width is that of most vectors.
    facts: FileFacts,
    directory: LogDirectory,
    end: u64,
    /// The manifest covers the commit at which the compaction started.
    checkpoint: Checkpoint,
    /// Whether commits were copied since the last sync.
    is_ahead_of_sync: bool,
    _token: Arc<()>,
}

impl Log {
    /// Whether a compaction is prepared, running or not yet finished.
    pub fn is_compacting(&self) -> bool {
        self.compacting.strong_count() > 0
    }

    /// Prepares a compaction of everything up to the last commit, and returns the copying as work
    /// for any thread: it writes and syncs the new file next to the old one, with the sections of
    /// that commit, if a manifest covers it and nothing of the log or of them is damaged. It takes
    /// as long as reading the log, which can be read and appended to meanwhile.
    pub fn start_compaction(
        &mut self,
    ) -> StoreResult<impl FnOnce() -> StoreResult<CompactedLog> + Send + use<>> {
        self.verify_places()?;
        self.make_ready()?;
        self.check_path()?;
        if self.is_compacting() {
            let path = self.path.clone();
            return Err(StoreError::CompactionUnderWay { path });
        }
        let token = Arc::new(());
        self.compacting = Arc::downgrade(&token);
        // Sections are copied if a manifest covers the last commit.
        let newest = self.checkpoint.manifest.as_ref();
        let newest = newest.filter(|manifest| manifest.seq == self.directory.seq);
        let sections = newest.map_or_else(Sections::default, |newest| newest.sections.clone());
        let disk = Arc::clone(&self.disk);
        let (source, old) = (self.reader(), self.directory.clone());
        let damage = Arc::clone(&self.checkpoint.damage);
        Ok(move || {
            let to = sibling_path(source.path(), SUFFIX_COMPACT);
            let copied = CompactedLog::write(&*disk, &to, (&source, &old, sections), token);
            let copied = copied.and_then(|copied| {
                // The places of records are read while they are copied.
                if damage.load(Ordering::Relaxed) {
                    let why = "a page could not be read; compact again, which finds it anew";
                    return Err(io::Error::other(why));
                }
                Ok(copied)
            });
            copied.map_err(|error| {
                if let Err(error) = disk.remove(&to) {
                    let path = to.display();
                    tracing::warn!(%path, %error, "cannot remove a failed compaction");
                }
                StoreError::io("compact", source.path())(error)
            })
        })
    }

    /// Writes everything readable of this log into a new file at `to`. Records keep their ordinals;
    /// unreadable ones are marked as lost.
    pub fn salvage_to(&self, to: &Path) -> StoreResult<CompactionReport> {
        let io = StoreError::io("write what can be read into", to);
        let source = self.reader_of(PastUnreadable::new(&self.file));
        let refolded = if self.are_places_sound() {
            None
        } else {
            Some(self.refold()?.0)
        };
        let directory = refolded.as_ref().unwrap_or(&self.directory);
        let packed = || {
            let from = (&source, directory, Sections::default());
            let new = CompactedLog::write(&*self.disk, to, from, Arc::default())?;
            self.disk.sync_parent_folder(to)?;
            Ok(self.compaction_report(&new))
        };
        packed().map_err(io)
    }

    fn compaction_report(&self, new: &CompactedLog) -> CompactionReport {
        let LogDirectory {
            forgotten, lost, ..
        } = new.directory;
        CompactionReport {
            bytes_before: self.end,
            bytes_after: new.end,
            records: new.directory.record_count() - forgotten - lost,
            forgotten,
        }
    }

    /// Appends the commits made meanwhile to the new file, and renames it over the old one.
    /// Existing readers keep the old file.
    pub fn finish_compaction(&mut self, done: CompactedLog) -> StoreResult<CompactionReport> {
        let temporary = done.temporary.clone();
        let finished = self.try_finish(done);
        if finished.is_err()
            && let Err(error) = self.disk.remove(&temporary)
        {
            tracing::warn!(%error, path = %temporary.display(), "failed compaction left behind");
        }
        finished
    }

    fn try_finish(&mut self, mut done: CompactedLog) -> StoreResult<CompactionReport> {
        self.make_ready()?;
        if !Arc::ptr_eq(&done.source.snapshot.file, &self.file) {
            let path = self.path.clone();
            return Err(StoreError::StaleCompaction { path });
        }
        let path = self.path.clone();
        let io = StoreError::io("compact", &path);
        done.copy_until(self.end)?;
        if done.directory.record_count() != self.record_count()
            || done.directory.seq != self.directory.seq
        {
            return Err(damaged_error(&path, done.source_end));
        }
        if done.is_ahead_of_sync {
            done.file.sync().map_err(&io)?;
        }
        // The lock is acquired before the new file gets its public name.
        let lock = self.disk.try_lock(&done.temporary);
        let lock = lock.and_then(LockAttempt::into_lock).map_err(&io)?;
        if lock.identity().map_err(&io)? != done.file.identity().map_err(&io)? {
            // A compaction of an earlier handle to this log already uses the temporary name.
            let path = path.clone();
            return Err(StoreError::StaleCompaction { path });
        }
        self.check_path()?;
        self.disk.rename(&done.temporary, &self.path).map_err(&io)?;
        let report = self.compaction_report(&done);
        let own_sections = &self.checkpoint.sections;
        // Pages that were written meanwhile are not in the new file, though their writer counts
        // them as saved, whether a manifest names them already or not.
        if !own_sections.are_same(&done.source_sections, is_of_caller) {
            done.checkpoint.sections.retain(|key| !is_of_caller(key));
        }
        self.file = done.file;
        self.facts = done.facts;
        self.lock = Some(lock);
        self.directory = done.directory;
        self.end = done.end;
        self.checkpoint = done.checkpoint;
        self.block_cache = Arc::new(BlockCache::default());
        if let Err(source) = self.disk.sync_parent_folder(&self.path) {
            // The rename may not survive a power loss, and later commits would be lost with it.
            return Err(self.record_failed_write("make the compaction durable in", source));
        }
        Ok(report)
    }
}

impl CompactedLog {
    /// Writes the live content of a log to a new file at `to`, with the caller's sections and a
    /// manifest, and syncs it.
    fn write(
        disk: &dyn Disk,
        to: &Path,
        (source, old, sections): (&LogReader, &LogDirectory, Sections),
        token: Arc<()>,
    ) -> io::Result<Self> {
        disk.remove(to)?;
        let mut facts = source.snapshot.facts;
        facts.dimensions = old.most_common_width().unwrap_or(facts.dimensions);
        let mut new = Self {
            source: source.clone(),
            source_end: source.snapshot.end,
            source_sections: sections,
            temporary: to.to_path_buf(),
            file: disk.open_or_create(to)?,
            facts,
            directory: LogDirectory {
                // Keeps the order of the spaces, so that the newest stays the newest.
                spaces: old.used_spaces(),
                ..LogDirectory::default()
            },
            end: 0,
            checkpoint: Checkpoint::default(),
            is_ahead_of_sync: false,
            _token: token,
        };
        let is_whole = pack::pack_log(&source.snapshot, old, &mut new)?;
        new.write_checkpoint(is_whole)?;
        Ok(new)
    }

    /// Writes a commit that was built for the end of the new file.
    fn append(&mut self, built: BuiltCommit) -> io::Result<()> {
        self.file.write_all_at(self.end, &built.bytes)?;
        self.end += built.bytes.len() as u64;
        self.directory
            .apply_commit(&built.head, built.offset, built.entries, true);
        Ok(())
    }

    /// Copies the caller's sections, if the log was read as a whole, and writes the manifest.
    fn write_checkpoint(&mut self, is_whole: bool) -> io::Result<()> {
        let (from, start) = (&*self.source.snapshot.file, self.end);
        let mut copied = Sections::default();
        if is_whole {
            let trailer = self.facts.preamble(TYPE_PAGES, 0, self.directory.seq);
            let sections = (from, &self.source_sections);
            let to = (&*self.file, start);
            match copied.copy(sections, to, trailer, is_of_caller)? {
                Some(end) => self.end = end,
                None => copied = Sections::default(),
            }
        }
        self.directory.add_section_bytes(self.end - start);
        let (file, directory) = (&*self.file, &mut self.directory);
        let manifest = manifest::write_manifest(file, &self.facts, directory, &copied, self.end)?;
        self.end = manifest.end;
        self.checkpoint = Checkpoint {
            // It was made just now.
            has_verified_places: true,
            ..Checkpoint::new(Some(manifest), Arc::default())
        };
        Ok(())
    }

    /// Copies the commits up to a snapshot of the same log, so that `finish_compaction` has less to
    /// do. Can run on any thread.
    pub fn copy_new_commits(&mut self, to: &LogReader) -> StoreResult<()> {
        if Arc::ptr_eq(&to.snapshot.file, &self.source.snapshot.file) {
            self.copy_until(to.snapshot.end)?;
        }
        Ok(())
    }

    /// Returns the bytes of the log, up to a snapshot of it, that are not yet in the new file.
    pub fn bytes_behind(&self, to: &LogReader) -> u64 {
        to.snapshot.end.saturating_sub(self.source_end)
    }

    /// Copies the commits up to `end` and rewrites their offsets.
    fn copy_until(&mut self, end: u64) -> StoreResult<()> {
        let source = self.source.clone();
        let path = source.path();
        let io = StoreError::io("compact", path);
        let file = Arc::clone(&source.snapshot.file);
        let mut scan = SegmentScanner::new(file, self.source_end, end, self.facts.file_id);
        while let Some(found) = scan.next_item().map_err(&io)? {
            match found {
                ScanItem::Commit(commit, true) => {
                    copy_commit(self, &commit).map_err(&io)?;
                    self.is_ahead_of_sync = true;
                }
                ScanItem::Commit(commit, false) => return Err(damaged_error(path, commit.offset)),
                ScanItem::Damage(found) => return Err(damaged_error(path, found.offset)),
                ScanItem::Manifest { .. } | ScanItem::Own { .. } | ScanItem::Foreign { .. } => {}
            }
        }
        self.source_end = self.source_end.max(end);
        Ok(())
    }
}

fn damaged_error(path: &Path, offset: u64) -> StoreError {
    StoreError::Damaged {
        path: path.to_path_buf(),
        offset,
        what: "commits written during the compaction cannot be read back",
    }
}

/// Copies a commit; moves vectors between `VEC_SEG` and separate entries if the new file has
/// another width.
fn copy_commit(done: &mut CompactedLog, commit: &ReadCommit) -> io::Result<()> {
    let facts = done.facts;
    let unreadable = || io::Error::other("a commit cannot be read back");
    let entries = commit.decode_entries(facts.file_id);
    let mut entries = entries.ok_or_else(unreadable)?;
    if commit.read_vectors(&*done.source.snapshot.file, &mut entries)? > 0 {
        return Err(unreadable());
    }
    let (mut copied, mut next) = (Vec::new(), commit.head.first_ordinal);
    for mut entry in entries {
        let own = next;
        next += u32::from(entry.has_ordinal());
        match (entry.outline.take(), entry.vector.take()) {
            (Some(Outline::Record(mark)), vector) => {
                let vector = mark.zip(vector);
                push_record(&mut copied, entry.rest(), own, vector, facts.dimensions);
            }
            (Some(Outline::Embedded { ordinal, mark }), Some(vector)) => {
                let vector = (mark, vector);
                copied.push(EncodedEntry::from_vector(ordinal, vector, facts.dimensions));
            }
            (Some(Outline::SeparateVector { ordinal, mark }), _) => {
                let vector = (mark, entry.rest().to_vec());
                copied.push(EncodedEntry::from_vector(ordinal, vector, facts.dimensions));
            }
            (outline, vector) => {
                (entry.outline, entry.vector) = (outline, vector);
                copied.push(entry);
            }
        }
    }
    let head = CommitHead {
        previous: done.directory.last_commit,
        manifest: done.directory.manifest,
        ..CommitHead::new(
            &facts,
            commit.head.seq(),
            commit.head.is_packed(),
            commit.head.first_ordinal,
        )
    };
    let mut compressor = Compressor::new(LEVEL_APPEND, facts.file_id)?;
    let built = commit::build_commit(head, done.end, copied, &mut compressor)?;
    done.append(built)
}
