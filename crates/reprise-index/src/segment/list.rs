//! The postings of one term, read from their bytes in order.

use std::borrow::Cow;

use reprise_graph::take_varint;

use super::Posting;
use super::skip::{BLOCK, ROW_BYTES, Row, unpack};
use crate::words::HEAD_TERMS;

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
        let (left, rows, rest) = self.split();
        Postings {
            rows,
            rest,
            left,
            next: self.first,
            end: self.end,
            block: Vec::new(),
            at: 0,
        }
    }

    /// For questions about single documents, which decode no more than they need.
    pub(crate) fn probe(&self) -> Probe<'_> {
        let (left, rows, rest) = self.split();
        Probe {
            rows,
            rest,
            left,
            first: self.first,
            next: self.first,
            end: self.end,
            block: Vec::new(),
            at: 0,
        }
    }

    /// The number of documents, the rows of the blocks, and the blocks with what is behind them.
    fn split(&self) -> (usize, &[u8], &[u8]) {
        let (documents, _, rest) = self.parts();
        let rows = documents / BLOCK * ROW_BYTES;
        let (rows, blocks) = rest.split_at_checked(rows).unwrap_or_default();
        (documents, rows, blocks)
    }
}

/// Tells of documents, ordinals ascending, whether they are listed. Of a block only the gaps are
/// decoded, and of one that ends before the document only their sum is taken.
#[derive(Debug, Clone)]
pub(crate) struct Probe<'a> {
    rows: &'a [u8],
    rest: &'a [u8],
    left: usize,
    first: u32,
    /// What a gap of zero stands for.
    next: u32,
    end: u32,
    /// The ordinals of the block at hand, and the place in it.
    block: Vec<u32>,
    at: usize,
}

impl Probe<'_> {
    /// Whether a document is listed that does not come before the one asked about last.
    pub(crate) fn holds(&mut self, ordinal: u32) -> bool {
        if !(self.first..self.end).contains(&ordinal) {
            return false;
        }
        loop {
            let ahead = self.block.get(self.at..).unwrap_or_default();
            if ahead.last().is_some_and(|last| *last >= ordinal) {
                self.at += ahead.partition_point(|listed| *listed < ordinal);
                return self.block.get(self.at) == Some(&ordinal);
            }
            if !self.fill(ordinal) {
                return false;
            }
        }
    }

    /// Goes to the block that a document would be in, or to the rest; `false` at the end.
    fn fill(&mut self, ordinal: u32) -> bool {
        self.block.clear();
        self.at = 0;
        let mut gaps = [0; BLOCK];
        while let Some((row, rows)) = self.rows.split_at_checked(ROW_BYTES) {
            self.rows = rows;
            let block;
            let row = Row::read(row).unwrap_or_default();
            let bytes = usize::from(row.bytes).min(self.rest.len());
            (block, self.rest) = self.rest.split_at(bytes);
            self.left = self.left.saturating_sub(BLOCK);
            if unpack(block, row.bits, &mut gaps).is_none() {
                (self.rows, self.left) = (&[], 0);
                return false;
            }
            let passed: u64 = gaps.iter().map(|gap| u64::from(*gap) + 1).sum();
            let next = u64::from(self.next) + passed;
            if next > u64::from(ordinal) {
                let mut gaps = gaps.into_iter().map(u64::from);
                while gaps.next().and_then(|gap| self.add(gap)).is_some() {}
                return !self.block.is_empty();
            }
            self.next = next as u32;
        }
        for _ in 0..std::mem::take(&mut self.left) {
            if self.one().is_none() {
                break;
            }
        }
        !self.block.is_empty()
    }

    /// Decodes one document of the rest.
    fn one(&mut self) -> Option<()> {
        let mut rest = self.rest;
        let gap = take_varint(&mut rest)?;
        let (&[byte, _], mut rest) = rest.split_first_chunk()?;
        if byte == 0 {
            large_counts(&mut rest)?;
        }
        self.rest = rest;
        self.add(gap)
    }

    /// Adds a document; `None` for one beyond the segment, which only damage makes.
    fn add(&mut self, gap: u64) -> Option<()> {
        let ordinal = u64::from(self.next).checked_add(gap)?;
        if ordinal >= u64::from(self.end) {
            (self.rows, self.left) = (&[], 0);
            return None;
        }
        self.next = ordinal as u32 + 1;
        self.block.push(ordinal as u32);
        Some(())
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
