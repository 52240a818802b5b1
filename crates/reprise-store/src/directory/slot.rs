//! The place of one record in the file.

use reprise_types::{EmbeddingSpace, RowCodec, impl_row_codec, impl_tagged_codec};

/// State of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotState {
    Live,
    Forgotten,
    Lost,
}

impl_tagged_codec! {
    SlotState {
        1 => Live,
        2 => Forgotten,
        3 => Lost,
    }
}

impl RowCodec for SlotState {
    const WIDTH: usize = u8::WIDTH;
}

/// Where a record and its vector are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) state: SlotState,
    /// File offset of the block of a live record, or index of the tombstone of a forgotten one.
    pub(crate) place: u64,
    pub(crate) block_size: u32,
    pub(crate) index: u16,
    /// One more than the index of the vector's space; 0 without a vector.
    pub(crate) space: u16,
    /// File offset of the vector's numbers, or of its block if it has another width than the file;
    /// 0 without a vector.
    pub(crate) vector_offset: u64,
    pub(crate) checksum: u32,
}

impl Slot {
    pub(crate) const LOST: Self = Self::new_without_vector(SlotState::Lost, 0, 0, 0);

    /// Creates the slot of a live record without a vector.
    pub(crate) const fn new_live(place: u64, block_size: u32, index: u16) -> Self {
        Self::new_without_vector(SlotState::Live, place, block_size, index)
    }

    pub(crate) const fn new_without_vector(
        state: SlotState,
        place: u64,
        block_size: u32,
        index: u16,
    ) -> Self {
        Self {
            state,
            place,
            block_size,
            index,
            space: 0,
            vector_offset: 0,
            checksum: 0,
        }
    }

    /// Returns the space of the slot's vector from the spaces of its directory.
    pub(crate) fn space_of<'s>(&self, spaces: &'s [EmbeddingSpace]) -> Option<&'s EmbeddingSpace> {
        spaces.get(usize::from(self.space).checked_sub(1)?)
    }
}

impl_row_codec! {
    Slot { state, place, block_size, index, space, vector_offset, checksum }
}
