//! Blocks: the unit that is compressed, checked and read. A commit is one or more of them.
//!
//! ```text
//! check u64 | stored u32 | raw u32 | entries u16 | encoding u8 | 0 u8 | stored bytes
//! ```
//! `check` is XXH3-64 of everything behind it, so a single record can be read and proven whole
//! without hashing its segment.

use std::io;

use reprise_types::{ByteReader, put_varint};

use crate::codec::{KIND_RECORD, RawEntry};
use crate::compress::{Compressor, decompress};
use crate::disk::{DiskFile, read_within};

/// Bytes in front of a block's content.
pub(crate) const BLOCK_HEAD: usize = 20;
/// A block is closed at this many entries: one random read unpacks them all.
pub(crate) const BLOCK_ENTRIES_MAX: usize = 32;
/// A block is also closed at this many bytes.
const BLOCK_RAW_TARGET: usize = 16 * 1024;
/// No block of ours unpacks to more; a larger claim is damage.
const BLOCK_RAW_MAX: usize = 64 * 1024 * 1024;

/// Where a block begins within a byte string, and its length there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub(crate) start: usize,
    pub(crate) size: u32,
    pub(crate) entries: u16,
}

/// Packs entries into blocks, appended to `out`.
pub(crate) fn put_blocks(
    out: &mut Vec<u8>,
    entries: &[RawEntry],
    compressor: &mut Compressor,
) -> io::Result<Vec<BlockPlace>> {
    let mut places = Vec::new();
    let mut raw = Vec::new();
    let mut count = 0u16;
    for (index, entry) in entries.iter().enumerate() {
        raw.push(entry.kind);
        put_varint(&mut raw, entry.body.len() as u64);
        raw.extend_from_slice(&entry.body);
        count += 1;
        let full = usize::from(count) == BLOCK_ENTRIES_MAX || raw.len() >= BLOCK_RAW_TARGET;
        if full || index + 1 == entries.len() {
            places.push(put_block(out, &raw, count, compressor)?);
            raw.clear();
            count = 0;
        }
    }
    Ok(places)
}

fn put_block(
    out: &mut Vec<u8>,
    raw: &[u8],
    entries: u16,
    compressor: &mut Compressor,
) -> io::Result<BlockPlace> {
    let (encoding, stored) = compressor.compress(raw)?;
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    out.extend_from_slice(&entries.to_le_bytes());
    out.extend_from_slice(&[encoding, 0]);
    out.extend_from_slice(&stored);
    let check = xxhash_rust::xxh3::xxh3_64(&out[start + 8..]);
    out[start..start + 8].copy_from_slice(&check.to_le_bytes());
    Ok(BlockPlace {
        start,
        size: (out.len() - start) as u32,
        entries,
    })
}

/// Bytes of a packed block, by its head.
fn size(head: &[u8]) -> Option<usize> {
    let mut reader = ByteReader::new(head);
    reader.u64()?;
    Some(BLOCK_HEAD + reader.u32()? as usize)
}

/// The packed bytes of the block at this place, where one can stand there.
pub(crate) fn read(file: &dyn DiskFile, at: u64, end: u64) -> io::Result<Option<Vec<u8>>> {
    let head = read_within(file, at, BLOCK_HEAD, end)?;
    match head.and_then(|head| size(&head)) {
        Some(size) => read_within(file, at, size, end),
        None => Ok(None),
    }
}

/// The places of the blocks that `bytes` consists of, without unpacking them.
pub(crate) fn block_places(bytes: &[u8]) -> Option<Vec<BlockPlace>> {
    let mut places = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let mut reader = ByteReader::new(&bytes[start..]);
        reader.u64()?;
        let size = BLOCK_HEAD + reader.u32()? as usize;
        reader.u32()?;
        let entries = reader.u16()?;
        if size > bytes.len() - start {
            return None;
        }
        places.push(BlockPlace {
            start,
            size: size as u32,
            entries,
        });
        start += size;
    }
    Some(places)
}

/// The unpacked bytes of a block; `None` where its checksum or length does not hold.
pub(crate) fn unpack(block: &[u8], file_id: u128) -> Option<Vec<u8>> {
    let mut reader = ByteReader::new(block);
    let check = reader.u64()?;
    if check != xxhash_rust::xxh3::xxh3_64(block.get(8..)?) {
        return None;
    }
    let stored_size = reader.u32()? as usize;
    let raw_size = reader.u32()? as usize;
    reader.u16()?;
    let encoding = reader.u8()?;
    reader.u8()?;
    if raw_size > BLOCK_RAW_MAX || reader.remaining() != stored_size {
        return None;
    }
    decompress(encoding, reader.take(stored_size)?, raw_size, file_id)
}

/// The entries of an unpacked block.
pub(crate) fn entries(raw: &[u8]) -> Option<Vec<RawEntry>> {
    let mut reader = ByteReader::new(raw);
    let mut entries = Vec::new();
    while !reader.is_empty() {
        let kind = reader.u8()?;
        let body = reader.bytes()?.to_vec();
        entries.push(RawEntry { kind, body });
    }
    Some(entries)
}

/// The body of the record that is entry number `index` of an unpacked block.
pub(crate) fn record(raw: &[u8], index: u16) -> Option<&[u8]> {
    let mut reader = ByteReader::new(raw);
    for _ in 0..index {
        reader.u8()?;
        reader.bytes()?;
    }
    let kind = reader.u8()?;
    reader.bytes().filter(|_| kind == KIND_RECORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::LEVEL_PACK;

    fn some_entries(count: u8) -> Vec<RawEntry> {
        (0..count)
            .map(|i| RawEntry {
                kind: 1,
                body: vec![i; 40 + usize::from(i)],
            })
            .collect()
    }

    #[test]
    fn entries_come_back_in_order_over_several_blocks() {
        let mut compressor = Compressor::new(LEVEL_PACK, 7).unwrap();
        let entries_in = some_entries(70);
        let mut out = Vec::new();
        let places = put_blocks(&mut out, &entries_in, &mut compressor).unwrap();
        assert_eq!(block_places(&out), Some(places.clone()));
        assert_eq!(
            places.iter().map(|p| p.entries).collect::<Vec<_>>(),
            [32, 32, 6]
        );
        let mut back = Vec::new();
        for place in &places {
            let block = &out[place.start..place.start + place.size as usize];
            let raw = unpack(block, 7).unwrap();
            assert!(record(&raw, 3).is_some());
            back.extend(entries(&raw).unwrap());
        }
        assert_eq!(back, entries_in);
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let mut compressor = Compressor::new(LEVEL_PACK, 7).unwrap();
        let mut out = Vec::new();
        put_blocks(&mut out, &some_entries(3), &mut compressor).unwrap();
        for at in 0..out.len() {
            let mut bad = out.clone();
            bad[at] ^= 1;
            assert_eq!(unpack(&bad, 7), None, "byte {at}");
        }
    }
}
