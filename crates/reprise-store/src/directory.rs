//! The directory: the position of every record and vector, built from the log, one slot per
//! ordinal.

pub(crate) mod slot;

use std::collections::BTreeMap;
use std::sync::Arc;

use reprise_types::limits::RECORDS_MAX;
use reprise_types::{EmbeddingSpace, SmallChunkVec, impl_binary_codec, impl_row_codec};

use crate::block::BLOCK_ENTRIES_MAX;
use crate::codec::{EncodedEntry, Outline, VectorMark};
use crate::commit::{CommitHead, SEQ_MAX};
use crate::entry::Tombstone;
use crate::frame::segment_size;
use slot::{Slot, SlotState};

/// One in so many bytes of sections is around their pages, and is not freed by a compaction.
const FRAMING_ONE_IN: u64 = 16;
/// So many bytes are in segments of pages that are not full.
const FRAMING_BYTES: u64 = 16 << 10;

/// A whole `VEC_SEG` that belongs to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct VectorSegment {
    pub(crate) offset: u64,
    pub(crate) payload_size: u64,
}

impl_row_codec! {
    VectorSegment { offset, payload_size }
}

/// The log's state in memory, with which any record is found without a scan. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogDirectory {
    pub(crate) seq: u64,
    /// The last commit that a compaction merged; 0 without one.
    pub(crate) horizon: u64,
    /// Offset of the last commit segment; 0 without commits.
    pub(crate) last_commit: u64,
    /// Offset of the newest manifest of sections; 0 without one.
    pub(crate) manifest: u64,
    /// The last commit that a manifest makes visible to rvf-runtime.
    pub(crate) closing_seq: Option<u64>,
    /// Bytes of all sections and manifests in the file, in use or not.
    pub(crate) section_bytes: u64,
    /// Other bytes that a compaction would drop.
    pub(crate) dead_bytes: u64,
    pub(crate) forgotten: u32,
    pub(crate) lost: u32,
    pub(crate) slots: SmallChunkVec<Slot>,
    pub(crate) tombstones: SmallChunkVec<Tombstone>,
    pub(crate) vectors: SmallChunkVec<VectorSegment>,
    pub(crate) spaces: Arc<[EmbeddingSpace]>,
    pub(crate) cursors: BTreeMap<String, u64>,
}

// What a manifest says of it; the columns are sections.
impl_binary_codec! {
    LogDirectory {
        horizon, last_commit, dead_bytes, section_bytes, forgotten, lost, spaces, cursors,
        ..Self::default()
    }
}

impl LogDirectory {
    pub(crate) fn record_count(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(crate) fn slot(&self, ordinal: u32) -> Option<&Slot> {
        self.slots.get(ordinal as usize)
    }

    /// Applies a commit that was just written, or checked to continue the log, with its entries at
    /// their places.
    pub(crate) fn apply_commit(
        &mut self,
        head: &CommitHead,
        offset: u64,
        entries: Vec<EncodedEntry>,
        has_whole_vectors: bool,
    ) {
        while self.record_count() < head.first_ordinal {
            self.push_lost();
        }
        let marks = entries.iter().filter_map(EncodedEntry::vector_mark);
        let vectors = marks.count() as u64;
        if vectors > 0 && has_whole_vectors {
            self.vectors.push(VectorSegment {
                offset: offset.saturating_sub(head.vectors_size),
                payload_size: head.facts().vectors_payload(vectors),
            });
        }
        for entry in entries {
            if let Some(outline) = entry.outline {
                self.apply_entry(outline, entry.slot);
            }
        }
        self.seq = head.seq();
        self.last_commit = offset;
        if head.is_packed() {
            self.horizon = head.seq();
        }
    }

    /// Applies an entry at its place, which tells where its vector in the `VEC_SEG` is, too.
    fn apply_entry(&mut self, outline: Outline, place: Slot) {
        let vector = place.vector_offset;
        match outline {
            Outline::Record(mark) => {
                let ordinal = self.slots.len();
                self.slots.push(Slot {
                    vector_offset: 0,
                    ..place
                });
                if let Some(mark) = mark.filter(|_| vector != 0) {
                    self.set_vector(ordinal, &mark, vector);
                }
            }
            Outline::Stub(tombstone) => {
                let place = self.push_tombstone(tombstone);
                self.slots
                    .push(Slot::new_without_vector(SlotState::Forgotten, place, 0, 0));
                self.forgotten += 1;
            }
            Outline::Lost => self.push_lost(),
            Outline::Embedded { ordinal, mark } => {
                if vector != 0 {
                    self.set_live_vector(ordinal, &mark, vector);
                }
            }
            Outline::SeparateVector { ordinal, mark } => {
                self.set_live_vector(ordinal, &mark, place.place);
            }
            Outline::Forgotten { ordinal, tombstone } => self.forget(ordinal, tombstone),
            Outline::Cursor { stream, seq } => {
                self.cursors.insert(stream, seq);
            }
            Outline::Superseded { .. } => {}
        }
    }

    fn set_live_vector(&mut self, ordinal: u32, mark: &VectorMark, vector: u64) {
        let slot = self.slot(ordinal).copied();
        if let Some(slot) = slot.filter(|slot| slot.state == SlotState::Live) {
            self.add_dead_bytes(self.vector_bytes_of_slot(&slot));
            self.set_vector(ordinal as usize, mark, vector);
        }
    }

    /// Returns the width of a slot's vector; `None` without a vector.
    pub(crate) fn vector_width(&self, slot: &Slot) -> Option<u16> {
        let space = slot
            .space_of(&self.spaces)
            .filter(|_| slot.vector_offset != 0);
        space.map(|space| space.dimensions)
    }

    fn live_slots(&self) -> impl Iterator<Item = &Slot> {
        let slots = self.slots.iter();
        slots.filter(|slot| slot.state == SlotState::Live)
    }

    fn vector_bytes_of_slot(&self, slot: &Slot) -> u64 {
        self.vector_width(slot)
            .map_or(0, |width| 8 + 4 * u64::from(width))
    }

    /// Returns the most common width of the live records' vectors; of equally common ones the
    /// newer.
    pub(crate) fn most_common_width(&self) -> Option<u16> {
        let mut counts: Vec<(u16, u32)> =
            self.spaces.iter().map(|one| (one.dimensions, 0)).collect();
        for width in self.live_slots().filter_map(|slot| self.vector_width(slot)) {
            if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == width) {
                *count += 1;
            }
        }
        let used = counts.into_iter().filter(|(_, count)| *count > 0);
        used.max_by_key(|(_, count)| *count).map(|(width, _)| width)
    }

    /// Returns the spaces of the live records' vectors, in their order.
    pub(crate) fn used_spaces(&self) -> Arc<[EmbeddingSpace]> {
        let mut used = vec![false; self.spaces.len()];
        for slot in self.live_slots().filter(|slot| slot.vector_offset != 0) {
            let at = usize::from(slot.space).checked_sub(1);
            if let Some(used) = at.and_then(|at| used.get_mut(at)) {
                *used = true;
            }
        }
        let spaces = self.spaces.iter().zip(used).filter(|(_, used)| *used);
        spaces.map(|(space, _)| space.clone()).collect()
    }

    fn push_lost(&mut self) {
        self.slots.push(Slot::LOST);
        self.lost += 1;
    }

    fn push_tombstone(&mut self, tombstone: Tombstone) -> u64 {
        self.tombstones.push(tombstone);
        self.tombstones.len() as u64 - 1
    }

    fn forget(&mut self, ordinal: u32, tombstone: Tombstone) {
        let slot = self.slot(ordinal).copied();
        if let Some(slot) = slot.filter(|s| s.state != SlotState::Forgotten) {
            let vector = self.vector_bytes_of_slot(&slot);
            // Counts at least the record's share of a block that may have live records, and the
            // rest with the last of them.
            let text = u64::from(slot.block_size) / BLOCK_ENTRIES_MAX as u64;
            self.add_dead_bytes(vector + text);
            let place = self.push_tombstone(tombstone);
            self.mark_forgotten(ordinal as usize, place);
            if slot.state == SlotState::Live && !self.is_block_live(ordinal, slot.place) {
                let counted = text * self.block_entries_min(ordinal, slot.index);
                self.add_dead_bytes(u64::from(slot.block_size).saturating_sub(counted));
            }
        }
    }

    /// Whether the block at `place`, which contains `ordinal`, also contains a live record.
    fn is_block_live(&self, ordinal: u32, place: u64) -> bool {
        let reach = BLOCK_ENTRIES_MAX as u32;
        let mut near = ordinal.saturating_sub(reach)..ordinal.saturating_add(reach);
        near.any(|near| {
            let slot = self.slot(near);
            slot.is_some_and(|slot| slot.state == SlotState::Live && slot.place == place)
        })
    }

    /// Returns a lower bound for the entries of the block in which `ordinal` has this index: the
    /// position of the block's last forgotten record whose index is known.
    fn block_entries_min(&self, ordinal: u32, index: u16) -> u64 {
        let mut last = index;
        for next in ordinal.saturating_add(1).. {
            match self.slot(next) {
                Some(slot) if slot.state == SlotState::Forgotten && slot.index > last => {
                    last = slot.index;
                }
                _ => break,
            }
        }
        u64::from(last) + 1
    }

    fn mark_forgotten(&mut self, ordinal: usize, place: u64) {
        let Some(slot) = self.slots.get_mut(ordinal) else {
            return;
        };
        if slot.state == SlotState::Lost {
            self.lost = self.lost.saturating_sub(1);
        }
        // The vector's offset is kept because the RVF manifest must list its id as deleted.
        slot.state = SlotState::Forgotten;
        slot.place = place;
        slot.block_size = 0;
        self.forgotten += 1;
    }

    fn set_vector(&mut self, ordinal: usize, mark: &VectorMark, vector: u64) {
        let space = self.intern_space(&mark.space);
        if let Some(slot) = self.slots.get_mut(ordinal) {
            slot.space = space;
            slot.vector_offset = vector;
            slot.checksum = mark.checksum;
        }
    }

    /// Adds a space if it is new, and returns one more than its index; returns 0 (no vector) if the
    /// file has more spaces than fit.
    fn intern_space(&mut self, space: &EmbeddingSpace) -> u16 {
        let index = self.spaces.iter().position(|known| known == space);
        let index = index.unwrap_or_else(|| {
            let known = self.spaces.iter().chain([space]);
            self.spaces = known.cloned().collect();
            self.spaces.len() - 1
        });
        u16::try_from(index + 1).unwrap_or(0)
    }

    /// Takes over the place of a record whose commit cannot be read: its own block may be whole,
    /// which each read of it proves.
    fn take_over_place(&mut self, ordinal: usize, slot: &Slot, spaces: &[EmbeddingSpace]) {
        let space = slot.space_of(spaces);
        let space = space.map_or(0, |space| self.intern_space(space));
        if let Some(own) = self.slots.get_mut(ordinal) {
            *own = Slot { space, ..*slot };
            self.lost = self.lost.saturating_sub(1);
        }
    }

    /// Merges a later directory to make up for missing commits: their records are where it says,
    /// and the records that they forgot stay forgotten. A record of which the later one knows no
    /// more than that it is not live is lost. Returns the ordinals of these that were live.
    pub(crate) fn merge_later(&mut self, later: &Self) -> Vec<u32> {
        let mut lost = Vec::new();
        for (ordinal, slot) in later.slots.iter().enumerate() {
            if ordinal == self.slots.len() {
                self.push_lost();
            }
            let own = self.slots.get(ordinal).map(|own| own.state);
            let tombstone = (slot.state == SlotState::Forgotten)
                .then(|| later.tombstones.get(slot.place as usize))
                .flatten();
            match (slot.state, tombstone) {
                _ if own == Some(SlotState::Forgotten) => {}
                (SlotState::Live, _) if own == Some(SlotState::Lost) => {
                    self.take_over_place(ordinal, slot, &later.spaces);
                }
                (SlotState::Live, _) => {}
                (_, Some(tombstone)) => {
                    let place = self.push_tombstone(tombstone.clone());
                    self.mark_forgotten(ordinal, place);
                }
                (_, None) if own == Some(SlotState::Live) => {
                    if let Some(own) = self.slots.get_mut(ordinal) {
                        own.state = SlotState::Lost;
                        self.lost += 1;
                        lost.push(ordinal as u32);
                    }
                }
                (_, None) => {}
            }
        }
        if later.seq >= self.seq {
            self.cursors.clone_from(&later.cursors);
            self.seq = later.seq;
        }
        lost
    }

    /// Applies the manifest from `offset` to `end`.
    pub(crate) fn apply_manifest(&mut self, offset: u64, end: u64) {
        self.add_section_bytes(end - offset);
        self.manifest = offset;
    }

    /// Notes that nothing of it is written.
    pub(crate) fn mark_unsaved(&mut self) {
        self.slots.mark_unsaved();
        self.vectors.mark_unsaved();
        self.tombstones.mark_unsaved();
    }

    pub(crate) fn add_section_bytes(&mut self, bytes: u64) {
        self.section_bytes = self.section_bytes.saturating_add(bytes);
    }

    /// Whether its counts are ones that a log can have.
    pub(crate) fn has_possible_counts(&self) -> bool {
        let gone = u64::from(self.forgotten) + u64::from(self.lost);
        let records = self.slots.len() as u64;
        gone <= records && records <= u64::from(RECORDS_MAX) && self.seq <= SEQ_MAX
    }

    /// Adds to a count that a file states, which may be any number.
    fn add_dead_bytes(&mut self, bytes: u64) {
        self.dead_bytes = self.dead_bytes.saturating_add(bytes);
    }

    /// Applies a manifest of `size` bytes after the newest commit.
    pub(crate) fn apply_closing_index(&mut self, size: u64) {
        self.add_dead_bytes(size);
        self.closing_seq = Some(self.seq);
    }

    /// Returns the ids of vectors in a listed `VEC_SEG` that are deleted, or that have another
    /// width now.
    pub(crate) fn deleted_ids(&self, dimensions: u16) -> Vec<u64> {
        let deleted = |(_, slot): &(usize, &Slot)| {
            slot.vector_offset != 0
                && (slot.state != SlotState::Live || self.vector_width(slot) != Some(dimensions))
        };
        let slots = self.slots.iter().enumerate();
        slots
            .filter(deleted)
            .map(|(ordinal, _)| ordinal as u64)
            .collect()
    }

    /// Returns the approximate bytes that a compaction frees, without the bytes that it writes.
    /// `live_sections` are the bytes of the sections in use.
    pub(crate) fn reclaimable_bytes(&self, live_sections: u64) -> u64 {
        let framing = segment_size(0) * (self.vectors.len() as u64).saturating_sub(1);
        // The segments around the pages in use take some bytes, too.
        let in_use = live_sections + live_sections / FRAMING_ONE_IN + FRAMING_BYTES;
        let sections = self.section_bytes.saturating_sub(in_use);
        self.dead_bytes
            .saturating_add(framing)
            .saturating_add(sections)
    }
}
