//! The postings of one term, read from their bytes in order; and how a block of them is packed.

use std::borrow::Cow;

use reprise_graph::take_varint;

use super::Posting;
use crate::words::HEAD_TERMS;

/// Documents of a block.
pub(super) const BLOCK: usize = 128;
const ROW_BYTES: usize = 3;

/// The posting list of one term, still encoded.
#[derive(Debug, Clone)]
pub(crate) struct List<'a> {
    bytes: Cow<'a, [u8]>,
    first: u32,
    end: u32,
}

impl<'a> List<'a> {
    pub(super) fn new(bytes: Cow<'a, [u8]>, first: u32, end: u32) -> Self {
        Self { bytes, first, end }
    }

    /// Documents in the list, and those of them with the term in their head.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let (documents, heads, _) = self.parts();
        (documents, heads)
    }

    fn parts(&self) -> (usize, usize, &[u8]) {
        let mut rest = &*self.bytes;
        let mut count = || take_varint(&mut rest).unwrap_or(0);
        let (documents, heads) = (count(), count());
        // A posting has two bytes at least: in a block its gap may need no bit.
        let most = |count: u64| (count as usize).min(self.bytes.len() / 2);
        (most(documents), most(heads), rest)
    }

    pub(crate) fn iter(&self) -> Postings<'_> {
        let (documents, _, rest) = self.parts();
        let rows = documents / BLOCK * ROW_BYTES;
        let (rows, blocks) = rest.split_at_checked(rows).unwrap_or_default();
        Postings {
            rows,
            rest: blocks,
            left: documents,
            next: self.first,
            end: self.end,
            block: Vec::new(),
            at: 0,
        }
    }
}

/// Walks the documents of one term, ordinals ascending.
#[derive(Debug, Clone)]
pub(crate) struct Postings<'a> {
    /// Rows of the blocks that are left.
    rows: &'a [u8],
    /// The blocks that are left, and what is behind them.
    rest: &'a [u8],
    left: usize,
    /// What a gap of zero stands for.
    next: u32,
    end: u32,
    /// The block at hand, and the place in it.
    block: Vec<Posting>,
    at: usize,
}

impl Iterator for Postings<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        if self.at == self.block.len() && !self.fill() {
            return None;
        }
        let posting = *self.block.get(self.at)?;
        self.at += 1;
        Some(posting)
    }
}

impl Postings<'_> {
    /// The documents up to the next block, several at once.
    pub(crate) fn next_block(&mut self) -> Option<&[Posting]> {
        self.fill().then_some(self.block.as_slice())
    }

    /// Whether a document is listed that does not come before the one asked about last.
    pub(crate) fn holds(&mut self, ordinal: u32) -> bool {
        let is_before_all = self.block.is_empty() && ordinal < self.next;
        if is_before_all || ordinal >= self.end {
            return false;
        }
        loop {
            let ahead = self.block.get(self.at..).unwrap_or_default();
            if ahead.last().is_some_and(|last| last.ordinal >= ordinal) {
                self.at += ahead.partition_point(|listed| listed.ordinal < ordinal);
                let listed = self.block.get(self.at);
                return listed.is_some_and(|listed| listed.ordinal == ordinal);
            }
            self.pass(ordinal);
            if !self.fill() {
                return false;
            }
        }
    }

    /// Goes past the blocks that end before a document: of each only the sum of its gaps is taken.
    fn pass(&mut self, ordinal: u32) {
        let mut gaps = [0; BLOCK];
        while let Some((row, rows)) = self.rows.split_at_checked(ROW_BYTES)
            && let Some(row) = Row::read(row)
        {
            let bytes = usize::from(row.bytes).min(self.rest.len());
            let (block, rest) = self.rest.split_at(bytes);
            let is_whole = unpack(block, row.bits, &mut gaps).is_some();
            let passed: u64 = gaps.iter().map(|gap| u64::from(*gap) + 1).sum();
            let next = u64::from(self.next) + passed;
            if !is_whole || next > u64::from(ordinal) {
                break;
            }
            (self.rows, self.rest, self.next) = (rows, rest, next as u32);
            self.left = self.left.saturating_sub(BLOCK);
        }
    }

    /// Decodes the next block, or the rest; `false` at the end.
    fn fill(&mut self) -> bool {
        self.block.clear();
        self.at = 0;
        let row;
        (row, self.rows) = self.rows.split_at_checked(ROW_BYTES).unwrap_or_default();
        match Row::read(row) {
            Some(row) => {
                let block;
                let bytes = usize::from(row.bytes).min(self.rest.len());
                (block, self.rest) = self.rest.split_at(bytes);
                self.decode(row, block);
            }
            None => while self.left > 0 && self.one().is_some() {},
        }
        !self.block.is_empty()
    }

    fn decode(&mut self, row: Row, block: &[u8]) -> Option<()> {
        let mut gaps = [0; BLOCK];
        let counts = block.get(unpack(block, row.bits, &mut gaps)?..)?;
        let (counts, rest) = counts.split_first_chunk::<BLOCK>()?;
        let (lengths, mut large) = rest.split_first_chunk::<BLOCK>()?;
        if self.left >= BLOCK && !counts.contains(&0) {
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
                (self.left, self.next) = (self.left - BLOCK, next as u32);
                return Some(());
            }
            self.block.clear();
        }
        for ((gap, byte), length) in gaps.iter().zip(counts).zip(lengths) {
            self.add((*gap).into(), *byte, *length, &mut large)?;
        }
        Some(())
    }

    /// Decodes one document of the rest.
    fn one(&mut self) -> Option<()> {
        let mut rest = self.rest;
        let gap = take_varint(&mut rest)?;
        let (&[byte, length], mut rest) = rest.split_first_chunk()?;
        self.add(gap, byte, length, &mut rest)?;
        self.rest = rest;
        Some(())
    }

    #[inline]
    fn add(&mut self, gap: u64, byte: u8, length: u8, large: &mut &[u8]) -> Option<()> {
        let ordinal = u64::from(self.next) + gap;
        let (count, head) = match byte {
            0 => large_counts(large)?,
            _ => (u16::from(byte >> 4), byte & 15),
        };
        if ordinal >= u64::from(self.end) || self.left == 0 {
            self.left = 0;
            return None;
        }
        self.left -= 1;
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
fn large_counts(large: &mut &[u8]) -> Option<(u16, u8)> {
    let count = take_varint(large)?.min(u64::from(u16::MAX));
    let head = take_varint(large)?.min(HEAD_TERMS as u64);
    Some((count as u16, head as u8))
}

/// What stands before the blocks of each: `u16 bytes | u8 bits of a gap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) bytes: u16,
    pub(super) bits: u8,
}

impl Row {
    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend(self.bytes.to_le_bytes());
        out.push(self.bits);
    }

    /// The inverse of [`Self::write`]; `None` of fewer bytes.
    fn read(row: &[u8]) -> Option<Self> {
        let &[bytes, more, bits] = row.first_chunk()?;
        Some(Self {
            bytes: u16::from_le_bytes([bytes, more]),
            bits: bits.min(32),
        })
    }
}

/// Appends numbers in as few bits each as all of them need; returns how many. The bits of a number
/// stand in the order of their worth, the numbers one behind the other from the lowest bit on.
pub(super) fn pack(out: &mut Vec<u8>, numbers: &[u32; BLOCK]) -> u8 {
    let all = numbers.iter().fold(0, |all, number| all | number);
    let bits = 32 - all.leading_zeros();
    let (mut held, mut count) = (0_u64, 0);
    for number in numbers {
        held |= u64::from(*number) << count;
        count += bits;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    bits as u8
}

/// The inverse of [`pack`]: fills `out`; returns the bytes read, or `None` of too few. What stands
/// behind them has eight bytes at least.
fn unpack(packed: &[u8], bits: u8, out: &mut [u32; BLOCK]) -> Option<usize> {
    let bits = usize::from(bits);
    let bytes = bits * BLOCK / 8;
    let packed = packed.get(..bytes + 8)?;
    let mask = (1_u64 << bits) - 1;
    for (number, out) in out.iter_mut().enumerate() {
        let at = number * bits;
        let eight = packed.get(at / 8..)?.first_chunk()?;
        *out = (u64::from_le_bytes(*eight) >> (at % 8) & mask) as u32;
    }
    Some(bytes)
}
