//! Blocks: the unit that is compressed, checked and read. A commit is one or more of them.
//!
//! ```text
//! check u64 | stored u32 | raw u32 | entries u16 | encoding u8 | 0 u8 | stored bytes
//! ```
//! `check` is XXH3-64 of everything after it, so a single record can be read and verified without
//! hashing its segment.

use std::io;

use reprise_types::{ByteReader, RowCodec, append_varint, encode_row, impl_row_codec};

use crate::codec::EncodedEntry;
use crate::compress::{Compressor, decompress};
use crate::directory::slot::Slot;
use crate::disk::{DiskFile, read_within};

/// Most bytes of the entries of one commit before compression, vectors included.
pub(crate) const COMMIT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A commit, or a block of one, that claims to unpack to more is damage. A compaction joins small
/// entries with the largest one that may be written, and adds marks of vectors.
pub(crate) const UNPACKED_BYTES_MAX: usize = 2 * COMMIT_BYTES_MAX;
/// Most entries of a block, because one random read unpacks them all.
pub(crate) const BLOCK_ENTRIES_MAX: usize = 32;
/// Bytes before compression at which a block is complete.
const BLOCK_RAW_TARGET: usize = 16 * 1024;

/// What a block begins with.
#[derive(Debug, Clone, Copy)]
struct BlockHead {
    check: u64,
    stored_size: u32,
    raw_size: u32,
    entry_count: u16,
    encoding: u8,
    zero: u8,
}

impl_row_codec! {
    BlockHead { check, stored_size, raw_size, entry_count, encoding, zero }
}

impl BlockHead {
    fn read(block: &[u8]) -> Option<Self> {
        ByteReader::with_fixed_layout(block).read_value()
    }

    /// Returns the size of the packed block, in bytes.
    fn size(&self) -> usize {
        Self::WIDTH + self.stored_size as usize
    }
}

/// Packs entries into blocks and appends these to `out`, whose first block will be at file offset
/// `base`. Sets the places of the entries, and returns the count of blocks.
pub(crate) fn append_blocks(
    out: &mut Vec<u8>,
    base: u64,
    entries: &mut [EncodedEntry],
    compressor: &mut Compressor,
) -> io::Result<u32> {
    let (mut blocks, mut raw, mut rest) = (0, Vec::new(), entries);
    while !rest.is_empty() {
        raw.clear();
        let mut count = 0;
        for entry in rest.iter().take(BLOCK_ENTRIES_MAX) {
            raw.push(entry.kind);
            append_varint(&mut raw, entry.body.len() as u64);
            raw.extend_from_slice(&entry.body);
            count += 1;
            if raw.len() >= BLOCK_RAW_TARGET {
                break;
            }
        }
        let (block, behind) = rest.split_at_mut(count);
        let place = base + out.len() as u64;
        let size = append_block(out, &raw, count as u16, compressor)?;
        place_entries(block, place, size);
        blocks += 1;
        rest = behind;
    }
    Ok(blocks)
}

/// Sets the places of the entries of a block.
fn place_entries(entries: &mut [EncodedEntry], place: u64, size: u32) {
    for (index, entry) in (0..).zip(entries) {
        entry.slot = Slot::new_live(place, size, index);
    }
}

/// Packs the entries of a block, and returns its size.
fn append_block(
    out: &mut Vec<u8>,
    raw: &[u8],
    entries: u16,
    compressor: &mut Compressor,
) -> io::Result<u32> {
    let (encoding, stored) = compressor.compress(raw)?;
    let start = out.len();
    let head = BlockHead {
        check: 0,
        stored_size: stored.len() as u32,
        raw_size: raw.len() as u32,
        entry_count: entries,
        encoding,
        zero: 0,
    };
    encode_row(&head, out);
    out.extend_from_slice(&stored);
    let check = xxhash_rust::xxh3::xxh3_64(&out[start + 8..]);
    out[start..start + 8].copy_from_slice(&check.to_le_bytes());
    Ok((out.len() - start) as u32)
}

/// Reads the packed bytes of the block at `at`; returns `None` if it does not end by `end`.
pub(crate) fn read_block(file: &dyn DiskFile, at: u64, end: u64) -> io::Result<Option<Vec<u8>>> {
    let head = read_within(file, at, BlockHead::WIDTH, end)?;
    match head.and_then(|head| BlockHead::read(&head)) {
        Some(head) => read_within(file, at, head.size(), end),
        None => Ok(None),
    }
}

/// Decodes the blocks that `bytes` consists of, the first of which is at file offset `base`, and
/// returns their entries with their places, and the count of blocks. `None` if an entry is
/// malformed, or if they would unpack to more than a commit may hold.
pub(crate) fn decode_blocks(
    bytes: &[u8],
    base: u64,
    file_id: u128,
) -> Option<(Vec<EncodedEntry>, usize)> {
    let (mut all, mut blocks, mut unpacked) = (Vec::new(), 0, 0);
    let mut rest = bytes;
    while !rest.is_empty() {
        let head = BlockHead::read(rest)?;
        let (block, behind) = rest.split_at_checked(head.size())?;
        unpacked += head.raw_size as usize;
        if unpacked > UNPACKED_BYTES_MAX {
            return None;
        }
        let mut entries = decode_entries(&unpack_block(block, file_id)?)?;
        if entries.len() != usize::from(head.entry_count) {
            return None;
        }
        let place = base + (bytes.len() - rest.len()) as u64;
        place_entries(&mut entries, place, block.len() as u32);
        all.extend(entries);
        blocks += 1;
        rest = behind;
    }
    Some((all, blocks))
}

/// Unpacks a block; returns `None` if its checksum or its length does not match.
pub(crate) fn unpack_block(block: &[u8], file_id: u128) -> Option<Vec<u8>> {
    let head = BlockHead::read(block)?;
    let (raw_size, check) = (
        head.raw_size as usize,
        xxhash_rust::xxh3::xxh3_64(block.get(8..)?),
    );
    if head.check != check || raw_size > UNPACKED_BYTES_MAX || block.len() != head.size() {
        return None;
    }
    decompress(
        head.encoding,
        block.get(BlockHead::WIDTH..)?,
        raw_size,
        file_id,
    )
}

/// Decodes the entries of an unpacked block; returns `None` if they are malformed or more than a
/// block may have.
pub(crate) fn decode_entries(raw: &[u8]) -> Option<Vec<EncodedEntry>> {
    let mut reader = ByteReader::new(raw);
    let mut entries = Vec::new();
    while !reader.is_empty() {
        if entries.len() == BLOCK_ENTRIES_MAX {
            return None;
        }
        entries.push(EncodedEntry::decode(
            reader.read_u8()?,
            reader.read_bytes()?,
        )?);
    }
    Some(entries)
}

/// Finds entry `index` of an unpacked block.
pub(crate) fn find_entry(raw: &[u8], index: u16) -> Option<EncodedEntry> {
    let mut reader = ByteReader::new(raw);
    for _ in 0..index {
        reader.read_u8()?;
        reader.read_bytes()?;
    }
    EncodedEntry::decode(reader.read_u8()?, reader.read_bytes()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_with_more_entries_than_one_may_have_is_malformed() {
        let entry = [77, 0];
        let full = entry.repeat(BLOCK_ENTRIES_MAX);
        assert_eq!(
            decode_entries(&full).map(|all| all.len()),
            Some(BLOCK_ENTRIES_MAX)
        );
        assert_eq!(decode_entries(&entry.repeat(BLOCK_ENTRIES_MAX + 1)), None);
    }
    use crate::compress::LEVEL_PACK;

    fn make_entries(count: u8) -> Vec<EncodedEntry> {
        let body = |i| vec![i; 40 + usize::from(i)];
        let entries = (0..count).map(|i| EncodedEntry::decode(77, &body(i)));
        entries.map(Option::unwrap).collect()
    }

    #[test]
    fn entries_come_back_in_order_over_several_blocks() {
        let mut compressor = Compressor::new(LEVEL_PACK, 7).unwrap();
        let mut entries = make_entries(70);
        let mut out = vec![9; 30];
        let blocks = append_blocks(&mut out, 100, &mut entries, &mut compressor).unwrap();
        assert_eq!(blocks, 3);
        let back = decode_blocks(&out[30..], 130, 7);
        assert_eq!(back, Some((entries.clone(), 3)));
        for (index, entry) in entries.iter().enumerate() {
            let slot = entry.slot;
            assert_eq!(usize::from(slot.index), index % BLOCK_ENTRIES_MAX);
            let from = slot.place as usize - 100;
            let block = &out[from..from + slot.block_size as usize];
            let raw = unpack_block(block, 7).unwrap();
            let found = find_entry(&raw, slot.index).unwrap();
            assert_eq!((found.kind, &found.body), (entry.kind, &entry.body));
        }
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let mut compressor = Compressor::new(LEVEL_PACK, 7).unwrap();
        let mut out = Vec::new();
        append_blocks(&mut out, 0, &mut make_entries(3), &mut compressor).unwrap();
        for at in 0..out.len() {
            let mut bad = out.clone();
            bad[at] ^= 1;
            assert_eq!(unpack_block(&bad, 7), None, "byte {at}");
        }
    }
}
