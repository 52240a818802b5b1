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
    Encoded, KIND_LOST, KIND_RECORD, Outline, RawEntry, VectorMark, apart, find_apart, outline,
    remark_record, vector_check,
};
use crate::commit::{self, CommitHead, FileFacts};
use crate::compress::{Compressor, Decompressor, LEVEL_PACK};
use crate::directory::{Directory, Slot, SlotState};
use crate::disk::{DiskFile, read_within};
use crate::recover::new_file;
use crate::scan::{Found, Scan};

/// Entries of one packed commit: few enough that damage stays local and a `VEC_SEG` small.
const PACK_ENTRIES: usize = 4096;
/// Most bytes of records, or of vectors, in one packed commit.
const PACK_BYTES: usize = 8 * 1024 * 1024;

pub(super) struct Source<'a> {
    pub(super) file: &'a Arc<dyn DiskFile>,
    pub(super) facts: FileFacts,
    /// Those of the new file: of the width that most records have their vector in.
    pub(super) target: FileFacts,
    pub(super) directory: &'a Directory,
    pub(super) end: u64,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        file: &'a Arc<dyn DiskFile>,
        facts: FileFacts,
        directory: &'a Directory,
        end: u64,
    ) -> Self {
        let dimensions = directory.width_of_most().unwrap_or(facts.dimensions);
        let target = FileFacts {
            dimensions,
            ..facts
        };
        Self {
            file,
            facts,
            target,
            directory,
            end,
        }
    }
}

/// Writes the new file and returns its directory and its end. Does not sync.
pub(super) fn run(source: &Source<'_>, to: &dyn DiskFile) -> io::Result<(Directory, u64)> {
    let header = new_file(&source.target);
    to.write_all_at(0, &header)?;
    let mut packer = Packer {
        source,
        to,
        end: header.len() as u64,
        directory: Directory {
            // Keeps the order of those that are left, so that the newest stays the newest.
            spaces: source.directory.used_spaces(),
            ..Directory::default()
        },
        compressor: Compressor::new(LEVEL_PACK, source.facts.file_id)?,
        decompressor: Decompressor::default(),
        first_ordinal: 0,
        next: 0,
        pending: Vec::new(),
        bytes: 0,
    };
    let file_id = source.facts.file_id;
    let mut scan = Scan::new(Arc::clone(source.file), 0, source.end, file_id);
    let tool = Decompressor::default();
    while let Some(found) = scan.next()? {
        if let Found::Commit(commit, _) = found
            && commit.head.first_ordinal >= packer.next
            && let Some(entries) = commit.raw_entries(file_id, &tool)
        {
            packer.lose_until(commit.head.first_ordinal)?;
            for raw in entries {
                packer.take(raw)?;
            }
        }
    }
    packer.lose_until(source.directory.records())?;
    for (stream, seq) in &source.directory.cursors {
        let raw = RawEntry::cursor(stream, *seq);
        packer.put(raw, None)?;
    }
    if source.directory.seq > 0 {
        packer.flush()?;
    }
    Ok((packer.directory, packer.end))
}

struct Packer<'a> {
    source: &'a Source<'a>,
    to: &'a dyn DiskFile,
    end: u64,
    directory: Directory,
    compressor: Compressor,
    decompressor: Decompressor,
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
        let slot = self.source.directory.slot(ordinal);
        slot.is_some_and(|slot| slot.state == SlotState::Live)
    }

    fn take_ordinal(&mut self, raw: &RawEntry) -> io::Result<()> {
        let Some(slot) = self.source.directory.slot(self.next) else {
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
        let width = self.source.target.dimensions;
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
        let Source {
            file, facts, end, ..
        } = *self.source;
        let bytes = read_within(&**file, slot.place, slot.block_size as usize, end)?;
        let tool = &self.decompressor;
        let block = bytes.and_then(|bytes| block::unpack(&bytes, facts.file_id, tool));
        let entry = block
            .as_deref()
            .and_then(|block| block::entry(block, slot.index));
        Ok(entry
            .filter(|(kind, _)| *kind == KIND_RECORD)
            .map(|(_, body)| body.to_vec()))
    }

    /// The newest vector of a live record; `None` where there is none or its checksum does not
    /// hold, and then the record counts as not yet embedded.
    fn vector(&self, slot: &Slot) -> io::Result<Option<(VectorMark, Vec<u8>)>> {
        let space = slot.space_of(&self.source.directory.spaces);
        let (Some(space), true) = (space, slot.vector != 0) else {
            return Ok(None);
        };
        let Source {
            file, facts, end, ..
        } = *self.source;
        let (check, space) = (slot.check, space.clone());
        if space.dimensions != facts.dimensions {
            let block = block::read(&**file, slot.vector, end)?;
            let tool = &self.decompressor;
            let block = block.and_then(|block| block::unpack(&block, facts.file_id, tool));
            let bytes = block.and_then(|block| find_apart(&block, self.next, check));
            return Ok(bytes.map(|bytes| (VectorMark { check, space }, bytes)));
        }
        let size = 4 * usize::from(facts.dimensions);
        let bytes = read_within(&**file, slot.vector, size, end)?;
        let whole = bytes.filter(|bytes| vector_check(bytes) == check);
        Ok(whole.map(|bytes| (VectorMark { check, space }, bytes)))
    }

    fn lose_until(&mut self, until: u32) -> io::Result<()> {
        while self.next < until {
            let directory = self.source.directory;
            let slot = directory.slot(self.next);
            if let Some(slot) = slot.filter(|slot| slot.state == SlotState::Live)
                && let Some(body) = self.body(slot)?
                && self.put_record(slot, &body)?
            {
                continue;
            }
            let tombstone = slot
                .filter(|slot| slot.state == SlotState::Forgotten)
                .and_then(|slot| directory.tombstones.get(slot.place as usize));
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
        let facts = self.source.target;
        let head = CommitHead {
            seq: self.source.directory.seq,
            packed: true,
            previous: self.directory.last_commit,
            first_ordinal: self.first_ordinal,
            ordinals: self.next - self.first_ordinal,
            ..CommitHead::default()
        };
        let pending = std::mem::take(&mut self.pending);
        let built = commit::build(head, &facts, self.end, pending, &mut self.compressor)?;
        self.to.write_all_at(self.end, &built.bytes)?;
        self.end += built.bytes.len() as u64;
        self.directory.take(&facts, built);
        self.first_ordinal = self.next;
        self.bytes = 0;
        Ok(())
    }
}
