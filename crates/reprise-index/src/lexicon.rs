//! The segments of a store, log-structured: new ones are small and merged by size.
//!
//! Segments cover adjacent ranges of ordinals in order, so a term's postings over all of them are
//! ascending.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::purge::Gone;
use crate::segment::{List, Posting, Segment, SegmentBuilder, merge};
use crate::words::spelling::Near;
use crate::words::{HEAD_TERMS, Language, Reading, Role, terms};

/// Merge factor: so many segments of one size become one of the next.
const FACTOR: usize = 8;

/// Segments of a saved store, at most: each query looks its terms up in every one.
const SAVED_MAX: usize = 3;

/// Prefix of exact terms, which are looked up whole. No word begins with it, and such terms sort
/// before all words.
const EXACT: char = '\u{1}';
/// Prefix of the term that tells a document's language, where it is not English.
const LANGUAGE: char = '\u{2}';
/// Longest exact term, in bytes; the rest of a longer one is ignored.
const EXACT_BYTES_MAX: usize = 512;

#[derive(Debug, Clone, Default)]
pub(crate) struct Lexicon {
    segments: Vec<Arc<Segment>>,
}

/// Neighbours, and the one segment that was made of them.
#[derive(Debug)]
pub(crate) struct Merged {
    of: Vec<Arc<Segment>>,
    into: Arc<Segment>,
}

impl Lexicon {
    /// Segments that came from a file; `None` where they are not adjacent from 0 to `end`.
    pub(crate) fn from_segments(segments: Vec<Segment>, end: u32) -> Option<Self> {
        let mut next = 0;
        for segment in &segments {
            if segment.first != next {
                return None;
            }
            next = segment.end;
        }
        (next == end).then(|| Self {
            segments: segments.into_iter().map(Arc::new).collect(),
        })
    }

    pub(crate) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// Adds a segment of the newest documents and merges where due.
    pub(crate) fn push(&mut self, segment: Segment) {
        self.segments.push(Arc::new(segment));
        while let Some(last) = self.segments.last() {
            let level = level(last);
            let smaller = |s: &&Arc<Segment>| self::level(s) <= level;
            let run = self.segments.iter().rev().take_while(smaller).count();
            if run < FACTOR {
                break;
            }
            let tail = self.segments.split_off(self.segments.len() - run);
            self.segments.push(Arc::new(merge(&tail, |_| true)));
        }
    }

    /// Merges neighbours, those that give the smallest first, until few segments are left. Answers
    /// which, for [`Self::adopt`].
    pub(crate) fn settle(&mut self) -> Vec<Merged> {
        let mut runs: Vec<Range<usize>> = (0..self.segments.len()).map(|at| at..at + 1).collect();
        while runs.len() > SAVED_MAX {
            let documents = |at: &usize| {
                let (first, last) = (runs[at - 1].start, runs[*at].end - 1);
                self.segments[last].end - self.segments[first].first
            };
            let Some(at) = (1..runs.len()).min_by_key(documents) else {
                break;
            };
            runs[at - 1].end = runs.remove(at).end;
        }
        let mut merged = Vec::new();
        let settled = runs.into_iter().map(|run| match &self.segments[run] {
            [one] => Arc::clone(one),
            several => {
                let into = Arc::new(merge(several, |_| true));
                merged.push(Merged {
                    of: several.to_vec(),
                    into: Arc::clone(&into),
                });
                into
            }
        });
        self.segments = settled.collect();
        merged
    }

    /// Puts what a clone has merged in the place of what it was made of, where that is still here.
    pub(crate) fn adopt(&mut self, merged: Vec<Merged>) {
        for Merged { of, into } in merged {
            let here = self.segments.windows(of.len()).position(|here| {
                let mut pairs = here.iter().zip(&of);
                pairs.all(|(own, other)| Arc::ptr_eq(own, other))
            });
            if let Some(at) = here {
                drop(self.segments.splice(at..at + of.len(), [into]));
            }
        }
    }

    /// Puts the second of a pair in the place of the first, and makes others that hold a document
    /// that `gone` names anew without it: they were merged since the pairs were made.
    pub(crate) fn replace(&mut self, pairs: &[(Arc<Segment>, Arc<Segment>)], gone: &Gone) {
        for segment in &mut self.segments {
            if let Some((_, new)) = pairs.iter().find(|(old, _)| Arc::ptr_eq(old, segment)) {
                *segment = Arc::clone(new);
            } else if gone.any_in(segment.first..segment.end) {
                *segment = Arc::new(purged(segment, gone));
            }
        }
    }

    /// Rewrites everything into one segment.
    pub(crate) fn rewrite(&mut self) {
        self.segments = vec![Arc::new(merge(&self.segments, |_| true))];
    }

    /// The posting lists of `term`, one per segment.
    pub(crate) fn lists(&self, term: &[u8]) -> Lists<'_> {
        let segments = self.segments.iter();
        Lists {
            lists: segments.map(|segment| segment.find(term)).collect(),
            of_several: false,
        }
    }

    /// Fills `out` with up to `most` longer words that begin with `stem`, sorted.
    pub(crate) fn longer(&self, stem: &[u8], most: usize, out: &mut Vec<Vec<u8>>) {
        out.clear();
        for segment in &self.segments {
            let words = segment.starting_with(stem).map(|(word, _)| word);
            let longer = words.filter(|word| **word != *stem);
            out.extend(longer.take(most).map(Cow::into_owned));
        }
        out.sort_unstable();
        out.dedup();
        out.truncate(most);
    }

    pub(crate) fn holds(&self, ordinal: u32, term: &[u8]) -> bool {
        self.segments
            .iter()
            .find(|segment| (segment.first..segment.end).contains(&ordinal))
            .is_some_and(|segment| segment.find(term).iter().holds(ordinal))
    }

    /// Shows a word all keys that may be near it.
    pub(crate) fn spelled_like(&self, near: &mut Near, is_key_of: impl Fn(&str, &str) -> bool) {
        for segment in &self.segments {
            for beginning in near.beginnings() {
                let mut at = segment.place(beginning.as_bytes());
                while let Some(key) = segment
                    .key(at)
                    .filter(|key| key.starts_with(beginning.as_bytes()))
                {
                    let text = std::str::from_utf8(&key).unwrap_or_default();
                    at = match near.look(text, &is_key_of) {
                        0 => at + 1,
                        bytes => {
                            let past = [key.get(..bytes).unwrap_or_default(), &[u8::MAX]].concat();
                            segment.place(&past).max(at + 1)
                        }
                    };
                }
            }
        }
    }

    /// Whether any document holds a term.
    pub(crate) fn has(&self, term: &[u8]) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| segment.find(term).counts().0 > 0)
    }

    /// The languages beside English, each with how many documents.
    pub(crate) fn languages(&self) -> Vec<(Language, usize)> {
        let mut found: BTreeMap<Language, usize> = BTreeMap::new();
        for (language, list) in self.segments.iter().flat_map(|segment| languages(segment)) {
            *found.entry(language).or_default() += list.counts().0;
        }
        found.into_iter().collect()
    }

    /// The language of a document. The first question to a segment reads its lists; a write makes
    /// a small one, and leaves the others as they are.
    pub(crate) fn language_of(&self, ordinal: u32) -> Language {
        let at = self.segments.partition_point(|one| one.end <= ordinal);
        let Some(segment) = self.segments.get(at) else {
            return Language::English;
        };
        let by_document = segment.languages.get_or_init(|| {
            let mut by_document = Vec::new();
            for (language, list) in languages(segment) {
                by_document.resize(segment.documents() as usize, Language::English);
                for posting in list.iter() {
                    let place = (posting.ordinal - segment.first) as usize;
                    if let Some(one) = by_document.get_mut(place) {
                        *one = language;
                    }
                }
            }
            by_document
        });
        let place = ordinal.saturating_sub(segment.first) as usize;
        by_document.get(place).copied().unwrap_or(Language::English)
    }

    /// The documents with this exact term, ascending.
    pub(crate) fn exact(&self, term: &str) -> Vec<u32> {
        self.lists(exact_key(term).as_bytes()).ordinals()
    }

    /// The exact terms that begin with `prefix`, at most `most` of each segment, with their
    /// documents.
    pub(crate) fn exact_from(&self, prefix: &str, most: usize) -> BTreeMap<String, Vec<u32>> {
        let prefix = exact_key(prefix);
        let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for segment in &self.segments {
            for (term, postings) in segment.starting_with(prefix.as_bytes()).take(most) {
                let Some(term) = term.get(EXACT.len_utf8()..) else {
                    continue;
                };
                let term = String::from_utf8_lossy(term).into_owned();
                let ordinals = postings.iter().map(|posting| posting.ordinal);
                found.entry(term).or_default().extend(ordinals);
            }
        }
        found
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.segments
            .iter()
            .map(|s| s.size() + size_of::<Segment>() + s.languages.get().map_or(0, Vec::len))
            .sum()
    }
}

/// The posting lists of one term in every segment, still encoded.
#[derive(Debug, Default)]
pub(crate) struct Lists<'a> {
    lists: Vec<List<'a>>,
    /// Whether they are of several forms of a term.
    of_several: bool,
}

impl Lists<'_> {
    /// Those of several forms of one term.
    pub(crate) fn any_of(mut forms: impl Iterator<Item = Self>) -> Self {
        let mut all = forms.next().unwrap_or_default();
        for form in forms {
            all.of_several = true;
            all.lists.extend(form.lists);
        }
        all
    }

    /// Documents listed; of several forms some of them more than once.
    pub(crate) fn documents(&self) -> usize {
        self.lists.iter().map(|list| list.counts().0).sum()
    }

    /// Documents listed, and those of them with the term in their head; `None` of several forms,
    /// which may list one twice.
    pub(crate) fn counts(&self) -> Option<(usize, usize)> {
        let counts = self.lists.iter().map(List::counts);
        let all = counts.fold((0, 0), |all, own| (all.0 + own.0, all.1 + own.1));
        (!self.of_several).then_some(all)
    }

    /// The documents listed, ascending.
    pub(crate) fn ordinals(&self) -> Vec<u32> {
        let mut postings = Vec::new();
        self.gather(|_| true, &mut postings);
        postings.iter().map(|posting| posting.ordinal).collect()
    }

    /// Keeps of these documents, ascending, those that are listed. Reads no further than the last.
    pub(crate) fn retain(&self, documents: &mut Vec<u32>) {
        let mut lists: Vec<_> = self.lists.iter().map(List::iter).collect();
        documents.retain(|ordinal| lists.iter_mut().any(|list| list.holds(*ordinal)));
    }

    /// Adds every document that `keep` admits to `out`, ordinals ascending; with several forms of a
    /// term it has the term as often as the most frequent of them.
    pub(crate) fn gather(&self, keep: impl Fn(u32) -> bool, out: &mut Vec<Posting>) {
        let start = out.len();
        out.reserve(self.documents());
        for list in &self.lists {
            let mut postings = list.iter();
            while let Some(block) = postings.next_block() {
                out.extend(block.iter().filter(|posting| keep(posting.ordinal)));
            }
        }
        if self.of_several {
            let mut own = out.split_off(start);
            own.sort_by_key(|posting| posting.ordinal);
            own.dedup_by(|later, first| {
                let is_same = later.ordinal == first.ordinal;
                if is_same {
                    first.count = first.count.max(later.count);
                    first.head = first.head.max(later.head);
                }
                is_same
            });
            out.append(&mut own);
        }
    }
}

/// The documents of a segment in each language beside English.
fn languages(segment: &Segment) -> Vec<(Language, List<'_>)> {
    let prefix = LANGUAGE.to_string();
    let lists = segment.starting_with(prefix.as_bytes());
    lists
        .filter_map(|(term, list)| {
            let code = String::from_utf8_lossy(&term);
            let language = Language::of_code(code.trim_start_matches(LANGUAGE))?;
            Some((language, list))
        })
        .collect()
}

/// A segment without what is gone.
pub(crate) fn purged(segment: &Arc<Segment>, gone: &Gone) -> Segment {
    merge(std::slice::from_ref(segment), |ordinal| !gone.has(ordinal))
}

fn exact_key(term: &str) -> String {
    let mut key = String::from(EXACT);
    key.push_str(&term[..term.floor_char_boundary(EXACT_BYTES_MAX)]);
    key
}

fn level(segment: &Segment) -> u32 {
    segment.documents().max(1).ilog(FACTOR as u32)
}

/// Documents pushed and not yet published.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    terms: BTreeMap<String, Vec<Posting>>,
    /// Terms of the head of each document.
    lengths: Vec<u8>,
    first: u32,
    end: u32,
}

impl Pending {
    /// An empty batch whose first document gets the ordinal `first`.
    pub(crate) fn new(first: u32) -> Self {
        Self {
            terms: BTreeMap::new(),
            lengths: Vec::new(),
            first,
            end: first,
        }
    }

    pub(crate) fn documents(&self) -> u32 {
        self.end - self.first
    }

    /// Adds the next document; returns its number of terms and of head terms.
    pub(crate) fn push(&mut self, text: &str) -> (u32, u8) {
        let ordinal = self.end;
        self.end += 1;
        let language = Language::of(text);
        if language != Language::English {
            self.once(format!("{LANGUAGE}{}", language.code()));
        }
        let mut position = 0_usize;
        let mut in_head = 0;
        terms(text, &Reading::of_text(language), |term| {
            if term.role != Role::Form {
                in_head = u8::from(position < HEAD_TERMS);
            }
            position += usize::from(term.role == Role::Word);
            if !self.terms.contains_key(term.key) {
                self.terms.insert(term.key.to_owned(), Vec::new());
            }
            let Some(postings) = self.terms.get_mut(term.key) else {
                return;
            };
            match postings.last_mut() {
                Some(last) if last.ordinal == ordinal => {
                    last.count = last.count.saturating_add(1);
                    last.head = (last.head + in_head).min(HEAD_TERMS as u8);
                }
                _ => postings.push(Posting {
                    ordinal,
                    count: 1,
                    head: in_head,
                    length: 0,
                }),
            }
        });
        let terms = u32::try_from(position).unwrap_or(u32::MAX);
        let head = position.min(HEAD_TERMS) as u8;
        self.lengths.push(head);
        (terms, head)
    }

    /// Adds an exact term to the document pushed last.
    pub(crate) fn exact(&mut self, term: &str) {
        self.once(exact_key(term));
    }

    /// Adds a term, outside its text, to the document pushed last.
    fn once(&mut self, key: String) {
        let Some(ordinal) = self.end.checked_sub(1) else {
            return;
        };
        let postings = self.terms.entry(key).or_default();
        if postings.last().is_none_or(|last| last.ordinal != ordinal) {
            postings.push(Posting {
                ordinal,
                count: 1,
                head: 0,
                length: 0,
            });
        }
    }

    /// Turns the pending documents into a segment; the next batch begins after them.
    pub(crate) fn seal(&mut self) -> Segment {
        let mut builder = SegmentBuilder::new(self.first, self.end);
        for (term, postings) in &self.terms {
            builder.term(term.as_bytes());
            for posting in postings {
                let place = (posting.ordinal - self.first) as usize;
                let length = self.lengths.get(place).copied().unwrap_or(0);
                builder.posting(Posting { length, ..*posting });
            }
        }
        *self = Self::new(self.end);
        builder.finish()
    }
}
