//! The lexical signals of one question over every document, in one pass over its postings.
//!
//! Formulas: BM25 (Robertson and Zaragoza 2009) with k1 = 1.2, b = 0.75 and
//! `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`. N, df and lengths count the documents that are
//! alive in the view. A repeated query term counts as often as it is repeated.
//! Must never live here: how signals are weighed against each other.

use std::ops::Range;

use crate::lexicon::Lexicon;
use crate::segment::Posting;
use crate::view::View;
use crate::words::Query;
use crate::world::{Derived, K1, World};

/// A term that more than one in so many documents hold is spread over all of them at once.
const DENSE_SHARE: usize = 16;

/// Buffers of the lexical pass, to be lent again and again.
#[derive(Debug, Default)]
pub struct LexicalScratch {
    whole: Vec<f32>,
    head: Vec<f32>,
    around: Vec<f32>,
    session: Vec<f32>,
    coverage: Vec<f32>,
    terms: Vec<TermSignal>,
    /// The live postings of every term, end to end.
    postings: Vec<Posting>,
    /// Occurrences of one term in each document's head and its neighbours' heads.
    around_counts: Vec<u8>,
    around_touched: Vec<u32>,
    session_counts: Vec<u32>,
    session_touched: Vec<u32>,
    session_scores: Vec<f32>,
}

/// What is known of one query term in this view.
#[derive(Debug, Clone, PartialEq)]
pub struct TermSignal {
    /// Living documents that hold it.
    pub documents: u32,
    /// Living documents that hold it in their head.
    pub head_documents: u32,
    /// Its weight over whole texts; 0 where no living document holds it.
    pub idf: f32,
    /// Its weight over heads; 0 where no living head holds it.
    pub head_idf: f32,
    /// Where its postings end in the scratch.
    postings_end: usize,
}

/// One value per document and signal; 0 for documents that are not alive in the view. The view's
/// filter is not applied here: ask [`View::admits`].
#[derive(Debug, Clone, Copy)]
pub struct LexicalSignals<'a> {
    /// BM25 over the whole text.
    pub whole: &'a [f32],
    /// BM25 over the head (the first [`crate::HEAD_TERMS`] terms).
    pub head: &'a [f32],
    /// BM25 over the heads of the document and of its two neighbours in the session.
    pub around: &'a [f32],
    /// BM25 of the document's session as one text; 0 where it has no session.
    pub session: &'a [f32],
    /// IDF-weighted share of the query's distinct known terms that its head holds, 0..1.
    pub coverage: &'a [f32],
    /// Each query term, in the query's order.
    pub terms: &'a [TermSignal],
    postings: &'a [Posting],
}

impl LexicalSignals<'_> {
    /// The words of the query that the document holds, as the query wrote them, in its order.
    #[must_use]
    pub fn matched_words(&self, ordinal: u32, query: &Query) -> Vec<String> {
        let mut start = 0;
        let mut words = Vec::new();
        for (term, signal) in query.terms.iter().zip(self.terms) {
            let postings = self
                .postings
                .get(start..signal.postings_end)
                .unwrap_or_default();
            if postings
                .binary_search_by_key(&ordinal, |p| p.ordinal)
                .is_ok()
            {
                words.push(term.surface.clone());
            }
            start = signal.postings_end;
        }
        words
    }
}

/// See the head comment.
pub(crate) fn lexical<'s>(
    lexicon: &Lexicon,
    query: &Query,
    view: &View,
    scratch: &'s mut LexicalScratch,
) -> LexicalSignals<'s> {
    let world = view.world();
    let derived = world.derived();
    scratch.reset(world.len(), derived.session_norms.len());
    scratch.gather(lexicon, query, world, derived);
    let known: f32 = scratch.terms.iter().map(|term| term.head_idf).sum();
    let share = if known > 0.0 { 1.0 / known } else { 0.0 };
    let mut start = 0;
    for (position, term) in query.terms.iter().enumerate() {
        let signal = scratch.terms[position].clone();
        let times = term.count as f32;
        let range = start..signal.postings_end;
        start = signal.postings_end;
        scratch.score_texts(range.clone(), derived, &signal, times, share);
        if signal.head_documents as usize > world.len() / DENSE_SHARE {
            scratch.score_around_everywhere(range, derived, world.live_count(), times);
        } else {
            scratch.score_around(range, derived, world.live_count(), times);
        }
        scratch.score_sessions(derived, times);
    }
    if scratch.session_scores.iter().any(|score| *score > 0.0) {
        scratch.spread_sessions(derived);
    }
    LexicalSignals {
        whole: &scratch.whole,
        head: &scratch.head,
        around: &scratch.around,
        session: &scratch.session,
        coverage: &scratch.coverage,
        terms: &scratch.terms,
        postings: &scratch.postings,
    }
}

impl LexicalScratch {
    fn reset(&mut self, documents: usize, sessions: usize) {
        for signal in [
            &mut self.whole,
            &mut self.head,
            &mut self.around,
            &mut self.session,
            &mut self.coverage,
        ] {
            zeroed(signal, documents);
        }
        zeroed(&mut self.around_counts, documents);
        zeroed(&mut self.session_counts, sessions);
        zeroed(&mut self.session_scores, sessions);
        self.terms.clear();
        self.postings.clear();
    }

    /// Collects the living postings of every term, and with them N, df and idf.
    fn gather(&mut self, lexicon: &Lexicon, query: &Query, world: &World, derived: &Derived) {
        let all_live = world.live_count() as usize == world.len();
        let live = |ordinal: u32| {
            derived
                .live
                .get(ordinal as usize / 64)
                .is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
        };
        for term in &query.terms {
            let start = self.postings.len();
            let stem = term.stem.as_bytes();
            if all_live {
                lexicon.gather(stem, |_| true, &mut self.postings);
            } else {
                lexicon.gather(stem, live, &mut self.postings);
            }
            let found = &self.postings[start..];
            let documents = found.len() as u32;
            let head_documents = found.iter().filter(|p| p.head > 0).count() as u32;
            self.terms.push(TermSignal {
                documents,
                head_documents,
                idf: idf(world.live_count(), documents),
                head_idf: idf(world.live_count(), head_documents),
                postings_end: self.postings.len(),
            });
        }
    }

    /// `whole`, `head` and `coverage`; counts the term for `session`.
    fn score_texts(
        &mut self,
        range: Range<usize>,
        derived: &Derived,
        signal: &TermSignal,
        times: f32,
        share: f32,
    ) {
        let whole_weight = signal.idf * times * (K1 + 1.0);
        let head_weight = signal.head_idf * times * (K1 + 1.0);
        let covered = signal.head_idf * share;
        self.session_touched.clear();
        for posting in &self.postings[range] {
            let at = posting.ordinal as usize;
            let Some(hot) = derived.hot.get(at) else {
                continue;
            };
            let count = f32::from(posting.count);
            self.whole[at] += whole_weight * count / (count + hot.whole_norm);
            if posting.head > 0 {
                let count = f32::from(posting.head);
                self.head[at] += head_weight * count / (count + hot.head_norm);
                self.coverage[at] += covered;
            }
            if let Some(count) = self.session_counts.get_mut(hot.session as usize) {
                if *count == 0 {
                    self.session_touched.push(hot.session);
                }
                *count += u32::from(posting.count);
            }
        }
    }

    /// `around`: a head's occurrences count for the document and for both its neighbours.
    fn score_around(&mut self, range: Range<usize>, derived: &Derived, documents: u32, times: f32) {
        self.around_touched.clear();
        for posting in self.postings[range].iter().filter(|p| p.head > 0) {
            let Some(hot) = derived.hot.get(posting.ordinal as usize) else {
                continue;
            };
            for near in [hot.previous, posting.ordinal, hot.next] {
                // "None" lies beyond the end. At most three heads of 64 terms each: 192 fits.
                if let Some(count) = self.around_counts.get_mut(near as usize) {
                    if *count == 0 {
                        self.around_touched.push(near);
                    }
                    *count += posting.head as u8;
                }
            }
        }
        let df = self.around_touched.len() as u32;
        let weight = idf(documents, df) * times * (K1 + 1.0);
        for &ordinal in &self.around_touched {
            let at = ordinal as usize;
            let count = f32::from(std::mem::take(&mut self.around_counts[at]));
            self.around[at] += weight * count / (count + derived.around_norms[at]);
        }
    }

    /// The same for a term that many documents hold: every document is visited, without a branch.
    fn score_around_everywhere(
        &mut self,
        range: Range<usize>,
        derived: &Derived,
        documents: u32,
        times: f32,
    ) {
        for posting in &self.postings[range] {
            let Some(hot) = derived.hot.get(posting.ordinal as usize) else {
                continue;
            };
            for near in [hot.previous, posting.ordinal, hot.next] {
                if let Some(count) = self.around_counts.get_mut(near as usize) {
                    *count += posting.head as u8;
                }
            }
        }
        let df = self
            .around_counts
            .iter()
            .filter(|count| **count > 0)
            .count() as u32;
        let weight = idf(documents, df) * times * (K1 + 1.0);
        let counts = self.around_counts.iter().zip(&derived.around_norms);
        for (score, (count, norm)) in self.around.iter_mut().zip(counts) {
            let count = f32::from(*count);
            *score += weight * count / (count + norm);
        }
        self.around_counts.fill(0);
    }

    /// Scores each counted session as one document.
    fn score_sessions(&mut self, derived: &Derived, times: f32) {
        let df = self.session_touched.len() as u32;
        let weight = idf(derived.sessions, df) * times * (K1 + 1.0);
        for &session in &self.session_touched {
            let at = session as usize;
            let count = std::mem::take(&mut self.session_counts[at]) as f32;
            self.session_scores[at] += weight * count / (count + derived.session_norms[at]);
        }
    }

    /// Gives each living document the score of its session.
    fn spread_sessions(&mut self, derived: &Derived) {
        for (at, (score, hot)) in self.session.iter_mut().zip(&derived.hot).enumerate() {
            if let Some(session) = self.session_scores.get(hot.session as usize)
                && derived.live[at / 64] >> (at % 64) & 1 == 1
            {
                *score = *session;
            }
        }
    }
}

fn zeroed<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) {
    buffer.clear();
    buffer.resize(len, T::default());
}

fn idf(documents: u32, holding: u32) -> f32 {
    if holding == 0 {
        return 0.0;
    }
    let (n, df) = (f64::from(documents), f64::from(holding));
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
}

#[cfg(test)]
mod tests;
