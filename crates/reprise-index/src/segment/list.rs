//! Decodes the postings of one term in order, and packs a block of them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use reprise_hnsw::read_varint;
use reprise_types::PagedBytes;

use super::Posting;
use crate::words::HEAD_TERMS;

/// Number of documents in a block.
pub(super) const BLOCK_LEN: usize = 128;
const BLOCK_HEADER_BYTES: usize = 3;
/// Bytes of two varints at most.
const COUNTS_BYTES_MAX: usize = 20;

/// The posting list of one term, still encoded. Its bytes are read from the segment once they are
/// walked; the counts need only the first of them.
#[derive(Debug, Clone)]
pub(crate) struct PostingList<'a> {
    segment: &'a PagedBytes,
    range: Range<usize>,
    bytes: OnceCell<Cow<'a, [u8]>>,
    first: u32,
    end: u32,
}

impl<'a> PostingList<'a> {
    pub(super) fn new(segment: &'a PagedBytes, range: Range<usize>, first: u32, end: u32) -> Self {
        Self {
            segment,
            range,
            bytes: OnceCell::new(),
            first,
            end,
        }
    }

    /// Returns the number of documents in the list, and of those that have the term in their head.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let end = self.range.end.min(self.range.start + COUNTS_BYTES_MAX);
        self.read_counts(&mut &*self.segment.bytes(self.range.start..end))
    }

    fn read_counts(&self, bytes: &mut &[u8]) -> (usize, usize) {
        let mut count = || read_varint(bytes).unwrap_or(0);
        let (documents, heads) = (count(), count());
        // A posting takes at least two bytes: in a block its gap may need no bit.
        let most = |count: u64| (count as usize).min(self.range.len() / 2);
        (most(documents), most(heads))
    }

    pub(crate) fn iter(&self) -> PostingIter<'_> {
        let read = || self.segment.bytes(self.range.clone());
        let mut rest = &**self.bytes.get_or_init(read);
        let (documents, _) = self.read_counts(&mut rest);
        let rows = documents / BLOCK_LEN * BLOCK_HEADER_BYTES;
        let (rows, blocks) = rest.split_at_checked(rows).unwrap_or_default();
        PostingIter {
            rows,
            rest: blocks,
            remaining: documents,
            next: self.first,
            end: self.end,
            block: Vec::new(),
            position: 0,
        }
    }
}

/// Walks the documents of one term, ordinals ascending.
#[derive(Debug, Clone)]
pub(crate) struct PostingIter<'a> {
    /// Headers of the remaining blocks.
    rows: &'a [u8],
    /// The remaining blocks, and the rest after them.
    rest: &'a [u8],
    remaining: usize,
    /// The ordinal that a gap of zero means.
    next: u32,
    end: u32,
    /// The decoded block; `position` is the next posting in it.
    block: Vec<Posting>,
    position: usize,
}

impl Iterator for PostingIter<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        if self.position == self.block.len() && !self.decode_next_block() {
            return None;
        }
        let posting = *self.block.get(self.position)?;
        self.position += 1;
        Some(posting)
    }
}

impl PostingIter<'_> {
    /// Decodes and returns the next block of postings; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Option<&[Posting]> {
        self.decode_next_block().then_some(self.block.as_slice())
    }

    /// Moves forward to a document and returns whether it is listed. Ordinals must not descend from
    /// one call to the next.
    pub(crate) fn seek(&mut self, ordinal: u32) -> bool {
        let is_before_all = self.block.is_empty() && ordinal < self.next;
        if is_before_all || ordinal >= self.end {
            return false;
        }
        loop {
            let ahead = self.block.get(self.position..).unwrap_or_default();
            if ahead.last().is_some_and(|last| last.ordinal >= ordinal) {
                self.position += ahead.partition_point(|listed| listed.ordinal < ordinal);
                let listed = self.block.get(self.position);
                return listed.is_some_and(|listed| listed.ordinal == ordinal);
            }
            self.skip_blocks_before(ordinal);
            if !self.decode_next_block() {
                return false;
            }
        }
    }

    /// Skips the blocks that end before a document; of each only the gaps are summed.
    fn skip_blocks_before(&mut self, ordinal: u32) {
        let mut gaps = [0; BLOCK_LEN];
        while let Some((row, rows)) = self.rows.split_at_checked(BLOCK_HEADER_BYTES)
            && let Some(row) = BlockHeader::decode(row)
        {
            let bytes = usize::from(row.bytes).min(self.rest.len());
            let (block, rest) = self.rest.split_at(bytes);
            let is_whole = unpack_bits(block, row.bits, &mut gaps).is_some();
            let passed: u64 = gaps.iter().map(|gap| u64::from(*gap) + 1).sum();
            let next = u64::from(self.next) + passed;
            if !is_whole || next > u64::from(ordinal) {
                break;
            }
            (self.rows, self.rest, self.next) = (rows, rest, next as u32);
            self.remaining = self.remaining.saturating_sub(BLOCK_LEN);
        }
    }

    /// Decodes the next block or the rest; `false` at the end.
    fn decode_next_block(&mut self) -> bool {
        self.block.clear();
        self.position = 0;
        let row;
        (row, self.rows) = self
            .rows
            .split_at_checked(BLOCK_HEADER_BYTES)
            .unwrap_or_default();
        match BlockHeader::decode(row) {
            Some(row) => {
                let block;
                let bytes = usize::from(row.bytes).min(self.rest.len());
                (block, self.rest) = self.rest.split_at(bytes);
                self.decode_block(row, block);
            }
            None => while self.remaining > 0 && self.decode_posting().is_some() {},
        }
        !self.block.is_empty()
    }

    fn decode_block(&mut self, row: BlockHeader, block: &[u8]) -> Option<()> {
        let mut gaps = [0; BLOCK_LEN];
        let counts = block.get(unpack_bits(block, row.bits, &mut gaps)?..)?;
        let (counts, rest) = counts.split_first_chunk::<BLOCK_LEN>()?;
        let (lengths, mut large) = rest.split_first_chunk::<BLOCK_LEN>()?;
        if self.remaining >= BLOCK_LEN && !counts.contains(&0) {
            let mut next = u64::from(self.next);
            let rows = gaps.iter().zip(counts).zip(lengths);
            self.block.extend(rows.map(|((gap, byte), length)| {
                let ordinal = next.wrapping_add((*gap).into());
                next = ordinal.wrapping_add(1);
                Posting {
                    ordinal: ordinal as u32,
                    count: u16::from(byte >> 4),
                    head: byte & 15,
                    length: (*length).min(HEAD_TERMS as u8),
                }
            }));
            if next <= u64::from(self.end) {
                (self.remaining, self.next) = (self.remaining - BLOCK_LEN, next as u32);
                return Some(());
            }
            self.block.clear();
        }
        for ((gap, byte), length) in gaps.iter().zip(counts).zip(lengths) {
            self.push_posting((*gap).into(), *byte, *length, &mut large)?;
        }
        Some(())
    }

    /// Decodes one posting of the rest.
    fn decode_posting(&mut self) -> Option<()> {
        let mut rest = self.rest;
        let gap = read_varint(&mut rest)?;
        let (&[byte, length], mut rest) = rest.split_first_chunk()?;
        self.push_posting(gap, byte, length, &mut rest)?;
        self.rest = rest;
        Some(())
    }

    #[inline]
    fn push_posting(&mut self, gap: u64, byte: u8, length: u8, large: &mut &[u8]) -> Option<()> {
        let ordinal = u64::from(self.next) + gap;
        let (count, head) = match byte {
            0 => decode_large_counts(large)?,
            _ => (u16::from(byte >> 4), byte & 15),
        };
        if ordinal >= u64::from(self.end) || self.remaining == 0 {
            self.remaining = 0;
            return None;
        }
        self.remaining -= 1;
        let ordinal = ordinal as u32;
        self.next = ordinal + 1;
        self.block.push(Posting {
            ordinal,
            count,
            head,
            length: length.min(HEAD_TERMS as u8),
        });
        Some(())
    }
}

#[cold]
fn decode_large_counts(large: &mut &[u8]) -> Option<(u16, u8)> {
    let count = read_varint(large)?.min(u64::from(u16::MAX));
    let head = read_varint(large)?.min(HEAD_TERMS as u64);
    Some((count as u16, head as u8))
}

/// Header of one block, stored before all blocks: `u16 bytes | u8 bits of a gap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) bytes: u16,
    pub(super) bits: u8,
}

impl BlockHeader {
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.extend(self.bytes.to_le_bytes());
        out.push(self.bits);
    }

    /// Decodes what [`Self::encode`] wrote; `None` if there are fewer bytes.
    fn decode(row: &[u8]) -> Option<Self> {
        let &[bytes, more, bits] = row.first_chunk()?;
        Some(Self {
            bytes: u16::from_le_bytes([bytes, more]),
            bits: bits.min(32),
        })
    }
}

/// Appends numbers in as few bits each as the largest needs; returns how many bits. Numbers follow
/// each other from the lowest bit on, each with its lowest bit first.
pub(super) fn pack_bits(out: &mut Vec<u8>, numbers: &[u32; BLOCK_LEN]) -> u8 {
    let all = numbers.iter().fold(0, |all, number| all | number);
    let bits = 32 - all.leading_zeros();
    let (mut buffer, mut count) = (0_u64, 0);
    for number in numbers {
        buffer |= u64::from(*number) << count;
        count += bits;
        while count >= 8 {
            out.push(buffer as u8);
            buffer >>= 8;
            count -= 8;
        }
    }
    bits as u8
}

/// Unpacks into `out` what [`pack_bits`] wrote; returns the bytes read, or `None` if there are too
/// few. At least eight more bytes must follow the packed ones.
fn unpack_bits(packed: &[u8], bits: u8, out: &mut [u32; BLOCK_LEN]) -> Option<usize> {
    let bits = usize::from(bits);
    let bytes = bits * BLOCK_LEN / 8;
    let packed = packed.get(..bytes + 8)?;
    let mask = (1_u64 << bits) - 1;
    for (number, out) in out.iter_mut().enumerate() {
        let at = number * bits;
        let eight = packed.get(at / 8..)?.first_chunk()?;
        *out = (u64::from_le_bytes(*eight) >> (at % 8) & mask) as u32;
    }
    Some(bytes)
}
