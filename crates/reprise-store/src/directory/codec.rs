//! The bytes of the directory segment (0x48), so that an open need not read every commit.

use std::sync::Arc;

use reprise_types::limits::RECORDS_MAX;
use reprise_types::{
    BinaryCodec as _, ByteReader, ByteWriter, PageFetcher, SMALL_CHUNK_LEN as CHUNK, SmallChunkVec,
    append_signed, append_varint, encode_all,
};

use super::{LogDirectory, Slot, SlotState, VectorSegment};
use crate::commit::SEQ_MAX;

const STATE_BITS: u8 = 0b11;
/// Flag of a slot in the same block as the previous slot, at the next position.
const FOLLOWS: u8 = 1 << 2;
const VECTOR: u8 = 1 << 3;
/// Flag of a vector that directly follows the previous one.
const VECTOR_FOLLOWS: u8 = 1 << 4;
/// Limits the count of a forged list.
const ITEMS_MAX: u64 = u32::MAX as u64;

/// Initial value of the last live slot and the last vector, against which the next ones are
/// delta-encoded.
const NOTHING_BEFORE: Slot = Slot::LOST;

impl LogDirectory {
    /// Encodes the body of the directory segment; `stride` is the distance of vectors within a
    /// `VEC_SEG`. The long lists are stored in chunks that are read one by one.
    pub(crate) fn encode(&self, stride: u64) -> Vec<u8> {
        let mut w = ByteWriter::default();
        encode_all!(&mut w, self.seq, self.horizon, self.last_commit, self.seal);
        encode_all!(
            &mut w,
            self.checkpoint_bytes,
            self.dead_bytes,
            self.forgotten,
            self.lost
        );
        w.write_list(self.spaces.iter());
        self.cursors.encode(&mut w);
        w.write_count(self.tombstones.len());
        w.write_items(self.tombstones.iter());
        let mut out = w.bytes;
        encode_chunks(&mut out, &self.vectors, encode_vector_segments);
        encode_chunks(&mut out, &self.slots, |out, slots| {
            let mut before = NOTHING_BEFORE;
            for slot in slots {
                encode_slot(out, slot, &mut before, stride);
            }
        });
        out
    }

    /// Decodes the bytes of [`Self::encode`], which begin at `start`. Chunks of the long lists are
    /// decoded on first access.
    pub(crate) fn decode(bytes: Vec<u8>, start: usize, stride: u64) -> Option<Self> {
        let bytes = Arc::new(DirectoryBytes(bytes));
        let r = &mut ByteReader::new(bytes.0.get(start..)?);
        let mut directory = Self::decode_numbers(r)?;
        (directory.forgotten, directory.lost) = (r.read_value()?, r.read_value()?);
        directory.decode_short_lists(r)?;
        directory.vectors =
            decode_chunks(&bytes, r, VectorSegment::default(), decode_vector_segments)?;
        let slots = move |bytes: &[u8], len| decode_slots(bytes, len, stride);
        directory.slots = decode_chunks(&bytes, r, Slot::LOST, slots)?;
        let is_sound = r.is_empty() && directory.has_possible_counts();
        is_sound.then_some(directory)
    }

    /// Whether its counts are ones that a log can have.
    fn has_possible_counts(&self) -> bool {
        let gone = u64::from(self.forgotten) + u64::from(self.lost);
        let records = self.slots.len() as u64;
        gone <= records && records <= u64::from(RECORDS_MAX) && self.seq <= SEQ_MAX
    }

    fn decode_numbers(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            seq: r.read_value()?,
            horizon: r.read_value()?,
            last_commit: r.read_value()?,
            seal: r.read_value()?,
            checkpoint_bytes: r.read_value()?,
            dead_bytes: r.read_value()?,
            ..Self::default()
        })
    }

    /// Decodes the spaces, cursors and tombstones.
    fn decode_short_lists(&mut self, r: &mut ByteReader<'_>) -> Option<()> {
        self.spaces = Vec::decode(r)?.into();
        self.cursors = r.read_value()?;
        self.tombstones = Vec::decode(r)?.into_iter().collect();
        Some(())
    }
}

/// The bytes of a directory, which its lazily decoded lists share.
struct DirectoryBytes(Vec<u8>);

/// Encodes a list as its length, the end of each chunk (u32), then the chunks.
fn encode_chunks<T: Clone>(
    out: &mut Vec<u8>,
    list: &SmallChunkVec<T>,
    put: impl Fn(&mut Vec<u8>, &[T]),
) {
    append_varint(out, list.len() as u64);
    let mut body = Vec::with_capacity(list.len() * 8);
    for chunk in list.pages() {
        put(&mut body, chunk);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(&body);
}

/// Decodes the bytes of [`encode_chunks`]; items that `read` cannot decode become `fill`.
fn decode_chunks<T: Copy + Send + Sync + 'static>(
    bytes: &Arc<DirectoryBytes>,
    r: &mut ByteReader<'_>,
    fill: T,
    read: impl Fn(&[u8], usize) -> Option<Vec<T>> + Send + Sync + 'static,
) -> Option<SmallChunkVec<T>> {
    let len = usize::try_from(r.read_varint().filter(|count| *count <= ITEMS_MAX)?).ok()?;
    let count = len.div_ceil(CHUNK);
    let table = r.read_raw(count.checked_mul(4)?)?;
    let (ends, _) = table.as_chunks::<4>();
    let ends: Vec<u32> = ends.iter().map(|end| u32::from_le_bytes(*end)).collect();
    let size = ends.last().map_or(0, |end| *end as usize);
    let from = bytes.0.len() - r.remaining();
    r.read_raw(size)?;
    // Every item has at least one byte.
    if !ends.is_sorted() || len > size {
        return None;
    }
    let bytes = Arc::clone(bytes);
    let read: PageFetcher<T> = Arc::new(move |number| {
        let len = CHUNK.min(len - number * CHUNK);
        let start = number.checked_sub(1).and_then(|before| ends.get(before));
        let start = start.map_or(0, |end| *end as usize);
        let end = ends.get(number).map_or(start, |end| *end as usize);
        let chunk = bytes.0.get(from + start..from + end).unwrap_or_default();
        let mut items = read(chunk, len).unwrap_or_default();
        items.resize(len, fill);
        items
    });
    Some(SmallChunkVec::from_fetcher(len, &read))
}

fn encode_vector_segments(out: &mut Vec<u8>, segments: &[VectorSegment]) {
    let mut last = 0;
    for segment in segments {
        // A damaged file may name them in any order.
        append_varint(out, segment.offset.wrapping_sub(last));
        append_varint(out, segment.payload_size);
        last = segment.offset;
    }
}

fn decode_vector_segment(r: &mut ByteReader<'_>, last: &mut u64) -> Option<VectorSegment> {
    *last = last.wrapping_add(r.read_varint()?);
    Some(VectorSegment {
        offset: *last,
        payload_size: r.read_varint()?,
    })
}

fn decode_vector_segments(bytes: &[u8], len: usize) -> Option<Vec<VectorSegment>> {
    let (r, mut last) = (&mut ByteReader::new(bytes), 0);
    (0..len)
        .map(|_| decode_vector_segment(r, &mut last))
        .collect()
}

fn decode_slots(bytes: &[u8], len: usize, stride: u64) -> Option<Vec<Slot>> {
    let (r, mut before) = (&mut ByteReader::new(bytes), NOTHING_BEFORE);
    (0..len)
        .map(|_| decode_slot(r, &mut before, stride))
        .collect()
}

fn encode_slot(out: &mut Vec<u8>, slot: &Slot, before: &mut Slot, stride: u64) {
    let follows = slot.state == SlotState::Live
        && slot.place == before.place
        && slot.block_size == before.block_size
        && slot.index == before.index.wrapping_add(1);
    let vector_follows = slot.vector_offset == before.vector_offset.wrapping_add(stride);
    let mut tag = slot.state as u8;
    for (bit, set) in [
        (FOLLOWS, follows),
        (VECTOR, slot.vector_offset != 0),
        (VECTOR_FOLLOWS, slot.vector_offset != 0 && vector_follows),
    ] {
        tag |= if set { bit } else { 0 };
    }
    out.push(tag);
    match slot.state {
        SlotState::Live => {
            if !follows {
                append_signed(out, slot.place.wrapping_sub(before.place).cast_signed());
                append_varint(out, u64::from(slot.block_size));
                append_varint(out, u64::from(slot.index));
            }
            before.place = slot.place;
            before.block_size = slot.block_size;
            before.index = slot.index;
        }
        SlotState::Forgotten => append_varint(out, slot.place),
        SlotState::Lost => {}
    }
    if slot.vector_offset != 0 {
        if !vector_follows {
            append_signed(
                out,
                slot.vector_offset
                    .wrapping_sub(before.vector_offset)
                    .cast_signed(),
            );
        }
        append_varint(out, u64::from(slot.space));
        out.extend_from_slice(&slot.checksum.to_le_bytes());
        before.vector_offset = slot.vector_offset;
    }
}

fn decode_slot(r: &mut ByteReader<'_>, before: &mut Slot, stride: u64) -> Option<Slot> {
    let tag = r.read_u8()?;
    let mut slot = match tag & STATE_BITS {
        1 => {
            if tag & FOLLOWS != 0 {
                before.index = before.index.checked_add(1)?;
            } else {
                before.place = before.place.wrapping_add(r.read_signed()?.cast_unsigned());
                before.block_size = r.read_varint_u32()?;
                before.index = u16::try_from(r.read_varint()?).ok()?;
            }
            Slot::new_without_vector(
                SlotState::Live,
                before.place,
                before.block_size,
                before.index,
            )
        }
        2 => Slot::new_without_vector(SlotState::Forgotten, r.read_varint()?, 0, 0),
        3 => Slot::LOST,
        _ => return None,
    };
    if tag & VECTOR != 0 {
        let delta = if tag & VECTOR_FOLLOWS != 0 {
            stride
        } else {
            r.read_signed()?.cast_unsigned()
        };
        before.vector_offset = before.vector_offset.wrapping_add(delta);
        slot.vector_offset = before.vector_offset;
        slot.space = u16::try_from(r.read_varint()?).ok()?;
        slot.checksum = r.read_u32()?;
    }
    Some(slot)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;
    use reprise_types::{ContentHash, EmbeddingSpace, RecordId};

    use super::*;
    use crate::entry::Tombstone;

    fn any_slot() -> impl Strategy<Value = Slot> {
        (
            1u8..=3,
            any::<u64>(),
            any::<u32>(),
            0u16..40,
            any::<u16>(),
            0u64..5000,
            any::<u32>(),
        )
            .prop_map(|(state, place, block_size, index, space, vector, check)| {
                let state = [SlotState::Live, SlotState::Forgotten, SlotState::Lost]
                    [usize::from(state) - 1];
                let live = state == SlotState::Live;
                let vector = if state == SlotState::Lost { 0 } else { vector };
                Slot {
                    state,
                    place: if state == SlotState::Lost {
                        0
                    } else {
                        place % 3
                    },
                    block_size: if live { block_size % 2 } else { 0 },
                    index: if live { index } else { 0 },
                    space: if vector == 0 { 0 } else { space },
                    vector_offset: vector,
                    checksum: if vector == 0 { 0 } else { check },
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn a_directory_comes_back(slots in proptest::collection::vec(any_slot(), 0..600)) {
            let mut directory = LogDirectory { seq: 9, horizon: 3, seal: 640, ..LogDirectory::default() };
            directory.spaces = [EmbeddingSpace {
                model: "m".into(), version: "1".into(), dimensions: 8,
            }].into();
            directory.cursors.insert("events".into(), 77);
            directory.tombstones.push(Tombstone {
                id: RecordId::from_u128(5),
                at: DateTime::from_timestamp(9, 8).unwrap(),
                reason: "asked".into(),
                content_hash: ContentHash(6),
                keys: vec![3, 4],
            });
            directory.vectors.push(VectorSegment { offset: 64, payload_size: 46 });
            for slot in &slots {
                directory.slots.push(*slot);
            }
            let in_state = |state| slots.iter().filter(|slot| slot.state == state).count() as u32;
            directory.forgotten = in_state(SlotState::Forgotten);
            directory.lost = in_state(SlotState::Lost);
            let bytes = directory.encode(40);
            let behind = [&[1, 2, 3][..], &bytes].concat();
            let back = LogDirectory::decode(behind, 3, 40).unwrap();
            prop_assert_eq!((back.forgotten, back.lost), (directory.forgotten, directory.lost));
            prop_assert_eq!(back.slots.iter().copied().collect::<Vec<_>>(), slots);
            prop_assert_eq!(back.encode(40), bytes.clone());
            prop_assert_eq!((back.seq, back.horizon, back.seal), (9, 3, 640));
            prop_assert_eq!(back.cursors.get("events"), Some(&77));
            for cut in (0..bytes.len()).step_by(1 + bytes.len() / 40) {
                prop_assert!(LogDirectory::decode(bytes[..cut].to_vec(), 0, 40).is_none());
            }
        }
    }
}
