//! The bytes of the directory segment (0x48): the fold, so that opening need not repeat it.
//!
//! Lives here: its layout, delta by delta. Never here: the fold itself.

use super::{Directory, Slot, SlotState, VectorSegment};
use crate::bytes::{ByteReader, put_bytes, put_signed, put_varint};
use crate::codec::{put_space, put_tombstone, space, tombstone};

const STATE_BITS: u8 = 0b11;
/// Same block as the slot before, next position.
const FOLLOWS: u8 = 1 << 2;
const VECTOR: u8 = 1 << 3;
/// The vector stands right behind the one before.
const VECTOR_FOLLOWS: u8 = 1 << 4;
/// No list in a directory is longer than the bytes that describe it; this bounds a lying count.
const ITEMS_MAX: u64 = u32::MAX as u64;

/// What the slot before said, from which the next one is told.
#[derive(Clone, Copy)]
struct Before {
    place: u64,
    block_size: u32,
    index: u16,
    vector: u64,
}

const NOTHING_BEFORE: Before = Before {
    place: 0,
    block_size: 0,
    index: 0,
    vector: 0,
};

fn state_number(state: SlotState) -> u8 {
    match state {
        SlotState::Live => 1,
        SlotState::Forgotten => 2,
        SlotState::Lost => 3,
    }
}

impl Directory {
    /// The body of the directory segment; `stride` is the distance of vectors within a `VEC_SEG`.
    pub(crate) fn encode(&self, stride: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.slots.len() * 8 + 256);
        for number in [
            self.seq,
            self.horizon,
            self.last_commit,
            self.seal,
            self.checkpoint_bytes,
            self.dead_bytes,
        ] {
            put_varint(&mut out, number);
        }
        put_varint(&mut out, self.spaces.len() as u64);
        for space in self.spaces.iter() {
            put_space(&mut out, space);
        }
        put_varint(&mut out, self.cursors.len() as u64);
        for (stream, seq) in &self.cursors {
            put_bytes(&mut out, stream.as_bytes());
            put_varint(&mut out, *seq);
        }
        put_varint(&mut out, self.tombstones.len() as u64);
        for tombstone in self.tombstones.iter() {
            put_tombstone(&mut out, tombstone);
        }
        put_varint(&mut out, self.vectors.len() as u64);
        let mut last = 0;
        for segment in self.vectors.iter() {
            put_varint(&mut out, segment.offset - last);
            put_varint(&mut out, segment.payload_size);
            last = segment.offset;
        }
        put_varint(&mut out, self.slots.len() as u64);
        let mut before = NOTHING_BEFORE;
        for slot in self.slots.iter() {
            put_slot(&mut out, slot, &mut before, stride);
        }
        out
    }

    /// The inverse of [`Self::encode`].
    pub(crate) fn decode(bytes: &[u8], stride: u64) -> Option<Self> {
        let r = &mut ByteReader::new(bytes);
        let mut directory = Self {
            seq: r.varint()?,
            horizon: r.varint()?,
            last_commit: r.varint()?,
            seal: r.varint()?,
            checkpoint_bytes: r.varint()?,
            dead_bytes: r.varint()?,
            ..Self::default()
        };
        let spaces: Vec<_> = (0..count(r)?).map(|_| space(r)).collect::<Option<_>>()?;
        directory.spaces = spaces.into();
        for _ in 0..count(r)? {
            let stream = r.string()?;
            directory.cursors.insert(stream, r.varint()?);
        }
        for _ in 0..count(r)? {
            directory.tombstones.push(tombstone(r)?);
        }
        let mut last = 0u64;
        for _ in 0..count(r)? {
            let offset = last.checked_add(r.varint()?)?;
            let payload_size = r.varint()?;
            directory.vectors.push(VectorSegment {
                offset,
                payload_size,
            });
            last = offset;
        }
        let mut before = NOTHING_BEFORE;
        let slots = count(r)?;
        let mut decode = |_| {
            let slot = slot(r, &mut before, stride)?;
            match slot.state {
                SlotState::Forgotten => directory.forgotten += 1,
                SlotState::Lost => directory.lost += 1,
                SlotState::Live => {}
            }
            Some(slot)
        };
        let slots: Option<_> = (0..slots).map(&mut decode).collect();
        directory.slots = slots?;
        r.is_empty().then_some(directory)
    }
}

fn count(reader: &mut ByteReader<'_>) -> Option<u64> {
    reader
        .varint()
        .filter(|count| *count <= ITEMS_MAX && *count <= reader.remaining() as u64)
}

fn put_slot(out: &mut Vec<u8>, slot: &Slot, before: &mut Before, stride: u64) {
    let follows = slot.state == SlotState::Live
        && slot.place == before.place
        && slot.block_size == before.block_size
        && slot.index == before.index.wrapping_add(1);
    let vector_follows = slot.vector == before.vector.wrapping_add(stride);
    let mut tag = state_number(slot.state);
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

fn slot(r: &mut ByteReader<'_>, before: &mut Before, stride: u64) -> Option<Slot> {
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
        3 => Slot::without_vector(SlotState::Lost, 0, 0, 0),
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
    use crate::codec::Tombstone;

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
            let bytes = directory.encode(40);
            let back = Directory::decode(&bytes, 40).unwrap();
            prop_assert_eq!(back.slots.iter().copied().collect::<Vec<_>>(), slots);
            prop_assert_eq!(back.encode(40), bytes.clone());
            prop_assert_eq!((back.seq, back.horizon, back.seal), (9, 3, 640));
            prop_assert_eq!(back.cursors.get("events"), Some(&77));
            for cut in (0..bytes.len()).step_by(1 + bytes.len() / 40) {
                prop_assert!(Directory::decode(&bytes[..cut], 40).is_none());
            }
        }
    }
}
