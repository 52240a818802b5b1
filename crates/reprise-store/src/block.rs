//! Blocks: the unit that is compressed, checked and read. A commit is one or more of them.
//!
//! ```text
//! check u64 | stored u32 | raw u32 | entries u16 | encoding u8 | 0 u8 | stored bytes
//! ```
//! `check` is XXH3-64 of everything after it, so a single record can be read and verified without
//! hashing its segment.

use std::io;

use reprise_types::{ByteReader, RowCodec, append_varint, encode_row, impl_row_codec};

use crate::codec::LogEntry;
use crate::compress::{Compressor, decompress};
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

/// Position and length of a block within a byte string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockSpan {
    pub(crate) start: usize,
    pub(crate) size: u32,
    pub(crate) entry_count: u16,
}

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

/// Packs entries into blocks and appends these to `out`.
pub(crate) fn append_blocks(
    out: &mut Vec<u8>,
    entries: &[LogEntry],
    compressor: &mut Compressor,
) -> io::Result<Vec<BlockSpan>> {
    let mut places = Vec::new();
    let mut raw = Vec::new();
    let mut count = 0u16;
    for (index, entry) in entries.iter().enumerate() {
        raw.push(entry.kind);
        append_varint(&mut raw, entry.body.len() as u64);
        raw.extend_from_slice(&entry.body);
        count += 1;
        let full = usize::from(count) == BLOCK_ENTRIES_MAX || raw.len() >= BLOCK_RAW_TARGET;
        if full || index + 1 == entries.len() {
            places.push(append_block(out, &raw, count, compressor)?);
            raw.clear();
            count = 0;
        }
    }
    Ok(places)
}

fn append_block(
    out: &mut Vec<u8>,
    raw: &[u8],
    entries: u16,
    compressor: &mut Compressor,
) -> io::Result<BlockSpan> {
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
    Ok(BlockSpan {
        start,
        size: (out.len() - start) as u32,
        entry_count: entries,
    })
}

/// Returns the size to which a block claims to unpack, in bytes.
pub(crate) fn unpacked_size(block: &[u8]) -> Option<usize> {
    Some(BlockHead::read(block)?.raw_size as usize)
}

/// Reads the packed bytes of the block at `at`; returns `None` if it does not end by `end`.
pub(crate) fn read_block(file: &dyn DiskFile, at: u64, end: u64) -> io::Result<Option<Vec<u8>>> {
    let head = read_within(file, at, BlockHead::WIDTH, end)?;
    match head.and_then(|head| BlockHead::read(&head)) {
        Some(head) => read_within(file, at, head.size(), end),
        None => Ok(None),
    }
}

/// Locates the blocks that `bytes` consists of, without unpacking them.
pub(crate) fn locate_blocks(bytes: &[u8]) -> Option<Vec<BlockSpan>> {
    let mut places = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let head = BlockHead::read(&bytes[start..])?;
        let size = head.size();
        if size > bytes.len() - start {
            return None;
        }
        places.push(BlockSpan {
            start,
            size: size as u32,
            entry_count: head.entry_count,
        });
        start += size;
    }
    Some(places)
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
pub(crate) fn decode_entries(raw: &[u8]) -> Option<Vec<LogEntry>> {
    let mut reader = ByteReader::new(raw);
    let mut entries = Vec::new();
    while !reader.is_empty() {
        if entries.len() == BLOCK_ENTRIES_MAX {
            return None;
        }
        entries.push(LogEntry::decode(reader.read_u8()?, reader.read_bytes()?)?);
    }
    Some(entries)
}

/// Finds entry `index` of an unpacked block.
pub(crate) fn find_entry(raw: &[u8], index: u16) -> Option<LogEntry> {
    let mut reader = ByteReader::new(raw);
    for _ in 0..index {
        reader.read_u8()?;
        reader.read_bytes()?;
    }
    LogEntry::decode(reader.read_u8()?, reader.read_bytes()?)
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

    fn make_entries(count: u8) -> Vec<LogEntry> {
        let body = |i| vec![i; 40 + usize::from(i)];
        let entries = (0..count).map(|i| LogEntry::decode(77, &body(i)));
        entries.map(Option::unwrap).collect()
    }

    #[test]
    fn entries_come_back_in_order_over_several_blocks() {
        let mut compressor = Compressor::new(LEVEL_PACK, 7).unwrap();
        let entries_in = make_entries(70);
        let mut out = Vec::new();
        let places = append_blocks(&mut out, &entries_in, &mut compressor).unwrap();
        assert_eq!(locate_blocks(&out), Some(places.clone()));
        assert_eq!(
            places.iter().map(|p| p.entry_count).collect::<Vec<_>>(),
            [32, 32, 6]
        );
        let mut back = Vec::new();
        for place in &places {
            let block = &out[place.start..place.start + place.size as usize];
            let raw = unpack_block(block, 7).unwrap();
            let entries = decode_entries(&raw).unwrap();
            assert_eq!(find_entry(&raw, 3).as_ref(), entries.get(3));
            back.extend(entries);
        }
        assert_eq!(back, entries_in);
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let mut compressor = Compressor::new(LEVEL_PACK, 7).unwrap();
        let mut out = Vec::new();
        append_blocks(&mut out, &make_entries(3), &mut compressor).unwrap();
        for at in 0..out.len() {
            let mut bad = out.clone();
            bad[at] ^= 1;
            assert_eq!(unpack_block(&bad, 7), None, "byte {at}");
        }
    }
}
