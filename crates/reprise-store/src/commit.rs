//! The bytes of a commit: a `VEC_SEG` as rvf-runtime writes it, if there are vectors, then the
//! commit segment that makes it valid.

use std::io;

use reprise_types::limits::RECORDS_MAX;
use reprise_types::{ByteReader, encode_row};

use crate::block::{self, BlockSpan, RawEntry, UNPACKED_BYTES_MAX, append_blocks};
use crate::codec::{Outline, decode_outline};
use crate::compress::Compressor;
use crate::directory::slot::Slot;
use crate::frame::{
    HEADER_SIZE, PREAMBLE_SIZE, SegmentPreamble, TYPE_COMMIT, TYPE_VECTORS, append_segment,
    segment_size,
};

/// Flag of the commits that compaction writes; all of them have the sequence number of the last
/// commit that was merged.
pub(crate) const FLAG_PACKED: u32 = 1;
/// Most commits of a file; a larger number in a file is damage, and one more never overflows.
pub(crate) const SEQ_MAX: u64 = 1 << 56;
/// Bytes of a commit payload before the first block.
pub(crate) const FIXED_SIZE: usize = PREAMBLE_SIZE + 48;
/// Bytes before the first vector of a `VEC_SEG` payload: dimensions u16, count u32.
const VECTORS_HEAD: u64 = 6;

/// The facts that every segment of one file repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) file_id: u128,
    pub(crate) dimensions: u16,
    /// Milliseconds since the Unix epoch.
    pub(crate) created_ms: i64,
}

impl FileFacts {
    pub(crate) fn preamble(&self, kind: u8, flags: u32, seq: u64) -> SegmentPreamble {
        SegmentPreamble::new(kind, self.dimensions, flags, seq, self.file_id)
    }

    /// Returns the bytes from one vector of a `VEC_SEG` to the next: id u64, then the numbers.
    pub(crate) fn vector_stride(&self) -> u64 {
        8 + 4 * u64::from(self.dimensions)
    }

    /// Returns the offset of the numbers of vector `index` in a `VEC_SEG` that begins at `segment`.
    pub(crate) fn vector_offset(&self, segment: u64, index: u64) -> u64 {
        segment + HEADER_SIZE + VECTORS_HEAD + index * self.vector_stride() + 8
    }
}

/// The fixed part of a commit segment.
///
/// ```text
/// preamble | previous commit u64 | manifest u64 | vectors u64 | created i64 |
/// first ordinal u32 | ordinals u32 | entries u32 | blocks u32 | blocks...
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CommitHead {
    pub(crate) seq: u64,
    pub(crate) packed: bool,
    /// Offset of the commit segment before this one; 0 for the first.
    pub(crate) previous: u64,
    /// Offset of the newest manifest; 0 without a checkpoint.
    pub(crate) manifest: u64,
    /// Size of the `VEC_SEG` that ends where this segment begins; 0 without vectors.
    pub(crate) vectors_size: u64,
    pub(crate) first_ordinal: u32,
    pub(crate) ordinals: u32,
    pub(crate) entries: u32,
    pub(crate) blocks: u32,
}

impl CommitHead {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, facts: &FileFacts) {
        let flags = if self.packed { FLAG_PACKED } else { 0 };
        facts.preamble(TYPE_COMMIT, flags, self.seq).append_to(out);
        let counts = [self.first_ordinal, self.ordinals, self.entries, self.blocks];
        encode_row(&(self.previous, self.manifest, self.vectors_size), out);
        encode_row(&(facts.created_ms, counts), out);
    }

    /// Returns the ordinal after its last one.
    pub(crate) fn end_ordinal(&self) -> u32 {
        self.first_ordinal.saturating_add(self.ordinals)
    }

    /// Decodes the head and the file facts of a commit payload whose hash was verified; returns
    /// `None` if its numbers are ones that no log has.
    pub(crate) fn decode(payload: &[u8]) -> Option<(Self, FileFacts)> {
        let preamble = SegmentPreamble::read(payload)?;
        if preamble.kind != TYPE_COMMIT {
            return None;
        }
        let r = &mut ByteReader::with_fixed_layout(payload.get(PREAMBLE_SIZE..)?);
        let (previous, manifest, vectors_size) = r.read_value()?;
        let (created_ms, counts): (i64, [u32; 4]) = r.read_value()?;
        let [first_ordinal, ordinals, entries, blocks] = counts;
        let facts = FileFacts {
            file_id: preamble.file_id,
            dimensions: preamble.dimensions,
            created_ms,
        };
        let head = Self {
            seq: preamble.seq,
            packed: preamble.flags & FLAG_PACKED != 0,
            previous,
            manifest,
            vectors_size,
            first_ordinal,
            ordinals,
            entries,
            blocks,
        };
        let records = head.first_ordinal.checked_add(head.ordinals)?;
        (head.seq <= SEQ_MAX && records <= RECORDS_MAX).then_some((head, facts))
    }
}

/// An entry's outline, and the slot that a record of that place has.
pub(crate) type LocatedEntry = (Outline, Slot);

/// A commit that is ready to be written at the offset for which it was built.
#[derive(Debug)]
pub(crate) struct BuiltCommit {
    pub(crate) bytes: Vec<u8>,
    pub(crate) head: CommitHead,
    /// Where the commit segment begins.
    pub(crate) offset: u64,
    pub(crate) locations: Vec<LocatedEntry>,
}

/// Builds a commit for file offset `base`; fills in the counts and sizes of `head`.
pub(crate) fn build_commit(
    mut head: CommitHead,
    facts: &FileFacts,
    base: u64,
    entries: &[RawEntry],
    compressor: &mut Compressor,
) -> io::Result<BuiltCommit> {
    let mut bytes = Vec::new();
    let vectors = encode_vectors(facts, entries);
    if let Some(payload) = &vectors {
        append_segment(&mut bytes, base, TYPE_VECTORS, payload);
    }
    head.vectors_size = bytes.len() as u64;
    let mut blocks = Vec::new();
    let places = append_blocks(&mut blocks, entries, compressor)?;
    head.entries = entries.len() as u32;
    head.blocks = places.len() as u32;
    let mut payload = Vec::with_capacity(FIXED_SIZE + blocks.len());
    head.encode(&mut payload, facts);
    payload.extend_from_slice(&blocks);
    let offset = append_segment(&mut bytes, base, TYPE_COMMIT, &payload);
    // An entry that was encoded just now can be decoded.
    let outlines = entries
        .iter()
        .map(|raw| decode_outline(raw).unwrap_or(Outline::Unknown));
    let placed = locate_entries(offset, &places, outlines);
    Ok(BuiltCommit {
        bytes,
        head,
        offset,
        locations: placed,
    })
}

fn locate_entries(
    commit: u64,
    places: &[BlockSpan],
    outlines: impl IntoIterator<Item = Outline>,
) -> Vec<LocatedEntry> {
    let slots = places.iter().flat_map(|place| {
        let block = commit + HEADER_SIZE + (FIXED_SIZE + place.start) as u64;
        (0..place.entry_count).map(move |index| (block, place.size, index))
    });
    slots
        .zip(outlines)
        .map(|((block, size, index), outline)| (outline, Slot::new_live(block, size, index)))
        .collect()
}

fn encode_vectors(facts: &FileFacts, entries: &[RawEntry]) -> Option<Vec<u8>> {
    let vectors = || entries.iter().filter_map(|entry| entry.vector.as_ref());
    let count = vectors().count();
    let mut payload = facts.dimensions.to_le_bytes().to_vec();
    payload.extend_from_slice(&(count as u32).to_le_bytes());
    for (id, vector) in vectors() {
        payload.extend_from_slice(&id.to_le_bytes());
        payload.extend_from_slice(vector);
    }
    (count > 0).then_some(payload)
}

/// A commit that was read from the file and whose segment hash was verified.
#[derive(Debug)]
pub(crate) struct ReadCommit {
    /// Where the commit segment begins.
    pub(crate) offset: u64,
    pub(crate) head: CommitHead,
    pub(crate) payload: Vec<u8>,
}

impl ReadCommit {
    /// Returns the size of the commit segment, in bytes.
    pub(crate) fn size(&self) -> u64 {
        segment_size(self.payload.len() as u64)
    }

    /// Returns the offset of its `VEC_SEG`.
    pub(crate) fn vectors_offset(&self) -> u64 {
        self.offset.saturating_sub(self.head.vectors_size)
    }

    /// Decodes every entry; returns `None` if a block cannot be decoded, or the commit would unpack
    /// to more than one may hold.
    pub(crate) fn decode_raw_entries(&self, file_id: u128) -> Option<Vec<RawEntry>> {
        let body = self.payload.get(FIXED_SIZE..)?;
        let (mut all, mut unpacked) = (Vec::new(), 0);
        let places = block::locate_blocks(body)?;
        for place in &places {
            let block = body.get(place.start..place.start + place.size as usize)?;
            unpacked += block::unpacked_size(block)?;
            if unpacked > UNPACKED_BYTES_MAX {
                return None;
            }
            let entries = block::decode_entries(&block::unpack_block(block, file_id)?)?;
            if entries.len() != usize::from(place.entry_count) {
                return None;
            }
            all.extend(entries);
        }
        let is_complete =
            places.len() == self.head.blocks as usize && all.len() == self.head.entries as usize;
        is_complete.then_some(all)
    }

    /// Locates the commit's entries for the directory; returns `None` if one of them is malformed.
    pub(crate) fn entry_locations(&self, file_id: u128) -> Option<Vec<LocatedEntry>> {
        let entries = self.decode_raw_entries(file_id)?;
        let outlines: Vec<Outline> = entries.iter().map(decode_outline).collect::<Option<_>>()?;
        let ordinals = entries.iter().filter(|raw| raw.has_ordinal()).count();
        let places = block::locate_blocks(self.payload.get(FIXED_SIZE..)?)?;
        let placed = locate_entries(self.offset, &places, outlines);
        (ordinals == self.head.ordinals as usize && placed.len() == entries.len()).then_some(placed)
    }
}

/// Returns the size of a `VEC_SEG` of `count` vectors, in bytes.
pub(crate) fn vector_segment_size(facts: &FileFacts, count: u64) -> u64 {
    if count == 0 {
        0
    } else {
        segment_size(VECTORS_HEAD + facts.vector_stride() * count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::LEVEL_APPEND;

    /// Returns a commit of so many blocks, each of which unpacks to 4 MiB.
    fn commit_of_blocks(count: usize) -> ReadCommit {
        let mut compressor = Compressor::new(LEVEL_APPEND, 7).unwrap();
        let entry = RawEntry {
            kind: 77,
            body: vec![0; 4 << 20],
            vector: None,
        };
        let mut block = Vec::new();
        append_blocks(&mut block, &[entry], &mut compressor).unwrap();
        let head = CommitHead {
            entries: count as u32,
            blocks: count as u32,
            ..CommitHead::default()
        };
        ReadCommit {
            offset: 0,
            head,
            payload: [vec![0; FIXED_SIZE], block.repeat(count)].concat(),
        }
    }

    #[test]
    fn a_commit_that_unpacks_to_more_than_one_may_hold_is_malformed() {
        let whole = commit_of_blocks(15).decode_raw_entries(7);
        assert_eq!(whole.map(|entries| entries.len()), Some(15));
        assert_eq!(commit_of_blocks(60).decode_raw_entries(7), None);
    }

    #[test]
    fn a_block_that_states_another_count_of_entries_is_malformed() {
        let mut commit = commit_of_blocks(2);
        let at = FIXED_SIZE + 16;
        commit.payload[at] += 1;
        let end = FIXED_SIZE + (commit.payload.len() - FIXED_SIZE) / 2;
        let check = xxhash_rust::xxh3::xxh3_64(&commit.payload[FIXED_SIZE + 8..end]);
        commit.payload[FIXED_SIZE..FIXED_SIZE + 8].copy_from_slice(&check.to_le_bytes());
        assert_eq!(commit.decode_raw_entries(7), None);
    }
}
