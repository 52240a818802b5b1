//! The bytes of a commit: a `VEC_SEG` as rvf-runtime writes it, if there are vectors, then the
//! commit segment that makes it valid.

use std::io;

use reprise_types::limits::RECORDS_MAX;
use reprise_types::{ByteReader, RowCodec, encode_row, impl_row_codec};

use crate::block::{append_blocks, decode_blocks};
use crate::codec::{EncodedEntry, Outline};
use crate::compress::Compressor;
use crate::disk::DiskFile;
use crate::frame::{
    HEADER_SIZE, SegmentPreamble, TYPE_COMMIT, TYPE_VECTORS, append_segment, segment_size,
};

/// Flag of the commits that compaction writes; all of them have the sequence number of the last
/// commit that was merged.
pub(crate) const FLAG_PACKED: u32 = 1;
/// Most commits of a file; a larger number in a file is damage, and one more never overflows.
pub(crate) const SEQ_MAX: u64 = 1 << 56;
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
    /// Takes them from a segment that repeats them.
    pub(crate) fn new(preamble: &SegmentPreamble, created_ms: i64) -> Self {
        Self {
            file_id: preamble.file_id,
            dimensions: preamble.dimensions,
            created_ms,
        }
    }

    pub(crate) fn preamble(&self, kind: u8, flags: u32, seq: u64) -> SegmentPreamble {
        SegmentPreamble::new(kind, self.dimensions, flags, seq, self.file_id)
    }

    /// Returns the bytes of the numbers of one vector in a `VEC_SEG`.
    fn vector_bytes(&self) -> u64 {
        4 * u64::from(self.dimensions)
    }

    /// Returns the offset of the numbers of vector `index` in a `VEC_SEG` that begins at `segment`;
    /// its id is before them.
    fn vector_offset(&self, segment: u64, index: u64) -> u64 {
        segment + HEADER_SIZE + VECTORS_HEAD + index * (8 + self.vector_bytes()) + 8
    }

    /// Returns the size of the payload of a `VEC_SEG` of `count` vectors.
    pub(crate) fn vectors_payload(&self, count: u64) -> u64 {
        VECTORS_HEAD + count * (8 + self.vector_bytes())
    }
}

/// The fixed part of a commit segment, before its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommitHead {
    pub(crate) preamble: SegmentPreamble,
    /// Offset of the commit segment before this one; 0 for the first.
    pub(crate) previous: u64,
    /// Offset of the newest manifest; 0 without a checkpoint.
    pub(crate) manifest: u64,
    /// Size of the `VEC_SEG` that ends where this segment begins; 0 without vectors.
    pub(crate) vectors_size: u64,
    pub(crate) created_ms: i64,
    pub(crate) first_ordinal: u32,
    pub(crate) ordinals: u32,
    pub(crate) entries: u32,
    pub(crate) blocks: u32,
}

impl_row_codec! {
    CommitHead {
        preamble, previous, manifest, vectors_size, created_ms, first_ordinal, ordinals, entries,
        blocks
    }
}

impl CommitHead {
    /// Builds the head of a commit that follows those of a directory, without what
    /// [`build_commit`] fills in.
    pub(crate) fn new(facts: &FileFacts, seq: u64, packed: bool, first_ordinal: u32) -> Self {
        let flags = if packed { FLAG_PACKED } else { 0 };
        Self {
            preamble: facts.preamble(TYPE_COMMIT, flags, seq),
            previous: 0,
            manifest: 0,
            vectors_size: 0,
            created_ms: facts.created_ms,
            first_ordinal,
            ordinals: 0,
            entries: 0,
            blocks: 0,
        }
    }

    pub(crate) fn seq(&self) -> u64 {
        self.preamble.seq
    }

    pub(crate) fn is_packed(&self) -> bool {
        self.preamble.flags & FLAG_PACKED != 0
    }

    pub(crate) fn facts(&self) -> FileFacts {
        FileFacts::new(&self.preamble, self.created_ms)
    }

    /// Returns the ordinal after its last one.
    pub(crate) fn end_ordinal(&self) -> u32 {
        self.first_ordinal.saturating_add(self.ordinals)
    }

    /// Whether it continues a log that has this last commit and so many records; some may be
    /// missing between them.
    pub(crate) fn follows(&self, (seq, records): (u64, u32)) -> bool {
        let is_later = self.seq() > seq || (self.is_packed() && self.seq() == seq);
        is_later && self.first_ordinal >= records
    }

    /// Decodes the head of a commit payload whose hash was verified; returns `None` if its numbers
    /// are ones that no log has.
    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let head: Self = ByteReader::with_fixed_layout(payload).read_value()?;
        let records = head.first_ordinal.checked_add(head.ordinals)?;
        let is_possible =
            head.preamble.is_of(TYPE_COMMIT) && head.seq() <= SEQ_MAX && records <= RECORDS_MAX;
        is_possible.then_some(head)
    }
}

/// A commit that is ready to be written at the offset for which it was built.
#[derive(Debug)]
pub(crate) struct BuiltCommit {
    pub(crate) bytes: Vec<u8>,
    pub(crate) head: CommitHead,
    /// Where the commit segment begins.
    pub(crate) offset: u64,
    /// Its entries, which have their places.
    pub(crate) entries: Vec<EncodedEntry>,
}

/// Builds a commit for file offset `base`; fills in the counts and sizes of `head`.
pub(crate) fn build_commit(
    mut head: CommitHead,
    base: u64,
    mut entries: Vec<EncodedEntry>,
    compressor: &mut Compressor,
) -> io::Result<BuiltCommit> {
    let facts = head.facts();
    let mut bytes = Vec::new();
    if let Some(payload) = encode_vectors(&facts, head.first_ordinal, &entries) {
        append_segment(&mut bytes, base, TYPE_VECTORS, &payload);
    }
    head.vectors_size = bytes.len() as u64;
    let offset = base + head.vectors_size;
    let mut blocks = Vec::new();
    let at = blocks_offset(offset);
    head.blocks = append_blocks(&mut blocks, at, &mut entries, compressor)?;
    head.ordinals = entries.iter().filter(|entry| entry.has_ordinal()).count() as u32;
    head.entries = entries.len() as u32;
    place_vectors(&head, offset, &mut entries);
    let mut payload = Vec::with_capacity(CommitHead::WIDTH + blocks.len());
    encode_row(&head, &mut payload);
    payload.extend_from_slice(&blocks);
    append_segment(&mut bytes, base, TYPE_COMMIT, &payload);
    Ok(BuiltCommit {
        bytes,
        head,
        offset,
        entries,
    })
}

/// Returns where the blocks of the commit segment at this offset begin.
fn blocks_offset(commit: u64) -> u64 {
    commit + HEADER_SIZE + CommitHead::WIDTH as u64
}

/// Sets the places of the vectors of a commit, whose segment begins at `commit`, and returns how
/// many are in its `VEC_SEG`.
fn place_vectors(head: &CommitHead, commit: u64, entries: &mut [EncodedEntry]) -> u64 {
    let (facts, vectors) = (head.facts(), commit.saturating_sub(head.vectors_size));
    let mut count = 0;
    for entry in entries.iter_mut().filter(|one| one.vector_mark().is_some()) {
        entry.slot.vector_offset = facts.vector_offset(vectors, count);
        count += 1;
    }
    count
}

fn encode_vectors(facts: &FileFacts, first: u32, entries: &[EncodedEntry]) -> Option<Vec<u8>> {
    let count = entries.iter().filter(|one| one.vector.is_some()).count();
    let mut payload = facts.dimensions.to_le_bytes().to_vec();
    payload.extend_from_slice(&(count as u32).to_le_bytes());
    let mut next = first;
    for entry in entries {
        if let Some(vector) = &entry.vector {
            let id = match entry.outline {
                Some(Outline::Embedded { ordinal, .. }) => ordinal,
                _ => next,
            };
            payload.extend_from_slice(&u64::from(id).to_le_bytes());
            payload.extend_from_slice(vector);
        }
        next += u32::from(entry.has_ordinal());
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

    /// Decodes every entry, with its place; returns `None` if one of them is malformed, if the
    /// commit would unpack to more than one may hold, or if the head tells of other entries.
    pub(crate) fn decode_entries(&self, file_id: u128) -> Option<Vec<EncodedEntry>> {
        let body = self.payload.get(CommitHead::WIDTH..)?;
        let (mut all, blocks) = decode_blocks(body, blocks_offset(self.offset), file_id)?;
        let vectors = place_vectors(&self.head, self.offset, &mut all);
        let ordinals = all.iter().filter(|entry| entry.has_ordinal()).count();
        let is_complete = blocks == self.head.blocks as usize
            && all.len() == self.head.entries as usize
            && ordinals == self.head.ordinals as usize
            && vector_segment_size(&self.head.facts(), vectors) == self.head.vectors_size;
        is_complete.then_some(all)
    }

    /// Reads the vectors of its entries. Returns how many are damaged; their entries have none, and
    /// no place of one.
    pub(crate) fn read_vectors(
        &self,
        file: &dyn DiskFile,
        entries: &mut [EncodedEntry],
    ) -> io::Result<u64> {
        let (facts, start) = (self.head.facts(), self.vectors_offset());
        if self.head.vectors_size == 0 {
            return Ok(0);
        }
        let mut bytes = vec![0; self.head.vectors_size as usize];
        file.read_exact_at(start, &mut bytes)?;
        let mut damaged = 0;
        for entry in entries {
            let Some(mark) = entry.vector_mark() else {
                continue;
            };
            let from = (entry.slot.vector_offset - start) as usize;
            let numbers = bytes.get(from..from + facts.vector_bytes() as usize);
            let whole = numbers.filter(|numbers| mark.matches(numbers, facts.dimensions));
            entry.vector = whole.map(<[u8]>::to_vec);
            if entry.vector.is_none() {
                entry.slot.vector_offset = 0;
                damaged += 1;
            }
        }
        Ok(damaged)
    }
}

/// Returns the size of a `VEC_SEG` of `count` vectors, in bytes.
fn vector_segment_size(facts: &FileFacts, count: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    segment_size(facts.vectors_payload(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::LEVEL_APPEND;

    /// Returns a commit of so many blocks, each of which unpacks to 4 MiB.
    fn commit_of_blocks(count: usize) -> ReadCommit {
        let mut compressor = Compressor::new(LEVEL_APPEND, 7).unwrap();
        let entry = EncodedEntry::decode(77, &vec![0; 4 << 20]).unwrap();
        let mut block = Vec::new();
        append_blocks(&mut block, 0, &mut [entry], &mut compressor).unwrap();
        let facts = FileFacts {
            file_id: 7,
            dimensions: 4,
            created_ms: 0,
        };
        let head = CommitHead {
            entries: count as u32,
            blocks: count as u32,
            ..CommitHead::new(&facts, 1, false, 0)
        };
        ReadCommit {
            offset: 0,
            head,
            payload: [vec![0; CommitHead::WIDTH], block.repeat(count)].concat(),
        }
    }

    #[test]
    fn a_commit_that_unpacks_to_more_than_one_may_hold_is_malformed() {
        let whole = commit_of_blocks(15).decode_entries(7);
        assert_eq!(whole.map(|entries| entries.len()), Some(15));
        assert_eq!(commit_of_blocks(60).decode_entries(7), None);
    }

    #[test]
    fn a_block_that_states_another_count_of_entries_is_malformed() {
        let mut commit = commit_of_blocks(2);
        let at = CommitHead::WIDTH + 16;
        commit.payload[at] += 1;
        let end = CommitHead::WIDTH + (commit.payload.len() - CommitHead::WIDTH) / 2;
        let check = xxhash_rust::xxh3::xxh3_64(&commit.payload[CommitHead::WIDTH + 8..end]);
        commit.payload[CommitHead::WIDTH..CommitHead::WIDTH + 8]
            .copy_from_slice(&check.to_le_bytes());
        assert_eq!(commit.decode_entries(7), None);
    }
}
