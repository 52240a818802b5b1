//! The bytes of the directory segment (0x48): the fold, so that opening need not repeat it.

use std::sync::Arc;

use reprise_types::{
    ByteReader, ByteWriter, CHUNKED as CHUNK, Chunked, Fetch, Wire as _, put_all, put_signed,
    put_varint,
};

use super::{Directory, Slot, SlotState, VectorSegment};

const STATE_BITS: u8 = 0b11;
/// Same block as the slot before, next position.
const FOLLOWS: u8 = 1 << 2;
const VECTOR: u8 = 1 << 3;
/// The vector stands right behind the one before.
const VECTOR_FOLLOWS: u8 = 1 << 4;
/// Bounds the count of a forged list.
const ITEMS_MAX: u64 = u32::MAX as u64;

/// Where the last live slot and the last vector stand, against which the next are delta-encoded: at
/// first nowhere.
const NOTHING_BEFORE: Slot = Slot::LOST;

impl Directory {
    /// The body of the directory segment; `stride` is the distance of vectors within a `VEC_SEG`.
    /// The long lists stand in chunks that are read one by one.
    pub(crate) fn encode(&self, stride: u64) -> Vec<u8> {
        let mut w = ByteWriter::default();
        put_all!(&mut w, self.seq, self.horizon, self.last_commit, self.seal);
        put_all!(
            &mut w,
            self.checkpoint_bytes,
            self.dead_bytes,
            self.forgotten,
            self.lost
        );
        w.all(self.spaces.iter());
        self.cursors.put(&mut w);
        w.count(self.tombstones.len());
        w.each(self.tombstones.iter());
        let mut out = w.bytes;
        put_chunks(&mut out, &self.vectors, put_segments);
        put_chunks(&mut out, &self.slots, |out, slots| {
            let mut before = NOTHING_BEFORE;
            for slot in slots {
                put_slot(out, slot, &mut before, stride);
            }
        });
        out
    }

    /// The inverse of [`Self::encode`], of the bytes from `start` on. The long lists are read out
    /// of them when they are asked for.
    pub(crate) fn decode(bytes: Vec<u8>, start: usize, stride: u64) -> Option<Self> {
        let bytes = Arc::new(Raw(bytes));
        let r = &mut ByteReader::new(bytes.0.get(start..)?);
        let mut directory = Self::take_numbers(r)?;
        (directory.forgotten, directory.lost) = (r.get()?, r.get()?);
        directory.take_short(r)?;
        directory.vectors = chunks(&bytes, r, VectorSegment::default(), segments)?;
        let slots = move |bytes: &[u8], len| slots(bytes, len, stride);
        directory.slots = chunks(&bytes, r, Slot::LOST, slots)?;
        r.is_empty().then_some(directory)
    }

    /// The inverse of what earlier versions wrote: both lists in one run, without counts.
    pub(crate) fn decode_run(bytes: &[u8], stride: u64) -> Option<Self> {
        let r = &mut ByteReader::new(bytes);
        let mut directory = Self::take_numbers(r)?;
        directory.take_short(r)?;
        let mut last = 0u64;
        for _ in 0..r.count()? {
            let segment = segment(r, &mut last)?;
            directory.vectors.push(segment);
        }
        let mut before = NOTHING_BEFORE;
        let slots = (0..r.count()?).map(|_| slot(r, &mut before, stride));
        directory.slots = slots.collect::<Option<_>>()?;
        let count = |state| {
            directory
                .slots
                .iter()
                .filter(|slot| slot.state == state)
                .count()
        };
        let counts = [SlotState::Forgotten, SlotState::Lost].map(|state| count(state) as u32);
        [directory.forgotten, directory.lost] = counts;
        r.is_empty().then_some(directory)
    }

    fn take_numbers(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            seq: r.get()?,
            horizon: r.get()?,
            last_commit: r.get()?,
            seal: r.get()?,
            checkpoint_bytes: r.get()?,
            dead_bytes: r.get()?,
            ..Self::default()
        })
    }

    /// Spaces, cursors and tombstones.
    fn take_short(&mut self, r: &mut ByteReader<'_>) -> Option<()> {
        self.spaces = Vec::take(r)?.into();
        self.cursors = r.get()?;
        self.tombstones = Vec::take(r)?.into_iter().collect();
        Some(())
    }
}

/// The bytes of a directory, shared by the lists that are read out of them.
struct Raw(Vec<u8>);

/// Items, then where each chunk of them ends (u32), then the chunks.
fn put_chunks<T: Clone>(out: &mut Vec<u8>, list: &Chunked<T>, put: impl Fn(&mut Vec<u8>, &[T])) {
    put_varint(out, list.len() as u64);
    let mut body = Vec::with_capacity(list.len() * 8);
    for chunk in list.pages() {
        put(&mut body, chunk);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(&body);
}

/// The inverse of [`put_chunks`]; what `read` cannot make sense of is filled.
fn chunks<T: Copy + Send + Sync + 'static>(
    bytes: &Arc<Raw>,
    r: &mut ByteReader<'_>,
    fill: T,
    read: impl Fn(&[u8], usize) -> Option<Vec<T>> + Send + Sync + 'static,
) -> Option<Chunked<T>> {
    let len = usize::try_from(r.varint().filter(|count| *count <= ITEMS_MAX)?).ok()?;
    let count = len.div_ceil(CHUNK);
    let table = r.take(count.checked_mul(4)?)?;
    let (ends, _) = table.as_chunks::<4>();
    let ends: Vec<u32> = ends.iter().map(|end| u32::from_le_bytes(*end)).collect();
    let size = ends.last().map_or(0, |end| *end as usize);
    let from = bytes.0.len() - r.remaining();
    r.take(size)?;
    // No item takes less than a byte.
    if !ends.is_sorted() || len > size {
        return None;
    }
    let bytes = Arc::clone(bytes);
    let read: Fetch<T> = Arc::new(move |number| {
        let len = CHUNK.min(len - number * CHUNK);
        let start = number.checked_sub(1).and_then(|before| ends.get(before));
        let start = start.map_or(0, |end| *end as usize);
        let end = ends.get(number).map_or(start, |end| *end as usize);
        let chunk = bytes.0.get(from + start..from + end).unwrap_or_default();
        let mut items = read(chunk, len).unwrap_or_default();
        items.resize(len, fill);
        items
    });
    Some(Chunked::left(len, &read))
}

fn put_segments(out: &mut Vec<u8>, segments: &[VectorSegment]) {
    let mut last = 0;
    for segment in segments {
        put_varint(out, segment.offset - last);
        put_varint(out, segment.payload_size);
        last = segment.offset;
    }
}

fn segment(r: &mut ByteReader<'_>, last: &mut u64) -> Option<VectorSegment> {
    *last = last.checked_add(r.varint()?)?;
    Some(VectorSegment {
        offset: *last,
        payload_size: r.varint()?,
    })
}

fn segments(bytes: &[u8], len: usize) -> Option<Vec<VectorSegment>> {
    let (r, mut last) = (&mut ByteReader::new(bytes), 0);
    (0..len).map(|_| segment(r, &mut last)).collect()
}

fn slots(bytes: &[u8], len: usize, stride: u64) -> Option<Vec<Slot>> {
    let (r, mut before) = (&mut ByteReader::new(bytes), NOTHING_BEFORE);
    (0..len).map(|_| slot(r, &mut before, stride)).collect()
}

fn put_slot(out: &mut Vec<u8>, slot: &Slot, before: &mut Slot, stride: u64) {
    let follows = slot.state == SlotState::Live
        && slot.place == before.place
        && slot.block_size == before.block_size
        && slot.index == before.index.wrapping_add(1);
    let vector_follows = slot.vector == before.vector.wrapping_add(stride);
    let mut tag = slot.state as u8;
    for (bit, set) in [
        (FOLLOWS, follows),
        (VECTOR, slot.vector != 0),
        (VECTOR_FOLLOWS, slot.vector != 0 && vector_follows),
    ] {
        tag |= if set { bit } else { 0 };
    }
    out.push(tag);
    match slot.state {
        SlotState::Live => {
            if !follows {
                put_signed(out, slot.place.wrapping_sub(before.place).cast_signed());
                put_varint(out, u64::from(slot.block_size));
                put_varint(out, u64::from(slot.index));
            }
            before.place = slot.place;
            before.block_size = slot.block_size;
            before.index = slot.index;
        }
        SlotState::Forgotten => put_varint(out, slot.place),
        SlotState::Lost => {}
    }
    if slot.vector != 0 {
        if !vector_follows {
            put_signed(out, slot.vector.wrapping_sub(before.vector).cast_signed());
        }
        put_varint(out, u64::from(slot.space));
        out.extend_from_slice(&slot.check.to_le_bytes());
        before.vector = slot.vector;
    }
}

fn slot(r: &mut ByteReader<'_>, before: &mut Slot, stride: u64) -> Option<Slot> {
    let tag = r.u8()?;
    let mut slot = match tag & STATE_BITS {
        1 => {
            if tag & FOLLOWS != 0 {
                before.index = before.index.checked_add(1)?;
            } else {
                before.place = before.place.wrapping_add(r.signed()?.cast_unsigned());
                before.block_size = r.varint_u32()?;
                before.index = u16::try_from(r.varint()?).ok()?;
            }
            Slot::without_vector(
                SlotState::Live,
                before.place,
                before.block_size,
                before.index,
            )
        }
        2 => Slot::without_vector(SlotState::Forgotten, r.varint()?, 0, 0),
        3 => Slot::LOST,
        _ => return None,
    };
    if tag & VECTOR != 0 {
        let delta = if tag & VECTOR_FOLLOWS != 0 {
            stride
        } else {
            r.signed()?.cast_unsigned()
        };
        before.vector = before.vector.wrapping_add(delta);
        slot.vector = before.vector;
        slot.space = u16::try_from(r.varint()?).ok()?;
        slot.check = r.u32()?;
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
                    vector,
                    check: if vector == 0 { 0 } else { check },
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn a_directory_comes_back(slots in proptest::collection::vec(any_slot(), 0..600)) {
            let mut directory = Directory { seq: 9, horizon: 3, seal: 640, ..Directory::default() };
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
            let back = Directory::decode(behind, 3, 40).unwrap();
            prop_assert_eq!((back.forgotten, back.lost), (directory.forgotten, directory.lost));
            prop_assert_eq!(back.slots.iter().copied().collect::<Vec<_>>(), slots);
            prop_assert_eq!(back.encode(40), bytes.clone());
            prop_assert_eq!((back.seq, back.horizon, back.seal), (9, 3, 640));
            prop_assert_eq!(back.cursors.get("events"), Some(&77));
            for cut in (0..bytes.len()).step_by(1 + bytes.len() / 40) {
                prop_assert!(Directory::decode(bytes[..cut].to_vec(), 0, 40).is_none());
            }
        }
    }
}
