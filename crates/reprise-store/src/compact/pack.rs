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

use reprise_types::{Annotation, RecordId};

use super::CompactedLog;
use crate::codec::{EncodedEntry, MarkedVector, Outline, VectorMark, decode_record, push_record};
use crate::commit::{self, CommitHead};
use crate::compress::{Compressor, LEVEL_PACK};
use crate::directory::LogDirectory;
use crate::directory::slot::{Slot, SlotState};
use crate::disk::{PastUnreadable, read_within};
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
        seq: 0,
        first_ordinal: 0,
        next: 0,
        pending: Vec::new(),
        bytes: 0,
    };
    let file = PastUnreadable::new(&source.file);
    let mut scan = SegmentScanner::new(file.clone(), 0, source.end, facts.file_id);
    let mut chain = CommitChain::default();
    while let Some(found) = scan.next_item()? {
        chain.pass(source, &found)?;
        let ScanItem::Commit(commit, _) = found else {
            continue;
        };
        let head = &commit.head;
        if head.follows((packer.seq, packer.next))
            // Recovery has refused what lies beyond.
            && head.end_ordinal() <= old.record_count()
            && let Some(entries) = commit.decode_entries(facts.file_id)
        {
            packer.seq = head.seq();
            packer.salvage_or_stub_slots_until(head.first_ordinal)?;
            for entry in entries {
                packer.add_entry(entry)?;
            }
        } else {
            chain.has_holes = true;
        }
    }
    let is_whole = !chain.has_holes_up_to(old);
    if file.has_unreadable() && !is_whole {
        let why = "the disk cannot read a part of it; salvage what it can read";
        return Err(io::Error::other(why));
    }
    packer.salvage_or_stub_slots_until(old.record_count())?;
    for (stream, seq) in &old.cursors {
        let (stream, seq) = (stream.clone(), *seq);
        packer.append(EncodedEntry::new(Outline::Cursor { stream, seq }, &[]))?;
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
                let is_next = if head.is_packed() {
                    head.seq() >= self.seq
                } else {
                    head.seq() == self.seq + 1
                };
                let follows = head.previous == self.last_commit && is_next;
                self.has_holes |= !is_whole || !follows;
                (self.last_commit, self.seq) = (commit.offset, head.seq());
                self.is_in_doubt = false;
            }
            ScanItem::Manifest { offset, .. } if self.is_in_doubt => {
                let (file, facts) = (&source.file, &source.facts);
                let named = load_manifest(file, facts, *offset, source.end, &Arc::default())?;
                if let Some((_, known)) = named {
                    self.has_holes |= !self.ends_with(&known);
                    self.is_in_doubt = false;
                }
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
    /// The last commit of which something was taken over.
    seq: u64,
    first_ordinal: u32,
    next: u32,
    pending: Vec<EncodedEntry>,
    bytes: usize,
}

impl Packer<'_> {
    fn add_entry(&mut self, entry: EncodedEntry) -> io::Result<()> {
        if entry.has_ordinal() {
            return self.add_record_or_stub(&entry);
        }
        let is_kept = match &entry.outline {
            Some(Outline::Superseded { id, .. }) => !self.gone.contains(id),
            // It is already part of its record, its stub or the last cursor.
            Some(_) => false,
            None if Annotation::is_known_kind(entry.kind) => {
                let annotation = entry.decode_annotation();
                annotation.is_some_and(|(ordinal, _, annotation)| {
                    let mut ends = annotation.linked_ordinal().into_iter().chain([ordinal]);
                    ends.all(|end| self.is_live(end))
                })
            }
            None => true,
        };
        if is_kept { self.append(entry) } else { Ok(()) }
    }

    fn is_live(&self, ordinal: u32) -> bool {
        let slot = self.old.slot(ordinal);
        slot.is_some_and(|slot| slot.state == SlotState::Live)
    }

    fn add_record_or_stub(&mut self, entry: &EncodedEntry) -> io::Result<()> {
        let Some(slot) = self.old.slot(self.next) else {
            return Ok(());
        };
        let is_record = matches!(entry.outline, Some(Outline::Record(_)));
        if slot.state == SlotState::Live && is_record {
            return self.append_record(slot, entry.rest());
        }
        self.salvage_or_stub_slots_until(self.next + 1)?;
        if slot.state == SlotState::Forgotten
            && is_record
            && let Some(record) = decode_record(entry.rest())
            && let Some(id) = record.supersedes
            && !self.gone.contains(&id)
        {
            let at = record.known_at;
            self.append(EncodedEntry::new(Outline::Superseded { id, at }, &[]))?;
        }
        Ok(())
    }

    /// Appends a record with its newest vector.
    fn append_record(&mut self, slot: &Slot, rest: &[u8]) -> io::Result<()> {
        let vector = self.read_newest_vector(slot)?;
        let (mut entries, width) = (Vec::new(), self.new.facts.dimensions);
        push_record(&mut entries, rest, self.next, vector, width);
        entries.into_iter().try_for_each(|entry| self.append(entry))
    }

    /// Reads the newest vector of a live record; returns `None` without a vector, or if its
    /// checksum does not match. The record then counts as not yet embedded.
    fn read_newest_vector(&self, slot: &Slot) -> io::Result<Option<MarkedVector>> {
        let space = slot.space_of(&self.old.spaces);
        let (Some(space), true) = (space, slot.vector_offset != 0) else {
            return Ok(None);
        };
        let source = self.source;
        let mark = VectorMark {
            checksum: slot.checksum,
            space: space.clone(),
        };
        let bytes = if space.dimensions == source.facts.dimensions {
            let size = 4 * usize::from(space.dimensions);
            let bytes = read_within(&*source.file, slot.vector_offset, size, source.end)?;
            bytes.filter(|bytes| mark.matches(bytes, space.dimensions))
        } else {
            source.read_separate_vector(self.next, slot)?
        };
        Ok(bytes.map(|bytes| (mark, bytes)))
    }

    fn salvage_or_stub_slots_until(&mut self, until: u32) -> io::Result<()> {
        while self.next < until {
            let slot = self.old.slot(self.next);
            if let Some(slot) = slot.filter(|slot| slot.state == SlotState::Live)
                && let Some(entry) = self.source.read_record_entry(slot)?
            {
                self.append_record(slot, entry.rest())?;
                continue;
            }
            let tombstone = slot
                .filter(|slot| slot.state == SlotState::Forgotten)
                .and_then(|slot| self.old.tombstones.get(slot.place as usize));
            let outline = match tombstone {
                Some(tombstone) => Outline::Stub(tombstone.clone()),
                None => Outline::Lost,
            };
            self.append(EncodedEntry::new(outline, &[]))?;
        }
        Ok(())
    }

    fn append(&mut self, entry: EncodedEntry) -> io::Result<()> {
        self.next += u32::from(entry.has_ordinal());
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
            previous: new.directory.last_commit,
            ..CommitHead::new(&new.facts, self.old.seq, true, self.first_ordinal)
        };
        let pending = std::mem::take(&mut self.pending);
        let built = commit::build_commit(head, new.end, pending, &mut self.compressor)?;
        new.append(built)?;
        self.first_ordinal = self.next;
        self.bytes = 0;
        Ok(())
    }
}
