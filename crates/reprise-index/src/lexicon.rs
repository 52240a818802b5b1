//! The lexical segments of a store, log-structured: new ones are small and are merged by size.
//!
//! Segments cover adjacent ranges of ordinals in order, so a term's postings over all of them are
//! ascending.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use reprise_types::{PagedBytes, SavedPart, run_parts};

use crate::purge_set::PurgeSet;
use crate::section_kinds::WORDS;
use crate::segment::{Posting, PostingList, Segment, SegmentBuilder, merge_segments};
use crate::words::spelling::SpellingMatcher;
use crate::words::{AnalyserConfig, HEAD_TERMS, Language, TermRole, for_each_term};

/// Segments of one size that are merged into one of the next size.
const MERGE_FACTOR: usize = 8;

/// Most documents of segments that are merged when they are saved, which takes some milliseconds.
const SMALL_DOCUMENTS_MAX: u32 = 4_096;
/// How many times as large as all after it a segment is that is merged with them then.
const SMALL_FACTOR: u32 = 4;

/// Prefix of exact terms, which are looked up as a whole. No word begins with it, and such terms
/// sort before all words.
const EXACT_PREFIX: char = '\u{1}';
/// Prefix of the term that names a document's language if it is not English.
const LANGUAGE_PREFIX: char = '\u{2}';
/// Longest exact term, in bytes; the rest of a longer one is ignored.
const EXACT_BYTES_MAX: usize = 512;

#[derive(Debug, Clone, Default)]
pub(crate) struct Lexicon {
    segments: Vec<Segment>,
}

impl Lexicon {
    /// Opens segments of a file; `None` if they are damaged, or not adjacent from 0 to `end`.
    pub(crate) fn from_saved(runs: Vec<PagedBytes>, end: u32) -> Option<Self> {
        let segments: Vec<Segment> = runs.into_iter().map(Segment::open).collect::<Option<_>>()?;
        let mut next = 0;
        for segment in &segments {
            if segment.first != next {
                return None;
            }
            next = segment.end;
        }
        (next == end).then_some(Self { segments })
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Adds a segment of the newest documents and merges segments when enough have one size.
    pub(crate) fn push(&mut self, segment: Segment) {
        self.segments.push(segment);
        while let Some(last) = self.segments.last() {
            let level = merge_level(last);
            let smaller = |segment: &&Segment| merge_level(segment) <= level;
            let run = self.segments.iter().rev().take_while(smaller).count();
            if run < MERGE_FACTOR {
                break;
            }
            self.merge_from(self.segments.len() - run);
        }
    }

    /// Merges the segments from a place on.
    fn merge_from(&mut self, from: usize) {
        let tail = self.segments.split_off(from);
        self.segments.push(merge_segments(&tail, |_| true));
    }

    /// Lists the segments as what is saved.
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = Box<dyn SavedPart + '_>> {
        run_parts(WORDS, self.segments.iter_mut().map(|one| &mut one.bytes))
    }

    /// Merges the newest segments, as long as they are small and none is much larger than those
    /// after it: a query looks its terms up in every one.
    pub(crate) fn merge_small_segments(&mut self) {
        let mut from = self.segments.len();
        let mut documents = 0;
        while let Some(before) = from.checked_sub(1).and_then(|at| self.segments.get(at)) {
            let count = before.document_count();
            let is_small = count + documents <= SMALL_DOCUMENTS_MAX;
            let is_merged = is_small && count <= documents * SMALL_FACTOR;
            if documents > 0 && !is_merged {
                break;
            }
            documents += count;
            from -= 1;
        }
        if self.segments.len() - from > 1 {
            self.merge_from(from);
        }
    }

    /// Replaces the first segment of each pair by the second. Purges other segments that contain a
    /// document of `gone` here: they were merged after the pairs were built.
    pub(crate) fn replace_purged(&mut self, mut pairs: Vec<(Segment, Segment)>, gone: &PurgeSet) {
        for segment in &mut self.segments {
            if let Some(at) = pairs.iter().position(|(old, _)| old.is_same(segment)) {
                *segment = pairs.swap_remove(at).1;
            } else if gone.has_any_in(segment.first..segment.end) {
                *segment = purge_segment(segment, gone);
            }
        }
    }

    /// Merges everything into one segment.
    pub(crate) fn merge_all(&mut self) {
        self.merge_from(0);
    }

    /// Returns the posting lists of `term`, one per segment.
    pub(crate) fn posting_lists(&self, term: &[u8]) -> PostingLists<'_> {
        let segments = self.segments.iter();
        PostingLists {
            lists: segments.map(|segment| segment.find(term)).collect(),
            has_several_forms: false,
        }
    }

    /// Fills `out` with up to `most` words that begin with `stem` and are longer, sorted.
    pub(crate) fn collect_longer_words(&self, stem: &[u8], most: usize, out: &mut Vec<Vec<u8>>) {
        out.clear();
        for segment in &self.segments {
            let words = segment.iter_prefix(stem).map(|(word, _)| word);
            let longer = words.filter(|word| **word != *stem);
            out.extend(longer.take(most).map(Cow::into_owned));
        }
        out.sort_unstable();
        out.dedup();
        out.truncate(most);
    }

    pub(crate) fn document_has_term(&self, ordinal: u32, term: &[u8]) -> bool {
        self.segments
            .iter()
            .find(|segment| (segment.first..segment.end).contains(&ordinal))
            .is_some_and(|segment| segment.find(term).iter().seek(ordinal))
    }

    /// Passes a spelling matcher all keys that may be similar to its word.
    pub(crate) fn collect_similar_spellings(
        &self,
        matcher: &mut SpellingMatcher,
        is_key_of: impl Fn(&str, &str) -> bool,
    ) {
        for segment in &self.segments {
            for beginning in matcher.first_letters() {
                let mut at = segment.lower_bound(beginning.as_bytes());
                while let Some(key) = segment
                    .term_at(at)
                    .filter(|key| key.starts_with(beginning.as_bytes()))
                {
                    let text = std::str::from_utf8(&key).unwrap_or_default();
                    at = match matcher.visit_key(text, &is_key_of) {
                        0 => at + 1,
                        bytes => {
                            let past = [key.get(..bytes).unwrap_or_default(), &[u8::MAX]].concat();
                            segment.lower_bound(&past).max(at + 1)
                        }
                    };
                }
            }
        }
    }

    /// Whether any document contains a term.
    pub(crate) fn has_term(&self, term: &[u8]) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| segment.find(term).counts().0 > 0)
    }

    /// Returns the languages other than English, each with its number of documents.
    pub(crate) fn count_languages(&self) -> Vec<(Language, usize)> {
        let mut found: BTreeMap<Language, usize> = BTreeMap::new();
        for (language, list) in self.segments.iter().flat_map(language_lists) {
            *found.entry(language).or_default() += list.counts().0;
        }
        found.into_iter().collect()
    }

    /// Returns the language of a document. The first lookup in a segment reads its language lists;
    /// a write adds a small segment and keeps what the others have read.
    pub(crate) fn document_language(&self, ordinal: u32) -> Language {
        let at = self.segments.partition_point(|one| one.end <= ordinal);
        let Some(segment) = self.segments.get(at) else {
            return Language::English;
        };
        let by_document = segment.languages.get_or_init(|| {
            let mut by_document = Vec::new();
            for (language, list) in language_lists(segment) {
                by_document.resize(segment.document_count() as usize, Language::English);
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

    /// Returns the documents with this exact term, ascending.
    pub(crate) fn find_exact(&self, term: &str) -> Vec<u32> {
        self.posting_lists(exact_key(term).as_bytes()).ordinals()
    }

    /// Lists the first `most` exact terms that begin with `prefix`.
    pub(crate) fn list_exact_terms(&self, prefix: &str, most: usize) -> BTreeSet<String> {
        let prefix = exact_key(prefix);
        let terms = self.segments.iter().flat_map(|segment| {
            let first = segment.iter_prefix(prefix.as_bytes()).take(most);
            first.filter_map(|(term, _)| term.get(EXACT_PREFIX.len_utf8()..).map(<[u8]>::to_vec))
        });
        let found: BTreeSet<String> = terms
            .map(|term| String::from_utf8_lossy(&term).into_owned())
            .collect();
        found.into_iter().take(most).collect()
    }

    /// Returns the first `most` exact terms that begin with `prefix`, with their documents.
    pub(crate) fn find_exact_prefix(
        &self,
        prefix: &str,
        most: usize,
    ) -> BTreeMap<String, Vec<u32>> {
        let prefix = exact_key(prefix);
        let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for segment in &self.segments {
            for (term, postings) in segment.iter_prefix(prefix.as_bytes()).take(most) {
                let Some(term) = term.get(EXACT_PREFIX.len_utf8()..) else {
                    continue;
                };
                let term = String::from_utf8_lossy(term).into_owned();
                let ordinals = postings.iter().map(|posting| posting.ordinal);
                found.entry(term).or_default().extend(ordinals);
            }
        }
        // The first of all segments are among the first of each.
        while found.len() > most {
            found.pop_last();
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
pub(crate) struct PostingLists<'a> {
    lists: Vec<PostingList<'a>>,
    /// Whether the lists are of several forms of a term.
    has_several_forms: bool,
}

impl PostingLists<'_> {
    /// Joins the lists of several forms of one term.
    pub(crate) fn union(mut forms: impl Iterator<Item = Self>) -> Self {
        let mut all = forms.next().unwrap_or_default();
        for form in forms {
            all.has_several_forms = true;
            all.lists.extend(form.lists);
        }
        all
    }

    /// Returns the number of postings; with several forms a document may be counted repeatedly.
    pub(crate) fn posting_count(&self) -> usize {
        self.lists.iter().map(|list| list.counts().0).sum()
    }

    /// Returns the number of documents, and of those with the term in their head; `None` with
    /// several forms, which may list a document twice.
    pub(crate) fn counts(&self) -> Option<(usize, usize)> {
        let counts = self.lists.iter().map(PostingList::counts);
        let all = counts.fold((0, 0), |all, own| (all.0 + own.0, all.1 + own.1));
        (!self.has_several_forms).then_some(all)
    }

    /// Returns the listed documents, ascending.
    pub(crate) fn ordinals(&self) -> Vec<u32> {
        let mut postings = Vec::new();
        self.collect_postings(|_| true, &mut postings);
        postings.iter().map(|posting| posting.ordinal).collect()
    }

    /// Removes from `documents`, ascending, those that are not listed. Reads no further than the
    /// last.
    pub(crate) fn retain_listed(&self, documents: &mut Vec<u32>) {
        let mut lists: Vec<_> = self.lists.iter().map(PostingList::iter).collect();
        documents.retain(|ordinal| lists.iter_mut().any(|list| list.seek(*ordinal)));
    }

    /// Appends the postings that `keep` accepts to `out`, ordinals ascending. With several forms of
    /// a term a document gets the counts of its most frequent form.
    pub(crate) fn collect_postings(&self, keep: impl Fn(u32) -> bool, out: &mut Vec<Posting>) {
        let start = out.len();
        out.reserve(self.posting_count());
        for list in &self.lists {
            let mut postings = list.iter();
            while let Some(block) = postings.next_block() {
                out.extend(block.iter().filter(|posting| keep(posting.ordinal)));
            }
        }
        if self.has_several_forms {
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

/// Returns the posting list of each language other than English in a segment.
fn language_lists(segment: &Segment) -> Vec<(Language, PostingList<'_>)> {
    let prefix = LANGUAGE_PREFIX.to_string();
    let lists = segment.iter_prefix(prefix.as_bytes());
    lists
        .filter_map(|(term, list)| {
            let code = String::from_utf8_lossy(&term);
            let language = Language::from_code(code.trim_start_matches(LANGUAGE_PREFIX))?;
            Some((language, list))
        })
        .collect()
}

/// Copies a segment without the documents of `gone`.
pub(crate) fn purge_segment(segment: &Segment, gone: &PurgeSet) -> Segment {
    merge_segments(std::slice::from_ref(segment), |ordinal| {
        !gone.contains(ordinal)
    })
}

fn exact_key(term: &str) -> String {
    let mut key = String::from(EXACT_PREFIX);
    key.push_str(&term[..term.floor_char_boundary(EXACT_BYTES_MAX)]);
    key
}

fn merge_level(segment: &Segment) -> u32 {
    segment.document_count().max(1).ilog(MERGE_FACTOR as u32)
}

/// Terms of documents that are pushed and not yet published.
#[derive(Debug, Default)]
pub(crate) struct PendingSegment {
    terms: BTreeMap<String, Vec<Posting>>,
    /// Number of terms in the head of each document.
    lengths: Vec<u8>,
    first: u32,
    end: u32,
}

impl PendingSegment {
    /// Creates an empty batch whose first document gets the ordinal `first`.
    pub(crate) fn new(first: u32) -> Self {
        Self {
            terms: BTreeMap::new(),
            lengths: Vec::new(),
            first,
            end: first,
        }
    }

    pub(crate) fn document_count(&self) -> u32 {
        self.end - self.first
    }

    /// Adds the next document; returns its number of terms and of head terms.
    pub(crate) fn push_text(&mut self, text: &str) -> (u32, u8) {
        let ordinal = self.end;
        self.end += 1;
        let language = Language::detect(text);
        if language != Language::English {
            self.add_term_once(format!("{LANGUAGE_PREFIX}{}", language.code()));
        }
        let mut position = 0_usize;
        let mut in_head = 0;
        for_each_term(text, &AnalyserConfig::for_text(language), |term| {
            if term.role != TermRole::Variant {
                in_head = u8::from(position < HEAD_TERMS);
            }
            position += usize::from(term.role == TermRole::Word);
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
    pub(crate) fn add_exact_term(&mut self, term: &str) {
        self.add_term_once(exact_key(term));
    }

    /// Adds a term, outside its text, to the document pushed last.
    fn add_term_once(&mut self, key: String) {
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

    /// Builds a segment of the pending documents and starts the next batch after them.
    pub(crate) fn build_segment(&mut self) -> Segment {
        let mut builder = SegmentBuilder::new(self.first, self.end);
        for (term, postings) in &self.terms {
            builder.start_term(term.as_bytes());
            for posting in postings {
                let place = (posting.ordinal - self.first) as usize;
                let length = self.lengths.get(place).copied().unwrap_or(0);
                builder.add_posting(Posting { length, ..*posting });
            }
        }
        *self = Self::new(self.end);
        builder.finish()
    }
}
