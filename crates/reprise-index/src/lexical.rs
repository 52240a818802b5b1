//! The lexical signals of one query, in one pass over the postings of its terms.
//!
//! Formulas: BM25 (Robertson and Zaragoza 2009) with k1 = 0.4, b = 0.75 and `idf = ln(1 + (N - df +
//! 0.5) / (df + 0.5))` over the heads of the documents that are live in the view, and with k1 =
//! 1.2 over their sessions as whole texts. A repeated query term counts once. A document that has
//! only a longer word that begins with the term ("config" and "configuration", "sock" and
//! "sockstat") gets a part of its score. Documents are scored a window at a time, whose scores stay
//! in the CPU's cache; documents with a score are collected in a sparse table.

mod score;

use score::{STRIDE, TopScores, WINDOW};

use crate::lexicon::{Lexicon, PostingLists};
use crate::live_set::{K1, LiveSet};
use crate::segment::Posting;
use crate::spread::Spread;
use crate::view::IndexView;
use crate::words::{Query, QueryTerm};

/// Bits of a document's term mask: the query's rarest terms.
pub const MASK_TERMS: usize = 32;
/// Occurrences that a term counts for if it is only in the tail, after the head. It is less than
/// one, so that a long text is found by any of its words but not preferred for its length.
pub(crate) const TAIL_COUNT: f32 = 0.3;
/// Number of live documents above which store-specific stop words apply (see [`COMMON_ONE_IN`]).
const COMMON_LIVE_MIN: u32 = 4096;
/// A word in more than one of so many live documents is a stop word of that store: it is skipped if
/// the query has any other word, and its postings are not read.
const COMMON_ONE_IN: u32 = 8;
/// Fewest letters of a term that also matches longer words that begin with it.
/// The weight of such a match is [`PREFIX_WEIGHT`].
const PREFIX_LETTERS_MIN: usize = 4;
/// Most longer words that a term matches, in alphabetical order.
const PREFIX_WORDS_MAX: usize = 16;
/// Weight of a longer word, to be multiplied by the ratio of the term's length to the word's.
const PREFIX_WEIGHT: f32 = 0.6;
/// Pseudo-documents without any query word, added when words are weighted against each other, so
/// that in a store of three records a word of one record does not count as common.
const UNSEEN_DOCUMENTS: u32 = 100;
/// Reusable buffers of the lexical pass.
#[derive(Debug, Default)]
pub struct LexicalScratch {
    /// Scores of the documents of a window; zeroed between windows.
    cells: Vec<WindowCell>,
    /// One bit for each document of the window that has a term.
    touched: Vec<u64>,
    /// The documents that have a term, ascending; `starts` is the first hit of each [`STRIDE`].
    hits: Vec<DocHit>,
    starts: Vec<u32>,
    postings: Vec<Posting>,
    terms: Vec<TermSignal>,
    longer: Vec<LongerWord>,
    order: Vec<u32>,
    session_counts: Vec<u32>,
    session_scores: Vec<f32>,
    sessions_counted: Vec<u32>,
    sessions_scored: Vec<u32>,
    best: TopScores,
}

#[derive(Debug, Clone, Copy, Default)]
struct WindowCell {
    score: f32,
    /// Mask of the query's rarest terms that it has.
    terms: u32,
    /// Mask of the query's first terms that it has as the prefix of a longer word.
    longer: u32,
}

/// A document that has a query term.
#[derive(Debug, Clone, Copy)]
struct DocHit {
    ordinal: u32,
    score: f32,
    terms: u32,
}

/// A longer word with a query term as prefix.
#[derive(Debug, Clone, Copy)]
struct LongerWord {
    /// The term's position in the query.
    position: u32,
    weight: f32,
    /// Range of its postings in the scratch.
    postings: (usize, usize),
}

/// Statistics of one query term in this view.
#[derive(Debug, Clone, PartialEq)]
pub struct TermSignal {
    /// Live documents, except bare prompts, that have it; 0 for a store-specific stop word.
    pub documents: u32,
    /// Its idf over heads, or over whole texts if no live head has it; 0 if none of these
    /// documents has it.
    pub idf: f32,
    /// Its weight relative to the query's other terms, unknown ones included; 0 for a stop word.
    pub weight: f32,
    /// Its bit in [`LexicalSignals::term_mask`]; `None` for all but the [`MASK_TERMS`] rarest.
    pub bit: Option<u8>,
    /// Range of its postings in the scratch.
    postings: (usize, usize),
}

impl TermSignal {
    /// Creates the signal of a term that is skipped.
    fn skipped(at: usize) -> Self {
        Self {
            documents: 0,
            idf: 0.0,
            weight: 0.0,
            bit: None,
            postings: (at, at),
        }
    }
}

/// The lexical scores by document and by session; 0 for documents that are not live in the view.
#[derive(Debug, Clone, Copy)]
pub struct LexicalSignals<'a> {
    hits: &'a [DocHit],
    starts: &'a [u32],
    session_scores: &'a [f32],
    /// The admitted documents with the highest scores, best first, ties by newer.
    pub best: &'a [(u32, f32)],
    /// Spread of the documents' scores.
    pub score_spread: Spread,
    /// Spread of the sessions' scores over their documents.
    pub session_score_spread: Spread,
    /// Each query term, in the query's order.
    pub terms: &'a [TermSignal],
}

impl LexicalSignals<'_> {
    /// Returns BM25 over the document's head (the first [`crate::HEAD_TERMS`] terms).
    pub fn score(&self, ordinal: u32) -> f32 {
        self.find_hit(ordinal).map_or(0.0, |hit| hit.score)
    }

    fn find_hit(&self, ordinal: u32) -> Option<&DocHit> {
        let stride = ordinal as usize / STRIDE;
        let start = |at: usize| self.starts.get(at).map(|start| *start as usize);
        let rows = self.hits.get(start(stride)?..start(stride + 1)?)?;
        let at = rows
            .binary_search_by_key(&ordinal, |hit| hit.ordinal)
            .ok()?;
        rows.get(at)
    }

    /// Returns BM25 of a session as one text.
    pub fn session_score(&self, session: Option<u32>) -> f32 {
        let score = session.and_then(|session| self.session_scores.get(session as usize));
        score.copied().unwrap_or(0.0)
    }

    /// Returns the mask of the query's rarest terms that the document has.
    pub fn term_mask(&self, ordinal: u32) -> u32 {
        self.find_hit(ordinal).map_or(0, |hit| hit.terms)
    }

    /// Returns the idf-weighted share, 0..1, of the query's rarest known terms that `terms` names.
    pub fn coverage(&self, terms: u32) -> f32 {
        let (mut covered, mut known) = (0.0, 0.0);
        for term in self.terms {
            if let Some(bit) = term.bit {
                known += term.idf;
                covered += if terms >> bit & 1 == 1 { term.idf } else { 0.0 };
            }
        }
        if known > 0.0 { covered / known } else { 0.0 }
    }

    /// Returns the weighted share, 0..1, of the query's terms in `terms`. Words that no document
    /// has count as missed; words beyond the rarest [`MASK_TERMS`] do not count.
    pub fn weighted_coverage(&self, terms: u32) -> f32 {
        let (mut covered, mut all) = (0.0, 0.0);
        for term in self.terms {
            match term.bit {
                Some(bit) if terms >> bit & 1 == 1 => {
                    covered += term.weight;
                    all += term.weight;
                }
                Some(_) => all += term.weight,
                None if term.idf == 0.0 => all += term.weight,
                None => {}
            }
        }
        if all > 0.0 { covered / all } else { 0.0 }
    }

    /// Returns the query's rarest words that the document has, as written in the query, in its
    /// order.
    pub fn matched_words(&self, ordinal: u32, query: &Query) -> Vec<String> {
        let held = self.term_mask(ordinal);
        let terms = query.terms.iter().zip(self.terms);
        terms
            .filter(|(_, signal)| signal.bit.is_some_and(|bit| held >> bit & 1 == 1))
            .map(|(term, _)| term.surface.clone())
            .collect()
    }
}

/// Scores all documents and sessions for a query. `k` bounds [`LexicalSignals::best`].
pub(crate) fn score_lexical<'s>(
    lexicon: &Lexicon,
    query: &Query,
    view: &IndexView,
    k: usize,
    scratch: &'s mut LexicalScratch,
) -> LexicalSignals<'s> {
    let live_set = view.live_set();
    scratch.reset(live_set);
    scratch.collect_postings(lexicon, query, live_set);
    scratch.assign_mask_bits();
    for position in 0..query.terms.len() {
        scratch.add_term_to_session_scores(position, live_set);
    }
    let words = scratch.score_windows(view, k);
    let session_words = scratch.session_spread(live_set);
    LexicalSignals {
        hits: &scratch.hits,
        starts: &scratch.starts,
        session_scores: &scratch.session_scores,
        best: scratch.best.sort_best(),
        score_spread: words,
        session_score_spread: session_words,
        terms: &scratch.terms,
    }
}

impl LexicalScratch {
    /// Clears what the last query left and grows the buffers.
    fn reset(&mut self, live_set: &LiveSet) {
        for session in self.sessions_scored.drain(..) {
            self.session_scores[session as usize] = 0.0;
        }
        self.cells.resize(WINDOW, WindowCell::default());
        self.touched.resize(WINDOW / 64, 0);
        self.session_counts.resize(live_set.session_count(), 0);
        self.session_scores.resize(live_set.session_count(), 0.0);
        self.hits.clear();
        self.terms.clear();
        self.longer.clear();
        self.postings.clear();
    }

    /// Collects the live postings, df and idf of every term.
    fn collect_postings(&mut self, lexicon: &Lexicon, query: &Query, live_set: &LiveSet) {
        let all_live = live_set.live as usize == live_set.len();
        let has_bare_prompts = live_set.live > live_set.statistics_documents;
        let documents_max = match live_set.statistics_documents {
            ..=COMMON_LIVE_MIN => usize::MAX,
            many => (many / COMMON_ONE_IN) as usize,
        };
        let lists = |term: &QueryTerm| {
            PostingLists::union(term.keys().map(|key| lexicon.posting_lists(key)))
        };
        let terms = query.terms.iter();
        let found: Vec<(&QueryTerm, PostingLists<'_>)> =
            terms.map(|term| (term, lists(term))).collect();
        let some_are_rare = found
            .iter()
            .any(|(_, lists)| lists.posting_count() <= documents_max);
        let live = live_set.statistics_documents;
        for (position, (term, lists)) in (0_u32..).zip(found) {
            let start = self.postings.len();
            let stem = term.stem.as_bytes();
            if some_are_rare && lists.posting_count() > documents_max {
                self.terms.push(TermSignal::skipped(start));
                continue;
            }
            let counts = |p: &&Posting| !has_bare_prompts || live_set.is_in_statistics(p.ordinal);
            let keep = |ordinal| all_live || live_set.is_live(ordinal);
            lists.collect_postings(keep, &mut self.postings);
            let known = lists.counts().filter(|_| all_live && !has_bare_prompts);
            let (documents, heads) = known.unwrap_or_else(|| {
                let found = self.postings[start..].iter().filter(counts);
                (found.clone().count(), found.filter(|p| p.head > 0).count())
            });
            let (documents, heads) = (documents as u32, heads as u32);
            let holding = if heads > 0 { heads } else { documents };
            let own = idf(live, holding);
            self.terms.push(TermSignal {
                documents,
                idf: own,
                weight: smoothed_idf(live, holding),
                bit: None,
                postings: (start, self.postings.len()),
            });
            if can_match_prefix(stem) && position < MASK_TERMS as u32 {
                let weight_max = if holding > 0 { own } else { f32::MAX };
                self.collect_longer_words(
                    lexicon,
                    live_set,
                    (position, term),
                    (documents_max, weight_max),
                );
            }
        }
        // Of several longer words only the one with the highest weight counts.
        self.longer.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    }

    /// Collects the longer words that begin with a term, and the words that a compound joins, if at
    /// most `documents_max` documents have them.
    fn collect_longer_words(
        &mut self,
        lexicon: &Lexicon,
        live_set: &LiveSet,
        (position, term): (u32, &QueryTerm),
        (documents_max, weight_max): (usize, f32),
    ) {
        let (stem, mut words) = (term.stem.as_bytes(), Vec::new());
        let has_bare_prompts = live_set.live > live_set.statistics_documents;
        lexicon.collect_longer_words(stem, PREFIX_WORDS_MAX, &mut words);
        words.extend(
            term.compound_parts
                .iter()
                .map(|part| part.clone().into_bytes()),
        );
        for word in &words {
            let lists = lexicon.posting_lists(word);
            if lists.posting_count() > documents_max {
                continue;
            }
            let start = self.postings.len();
            lists.collect_postings(|ordinal| live_set.is_live(ordinal), &mut self.postings);
            let found = self.postings[start..].iter();
            let statistics_documents =
                found.filter(|p| !has_bare_prompts || live_set.is_in_statistics(p.ordinal));
            let heads = statistics_documents.filter(|p| p.head > 0).count() as u32;
            let (short, long) = (stem.len().min(word.len()), stem.len().max(word.len()));
            let share = short as f32 / long as f32;
            self.longer.push(LongerWord {
                position,
                weight: PREFIX_WEIGHT
                    * share
                    * idf(live_set.statistics_documents, heads).min(weight_max),
                postings: (start, self.postings.len()),
            });
        }
    }

    /// Assigns mask bits to the rarest terms that any live document has; terms of bare prompts
    /// alone come last, ties by position.
    fn assign_mask_bits(&mut self) {
        self.order.clear();
        let known = (0_u32..)
            .zip(&self.terms)
            .filter(|(_, term)| term.postings.0 < term.postings.1);
        self.order.extend(known.map(|(position, _)| position));
        let terms = &mut self.terms;
        self.order.sort_by(|a, b| {
            let (a, b) = (&terms[*a as usize], &terms[*b as usize]);
            b.idf.total_cmp(&a.idf)
        });
        for (bit, position) in (0_u8..).zip(self.order.iter().take(MASK_TERMS)) {
            terms[*position as usize].bit = Some(bit);
        }
    }

    /// Adds one term to the scores of the sessions of its documents.
    fn add_term_to_session_scores(&mut self, position: usize, live_set: &LiveSet) {
        if live_set.session_count() == 0 {
            return;
        }
        let term = &self.terms[position];
        self.sessions_counted.clear();
        let (mut first, mut rows) = (0, &[][..]);
        for posting in &self.postings[term.postings.0..term.postings.1] {
            let at = |first| posting.ordinal.wrapping_sub(first) as usize;
            if at(first) >= rows.len() {
                (first, rows) = (
                    posting.ordinal,
                    live_set
                        .lexical_rows
                        .contiguous_from(posting.ordinal as usize),
                );
            }
            let row = rows.get(at(first));
            let Some(row) = row.filter(|row| !row.bare_prompt) else {
                continue;
            };
            if let Some(count) = self.session_counts.get_mut(row.session as usize) {
                push_session_if(&mut self.sessions_counted, row.session, *count == 0);
                *count += u32::from(posting.count);
            }
        }
        self.score_sessions(live_set);
    }

    /// Scores each counted session as one document.
    fn score_sessions(&mut self, live_set: &LiveSet) {
        let df = self.sessions_counted.len() as u32;
        let weight = idf(live_set.live_sessions, df) * (K1 + 1.0);
        for &session in &self.sessions_counted {
            let at = session as usize;
            let count = std::mem::take(&mut self.session_counts[at]) as f32;
            let score = &mut self.session_scores[at];
            push_session_if(&mut self.sessions_scored, session, *score == 0.0);
            *score += weight * count / (count + live_set.session_norm(session));
        }
    }

    fn session_spread(&self, live_set: &LiveSet) -> Spread {
        let (mut sum, mut squares) = (0.0_f64, 0.0_f64);
        for &session in &self.sessions_scored {
            let score = f64::from(self.session_scores[session as usize]);
            let documents = f64::from(live_set.session_document_count(session));
            sum += score * documents;
            squares += score * score * documents;
        }
        Spread::from_sums(sum, squares, live_set.statistics_documents)
    }
}

/// Adds a session if `adds`, without a branch: no processor predicts which sessions are new, and a
/// wrong prediction delays the loads that follow.
fn push_session_if(sessions: &mut Vec<u32>, session: u32, adds: bool) {
    sessions.push(session);
    sessions.truncate(sessions.len() - usize::from(!adds));
}

/// Whether prefix matching applies to a term: not to numbers.
fn can_match_prefix(stem: &[u8]) -> bool {
    let letters = String::from_utf8_lossy(stem).chars().count();
    letters >= PREFIX_LETTERS_MIN && !stem.iter().all(u8::is_ascii_digit)
}

/// Returns the idf smoothed by [`UNSEEN_DOCUMENTS`], which is defined for unknown words, too.
pub(crate) fn smoothed_idf(documents: u32, holding: u32) -> f32 {
    let (n, df) = (
        f64::from(documents) + f64::from(UNSEEN_DOCUMENTS),
        f64::from(holding),
    );
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
}

pub(crate) fn idf(documents: u32, holding: u32) -> f32 {
    if holding == 0 {
        return 0.0;
    }
    let (n, df) = (f64::from(documents), f64::from(holding));
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
}

#[cfg(test)]
mod tests;
