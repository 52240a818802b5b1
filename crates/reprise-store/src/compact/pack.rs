//! Packing: every live record once, with its newest vector, in large commits.
//!
//! Records keep their ordinals. A forgotten record becomes a stub, a lost one stays lost; of a
//! damaged commit those records stay whose blocks are whole; vectors
//! embedded late move into their records; of each stream the last cursor stays; what is said of the
//! forgotten is left out; entries of kinds we do not know stay as they are, in their order.

use std::io;
use std::sync::Arc;

use crate::block;
use crate::codec::{
    Encoded, KIND_LOST, KIND_RECORD, Outline, RawEntry, VectorMark, apart, outline, remark_record,
    vector_check,
};
use crate::commit::{self, CommitHead, FileFacts};
use crate::compress::{Compressor, LEVEL_PACK};
use crate::directory::{Directory, Slot, SlotState};
use crate::disk::{DiskFile, read_within};
use crate::reader::Snapshot;
use crate::recover::new_file;
use crate::scan::{Found, Scan};

/// Entries of one packed commit: few enough that damage stays local and a `VEC_SEG` small.
const PACK_ENTRIES: usize = 4096;
/// Most bytes of records, or of vectors, in one packed commit.
const PACK_BYTES: usize = 8 * 1024 * 1024;

/// A file in the making.
pub(super) struct Packed {
    /// Of the width that most records have their vector in.
    pub(super) facts: FileFacts,
    pub(super) directory: Directory,
    pub(super) end: u64,
}

/// Writes the new file. Does not sync.
pub(super) fn run(then: &Snapshot, old: &Directory, to: &dyn DiskFile) -> io::Result<Packed> {
    let mut facts = then.facts;
    facts.dimensions = old.width_of_most().unwrap_or(facts.dimensions);
    let header = new_file(&facts);
    to.write_all_at(0, &header)?;
    let mut packer = Packer {
        then,
        old,
        to,
        new: Packed {
            facts,
            directory: Directory {
                // Keeps the order of those that are left, so that the newest stays the newest.
                spaces: old.used_spaces(),
                ..Directory::default()
            },
            end: header.len() as u64,
        },
        compressor: Compressor::new(LEVEL_PACK, facts.file_id)?,
        first_ordinal: 0,
        next: 0,
        pending: Vec::new(),
        bytes: 0,
    };
    let mut scan = Scan::new(Arc::clone(&then.file), 0, then.end, facts.file_id);
    while let Some(found) = scan.next()? {
        if let Found::Commit(commit, _) = found
            && commit.head.first_ordinal >= packer.next
            && let Some(entries) = commit.raw_entries(facts.file_id)
        {
            packer.lose_until(commit.head.first_ordinal)?;
            for raw in entries {
                packer.take(raw)?;
            }
        }
    }
    packer.lose_until(old.records())?;
    for (stream, seq) in &old.cursors {
        let raw = RawEntry::cursor(stream, *seq);
        packer.put(raw, None)?;
    }
    if old.seq > 0 {
        packer.flush()?;
    }
    Ok(packer.new)
}

struct Packer<'a> {
    then: &'a Snapshot,
    old: &'a Directory,
    to: &'a dyn DiskFile,
    new: Packed,
    compressor: Compressor,
    first_ordinal: u32,
    next: u32,
    pending: Vec<Encoded>,
    bytes: usize,
}

impl Packer<'_> {
    fn take(&mut self, raw: RawEntry) -> io::Result<()> {
        match outline(&raw) {
            Some(_) if raw.takes_ordinal() => self.take_ordinal(&raw),
            Some(Outline::Learning | Outline::Unknown) => self.put(raw, None),
            Some(Outline::Annotated { ordinal, other }) => {
                if self.is_live(ordinal) && other.is_none_or(|other| self.is_live(other)) {
                    self.put(raw, None)?;
                }
                Ok(())
            }
            None if raw.kind == KIND_RECORD => self.lose_until(self.next + 1),
            // Merged into its record, its stub or the last cursor.
            Some(_) | None => Ok(()),
        }
    }

    fn is_live(&self, ordinal: u32) -> bool {
        let slot = self.old.slot(ordinal);
        slot.is_some_and(|slot| slot.state == SlotState::Live)
    }

    fn take_ordinal(&mut self, raw: &RawEntry) -> io::Result<()> {
        let Some(slot) = self.old.slot(self.next) else {
            return Ok(());
        };
        if slot.state == SlotState::Live && self.put_record(slot, &raw.body)? {
            return Ok(());
        }
        self.lose_until(self.next + 1)
    }

    /// Writes a record with its newest vector; `false` where it cannot be decoded.
    fn put_record(&mut self, slot: &Slot, body: &[u8]) -> io::Result<bool> {
        let vector = self.vector(slot)?;
        let width = self.new.facts.dimensions;
        let is_own = |(mark, _): &(VectorMark, _)| mark.space.dimensions == width;
        let (own, other) = match vector {
            Some(vector) if is_own(&vector) => (Some(vector), None),
            vector => (None, vector),
        };
        let (mark, vector) = own.unzip();
        let Some(raw) = remark_record(body, mark.as_ref()) else {
            return Ok(false);
        };
        let ordinal = self.next;
        self.put(raw, vector.map(|vector| (u64::from(ordinal), vector)))?;
        if let Some((mark, vector)) = other {
            self.put(apart(ordinal, &mark, &vector).raw, None)?;
        }
        Ok(true)
    }

    /// The body of a record whose commit is damaged, where its own block is whole.
    fn body(&self, slot: &Slot) -> io::Result<Option<Vec<u8>>> {
        let block = self.then.block(slot)?;
        let body = block.and_then(|block| Some(block::record(&block, slot.index)?.to_vec()));
        Ok(body)
    }

    /// The newest vector of a live record; `None` where there is none or its checksum does not
    /// hold, and then the record counts as not yet embedded.
    fn vector(&self, slot: &Slot) -> io::Result<Option<(VectorMark, Vec<u8>)>> {
        let space = slot.space_of(&self.old.spaces);
        let (Some(space), true) = (space, slot.vector != 0) else {
            return Ok(None);
        };
        let (then, check) = (self.then, slot.check);
        let bytes = if space.dimensions == then.facts.dimensions {
            let size = 4 * usize::from(space.dimensions);
            let bytes = read_within(&*then.file, slot.vector, size, then.end)?;
            bytes.filter(|bytes| vector_check(bytes) == check)
        } else {
            then.vector_apart(self.next, slot)?
        };
        let space = space.clone();
        Ok(bytes.map(|bytes| (VectorMark { check, space }, bytes)))
    }

    fn lose_until(&mut self, until: u32) -> io::Result<()> {
        while self.next < until {
            let slot = self.old.slot(self.next);
            if let Some(slot) = slot.filter(|slot| slot.state == SlotState::Live)
                && let Some(body) = self.body(slot)?
                && self.put_record(slot, &body)?
            {
                continue;
            }
            let tombstone = slot
                .filter(|slot| slot.state == SlotState::Forgotten)
                .and_then(|slot| self.old.tombstones.get(slot.place as usize));
            let raw = match tombstone {
                Some(tombstone) => RawEntry::stub(tombstone),
                None => RawEntry::new(KIND_LOST, |_| {}),
            };
            self.put(raw, None)?;
        }
        Ok(())
    }

    fn put(&mut self, raw: RawEntry, vector: Option<(u64, Vec<u8>)>) -> io::Result<()> {
        self.next += u32::from(raw.takes_ordinal());
        let entry = Encoded { raw, vector };
        self.bytes += entry.size();
        self.pending.push(entry);
        if self.pending.len() >= PACK_ENTRIES || self.bytes >= PACK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let new = &mut self.new;
        let head = CommitHead {
            seq: self.old.seq,
            packed: true,
            previous: new.directory.last_commit,
            first_ordinal: self.first_ordinal,
            ordinals: self.next - self.first_ordinal,
            ..CommitHead::default()
        };
        let pending = std::mem::take(&mut self.pending);
        let built = commit::build(head, &new.facts, new.end, pending, &mut self.compressor)?;
        self.to.write_all_at(new.end, &built.bytes)?;
        new.end += built.bytes.len() as u64;
        new.directory.take(&new.facts, built);
        self.first_ordinal = self.next;
        self.bytes = 0;
        Ok(())
    }
}
