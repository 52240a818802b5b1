//! Packing: writes every live record once, with its newest vector, in large commits.
//!
//! Records keep their ordinals. A forgotten record becomes a stub, a lost one stays lost. Records
//! of a damaged commit are kept if their blocks are whole. Late vectors move into their records.
//! The last cursor of each stream is kept. Annotations of forgotten records are dropped. Of a
//! forgotten correction it stays known what it replaced. Entries of unknown kinds are kept
//! unchanged, in their order.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use reprise_types::RecordId;

use super::CompactedLog;
use crate::block::{self, RawEntry};
use crate::codec::{
    KIND_LOST, KIND_RECORD, Outline, VectorMark, decode_outline, decode_record, remark_record,
    separate_vector_entry, vector_checksum,
};
use crate::commit::{self, CommitHead};
use crate::compress::{Compressor, LEVEL_PACK};
use crate::directory::LogDirectory;
use crate::directory::slot::{Slot, SlotState};
use crate::disk::read_within;
use crate::manifest::load_manifest;
use crate::reader::LogSnapshot;
use crate::recover::encode_new_file;
use crate::scan::{ScanItem, SegmentScanner};

/// Most entries of one packed commit, so that damage stays local and a `VEC_SEG` small.
const PACK_ENTRIES: usize = 4096;
/// Most bytes of records, or of vectors, in one packed commit.
const PACK_BYTES: usize = 8 * 1024 * 1024;

/// Writes the live content of a log to a new file, without a sync; returns whether all of the old
/// log could be read. If not, what was derived from it tells of more than the new file holds.
pub(super) fn pack_log(
    source: &LogSnapshot,
    old: &LogDirectory,
    new: &mut CompactedLog,
) -> io::Result<bool> {
    let facts = new.facts;
    let header = encode_new_file(&facts);
    new.file.write_all_at(0, &header)?;
    new.end = header.len() as u64;
    let mut packer = Packer {
        source,
        old,
        gone: old.tombstones.iter().map(|gone| gone.id).collect(),
        new,
        compressor: Compressor::new(LEVEL_PACK, facts.file_id)?,
        first_ordinal: 0,
        next: 0,
        pending: Vec::new(),
        bytes: 0,
    };
    let mut scan = SegmentScanner::new(Arc::clone(&source.file), 0, source.end, facts.file_id);
    let mut chain = CommitChain::default();
    while let Some(found) = scan.next_item()? {
        chain.pass(source, &found)?;
        let ScanItem::Commit(commit, _) = found else {
            continue;
        };
        if commit.head.first_ordinal >= packer.next
            // Recovery has refused what lies beyond.
            && commit.head.end_ordinal() <= old.record_count()
            && let Some(entries) = commit.decode_raw_entries(facts.file_id)
        {
            packer.salvage_or_stub_slots_until(commit.head.first_ordinal)?;
            for raw in entries {
                packer.add_entry(raw)?;
            }
        } else {
            chain.has_holes = true;
        }
    }
    let is_whole = !chain.has_holes_up_to(old);
    packer.salvage_or_stub_slots_until(old.record_count())?;
    for (stream, seq) in &old.cursors {
        let raw = RawEntry::from_cursor(stream, *seq);
        packer.append(raw, None)?;
    }
    if old.seq > 0 {
        packer.flush()?;
    }
    Ok(is_whole)
}

/// Follows the commits of a log, each of which names the one before it, and so misses those whose
/// bytes are gone. Damage to anything else is no hole.
#[derive(Default)]
struct CommitChain {
    last_commit: u64,
    seq: u64,
    /// Whether a commit may have stood in what is damaged since the last one.
    is_in_doubt: bool,
    has_holes: bool,
}

impl CommitChain {
    fn pass(&mut self, source: &LogSnapshot, found: &ScanItem) -> io::Result<()> {
        match found {
            ScanItem::Commit(commit, is_whole) => {
                let head = &commit.head;
                let is_next = if head.packed {
                    head.seq >= self.seq
                } else {
                    head.seq == self.seq + 1
                };
                let follows = head.previous == self.last_commit && is_next;
                self.has_holes |= !is_whole || !follows;
                (self.last_commit, self.seq) = (commit.offset, head.seq);
                self.is_in_doubt = false;
            }
            ScanItem::Manifest { offset, .. } if self.is_in_doubt => {
                let (file, facts) = (&source.file, &source.facts);
                let named = load_manifest(file, facts, *offset, source.end, &Arc::default())?;
                self.has_holes |= named.is_none_or(|(_, known)| !self.ends_with(&known));
                self.is_in_doubt = false;
            }
            ScanItem::Damage(_) => self.is_in_doubt = true,
            ScanItem::Manifest { .. } | ScanItem::Own { .. } | ScanItem::Foreign { .. } => {}
        }
        Ok(())
    }

    fn ends_with(&self, directory: &LogDirectory) -> bool {
        (self.last_commit, self.seq) == (directory.last_commit, directory.seq)
    }

    fn has_holes_up_to(&self, directory: &LogDirectory) -> bool {
        self.has_holes || self.is_in_doubt || !self.ends_with(directory)
    }
}

struct Packer<'a> {
    source: &'a LogSnapshot,
    old: &'a LogDirectory,
    /// The forgotten records.
    gone: HashSet<RecordId>,
    new: &'a mut CompactedLog,
    compressor: Compressor,
    first_ordinal: u32,
    next: u32,
    pending: Vec<RawEntry>,
    bytes: usize,
}

impl Packer<'_> {
    fn add_entry(&mut self, raw: RawEntry) -> io::Result<()> {
        match decode_outline(&raw) {
            Some(_) if raw.has_ordinal() => self.add_record_or_stub(&raw),
            Some(Outline::Learning | Outline::Unknown) => self.append(raw, None),
            Some(Outline::Superseded(replaced)) => {
                if !self.gone.contains(&replaced) {
                    self.append(raw, None)?;
                }
                Ok(())
            }
            Some(Outline::Annotated { ordinal, other }) => {
                if self.is_live(ordinal) && other.is_none_or(|other| self.is_live(other)) {
                    self.append(raw, None)?;
                }
                Ok(())
            }
            None if raw.kind == KIND_RECORD => self.salvage_or_stub_slots_until(self.next + 1),
            // It is already part of its record, its stub or the last cursor.
            Some(_) | None => Ok(()),
        }
    }

    fn is_live(&self, ordinal: u32) -> bool {
        let slot = self.old.slot(ordinal);
        slot.is_some_and(|slot| slot.state == SlotState::Live)
    }

    fn add_record_or_stub(&mut self, raw: &RawEntry) -> io::Result<()> {
        let Some(slot) = self.old.slot(self.next) else {
            return Ok(());
        };
        if slot.state == SlotState::Live && self.append_record(slot, &raw.body)? {
            return Ok(());
        }
        self.salvage_or_stub_slots_until(self.next + 1)?;
        if slot.state == SlotState::Forgotten
            && raw.kind == KIND_RECORD
            && let Some(record) = decode_record(&raw.body)
            && let Some(replaced) = record.supersedes
            && !self.gone.contains(&replaced)
        {
            self.append(RawEntry::from_supersession(replaced, record.known_at), None)?;
        }
        Ok(())
    }

    /// Appends a record with its newest vector; returns `false` if it cannot be decoded.
    fn append_record(&mut self, slot: &Slot, body: &[u8]) -> io::Result<bool> {
        let vector = self.read_newest_vector(slot)?;
        let width = self.new.facts.dimensions;
        let is_own = |(mark, _): &(VectorMark, _)| mark.space.dimensions == width;
        let (own, other) = match vector {
            Some(vector) if is_own(&vector) => (Some(vector), None),
            read_newest_vector => (None, read_newest_vector),
        };
        let (mark, vector) = own.unzip();
        let Some(raw) = remark_record(body, mark.as_ref()) else {
            return Ok(false);
        };
        let ordinal = self.next;
        self.append(raw, vector.map(|vector| (u64::from(ordinal), vector)))?;
        if let Some((mark, vector)) = other {
            self.append(separate_vector_entry(ordinal, &mark, &vector), None)?;
        }
        Ok(true)
    }

    /// Reads the body of a record whose commit is damaged; returns `None` if its block is damaged,
    /// too.
    fn read_record_body(&self, slot: &Slot) -> io::Result<Option<Vec<u8>>> {
        let block = self.source.read_block(slot)?;
        let body = block
            .and_then(|block| Some(block::find_body(&block, slot.index, KIND_RECORD)?.to_vec()));
        Ok(body)
    }

    /// Reads the newest vector of a live record; returns `None` without a vector, or if its
    /// checksum does not match. The record then counts as not yet embedded.
    fn read_newest_vector(&self, slot: &Slot) -> io::Result<Option<(VectorMark, Vec<u8>)>> {
        let space = slot.space_of(&self.old.spaces);
        let (Some(space), true) = (space, slot.vector_offset != 0) else {
            return Ok(None);
        };
        let (source, checksum) = (self.source, slot.checksum);
        let bytes = if space.dimensions == source.facts.dimensions {
            let size = 4 * usize::from(space.dimensions);
            let bytes = read_within(&*source.file, slot.vector_offset, size, source.end)?;
            bytes.filter(|bytes| vector_checksum(bytes) == checksum)
        } else {
            source.read_separate_vector(self.next, slot)?
        };
        let space = space.clone();
        Ok(bytes.map(|bytes| (VectorMark { checksum, space }, bytes)))
    }

    fn salvage_or_stub_slots_until(&mut self, until: u32) -> io::Result<()> {
        while self.next < until {
            let slot = self.old.slot(self.next);
            if let Some(slot) = slot.filter(|slot| slot.state == SlotState::Live)
                && let Some(body) = self.read_record_body(slot)?
                && self.append_record(slot, &body)?
            {
                continue;
            }
            let tombstone = slot
                .filter(|slot| slot.state == SlotState::Forgotten)
                .and_then(|slot| self.old.tombstones.get(slot.place as usize));
            let raw = match tombstone {
                Some(tombstone) => RawEntry::from_tombstone(tombstone),
                None => RawEntry::new(KIND_LOST, |_| {}),
            };
            self.append(raw, None)?;
        }
        Ok(())
    }

    fn append(&mut self, raw: RawEntry, vector: Option<(u64, Vec<u8>)>) -> io::Result<()> {
        self.next += u32::from(raw.has_ordinal());
        let entry = RawEntry { vector, ..raw };
        self.bytes += entry.size();
        self.pending.push(entry);
        if self.pending.len() >= PACK_ENTRIES || self.bytes >= PACK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let new = &mut *self.new;
        let head = CommitHead {
            seq: self.old.seq,
            packed: true,
            previous: new.directory.last_commit,
            first_ordinal: self.first_ordinal,
            ordinals: self.next - self.first_ordinal,
            ..CommitHead::default()
        };
        let pending = std::mem::take(&mut self.pending);
        let built =
            commit::build_commit(head, &new.facts, new.end, &pending, &mut self.compressor)?;
        new.file.write_all_at(new.end, &built.bytes)?;
        new.end += built.bytes.len() as u64;
        new.directory.apply_written_commit(&new.facts, built);
        self.first_ordinal = self.next;
        self.bytes = 0;
        Ok(())
    }
}
