//! Recovery of the directory: from the newest checkpoint and what follows it, or from every commit.

use std::io;
use std::path::Path;
use std::sync::Arc;

use reprise_types::ByteReader;

use crate::checkpoint::{self, Seal, Sealed};
use crate::codec::vector_check;
use crate::commit::{CommitHead, FileFacts, Placed, ReadCommit, vectors_size};
use crate::directory::Directory;
use crate::disk::{DiskFile, read_within};
use crate::entry::CommitSeq;
use crate::error::{Result, StoreError};
use crate::frame::{
    HEADER_SIZE, PREAMBLE_SIZE, Preamble, TYPE_FILE, TYPE_MANIFEST, TYPE_SEAL, content_hash,
    is_derived, parse_header, put_segment, segment_size,
};
use crate::options::{Damage, DerivedSet, RecoveryReport, Verify};
use crate::scan::{Found, Scan, find_last, first_commit};

/// The newest format this build reads and the one it writes.
pub(crate) const FORMAT_VERSION: u16 = 1;

/// The bytes of a file with nothing in it but its header.
///
/// ```text
/// preamble | format version u16 | created i64
/// ```
pub(crate) fn new_file(facts: &FileFacts) -> Vec<u8> {
    let mut payload = facts.preamble(TYPE_FILE, 0, 0).bytes().to_vec();
    payload.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    payload.extend_from_slice(&facts.created_ms.to_le_bytes());
    let mut bytes = Vec::new();
    put_segment(&mut bytes, 0, TYPE_FILE, &payload);
    bytes
}

/// The file's facts from its header; from its first whole commit where the header is damaged.
pub(crate) fn read_facts(
    file: &Arc<dyn DiskFile>,
    path: &Path,
    size: u64,
) -> Result<(FileFacts, Option<Damage>)> {
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
    if let Some(payload) = file_payload(&**file, size).map_err(&io)? {
        if payload.first() == Some(&TYPE_FILE) && payload.get(1).is_some_and(|layout| *layout > 1) {
            return newer(path, payload.get(1).copied().map_or(0, u16::from));
        }
        let preamble = Preamble::parse(&payload).filter(|p| p.kind == TYPE_FILE);
        let reader = &mut ByteReader::new(payload.get(PREAMBLE_SIZE..).unwrap_or_default());
        if let (Some(preamble), Some(version)) = (preamble, reader.u16()) {
            if version > FORMAT_VERSION {
                return newer(path, version);
            }
            if let Some(created_ms) = reader.i64() {
                let facts = FileFacts {
                    file_id: preamble.file_id,
                    dimensions: preamble.dimensions,
                    created_ms,
                };
                return Ok((facts, None));
            }
        }
    }
    let Some(commit) = first_commit(file, size).map_err(&io)? else {
        return foreign("it does not begin as one and holds no commit");
    };
    let what = "the file header is damaged; its content stands in every commit too";
    let damage = Damage::new(0, commit.vectors_offset(), what);
    match CommitHead::parse(&commit.payload) {
        Some((_, facts)) => Ok((facts, Some(damage))),
        None => foreign("its first commit makes no sense"),
    }
}

fn newer<T>(path: &Path, found: u16) -> Result<T> {
    Err(StoreError::NewerFormat {
        path: path.to_path_buf(),
        found,
        supported: FORMAT_VERSION,
    })
}

/// The payload of the segment at offset 0; `None` where it is damaged or too long for a file
/// header.
fn file_payload(file: &dyn DiskFile, size: u64) -> io::Result<Option<Vec<u8>>> {
    const PAYLOAD_MAX: u64 = 4096;
    let head = read_within(file, 0, HEADER_SIZE as usize, size)?;
    let header = head.and_then(|head| parse_header(&head, 0));
    let Some(header) = header.filter(|header| header.payload_size <= PAYLOAD_MAX) else {
        return Ok(None);
    };
    let payload = read_within(file, HEADER_SIZE, header.payload_size as usize, size)?;
    Ok(payload.filter(|payload| content_hash(payload) == header.hash))
}

#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) facts: FileFacts,
    pub(crate) directory: Directory,
    /// Offset for the next commit: the end of the last valid segment.
    pub(crate) end: u64,
    /// The newest checkpoint.
    pub(crate) checkpoint: Option<Sealed>,
    pub(crate) derived: Option<DerivedSet>,
    pub(crate) report: RecoveryReport,
}

/// Reads the file and never writes; the caller cuts off `torn_bytes` of the report.
pub(crate) fn recover(
    file: &Arc<dyn DiskFile>,
    path: &Path,
    size: u64,
    verify: Verify,
    leave: &[u8],
) -> Result<Recovered> {
    let (facts, damage) = read_facts(file, path, size)?;
    let found = folded(file, facts, size, verify, leave);
    let mut found = found.map_err(StoreError::io("read", path))?;
    if let Some(damage) = damage.filter(|damage| !found.report.knows(damage)) {
        found.report.damage.insert(0, damage);
    }
    Ok(found)
}

fn folded(
    file: &Arc<dyn DiskFile>,
    facts: FileFacts,
    size: u64,
    verify: Verify,
    leave: &[u8],
) -> io::Result<Recovered> {
    let mut fold = Fold::new(file, facts, size);
    let mut from = 0;
    if verify == Verify::Tail
        && let Some(offset) = newest_seal(file, &facts, size)?
        && let Some((seal, directory)) = checkpoint::load(&**file, &facts, offset, size)?
    {
        from = seal_end(&seal, offset);
        fold.seal = Some((seal, Sealed::of(&directory, from)));
        fold.directory = directory;
        fold.kept = from;
        fold.report.from_checkpoint = true;
    }
    fold.run(from)?;
    fold.finish(leave)
}

fn seal_end(seal: &Seal, offset: u64) -> u64 {
    offset + segment_size(seal.payload_size())
}

/// Where the newest seal should be, by the last commit or seal of the file.
fn newest_seal(file: &Arc<dyn DiskFile>, facts: &FileFacts, size: u64) -> io::Result<Option<u64>> {
    let Some((offset, kind)) = find_last(file, size, facts.file_id)? else {
        return Ok(None);
    };
    if kind == TYPE_SEAL {
        return Ok(Some(offset));
    }
    let found = Scan::new(Arc::clone(file), offset, size, facts.file_id).next()?;
    Ok(match found {
        Some(Found::Commit(commit, _)) => Some(commit.head.seal).filter(|seal| *seal != 0),
        _ => None,
    })
}

/// Applies the segments of a scan to a directory.
struct Fold<'a> {
    file: &'a Arc<dyn DiskFile>,
    facts: FileFacts,
    size: u64,
    directory: Directory,
    report: RecoveryReport,
    seal: Option<(Seal, Sealed)>,
    /// End of the last valid segment.
    kept: u64,
    /// End of the derived blobs directly behind it, which a seal may still follow.
    blobs: u64,
    /// A commit whose vectors are not whole. Torn if it is last in the file, as its sync may not
    /// have completed; damaged if anything follows, as that was written after its sync.
    doubtful: Option<Box<ReadCommit>>,
}

impl<'a> Fold<'a> {
    fn new(file: &'a Arc<dyn DiskFile>, facts: FileFacts, size: u64) -> Self {
        Self {
            file,
            facts,
            size,
            directory: Directory::default(),
            report: RecoveryReport::default(),
            seal: None,
            kept: 0,
            blobs: 0,
            doubtful: None,
        }
    }

    fn run(&mut self, from: u64) -> io::Result<()> {
        let mut scan = Scan::new(Arc::clone(self.file), from, self.size, self.facts.file_id);
        while let Some(found) = scan.next()? {
            match found {
                Found::Commit(commit, whole) => {
                    self.settle_doubt()?;
                    if whole {
                        self.take_commit(&commit, true)?;
                    } else {
                        self.doubtful = Some(commit);
                    }
                }
                Found::Seal { offset, payload } => {
                    self.settle_doubt()?;
                    self.take_seal(offset, &payload)?;
                }
                Found::Own {
                    offset,
                    kind,
                    size,
                    seq,
                } => {
                    if kind == TYPE_FILE {
                        self.kept = self.kept.max(offset + size);
                    } else if kind == TYPE_MANIFEST {
                        self.take_manifest(offset, size, seq)?;
                    } else if is_derived(kind) && offset == self.behind() {
                        self.blobs = offset + size;
                    }
                }
                Found::Foreign { offset, size, .. } => {
                    self.report.foreign_segments += 1;
                    self.kept = self.kept.max(offset + size);
                }
                Found::Damage(damage) => self.report.damage.push(damage),
            }
        }
        Ok(())
    }

    /// Where the next segment stands, if everything since the last commit is whole.
    fn behind(&self) -> u64 {
        let behind = self.doubtful.as_deref();
        let behind = behind.map_or(self.kept, |commit| commit.offset + commit.size());
        behind.max(self.blobs)
    }

    /// Keeps a manifest that stands alone behind the commit it shows, or behind what there is of a
    /// checkpoint that was given up. One further on belongs to a checkpoint, which is whole with
    /// its seal or not at all.
    fn take_manifest(&mut self, offset: u64, size: u64, seq: u64) -> io::Result<()> {
        if offset == self.behind() {
            self.settle_doubt()?;
            if u64::from(self.directory.seq as u32) == seq {
                self.directory.showed(size);
                self.kept = offset + size;
            }
        }
        Ok(())
    }

    fn settle_doubt(&mut self) -> io::Result<()> {
        match self.doubtful.take() {
            Some(commit) => self.take_commit(&commit, false),
            None => Ok(()),
        }
    }

    fn damaged(&mut self, commit: &ReadCommit, what: &str) {
        let damage = Damage::new(commit.offset, commit.size(), what);
        self.report.damage.push(damage);
    }

    fn take_commit(&mut self, commit: &ReadCommit, vectors_whole: bool) -> io::Result<()> {
        self.kept = commit.offset + commit.size();
        let head = &commit.head;
        let records = self.directory.records();
        let continues = head.first_ordinal >= records
            && if head.packed {
                head.seq >= self.directory.seq
            } else {
                head.seq > self.directory.seq
            };
        if !continues {
            self.damaged(commit, "a commit that does not continue the log");
            return Ok(());
        }
        let placed = commit.placed(self.facts.file_id);
        let vectors = placed.as_ref().map_or(0, |placed| {
            placed.iter().filter(|p| p.outline.has_vector()).count() as u64
        });
        let fits = vectors_size(&self.facts, vectors) == head.vectors_size;
        let Some(placed) = placed.filter(|_| fits) else {
            self.damaged(commit, "a commit whose entries make no sense");
            return Ok(());
        };
        let flags = if vectors_whole {
            None
        } else {
            let flags = self.damaged_vectors(commit, &placed)?;
            self.report_vectors(commit, &flags);
            Some(flags)
        };
        if !head.packed {
            self.note_missing_commits(head.seq - 1);
        }
        self.note_missing_records(head.first_ordinal);
        self.report.commits_read += 1;
        let (facts, offset) = (self.facts, commit.offset);
        self.directory
            .fold(&facts, head, offset, placed, flags.as_deref());
        Ok(())
    }

    fn report_vectors(&mut self, commit: &ReadCommit, flags: &[bool]) {
        let (offset, length) = (commit.vectors_offset(), commit.head.vectors_size);
        let lost = flags.iter().filter(|damaged| **damaged).count();
        let what = format!(
            "a damaged VEC_SEG: {lost} of {} vectors are lost",
            flags.len()
        );
        // The scan reported the same bytes as damage without knowing their commit.
        self.report.damage.retain(|d| d.offset != offset);
        self.report.damage.push(Damage::new(offset, length, what));
    }

    /// Tries every vector of a `VEC_SEG` that is not whole by its own checksum.
    fn damaged_vectors(&self, commit: &ReadCommit, placed: &[Placed]) -> io::Result<Vec<bool>> {
        let mut bytes = vec![0; 4 * usize::from(self.facts.dimensions)];
        let marks = placed.iter().filter_map(|p| p.outline.mark());
        marks
            .enumerate()
            .map(|(turn, mark)| {
                let at = self
                    .facts
                    .vector_offset(commit.vectors_offset(), turn as u64);
                self.file.read_exact_at(at, &mut bytes)?;
                Ok(vector_check(&bytes) != mark.check)
            })
            .collect()
    }

    fn note_missing_commits(&mut self, until: u64) {
        if until > self.directory.seq {
            let first = CommitSeq(self.directory.seq + 1);
            self.report.missing_commits.push((first, CommitSeq(until)));
        }
    }

    fn note_missing_records(&mut self, until: u32) {
        let records = self.directory.records();
        if until > records {
            self.report.missing_records.push((records, until - 1));
        }
    }

    fn take_seal(&mut self, offset: u64, payload: &[u8]) -> io::Result<()> {
        let Some(seal) = Seal::parse(payload) else {
            return Ok(());
        };
        let end = seal_end(&seal, offset);
        self.kept = end;
        if seal.seq > self.directory.seq {
            // Commits before it are gone, but it knows how many records, what was forgotten and the
            // cursors.
            self.note_missing_commits(seal.seq);
            if let Some((_, known)) =
                checkpoint::load(&**self.file, &self.facts, offset, self.size)?
            {
                self.note_missing_records(known.records());
                self.directory.adopt(&known);
            }
        }
        self.directory.sealed(offset, seal.start, end);
        self.seal = Some((seal, Sealed::of(&self.directory, end)));
        Ok(())
    }

    fn finish(mut self, leave: &[u8]) -> io::Result<Recovered> {
        let kept = self.kept;
        self.report.torn_bytes = self.size.saturating_sub(kept);
        self.report.damage.retain(|damage| damage.offset < kept);
        let mut derived = None;
        if let Some((seal, _)) = &self.seal {
            match checkpoint::load_derived(self.file, &self.facts, seal, self.size, leave)? {
                Ok(set) => derived = Some(set),
                Err(damage) if self.report.knows(&damage) => {}
                Err(damage) => self.report.damage.push(damage),
            }
        }
        Ok(Recovered {
            facts: self.facts,
            directory: self.directory,
            end: kept,
            checkpoint: self.seal.map(|(_, sealed)| sealed),
            derived,
            report: self.report,
        })
    }
}
