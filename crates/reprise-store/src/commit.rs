//! A commit in bytes: a `VEC_SEG` as rvf-runtime writes it, where there are vectors, then the
//! commit segment that makes it valid.

use std::io;

use reprise_types::ByteReader;

use crate::block::{self, BlockPlace, put_blocks};
use crate::codec::{Encoded, Outline, RawEntry, outline};
use crate::compress::Compressor;
use crate::frame::{
    HEADER_SIZE, PREAMBLE_SIZE, Preamble, TYPE_COMMIT, TYPE_VECTORS, put_segment, segment_size,
};

/// Set on the commits that compaction writes: they all carry the sequence number of the last commit
/// that went into them.
pub(crate) const FLAG_PACKED: u32 = 1;
/// Bytes before the first block.
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
    pub(crate) fn preamble(&self, kind: u8, flags: u32, seq: u64) -> Preamble {
        Preamble {
            kind,
            dimensions: self.dimensions,
            flags,
            seq,
            file_id: self.file_id,
        }
    }

    /// Bytes from one vector of a `VEC_SEG` to the next: id u64, then the numbers.
    pub(crate) fn stride(&self) -> u64 {
        8 + 4 * u64::from(self.dimensions)
    }

    /// Where the numbers of vector `index` stand, for a `VEC_SEG` that begins at `segment`.
    pub(crate) fn vector_offset(&self, segment: u64, index: u64) -> u64 {
        segment + HEADER_SIZE + VECTORS_HEAD + index * self.stride() + 8
    }
}

/// The fixed part of a commit segment.
///
/// ```text
/// preamble | previous commit u64 | seal u64 | vectors u64 | created i64 |
/// first ordinal u32 | ordinals u32 | entries u32 | blocks u32 | blocks...
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CommitHead {
    pub(crate) seq: u64,
    pub(crate) packed: bool,
    /// Offset of the commit segment before this one; 0 for the first.
    pub(crate) previous: u64,
    /// Offset of the newest checkpoint's seal; 0 where there is none.
    pub(crate) seal: u64,
    /// Size of the `VEC_SEG` that ends where this segment begins; 0 where there is none.
    pub(crate) vectors_size: u64,
    pub(crate) first_ordinal: u32,
    pub(crate) ordinals: u32,
    pub(crate) entries: u32,
    pub(crate) blocks: u32,
}

impl CommitHead {
    pub(crate) fn put(&self, out: &mut Vec<u8>, facts: &FileFacts) {
        let flags = if self.packed { FLAG_PACKED } else { 0 };
        out.extend_from_slice(&facts.preamble(TYPE_COMMIT, flags, self.seq).bytes());
        out.extend_from_slice(&self.previous.to_le_bytes());
        out.extend_from_slice(&self.seal.to_le_bytes());
        out.extend_from_slice(&self.vectors_size.to_le_bytes());
        out.extend_from_slice(&facts.created_ms.to_le_bytes());
        for number in [self.first_ordinal, self.ordinals, self.entries, self.blocks] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// The head and the file facts of a commit payload whose hash was verified.
    pub(crate) fn parse(payload: &[u8]) -> Option<(Self, FileFacts)> {
        let preamble = Preamble::parse(payload)?;
        if preamble.kind != TYPE_COMMIT {
            return None;
        }
        let mut reader = ByteReader::new(payload.get(PREAMBLE_SIZE..)?);
        let (previous, seal, vectors_size) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let facts = FileFacts {
            file_id: preamble.file_id,
            dimensions: preamble.dimensions,
            created_ms: reader.i64()?,
        };
        let head = Self {
            seq: preamble.seq,
            packed: preamble.flags & FLAG_PACKED != 0,
            previous,
            seal,
            vectors_size,
            first_ordinal: reader.u32()?,
            ordinals: reader.u32()?,
            entries: reader.u32()?,
            blocks: reader.u32()?,
        };
        Some((head, facts))
    }
}

/// One entry of a commit, as the directory reads it.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) outline: Outline,
    /// File offset of its block.
    pub(crate) block: u64,
    pub(crate) block_size: u32,
    pub(crate) index: u16,
}

/// A commit ready to be written at the offset it was made for.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) bytes: Vec<u8>,
    pub(crate) head: CommitHead,
    /// Where the commit segment begins.
    pub(crate) offset: u64,
    pub(crate) placed: Vec<Placed>,
}

/// Lays out a commit at `base`. Counts and sizes in `head` are filled in.
pub(crate) fn build(
    mut head: CommitHead,
    facts: &FileFacts,
    base: u64,
    entries: Vec<Encoded>,
    compressor: &mut Compressor,
) -> io::Result<Built> {
    let mut bytes = Vec::new();
    let vectors = vectors_payload(facts, &entries);
    if let Some(payload) = &vectors {
        put_segment(&mut bytes, base, TYPE_VECTORS, payload);
    }
    head.vectors_size = bytes.len() as u64;
    let raw: Vec<RawEntry> = entries.into_iter().map(|entry| entry.raw).collect();
    let mut blocks = Vec::new();
    let places = put_blocks(&mut blocks, &raw, compressor)?;
    head.entries = raw.len() as u32;
    head.blocks = places.len() as u32;
    let mut payload = Vec::with_capacity(FIXED_SIZE + blocks.len());
    head.put(&mut payload, facts);
    payload.extend_from_slice(&blocks);
    let offset = put_segment(&mut bytes, base, TYPE_COMMIT, &payload);
    // What was encoded just now is understood.
    let outlines = raw
        .iter()
        .map(|raw| outline(raw).unwrap_or(Outline::Unknown));
    let placed = place(offset, &places, outlines);
    Ok(Built {
        bytes,
        head,
        offset,
        placed,
    })
}

fn place(
    commit: u64,
    places: &[BlockPlace],
    outlines: impl IntoIterator<Item = Outline>,
) -> Vec<Placed> {
    let slots = places.iter().flat_map(|place| {
        let block = commit + HEADER_SIZE + (FIXED_SIZE + place.start) as u64;
        (0..place.entries).map(move |index| (block, place.size, index))
    });
    slots
        .zip(outlines)
        .map(|((block, block_size, index), outline)| Placed {
            outline,
            block,
            block_size,
            index,
        })
        .collect()
}

fn vectors_payload(facts: &FileFacts, entries: &[Encoded]) -> Option<Vec<u8>> {
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

/// A commit read from the file, its segment hash verified.
#[derive(Debug)]
pub(crate) struct ReadCommit {
    /// Where the commit segment begins.
    pub(crate) offset: u64,
    pub(crate) head: CommitHead,
    pub(crate) payload: Vec<u8>,
}

impl ReadCommit {
    /// Of its segment.
    pub(crate) fn size(&self) -> u64 {
        segment_size(self.payload.len() as u64)
    }

    /// Where its `VEC_SEG` begins.
    pub(crate) fn vectors_offset(&self) -> u64 {
        self.offset.saturating_sub(self.head.vectors_size)
    }

    /// Every entry; `None` where a block or an entry of a known kind cannot be decoded.
    pub(crate) fn raw_entries(&self, file_id: u128) -> Option<Vec<RawEntry>> {
        let body = self.payload.get(FIXED_SIZE..)?;
        let mut all = Vec::with_capacity(self.head.entries.min(65_536) as usize);
        for place in block::block_places(body)? {
            let block = body.get(place.start..place.start + place.size as usize)?;
            all.extend(block::entries(&block::unpack(block, file_id)?)?);
        }
        (all.len() == self.head.entries as usize).then_some(all)
    }

    /// The commit's entries for the directory.
    pub(crate) fn placed(&self, file_id: u128) -> Option<Vec<Placed>> {
        let entries = self.raw_entries(file_id)?;
        let outlines: Vec<Outline> = entries.iter().map(outline).collect::<Option<_>>()?;
        let ordinals = entries.iter().filter(|raw| raw.takes_ordinal()).count();
        let places = block::block_places(self.payload.get(FIXED_SIZE..)?)?;
        let placed = place(self.offset, &places, outlines);
        (ordinals == self.head.ordinals as usize && placed.len() == entries.len()).then_some(placed)
    }
}

/// Whether a `VEC_SEG` of `count` vectors has that size.
pub(crate) fn vectors_size(facts: &FileFacts, count: u64) -> u64 {
    if count == 0 {
        0
    } else {
        segment_size(VECTORS_HEAD + facts.stride() * count)
    }
}
