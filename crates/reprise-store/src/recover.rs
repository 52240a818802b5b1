//! Recovery of the directory from the newest checkpoint and the commits after it, or from every
//! commit.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reprise_types::{ByteReader, encode_row, impl_row_codec};

use crate::codec::EncodedEntry;
use crate::commit::{CommitHead, FileFacts, ReadCommit};
use crate::directory::LogDirectory;
use crate::disk::DiskFile;
use crate::entry::CommitSeq;
use crate::error::{StoreError, StoreResult};
use crate::frame::{
    SegmentHeader, SegmentPreamble, TYPE_CLOSING, TYPE_COMMIT, TYPE_FILE, TYPE_MANIFEST,
    TYPE_PAGES, append_segment, read_segment, segment_size,
};
use crate::manifest::{Manifest, load_manifest, load_record_states};
use crate::options::{DamagedRange, RecoveryReport, Verify};
use crate::scan::{ScanItem, SegmentScanner, find_first_commit, find_last_commit_or_manifest};

/// The format that this build reads and writes.
pub(crate) const FORMAT_VERSION: u16 = 3;

/// Longest payload that a file's first segment may have.
const FILE_HEAD_BYTES_MAX: u64 = 4096;

/// The payload of a file's first segment.
struct FileHead {
    preamble: SegmentPreamble,
    version: u16,
    created_ms: i64,
}

impl_row_codec! {
    FileHead { preamble, version, created_ms }
}

/// Encodes a new file, which has a header and no commits.
pub(crate) fn encode_new_file(facts: &FileFacts) -> Vec<u8> {
    let mut payload = Vec::new();
    let head = FileHead {
        preamble: facts.preamble(TYPE_FILE, 0, 0),
        version: FORMAT_VERSION,
        created_ms: facts.created_ms,
    };
    encode_row(&head, &mut payload);
    let mut bytes = Vec::new();
    append_segment(&mut bytes, 0, TYPE_FILE, &payload);
    bytes
}

/// Reads the file's facts from its header, or from its first whole commit if the header is damaged.
pub(crate) fn read_file_facts(
    file: &Arc<dyn DiskFile>,
    path: &Path,
    size: u64,
) -> StoreResult<(FileFacts, Option<DamagedRange>)> {
    let foreign = |why| {
        Err(StoreError::NotAStore {
            path: path.to_path_buf(),
            why,
        })
    };
    let io = StoreError::io("read", path);
    if size == 0 {
        return foreign("it is empty");
    }
    let is_short = |head: &SegmentHeader| head.payload_size <= FILE_HEAD_BYTES_MAX;
    let found = read_segment(&**file, 0, size, is_short);
    if let Some(payload) = found.map_err(&io)? {
        if payload.first() == Some(&TYPE_FILE) && payload.get(1).is_some_and(|layout| *layout > 1) {
            return newer_format(path, payload.get(1).copied().map_or(0, u16::from));
        }
        let head: Option<FileHead> = ByteReader::with_fixed_layout(&payload).read_value();
        if let Some(head) = head.filter(|head| head.preamble.is_of(TYPE_FILE)) {
            return match head.version {
                FORMAT_VERSION => Ok((FileFacts::new(&head.preamble, head.created_ms), None)),
                found if found > FORMAT_VERSION => newer_format(path, found),
                found => Err(StoreError::OlderFormat {
                    path: path.to_path_buf(),
                    found,
                }),
            };
        }
    }
    let Some(commit) = find_first_commit(file, size).map_err(&io)? else {
        return foreign("it does not begin as one and has no commit");
    };
    let what = "the file header is damaged; every commit repeats its content";
    let damage = DamagedRange::new(0, commit.vectors_offset(), what);
    Ok((commit.head.facts(), Some(damage)))
}

fn newer_format<T>(path: &Path, found: u16) -> StoreResult<T> {
    Err(StoreError::NewerFormat {
        path: path.to_path_buf(),
        found,
        supported: FORMAT_VERSION,
    })
}

#[derive(Debug)]
pub(crate) struct RecoveredLog {
    pub(crate) facts: FileFacts,
    pub(crate) directory: LogDirectory,
    /// Offset for the next commit: the end of the last valid segment.
    pub(crate) end: u64,
    /// The newest manifest of sections, if there is one.
    pub(crate) manifest: Option<Manifest>,
    /// Set when a page of a section is found damaged.
    pub(crate) damage: Arc<AtomicBool>,
    pub(crate) report: RecoveryReport,
}

/// Recovers a log and never writes; the caller cuts off the report's `torn_bytes`.
pub(crate) fn recover_log(
    file: &Arc<dyn DiskFile>,
    path: &Path,
    size: u64,
    verify: Verify,
) -> StoreResult<RecoveredLog> {
    let (facts, damage) = read_file_facts(file, path, size)?;
    let recovered = fold_log(file, facts, size, verify);
    let mut recovered = recovered.map_err(StoreError::io("read", path))?;
    if let Some(damage) = damage.filter(|damage| !recovered.report.has_damage_at(damage)) {
        recovered.report.damage.insert(0, damage);
    }
    Ok(recovered)
}

fn fold_log(
    file: &Arc<dyn DiskFile>,
    facts: FileFacts,
    size: u64,
    verify: Verify,
) -> io::Result<RecoveredLog> {
    let mut fold = RecoveryFold {
        file,
        size,
        log: RecoveredLog {
            facts,
            directory: LogDirectory::default(),
            end: 0,
            manifest: None,
            damage: Arc::default(),
            report: RecoveryReport::default(),
        },
        pages_end: 0,
        doubtful: None,
    };
    let log = &mut fold.log;
    if verify == Verify::Tail
        && let Some(offset) = find_newest_manifest(file, &facts, size)?
        && let Some((manifest, directory)) = load_manifest(file, &facts, offset, size, &log.damage)?
    {
        log.end = manifest.end;
        log.directory = directory;
        log.directory.add_section_bytes(manifest.end - offset);
        log.manifest = Some(manifest);
        log.report.from_checkpoint = true;
    }
    fold.apply_segments()?;
    let mut log = fold.log;
    log.report.torn_bytes = size.saturating_sub(log.end);
    log.report.damage.retain(|damage| damage.offset < log.end);
    Ok(log)
}

/// Finds the offset of the newest manifest from the last commit or manifest of the file.
pub(crate) fn find_newest_manifest(
    file: &Arc<dyn DiskFile>,
    facts: &FileFacts,
    size: u64,
) -> io::Result<Option<u64>> {
    let Some((offset, kind)) = find_last_commit_or_manifest(file, size, facts.file_id)? else {
        return Ok(None);
    };
    if kind == TYPE_MANIFEST {
        return Ok(Some(offset));
    }
    let commit = read_segment(&**file, offset, size, |header| header.kind == TYPE_COMMIT)?;
    let head = commit.and_then(|payload| CommitHead::decode(&payload));
    let named = head.map(|head| head.manifest);
    Ok(named.filter(|manifest| *manifest != 0))
}

/// Builds a directory from the segments of a scan.
struct RecoveryFold<'a> {
    file: &'a Arc<dyn DiskFile>,
    size: u64,
    log: RecoveredLog,
    /// End of the pages directly after the last valid segment, which a manifest may still follow.
    pages_end: u64,
    /// A commit whose vectors are not whole. It is torn if it is the last one in the file, because
    /// its sync may not have completed. It is damaged if anything follows, which was written after
    /// its sync.
    doubtful: Option<Box<ReadCommit>>,
}

impl RecoveryFold<'_> {
    fn apply_segments(&mut self) -> io::Result<()> {
        let (from, file_id) = (self.log.end, self.log.facts.file_id);
        let mut scan = SegmentScanner::new(Arc::clone(self.file), from, self.size, file_id);
        while let Some(found) = scan.next_item()? {
            self.settle_doubtful_commit(&found)?;
            match found {
                ScanItem::Commit(commit, true) => self.apply_commit(&commit, true)?,
                ScanItem::Commit(commit, false) => self.doubtful = Some(commit),
                ScanItem::Manifest { offset, payload } => self.apply_manifest(offset, &payload)?,
                ScanItem::Own {
                    offset,
                    kind,
                    size,
                    seq,
                } => self.apply_other_segment(kind, (offset, size), seq),
                ScanItem::Foreign { offset, size, .. } => {
                    self.log.report.foreign_segments += 1;
                    self.log.end = self.log.end.max(offset + size);
                }
                ScanItem::Damage(damage) => self.log.report.damage.push(damage),
            }
        }
        Ok(())
    }

    /// Applies a commit whose vectors are not whole, if what was found was written after its sync:
    /// then its vectors are damaged. Damage proves nothing, nor do segments in another place that
    /// do not say what file they belong to.
    fn settle_doubtful_commit(&mut self, found: &ScanItem) -> io::Result<()> {
        let came_later = match found {
            ScanItem::Commit(..) | ScanItem::Manifest { .. } | ScanItem::Foreign { .. } => true,
            ScanItem::Own { offset, .. } => *offset == self.next_segment_offset(),
            ScanItem::Damage(_) => false,
        };
        match self.doubtful.take_if(|_| came_later) {
            Some(commit) => self.apply_commit(&commit, false),
            None => Ok(()),
        }
    }

    fn apply_other_segment(&mut self, kind: u8, (offset, size): (u64, u64), seq: u64) {
        let is_next = offset == self.next_segment_offset();
        match kind {
            TYPE_FILE => self.log.end = self.log.end.max(offset + size),
            TYPE_PAGES => {
                self.log.directory.add_section_bytes(size);
                if is_next {
                    self.pages_end = offset + size;
                }
            }
            // Of its commit or checkpoint, or after pages that no manifest names.
            TYPE_CLOSING if is_next && u64::from(self.log.directory.seq as u32) == seq => {
                self.log.directory.apply_closing_index(size);
                self.log.end = offset + size;
            }
            _ => {}
        }
    }

    /// Returns the offset of the next segment if everything since the last commit is whole.
    fn next_segment_offset(&self) -> u64 {
        let behind = self.doubtful.as_deref();
        let behind = behind.map_or(self.log.end, |commit| commit.offset + commit.size());
        behind.max(self.pages_end)
    }

    fn report_damage(&mut self, commit: &ReadCommit, what: &str) {
        let damage = DamagedRange::new(commit.offset, commit.size(), what);
        self.log.report.damage.push(damage);
    }

    fn apply_commit(&mut self, commit: &ReadCommit, vectors_whole: bool) -> io::Result<()> {
        self.log.end = commit.offset + commit.size();
        let head = &commit.head;
        let last = (self.log.directory.seq, self.log.directory.record_count());
        // Each record takes some bytes, also one that is lost.
        if u64::from(head.first_ordinal) > self.size || !head.follows(last) {
            self.report_damage(commit, "a commit that does not continue the log");
            return Ok(());
        }
        let Some(mut entries) = commit.decode_entries(self.log.facts.file_id) else {
            self.report_damage(commit, "a commit with malformed entries");
            return Ok(());
        };
        if !vectors_whole {
            let damaged = commit.read_vectors(&**self.file, &mut entries)?;
            self.report_damaged_vectors(commit, damaged, &entries);
        }
        if !head.is_packed() {
            self.note_missing_commits(head.seq() - 1);
        }
        self.note_missing_records(head.first_ordinal);
        self.log.report.commits_read += 1;
        let directory = &mut self.log.directory;
        directory.apply_commit(head, commit.offset, entries, vectors_whole);
        Ok(())
    }

    fn report_damaged_vectors(&mut self, commit: &ReadCommit, lost: u64, entries: &[EncodedEntry]) {
        let (offset, length) = (commit.vectors_offset(), commit.head.vectors_size);
        let all = entries.iter().filter_map(EncodedEntry::vector_mark).count();
        let what = format!("a damaged VEC_SEG: {lost} of {all} vectors are lost");
        // The scan reported the same bytes as damage because it did not know their commit.
        self.log.report.damage.retain(|d| d.offset != offset);
        self.log
            .report
            .damage
            .push(DamagedRange::new(offset, length, what));
    }

    fn note_missing_commits(&mut self, until: u64) {
        if until > self.log.directory.seq {
            let first = CommitSeq(self.log.directory.seq + 1);
            self.log
                .report
                .missing_commits
                .push((first, CommitSeq(until)));
        }
    }

    fn note_missing_records(&mut self, until: u32) {
        let records = self.log.directory.record_count();
        if until > records {
            self.log.report.missing_records.push((records, until - 1));
        }
    }

    fn apply_manifest(&mut self, offset: u64, payload: &[u8]) -> io::Result<()> {
        let end = offset + segment_size(payload.len() as u64);
        self.log.end = end;
        let Some((manifest, named)) = Manifest::decode(payload, offset) else {
            let what = "a manifest whose pages are missing";
            let damage = DamagedRange::new(offset, end - offset, what);
            if !self.log.report.has_damage_at(&damage) {
                self.log.report.damage.push(damage);
            }
            return Ok(());
        };
        let is_behind = manifest.seq > self.log.directory.seq
            || named.last_commit != self.log.directory.last_commit
            || !self.log.report.missing_commits.is_empty()
            || !self.log.report.missing_records.is_empty();
        if is_behind {
            // Commits before the manifest are missing, but its sections have the record count, the
            // forgotten records and the cursors. Packed commits have one number, so that it does
            // not tell of the last of them.
            self.note_missing_commits(manifest.seq);
            self.merge_record_states(offset)?;
        }
        self.log.directory.apply_manifest(offset, end);
        self.log.manifest = Some(manifest);
        Ok(())
    }

    /// Takes over what the manifest at `offset` knows of the records of missing commits, and of
    /// those that they forgot. Where a page of it cannot be read, none of its records can be told
    /// from a forgotten one, so they are lost.
    fn merge_record_states(&mut self, offset: u64) -> io::Result<()> {
        let known = load_record_states(self.file, &self.log.facts, offset, self.size)?;
        let Some(known) = known else {
            let what = "a manifest that does not tell which records are forgotten";
            self.log
                .report
                .damage
                .push(DamagedRange::new(offset, 0, what));
            return Ok(());
        };
        self.note_missing_records(known.record_count());
        for ordinal in self.log.directory.merge_later(&known) {
            match self.log.report.missing_records.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(ordinal) => *last = ordinal,
                _ => self.log.report.missing_records.push((ordinal, ordinal)),
            }
        }
        Ok(())
    }
}
