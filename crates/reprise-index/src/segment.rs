//! The terms of a run of documents as immutable bytes: sorted dictionary, postings in blocks.
//!
//! The bytes in memory are those in the file, and a saved segment is read in place. Reading is
//! bounds-checked: damaged bytes end a list early and never panic.
//!
//! ```text
//! u32 first ordinal | u32 end ordinal | u32 terms | u32 dictionary bytes | u32 posting bytes
//! terms x (u32 end in dictionary, u32 end in postings)
//! dictionary: the terms, sorted, end to end
//! postings: varint documents | varint those with the term in their head
//!   | per whole block of 128 documents a block header of `list.rs` | these blocks | the rest
//! block: 128 gaps, packed in as many bits each as the header says | 128 counts | 128 head lengths
//!   | large counts
//! rest: per document varint gap, count, head length; large counts after their count
//! gap: to the document before it (or the segment's first), minus one
//! count: occurrences * 16 + those in the head; if one of them exceeds 15 the byte is 0 and both
//!   are varints among the large counts
//! ```
//! Each posting contains the head length of its document, so that it is scored without reading
//! the document's row.

mod list;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use reprise_hnsw::append_varint;
use reprise_types::PagedBytes;

use crate::words::Language;
pub(crate) use list::PostingList;
use list::{BLOCK_LEN, BlockHeader, pack_bits};

const HEADER_BYTES: usize = 20;
const ENTRY_BYTES: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) ordinal: u32,
    /// Occurrences in the whole text, at least 1.
    pub(crate) count: u16,
    /// Occurrences in the head, at most [`crate::words::HEAD_TERMS`].
    pub(crate) head: u8,
    /// Terms of the document's head, at most [`crate::words::HEAD_TERMS`].
    pub(crate) length: u8,
}

/// The terms and postings of documents `first..end`. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) bytes: PagedBytes,
    pub(crate) first: u32,
    pub(crate) end: u32,
    terms: usize,
    dictionary: usize,
    postings: usize,
    /// The language of each document, filled at the first lookup; empty if all are English.
    pub(crate) languages: Arc<OnceLock<Vec<Language>>>,
}

impl Segment {
    /// Opens bytes that [`SegmentBuilder::finish`] wrote; `None` if the lengths do not match.
    pub(crate) fn open(bytes: PagedBytes) -> Option<Self> {
        let number = |at: usize| u32_at(&bytes, at);
        let (first, end, terms) = (number(0)?, number(4)?, number(8)? as usize);
        let (dictionary_bytes, posting_bytes) = (number(12)? as usize, number(16)? as usize);
        let dictionary = terms.checked_mul(ENTRY_BYTES)?.checked_add(HEADER_BYTES)?;
        let postings = dictionary.checked_add(dictionary_bytes)?;
        let whole = postings.checked_add(posting_bytes)?;
        (first <= end && whole == bytes.len()).then_some(Self {
            bytes,
            first,
            end,
            terms,
            dictionary,
            postings,
            languages: Arc::default(),
        })
    }

    /// Whether the other one is a clone of it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.languages, &other.languages)
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn document_count(&self) -> u32 {
        self.end - self.first
    }

    /// Returns the postings of `term`; empty if the segment does not contain it.
    pub(crate) fn find(&self, term: &[u8]) -> PostingList<'_> {
        let at = self.lower_bound(term);
        let found = at < self.terms && *self.term(at) == *term;
        self.list_at(if found { at } else { self.terms })
    }

    /// Returns the terms that begin with a prefix, in order, with their postings.
    pub(crate) fn iter_prefix(
        &self,
        prefix: &[u8],
    ) -> impl Iterator<Item = (Cow<'_, [u8]>, PostingList<'_>)> {
        (self.lower_bound(prefix)..self.terms)
            .map(|at| (self.term(at), at))
            .take_while(move |(term, _)| term.starts_with(prefix))
            .map(|(term, at)| (term, self.list_at(at)))
    }

    /// Returns the term at an index; `None` after the last.
    pub(crate) fn term_at(&self, at: usize) -> Option<Cow<'_, [u8]>> {
        (at < self.terms).then(|| self.term(at))
    }

    /// Returns the index of the first term that is not less than this one.
    pub(crate) fn lower_bound(&self, term: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.terms);
        while low < high {
            let middle = low.midpoint(high);
            if *self.term(middle) < *term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn term(&self, index: usize) -> Cow<'_, [u8]> {
        let range = self.entry_range(index, 0, self.dictionary, self.postings);
        self.bytes.bytes(range)
    }

    fn list_at(&self, index: usize) -> PostingList<'_> {
        let range = self.entry_range(index, 4, self.postings, self.size());
        PostingList::new(&self.bytes, range, self.first, self.end)
    }

    /// Returns the range of `from..to` that entry `index` of the table column at byte `column`
    /// gives; an empty one if there is no such entry.
    fn entry_range(&self, index: usize, column: usize, from: usize, to: usize) -> Range<usize> {
        let end_of = |index: usize| {
            if index >= self.terms {
                return None;
            }
            let end = u32_at(&self.bytes, HEADER_BYTES + index * ENTRY_BYTES + column)?;
            from.checked_add(end as usize).filter(|end| *end <= to)
        };
        let start = match index {
            0 => Some(from),
            _ => end_of(index - 1),
        };
        match (start, end_of(index)) {
            (Some(start), Some(end)) => start..end,
            _ => 0..0,
        }
    }

    /// Returns a copy in memory, for sequential reading, if it is still in the file.
    fn to_memory(&self) -> Option<Self> {
        if self.bytes.is_loaded() {
            return None;
        }
        let bytes = self.bytes.bytes(0..self.size()).into_owned();
        // Damaged bytes contain no term; loading the rest reports them, and the index is rebuilt.
        let whole = Self::open(PagedBytes::from_chunk(bytes));
        Some(whole.unwrap_or_else(|| SegmentBuilder::new(self.first, self.end).finish()))
    }
}

fn u32_at(bytes: &PagedBytes, at: usize) -> Option<u32> {
    let four = bytes.bytes(at..at.checked_add(4)?);
    Some(u32::from_le_bytes(*four.first_chunk()?))
}

fn append_u32(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend_from_slice(&value.to_le_bytes());
}

/// Builds a segment term by term, in order.
#[derive(Debug)]
pub(crate) struct SegmentBuilder {
    first: u32,
    end: u32,
    table: Vec<u8>,
    dictionary: Vec<u8>,
    postings: Vec<u8>,
    /// Postings of the current term.
    current: Vec<Posting>,
    /// Offset of the current term in `dictionary`.
    term_start: usize,
}

impl SegmentBuilder {
    pub(crate) fn new(first: u32, end: u32) -> Self {
        Self {
            first,
            end,
            table: Vec::new(),
            dictionary: Vec::new(),
            postings: Vec::new(),
            current: Vec::new(),
            term_start: 0,
        }
    }

    /// Starts a term; terms must come sorted.
    pub(crate) fn start_term(&mut self, term: &[u8]) {
        self.close_term();
        self.dictionary.extend_from_slice(term);
    }

    /// Adds a posting to the current term; ordinals must ascend.
    pub(crate) fn add_posting(&mut self, posting: Posting) {
        self.current.push(posting);
    }

    /// Adds the current term to the table, or drops it if it has no posting.
    fn close_term(&mut self) {
        let current = std::mem::take(&mut self.current);
        if current.is_empty() {
            self.dictionary.truncate(self.term_start);
            return;
        }
        self.encode_postings(&current);
        append_u32(&mut self.table, self.dictionary.len() as u32);
        append_u32(&mut self.table, self.postings.len() as u32);
        self.term_start = self.dictionary.len();
        self.current = current;
        self.current.clear();
    }

    fn encode_postings(&mut self, current: &[Posting]) {
        let heads = current.iter().filter(|posting| posting.head > 0).count();
        append_varint(&mut self.postings, current.len() as u64);
        append_varint(&mut self.postings, heads as u64);
        let (whole, rest) = current.as_chunks::<BLOCK_LEN>();
        let mut next = self.first;
        let mut gap = |posting: &Posting| {
            let gap = posting.ordinal.saturating_sub(next);
            next = posting.ordinal + 1;
            gap
        };
        let mut blocks = Vec::new();
        for block in whole {
            let begins = blocks.len();
            let gaps = block.each_ref().map(&mut gap);
            let bits = pack_bits(&mut blocks, &gaps);
            blocks.extend(block.iter().copied().map(pack_counts));
            blocks.extend(block.iter().map(|posting| posting.length));
            for posting in block {
                append_large_counts(&mut blocks, *posting);
            }
            let bytes = (blocks.len() - begins) as u16;
            BlockHeader { bytes, bits }.encode(&mut self.postings);
        }
        self.postings.append(&mut blocks);
        for posting in rest {
            append_varint(&mut self.postings, gap(posting).into());
            self.postings
                .extend([pack_counts(*posting), posting.length]);
            append_large_counts(&mut self.postings, *posting);
        }
    }

    pub(crate) fn finish(mut self) -> Segment {
        self.close_term();
        let terms = self.table.len() / ENTRY_BYTES;
        let dictionary = HEADER_BYTES + self.table.len();
        let postings = dictionary + self.dictionary.len();
        let mut bytes = Vec::with_capacity(postings + self.postings.len());
        for number in [
            self.first,
            self.end,
            terms as u32,
            self.dictionary.len() as u32,
            self.postings.len() as u32,
        ] {
            append_u32(&mut bytes, number);
        }
        bytes.extend_from_slice(&self.table);
        bytes.extend_from_slice(&self.dictionary);
        bytes.extend_from_slice(&self.postings);
        Segment {
            bytes: PagedBytes::from_chunk(bytes),
            first: self.first,
            end: self.end,
            terms,
            dictionary,
            postings,
            languages: Arc::default(),
        }
    }
}

fn pack_counts(posting: Posting) -> u8 {
    let is_small = (1..16).contains(&posting.count) && posting.head < 16;
    if is_small {
        (posting.count as u8) << 4 | posting.head
    } else {
        0
    }
}

/// Appends the counts of a posting as varints if [`pack_counts`] cannot hold them.
fn append_large_counts(out: &mut Vec<u8>, posting: Posting) {
    if pack_counts(posting) == 0 {
        append_varint(out, posting.count.into());
        append_varint(out, posting.head.into());
    }
}

/// Merges adjacent segments, in order, into one with the documents that `keep` accepts. A term that
/// no kept document contains is dropped.
pub(crate) fn merge_segments(segments: &[Segment], keep: impl Fn(u32) -> bool) -> Segment {
    let first = segments.first().map_or(0, |segment| segment.first);
    let end = segments.last().map_or(first, |segment| segment.end);
    let mut builder = SegmentBuilder::new(first, end);
    let copies: Vec<_> = segments.iter().map(Segment::to_memory).collect();
    let whole = segments.iter().zip(&copies);
    let whole = whole.map(|(segment, copy)| copy.as_ref().unwrap_or(segment));
    let mut cursors: Vec<(&Segment, usize)> = whole.map(|segment| (segment, 0)).collect();
    while let Some(term) = cursors
        .iter()
        .filter(|(segment, at)| *at < segment.terms)
        .map(|(segment, at)| segment.term(*at))
        .min()
    {
        builder.start_term(&term);
        for (segment, at) in &mut cursors {
            if *at < segment.terms && segment.term(*at) == term {
                let list = segment.list_at(*at);
                for posting in list.iter().filter(|p| keep(p.ordinal)) {
                    builder.add_posting(posting);
                }
                *at += 1;
            }
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests;
