//! Lists the segments of a file, and whether each is whole.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use reprise_types::{RowCodec, SectionKey};

use crate::commit::CommitHead;
use crate::disk::{Disk, DiskFile, PastUnreadable, read_pieces, read_within};
use crate::error::{StoreError, StoreResult};
use crate::frame::{
    HEADER_SIZE, TYPE_COMMIT, TYPE_MANIFEST, TYPE_VECTORS, decode_header, segment_size, type_name,
};
use crate::manifest::{Manifest, load_manifest};
use crate::options::DamagedRange;
use crate::reader::LogReader;
use crate::recover::{find_newest_manifest, read_file_facts};
use crate::scan::{ScanItem, SegmentScanner};

/// A segment of a file, or a damaged range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentInfo {
    pub offset: u64,
    pub bytes: u64,
    /// The RVF segment type; 0 for a damaged range.
    pub segment_type: u8,
    pub name: &'static str,
    /// A short description of the content.
    pub holds: String,
    pub whole: bool,
}

impl SegmentInfo {
    fn new_whole(offset: u64, bytes: u64, segment_type: u8, holds: String) -> Self {
        Self {
            offset,
            bytes,
            segment_type,
            name: type_name(segment_type),
            holds,
            whole: true,
        }
    }

    fn from_damage(damage: &DamagedRange) -> Self {
        Self {
            offset: damage.offset,
            bytes: damage.length,
            segment_type: 0,
            name: "damaged",
            holds: damage.what.clone(),
            whole: false,
        }
    }
}

/// Lists every segment of the file at `path`, without a lock.
pub fn list_segments(disk: &dyn Disk, path: &Path) -> StoreResult<Vec<SegmentInfo>> {
    let file = disk
        .open(path, false)
        .map_err(StoreError::io("open", path))?;
    let size = file.size().map_err(StoreError::io("read", path))?;
    let (facts, _) = read_file_facts(&file, path, size)?;
    collect_segments(&file, size, facts.file_id).map_err(StoreError::io("read", path))
}

/// Returns the byte ranges of a section's pages and checks in the file at `path`, as its newest
/// manifest names them, without a lock; none if there is no such section.
pub fn locate_section(
    disk: &dyn Disk,
    path: &Path,
    key: SectionKey,
) -> StoreResult<Vec<Range<u64>>> {
    let io = StoreError::io("read", path);
    let file = disk
        .open(path, false)
        .map_err(StoreError::io("open", path))?;
    let size = file.size().map_err(&io)?;
    let (facts, _) = read_file_facts(&file, path, size)?;
    let damage = Arc::default();
    let newest = find_newest_manifest(&file, &facts, size).map_err(&io)?;
    let loaded = match newest {
        Some(offset) => load_manifest(&file, &facts, offset, size, &damage).map_err(&io)?,
        None => None,
    };
    Ok(loaded.map_or_else(Vec::new, |(manifest, _)| manifest.sections.locate(key)))
}

fn collect_segments(
    file: &Arc<dyn DiskFile>,
    end: u64,
    file_id: u128,
) -> std::io::Result<Vec<SegmentInfo>> {
    let mut scan = SegmentScanner::new(Arc::clone(file), 0, end, file_id);
    let mut all = Vec::new();
    while let Some(found) = scan.next_item()? {
        all.push(match found {
            ScanItem::Commit(commit, _) => {
                let holds = describe_commit(&commit.head);
                SegmentInfo::new_whole(commit.offset, commit.size(), TYPE_COMMIT, holds)
            }
            ScanItem::Manifest { offset, payload } => {
                let size = segment_size(payload.len() as u64);
                let decoded = Manifest::decode(&payload, offset);
                let holds = decoded.map_or_else(String::new, |(manifest, _)| {
                    let sections = manifest.sections.keys().count();
                    format!("checkpoint of commit {}, {sections} sections", manifest.seq)
                });
                SegmentInfo::new_whole(offset, size, TYPE_MANIFEST, holds)
            }
            ScanItem::Own {
                offset,
                kind,
                seq,
                size,
            } => {
                let holds = match kind {
                    TYPE_VECTORS => "vectors of the next commit".to_owned(),
                    _ if seq > 0 => format!("as of commit {seq}"),
                    _ => String::new(),
                };
                SegmentInfo::new_whole(offset, size, kind, holds)
            }
            ScanItem::Foreign { offset, kind, size } => {
                let holds = format!("type {kind:#04x}, not written by Reprise");
                SegmentInfo {
                    name: "foreign",
                    ..SegmentInfo::new_whole(offset, size, kind, holds)
                }
            }
            ScanItem::Damage(damage) => SegmentInfo::from_damage(&damage),
        });
    }
    let tail = find_tail_damage(&**file, &scan, end)?;
    all.extend(tail.iter().map(SegmentInfo::from_damage));
    Ok(all)
}

fn describe_commit(head: &CommitHead) -> String {
    let CommitHead {
        entries,
        ordinals,
        first_ordinal,
        ..
    } = head;
    let (seq, is_packed) = (head.seq(), head.is_packed());
    let packed = if is_packed { "packed up to " } else { "" };
    format!("{packed}commit {seq}: {entries} entries, {ordinals} records from {first_ordinal}")
}

/// Returns the bytes after the last whole segment as damage, if there are any; the zeros with which
/// they begin are a range of their own.
fn find_tail_damage(
    file: &dyn DiskFile,
    scan: &SegmentScanner,
    end: u64,
) -> std::io::Result<Vec<DamagedRange>> {
    let from = scan.position();
    let at = skip_zeros(file, from, end)?;
    let mut found = Vec::new();
    if from < at {
        found.push(DamagedRange::new(from, at - from, "only zeros"));
    }
    if at < end {
        let began = describe_cut_segment(file, at, end)?;
        let what = began.unwrap_or_else(|| "nothing whole follows".to_owned());
        found.push(DamagedRange::new(at, end - at, what));
    }
    Ok(found)
}

/// Returns the offset of the first block after `from` that is not only zeros, or `end`.
fn skip_zeros(file: &dyn DiskFile, from: u64, end: u64) -> std::io::Result<u64> {
    let mut found = end;
    read_pieces(file, from..end, |at, piece| {
        let mut blocks = piece.chunks(HEADER_SIZE as usize);
        let block = blocks.position(|block| block.iter().any(|byte| *byte != 0));
        found = block.map_or(end, |block| at + block as u64 * HEADER_SIZE);
        Ok(block.is_none())
    })?;
    Ok(found)
}

/// Describes the segments with which the end of a file begins, the last of them cut short; `None`
/// if no segment of ours begins at this offset.
fn describe_cut_segment(file: &dyn DiskFile, at: u64, end: u64) -> std::io::Result<Option<String>> {
    let (mut at, mut whole) = (at, String::new());
    while let Some(bytes) = read_within(file, at, HEADER_SIZE as usize, end)? {
        let header = decode_header(&bytes, at).filter(|header| header.canonical);
        let Some(header) = header else { break };
        let (name, there, size) = (type_name(header.kind), end - at, header.segment_size());
        if size <= there {
            // A commit's vectors come before the commit that makes them valid.
            whole = format!("{whole}a segment ({name}), then ");
            at += size;
            continue;
        }
        let mut says =
            format!("{whole}the beginning of a segment ({name}), {there} of {size} bytes");
        if header.kind == TYPE_COMMIT
            && let Some(fixed) = read_within(file, at + HEADER_SIZE, CommitHead::WIDTH, end)?
            && let Some(head) = CommitHead::decode(&fixed)
        {
            says = format!("{says}: {}", describe_commit(&head));
        }
        return Ok(Some(says));
    }
    Ok((!whole.is_empty()).then(|| format!("{whole}nothing whole")))
}

impl LogReader {
    /// Hashes every byte of the file up to the end of this snapshot, and returns the damage; what
    /// cannot be read is damage, too.
    pub fn scrub(&self) -> StoreResult<Vec<DamagedRange>> {
        let snapshot = &*self.snapshot;
        let file = PastUnreadable::new(&snapshot.file);
        let mut scan = SegmentScanner::new(file.clone(), 0, snapshot.end, snapshot.facts.file_id);
        let io = StoreError::io("read", &snapshot.path);
        let mut damage = Vec::new();
        while let Some(found) = scan.next_item().map_err(&io)? {
            if let ScanItem::Damage(found) = found {
                damage.push(found);
            }
        }
        let tail = find_tail_damage(&*file, &scan, snapshot.end);
        damage.extend(tail.map_err(&io)?);
        Ok(damage)
    }
}
