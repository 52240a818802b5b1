//! The directory: where every record and vector stands, folded from the log, one slot an ordinal.

mod codec;

use std::collections::BTreeMap;
use std::sync::Arc;

use reprise_types::{Chunked, EmbeddingSpace};

use crate::block::BLOCK_ENTRIES_MAX;
use crate::codec::{Outline, VectorMark};
use crate::commit::{Built, CommitHead, FileFacts, Placed};
use crate::entry::Tombstone;
use crate::frame::segment_size;

/// By its number in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotState {
    Live = 1,
    Forgotten = 2,
    Lost = 3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) state: SlotState,
    /// Live: file offset of the block. Forgotten: index of the tombstone.
    pub(crate) place: u64,
    pub(crate) block_size: u32,
    pub(crate) index: u16,
    /// 0: no vector; else one more than the index of its space.
    pub(crate) space: u16,
    /// File offset of the vector's numbers, or of the block with it where it has another width
    /// than the file; 0 where there is none.
    pub(crate) vector: u64,
    pub(crate) check: u32,
}

impl Slot {
    const LOST: Self = Self::without_vector(SlotState::Lost, 0, 0, 0);

    const fn without_vector(state: SlotState, place: u64, block_size: u32, index: u16) -> Self {
        Self {
            state,
            place,
            block_size,
            index,
            space: 0,
            vector: 0,
            check: 0,
        }
    }

    /// The space of its vector, of those that its directory knows.
    pub(crate) fn space_of<'s>(&self, spaces: &'s [EmbeddingSpace]) -> Option<&'s EmbeddingSpace> {
        spaces.get(usize::from(self.space).checked_sub(1)?)
    }
}

/// A `VEC_SEG` that is whole and belongs to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct VectorSegment {
    pub(crate) offset: u64,
    pub(crate) payload_size: u64,
}

/// The state of the log in memory: enough to find any record without scanning. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directory {
    pub(crate) seq: u64,
    /// The last commit merged by a compaction; 0 for none.
    pub(crate) horizon: u64,
    /// Offset of the last commit segment; 0 where there is none.
    pub(crate) last_commit: u64,
    /// Offset of the newest seal; 0 where there is none.
    pub(crate) seal: u64,
    /// The last commit that a manifest shows to rvf-runtime.
    pub(crate) shown: u64,
    /// Bytes of the newest checkpoint, dead once the next one is written.
    pub(crate) checkpoint_bytes: u64,
    /// Bytes that a compaction would drop.
    pub(crate) dead_bytes: u64,
    pub(crate) forgotten: u32,
    pub(crate) lost: u32,
    pub(crate) slots: Chunked<Slot>,
    pub(crate) tombstones: Chunked<Tombstone>,
    pub(crate) vectors: Chunked<VectorSegment>,
    pub(crate) spaces: Arc<[EmbeddingSpace]>,
    pub(crate) cursors: BTreeMap<String, u64>,
}

impl Directory {
    pub(crate) fn records(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(crate) fn slot(&self, ordinal: u32) -> Option<&Slot> {
        self.slots.get(ordinal as usize)
    }

    /// Applies a commit that was written just now.
    pub(crate) fn take(&mut self, facts: &FileFacts, built: Built) {
        self.fold(facts, &built.head, built.offset, built.placed, None);
    }

    /// Applies a commit that was already checked to continue the log. `damaged` says which of its
    /// vectors are; `None`: its `VEC_SEG` is whole.
    pub(crate) fn fold(
        &mut self,
        facts: &FileFacts,
        head: &CommitHead,
        offset: u64,
        placed: Vec<Placed>,
        damaged: Option<&[bool]>,
    ) {
        while self.records() < head.first_ordinal {
            self.push_lost();
        }
        let vectors_offset = offset - head.vectors_size;
        let mut turn = 0usize;
        for placed in placed {
            let mut vector = None;
            if placed.outline.has_vector() {
                let damaged = damaged.is_some_and(|d| d.get(turn) != Some(&false));
                vector = (!damaged).then(|| facts.vector_offset(vectors_offset, turn as u64));
                turn += 1;
            }
            self.fold_entry(placed, vector);
        }
        if turn > 0 && damaged.is_none() {
            self.vectors.push(VectorSegment {
                offset: vectors_offset,
                payload_size: 6 + facts.stride() * turn as u64,
            });
        }
        self.seq = head.seq;
        self.last_commit = offset;
        if head.packed {
            self.horizon = head.seq;
        }
    }

    fn fold_entry(&mut self, placed: Placed, vector: Option<u64>) {
        let (place, size, index) = (placed.block, placed.block_size, placed.index);
        match placed.outline {
            Outline::Record(mark) => {
                let ordinal = self.slots.len();
                let slot = Slot::without_vector(SlotState::Live, place, size, index);
                self.slots.push(slot);
                if let (Some(mark), Some(vector)) = (mark, vector) {
                    self.set_vector(ordinal, &mark, vector);
                }
            }
            Outline::Stub(tombstone) => {
                let place = self.push_tombstone(tombstone);
                self.slots
                    .push(Slot::without_vector(SlotState::Forgotten, place, 0, 0));
                self.forgotten += 1;
            }
            Outline::Lost => self.push_lost(),
            Outline::Embedded { ordinal, mark } => {
                if let Some(vector) = vector {
                    self.embed(ordinal, &mark, vector);
                }
            }
            Outline::Apart { ordinal, mark } => self.embed(ordinal, &mark, place),
            Outline::Forgotten { ordinal, tombstone } => self.forget(ordinal, tombstone),
            Outline::Cursor { stream, seq } => {
                self.cursors.insert(stream, seq);
            }
            Outline::Annotated { .. } | Outline::Learning | Outline::Unknown => {}
        }
    }

    fn embed(&mut self, ordinal: u32, mark: &VectorMark, vector: u64) {
        let slot = self.slot(ordinal).copied();
        if let Some(slot) = slot.filter(|slot| slot.state == SlotState::Live) {
            self.dead_bytes += self.vector_bytes(&slot);
            self.set_vector(ordinal as usize, mark, vector);
        }
    }

    /// How wide a slot's vector is; `None` where it has none.
    pub(crate) fn width(&self, slot: &Slot) -> Option<u16> {
        let space = slot.space_of(&self.spaces).filter(|_| slot.vector != 0);
        space.map(|space| space.dimensions)
    }

    fn live(&self) -> impl Iterator<Item = &Slot> {
        let slots = self.slots.iter();
        slots.filter(|slot| slot.state == SlotState::Live)
    }

    fn vector_bytes(&self, slot: &Slot) -> u64 {
        self.width(slot).map_or(0, |width| 8 + 4 * u64::from(width))
    }

    /// The width that most records have their vector in; of two as many, the newer.
    pub(crate) fn width_of_most(&self) -> Option<u16> {
        let mut counts: Vec<(u16, u32)> =
            self.spaces.iter().map(|one| (one.dimensions, 0)).collect();
        for width in self.live().filter_map(|slot| self.width(slot)) {
            if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == width) {
                *count += 1;
            }
        }
        let used = counts.into_iter().filter(|(_, count)| *count > 0);
        used.max_by_key(|(_, count)| *count).map(|(width, _)| width)
    }

    /// The spaces that a live record has its vector in, in their order.
    pub(crate) fn used_spaces(&self) -> Arc<[EmbeddingSpace]> {
        let mut used = vec![false; self.spaces.len()];
        for slot in self.live().filter(|slot| slot.vector != 0) {
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
            let vector = self.vector_bytes(&slot);
            // At least its share of a block that may hold others; with the last of them the rest.
            let text = u64::from(slot.block_size) / BLOCK_ENTRIES_MAX as u64;
            self.dead_bytes += vector + text;
            let place = self.push_tombstone(tombstone);
            self.mark_forgotten(ordinal as usize, place);
            if slot.state == SlotState::Live && !self.is_needed(ordinal, slot.place) {
                let counted = text * self.entries_about(ordinal, slot.index);
                self.dead_bytes += u64::from(slot.block_size).saturating_sub(counted);
            }
        }
    }

    /// Whether the block at `place`, of which `ordinal` is one, holds a record that is not
    /// forgotten.
    fn is_needed(&self, ordinal: u32, place: u64) -> bool {
        let reach = BLOCK_ENTRIES_MAX as u32;
        let mut near = ordinal.saturating_sub(reach)..ordinal.saturating_add(reach);
        near.any(|near| {
            let slot = self.slot(near);
            slot.is_some_and(|slot| slot.state == SlotState::Live && slot.place == place)
        })
    }

    /// A lower bound for the entries of the block in which `ordinal` has this index: up to the last
    /// forgotten record in it whose index is known.
    fn entries_about(&self, ordinal: u32, index: u16) -> u64 {
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
            self.lost -= 1;
        }
        // The vector's place stays known: the RVF manifest must list its id as deleted.
        slot.state = SlotState::Forgotten;
        slot.place = place;
        slot.block_size = 0;
        self.forgotten += 1;
    }

    fn set_vector(&mut self, ordinal: usize, mark: &VectorMark, vector: u64) {
        let space = self.intern(&mark.space);
        if let Some(slot) = self.slots.get_mut(ordinal) {
            slot.space = space;
            slot.vector = vector;
            slot.check = mark.check;
        }
    }

    /// One more than the index of a space, or 0 (no vector) in a file with more spaces than fit.
    fn intern(&mut self, space: &EmbeddingSpace) -> u16 {
        let index = self.spaces.iter().position(|known| known == space);
        let index = index.unwrap_or_else(|| {
            let known = self.spaces.iter().chain([space]);
            self.spaces = known.cloned().collect();
            self.spaces.len() - 1
        });
        u16::try_from(index + 1).unwrap_or(0)
    }

    /// Takes over from a later directory what missing commits did: their records are lost, but what
    /// they forgot stays forgotten.
    pub(crate) fn adopt(&mut self, known: &Self) {
        for (ordinal, slot) in known.slots.iter().enumerate() {
            if ordinal == self.slots.len() {
                self.push_lost();
            }
            if slot.state == SlotState::Forgotten
                && let Some(tombstone) = known.tombstones.get(slot.place as usize)
                && self
                    .slots
                    .get(ordinal)
                    .is_some_and(|s| s.state != SlotState::Forgotten)
            {
                let place = self.push_tombstone(tombstone.clone());
                self.mark_forgotten(ordinal, place);
            }
        }
        self.cursors.clone_from(&known.cursors);
        self.seq = known.seq;
    }

    /// Records a complete checkpoint, from `start` to the end of its seal.
    pub(crate) fn sealed(&mut self, seal: u64, start: u64, end: u64) {
        self.dead_bytes += self.checkpoint_bytes;
        self.checkpoint_bytes = end - start;
        self.seal = seal;
        self.shown = self.seq;
    }

    /// Takes note of a manifest of `size` bytes behind the newest commit.
    pub(crate) fn showed(&mut self, size: u64) {
        self.dead_bytes += size;
        self.shown = self.seq;
    }

    /// Ids of vectors in a listed `VEC_SEG` that are deleted, or have another width by now.
    pub(crate) fn deleted_ids(&self, dimensions: u16) -> Vec<u64> {
        let deleted = |(_, slot): &(usize, &Slot)| {
            slot.vector != 0
                && (slot.state == SlotState::Forgotten || self.width(slot) != Some(dimensions))
        };
        let slots = self.slots.iter().enumerate();
        slots
            .filter(deleted)
            .map(|(ordinal, _)| ordinal as u64)
            .collect()
    }

    /// Approximate bytes that a compaction frees, not counting what it writes.
    pub(crate) fn reclaimable(&self) -> u64 {
        let framing = segment_size(0) * (self.vectors.len() as u64).saturating_sub(1);
        self.dead_bytes + framing
    }
}
