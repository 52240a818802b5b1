//! Inspection of a file: its segments, and whether each is whole.

use std::path::Path;
use std::sync::Arc;

use crate::checkpoint::Seal;
use crate::commit::CommitHead;
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StoreError};
use crate::frame::{TYPE_COMMIT, TYPE_SEAL, TYPE_VECTORS, segment_size, type_name};
use crate::options::Damage;
use crate::reader::LogReader;
use crate::recover::read_facts;
use crate::scan::{Found, Scan};

/// One segment of a file, or a damaged stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentInfo {
    pub offset: u64,
    pub bytes: u64,
    /// The RVF segment type; 0 for a damaged stretch.
    pub segment_type: u8,
    pub name: &'static str,
    /// A short description of the content.
    pub holds: String,
    pub whole: bool,
}

impl SegmentInfo {
    fn whole(offset: u64, bytes: u64, segment_type: u8, holds: String) -> Self {
        Self {
            offset,
            bytes,
            segment_type,
            name: type_name(segment_type),
            holds,
            whole: true,
        }
    }

    fn damaged(damage: &Damage) -> Self {
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

/// Every segment of the file at `path`. Takes no lock.
pub fn inspect(disk: &dyn Disk, path: &Path) -> Result<Vec<SegmentInfo>> {
    let file = disk
        .open(path, false)
        .map_err(StoreError::io("open", path))?;
    let size = file.size().map_err(StoreError::io("read", path))?;
    let (facts, _) = read_facts(&file, path, size)?;
    list(&file, size, facts.file_id).map_err(StoreError::io("read", path))
}

fn list(
    file: &Arc<dyn DiskFile>,
    end: u64,
    file_id: u128,
) -> Result<Vec<SegmentInfo>, std::io::Error> {
    let mut scan = Scan::new(Arc::clone(file), 0, end, file_id);
    let mut all = Vec::new();
    while let Some(found) = scan.next()? {
        all.push(match found {
            Found::Commit(commit, _) => {
                let holds = describe(&commit.head);
                SegmentInfo::whole(commit.offset, commit.size(), TYPE_COMMIT, holds)
            }
            Found::Seal { offset, payload } => {
                let size = segment_size(payload.len() as u64);
                let holds = Seal::parse(&payload).map_or_else(String::new, |seal| {
                    let parts = seal.parts.len();
                    format!("checkpoint of commit {}, {parts} derived parts", seal.seq)
                });
                SegmentInfo::whole(offset, size, TYPE_SEAL, holds)
            }
            Found::Own {
                offset,
                kind,
                seq,
                size,
            } => {
                let holds = match kind {
                    TYPE_VECTORS => "vectors of the commit behind it".to_owned(),
                    _ if seq > 0 => format!("as of commit {seq}"),
                    _ => String::new(),
                };
                SegmentInfo::whole(offset, size, kind, holds)
            }
            Found::Foreign { offset, kind, size } => {
                let holds = format!("type {kind:#04x}, not written by Reprise");
                SegmentInfo {
                    name: "foreign",
                    ..SegmentInfo::whole(offset, size, kind, holds)
                }
            }
            Found::Damage(damage) => SegmentInfo::damaged(&damage),
        });
    }
    all.extend(tail(&scan, end).as_ref().map(SegmentInfo::damaged));
    Ok(all)
}

fn describe(head: &CommitHead) -> String {
    let CommitHead {
        seq,
        entries,
        ordinals,
        first_ordinal,
        ..
    } = head;
    let packed = if head.packed { "packed up to " } else { "" };
    format!("{packed}commit {seq}: {entries} entries, {ordinals} records from {first_ordinal}")
}

/// What stands behind the last whole segment.
fn tail(scan: &Scan, end: u64) -> Option<Damage> {
    let at = scan.position();
    (at < end).then(|| Damage::new(at, end - at, "nothing whole follows"))
}

impl LogReader {
    /// Hashes every byte of the file, as far as this snapshot reaches, and returns the damage.
    pub fn scrub(&self) -> Result<Vec<Damage>> {
        let snapshot = &*self.snapshot;
        let file = Arc::clone(&snapshot.file);
        let mut scan = Scan::new(file, 0, snapshot.end, snapshot.facts.file_id);
        let io = StoreError::io("read", &snapshot.path);
        let mut damage = Vec::new();
        while let Some(found) = scan.next().map_err(&io)? {
            if let Found::Damage(found) = found {
                damage.push(found);
            }
        }
        damage.extend(tail(&scan, snapshot.end));
        Ok(damage)
    }
}
