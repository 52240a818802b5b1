//! A run of documents' terms as immutable bytes: sorted dictionary, postings as varint deltas.
//!
//! The form in memory is the form in the file, and a saved segment is read in place. Reading is
//! bounds-checked: damaged bytes end a list early, they never panic.
//!
//! ```text
//! u32 first ordinal | u32 end ordinal | u32 terms | u32 dictionary bytes | u32 posting bytes
//! terms x (u32 end in dictionary, u32 end in postings)
//! dictionary: the terms, sorted, end to end
//! postings: per document varint gap to the last one, then a byte: occurrences * 16 + those in the
//!           head; where one of them exceeds 15 the byte is 0 and both follow as varints
//! ```
//! The counts' one byte costs more space than a code for "once" would, but its reader has no branch
//! that the processor guesses wrong.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use reprise_graph::{put_varint, take_varint};

use crate::codec::{SharedBytes, put_u32};
use crate::pages::Pages;
use crate::words::HEAD_TERMS;

const HEADER_BYTES: usize = 20;
const ENTRY_BYTES: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) ordinal: u32,
    /// Occurrences in the whole text, at least 1.
    pub(crate) count: u16,
    /// Occurrences in the head, at most [`HEAD_TERMS`].
    pub(crate) head: u16,
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

    /// Index of the first term not less than this one.
    fn place(&self, term: &[u8]) -> usize {
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
        List {
            bytes: self.slice(index, 4, self.postings, self.bytes.len()),
            first: self.first,
            end: self.end,
        }
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
            ..*self
        }
    }
}

/// The posting list of one term, still encoded.
#[derive(Debug, Clone)]
pub(crate) struct List<'a> {
    bytes: Cow<'a, [u8]>,
    first: u32,
    end: u32,
}

impl List<'_> {
    pub(crate) fn iter(&self) -> Postings<'_> {
        Postings {
            rest: &self.bytes,
            next: self.first,
            end: self.end,
        }
    }

    /// An upper bound for the number of documents, by the list's length.
    pub(crate) fn count_max(&self) -> usize {
        self.bytes.len() / 2
    }
}

/// Walks the documents of one term, ordinals ascending.
#[derive(Debug, Clone)]
pub(crate) struct Postings<'a> {
    rest: &'a [u8],
    next: u32,
    end: u32,
}

impl Iterator for Postings<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let ordinal = u64::from(self.next) + take_varint(&mut self.rest)?;
        if ordinal >= u64::from(self.end) {
            return None;
        }
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        let (count, head) = match byte {
            0 => self.large_counts()?,
            _ => (u16::from(byte >> 4), u16::from(byte & 15)),
        };
        let ordinal = ordinal as u32;
        self.next = ordinal + 1;
        Some(Posting {
            ordinal,
            count,
            head,
        })
    }
}

impl Postings<'_> {
    #[cold]
    fn large_counts(&mut self) -> Option<(u16, u16)> {
        let count = take_varint(&mut self.rest)?.min(u64::from(u16::MAX));
        let head = take_varint(&mut self.rest)?.min(HEAD_TERMS as u64);
        Some((count as u16, head as u16))
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
    /// The ordinal that a gap of zero stands for.
    next: u32,
    /// Where the current term began in `dictionary` and `postings`.
    began: (usize, usize),
}

impl SegmentBuilder {
    pub(crate) fn new(first: u32, end: u32) -> Self {
        Self {
            first,
            end,
            table: Vec::new(),
            dictionary: Vec::new(),
            postings: Vec::new(),
            next: first,
            began: (0, 0),
        }
    }

    /// Begins a term; terms come sorted.
    pub(crate) fn term(&mut self, term: &[u8]) {
        self.close_term();
        self.dictionary.extend_from_slice(term);
        self.next = self.first;
    }

    /// Adds a document to the current term; ordinals come ascending.
    pub(crate) fn posting(&mut self, posting: Posting) {
        let gap = posting.ordinal.saturating_sub(self.next);
        put_varint(&mut self.postings, gap.into());
        if posting.count < 16 && posting.head < 16 && posting.count > 0 {
            let byte = posting.count << 4 | posting.head;
            self.postings.push(byte as u8);
        } else {
            self.postings.push(0);
            put_varint(&mut self.postings, posting.count.into());
            put_varint(&mut self.postings, posting.head.into());
        }
        self.next = posting.ordinal + 1;
    }

    /// Adds the current term to the table, or drops it where it has no document.
    fn close_term(&mut self) {
        if self.postings.len() == self.began.1 {
            self.dictionary.truncate(self.began.0);
            return;
        }
        put_u32(&mut self.table, self.dictionary.len() as u32);
        put_u32(&mut self.table, self.postings.len() as u32);
        self.began = (self.dictionary.len(), self.postings.len());
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
        }
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
