//! A run of documents' terms as immutable bytes: sorted dictionary, postings in blocks.
//!
//! The form in memory is the form in the file, and a saved segment is read in place. Reading is
//! bounds-checked: damaged bytes end a list early, they never panic.
//!
//! ```text
//! u32 first ordinal | u32 end ordinal | u32 terms | u32 dictionary bytes | u32 posting bytes
//! terms x (u32 end in dictionary, u32 end in postings)
//! dictionary: the terms, sorted, end to end
//! postings: varint documents | varint those with the term in their head
//!   | per whole block of 128 documents a row of `list.rs` | these blocks | the rest
//! block: 128 gaps, packed in as many bits each as the row says | 128 counts | 128 head lengths
//!   | large counts
//! rest: per document varint gap, count, head length; large counts behind their count
//! gap: to the document before it (or the segment's first), less one
//! count: occurrences * 16 + those in the head; where one of them exceeds 15 the byte is 0 and both
//!   stand as varints among the large counts
//! ```
//! A document's number of terms in its head stands beside each of its terms: with it a posting is
//! scored without a look at the document.

mod list;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use reprise_graph::put_varint;

use crate::codec::{SharedBytes, put_u32};
use crate::pages::Pages;
use crate::words::Language;
pub(crate) use list::List;
use list::{BLOCK, Row, pack};

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

#[derive(Debug, Clone)]
pub(crate) enum Bytes {
    Own(SharedBytes),
    /// In a saved part, at this range.
    Left(Arc<Pages>, Range<usize>),
}

impl From<SharedBytes> for Bytes {
    fn from(bytes: SharedBytes) -> Self {
        Self::Own(bytes)
    }
}

impl Bytes {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::Left(_, range) => range.len(),
        }
    }

    /// The bytes `from..to`; empty where they are damaged or missing.
    fn get(&self, from: usize, to: usize) -> Cow<'_, [u8]> {
        match self {
            Self::Own(bytes) => Cow::Borrowed(bytes.get(from..to).unwrap_or_default()),
            Self::Left(pages, range) => {
                let within = |at: usize| range.start.saturating_add(at);
                if within(to) > range.end {
                    return Cow::Borrowed(&[]);
                }
                pages.get(within(from), within(to))
            }
        }
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        let four = self.get(at, at.checked_add(4)?);
        Some(u32::from_le_bytes(*four.first_chunk()?))
    }
}

/// The terms of documents `first..end`.
#[derive(Debug)]
pub(crate) struct Segment {
    bytes: Bytes,
    pub(crate) first: u32,
    pub(crate) end: u32,
    terms: usize,
    dictionary: usize,
    postings: usize,
    /// The language of each document, once somebody asked; empty where all are English.
    pub(crate) languages: OnceLock<Vec<Language>>,
}

impl Segment {
    /// Opens bytes that [`SegmentBuilder::finish`] made; `None` where the lengths do not match.
    pub(crate) fn open(bytes: Bytes) -> Option<Self> {
        let number = |at: usize| bytes.u32_at(at);
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
            languages: OnceLock::new(),
        })
    }

    /// All its bytes; empty where some are damaged.
    pub(crate) fn bytes(&self) -> Cow<'_, [u8]> {
        self.bytes.get(0, self.bytes.len())
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn documents(&self) -> u32 {
        self.end - self.first
    }

    /// The postings of `term`, empty where the segment does not hold it.
    pub(crate) fn find(&self, term: &[u8]) -> List<'_> {
        let at = self.place(term);
        let found = at < self.terms && *self.term(at) == *term;
        self.list(if found { at } else { self.terms })
    }

    /// The terms that begin with a prefix, in order, with their postings.
    pub(crate) fn starting_with(
        &self,
        prefix: &[u8],
    ) -> impl Iterator<Item = (Cow<'_, [u8]>, List<'_>)> {
        (self.place(prefix)..self.terms)
            .map(|at| (self.term(at), at))
            .take_while(move |(term, _)| term.starts_with(prefix))
            .map(|(term, at)| (term, self.list(at)))
    }

    /// The term at a place; `None` behind the last.
    pub(crate) fn key(&self, at: usize) -> Option<Cow<'_, [u8]>> {
        (at < self.terms).then(|| self.term(at))
    }

    /// Index of the first term not less than this one.
    pub(crate) fn place(&self, term: &[u8]) -> usize {
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
        self.slice(index, 0, self.dictionary, self.postings)
    }

    fn list(&self, index: usize) -> List<'_> {
        let bytes = self.slice(index, 4, self.postings, self.bytes.len());
        List::new(bytes, self.first, self.end)
    }

    /// The range within `from..to` given by entry `index` of the table column at byte `column`.
    fn slice(&self, index: usize, column: usize, from: usize, to: usize) -> Cow<'_, [u8]> {
        let end_of = |index: usize| {
            if index >= self.terms {
                return None;
            }
            let end = self
                .bytes
                .u32_at(HEADER_BYTES + index * ENTRY_BYTES + column)?;
            from.checked_add(end as usize).filter(|end| *end <= to)
        };
        let start = match index {
            0 => Some(from),
            _ => end_of(index - 1),
        };
        match (start, end_of(index)) {
            (Some(start), Some(end)) => self.bytes.get(start, end),
            _ => Cow::Borrowed(&[]),
        }
    }

    /// The same segment in memory, for sequential reading.
    fn whole(&self) -> Cow<'_, Self> {
        match &self.bytes {
            Bytes::Own(_) => Cow::Borrowed(self),
            Bytes::Left(..) => {
                let bytes = SharedBytes::from(self.bytes().into_owned());
                let whole = Self::open(bytes.into());
                // Damaged bytes hold no term; loading the rest reports them and rebuilds the index.
                Cow::Owned(
                    whole.unwrap_or_else(|| SegmentBuilder::new(self.first, self.end).finish()),
                )
            }
        }
    }
}

impl Clone for Segment {
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes.clone(),
            languages: self.languages.clone(),
            ..*self
        }
    }
}

/// Writes a segment term by term, in order.
#[derive(Debug)]
pub(crate) struct SegmentBuilder {
    first: u32,
    end: u32,
    table: Vec<u8>,
    dictionary: Vec<u8>,
    postings: Vec<u8>,
    /// The documents of the current term.
    own: Vec<Posting>,
    /// Where the current term began in `dictionary`.
    began: usize,
}

impl SegmentBuilder {
    pub(crate) fn new(first: u32, end: u32) -> Self {
        Self {
            first,
            end,
            table: Vec::new(),
            dictionary: Vec::new(),
            postings: Vec::new(),
            own: Vec::new(),
            began: 0,
        }
    }

    /// Begins a term; terms come sorted.
    pub(crate) fn term(&mut self, term: &[u8]) {
        self.close_term();
        self.dictionary.extend_from_slice(term);
    }

    /// Adds a document to the current term; ordinals come ascending.
    pub(crate) fn posting(&mut self, posting: Posting) {
        self.own.push(posting);
    }

    /// Adds the current term to the table, or drops it where it has no document.
    fn close_term(&mut self) {
        let own = std::mem::take(&mut self.own);
        if own.is_empty() {
            self.dictionary.truncate(self.began);
            return;
        }
        self.encode(&own);
        put_u32(&mut self.table, self.dictionary.len() as u32);
        put_u32(&mut self.table, self.postings.len() as u32);
        self.began = self.dictionary.len();
        self.own = own;
        self.own.clear();
    }

    fn encode(&mut self, own: &[Posting]) {
        let heads = own.iter().filter(|posting| posting.head > 0).count();
        put_varint(&mut self.postings, own.len() as u64);
        put_varint(&mut self.postings, heads as u64);
        let (whole, rest) = own.as_chunks::<BLOCK>();
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
            let bits = pack(&mut blocks, &gaps);
            blocks.extend(block.iter().copied().map(count_byte));
            blocks.extend(block.iter().map(|posting| posting.length));
            for posting in block {
                put_large(&mut blocks, *posting);
            }
            let bytes = (blocks.len() - begins) as u16;
            Row { bytes, bits }.write(&mut self.postings);
        }
        self.postings.append(&mut blocks);
        for posting in rest {
            put_varint(&mut self.postings, gap(posting).into());
            self.postings.extend([count_byte(*posting), posting.length]);
            put_large(&mut self.postings, *posting);
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
            put_u32(&mut bytes, number);
        }
        bytes.extend_from_slice(&self.table);
        bytes.extend_from_slice(&self.dictionary);
        bytes.extend_from_slice(&self.postings);
        Segment {
            bytes: Bytes::Own(bytes.into()),
            first: self.first,
            end: self.end,
            terms,
            dictionary,
            postings,
            languages: OnceLock::new(),
        }
    }
}

fn count_byte(posting: Posting) -> u8 {
    let is_small = (1..16).contains(&posting.count) && posting.head < 16;
    if is_small {
        (posting.count as u8) << 4 | posting.head
    } else {
        0
    }
}

/// Appends counts that fit in no byte.
fn put_large(out: &mut Vec<u8>, posting: Posting) {
    if count_byte(posting) == 0 {
        put_varint(out, posting.count.into());
        put_varint(out, posting.head.into());
    }
}

/// One segment with the documents of all (adjacent, in order) that `keep` admits. A term that no
/// kept document holds is gone.
pub(crate) fn merge(segments: &[impl AsRef<Segment>], keep: impl Fn(u32) -> bool) -> Segment {
    let first = segments.first().map_or(0, |s| s.as_ref().first);
    let end = segments.last().map_or(first, |s| s.as_ref().end);
    let mut builder = SegmentBuilder::new(first, end);
    let whole: Vec<Cow<'_, Segment>> = segments.iter().map(|s| s.as_ref().whole()).collect();
    let mut cursors: Vec<(&Segment, usize)> = whole.iter().map(|s| (&**s, 0)).collect();
    while let Some(term) = cursors
        .iter()
        .filter(|(segment, at)| *at < segment.terms)
        .map(|(segment, at)| segment.term(*at))
        .min()
    {
        builder.term(&term);
        for (segment, at) in &mut cursors {
            if *at < segment.terms && segment.term(*at) == term {
                let list = segment.list(*at);
                for posting in list.iter().filter(|p| keep(p.ordinal)) {
                    builder.posting(posting);
                }
                *at += 1;
            }
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests;
