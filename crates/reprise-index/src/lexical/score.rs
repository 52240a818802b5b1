//! Scores a window of documents at a time, adding all terms in one fixed order: the sums are the
//! same to the bit whatever the window.

use std::cmp::Ordering;

use super::{DocHit, LexicalScratch, TAIL_COUNT, WindowCell};
use crate::bits::iter_set_bits;
use crate::live_set::{K1_HEAD, LiveSet};
use crate::segment::Posting;
use crate::spread::Spread;
use crate::view::IndexView;
use crate::words::HEAD_TERMS;

/// Documents that are scored together.
pub(super) const WINDOW: usize = 4096;
/// Documents per entry of [`LexicalScratch`]'s table of first hits.
pub(super) const STRIDE: usize = 256;

/// What one term, or a longer word, adds to the scores of documents.
#[derive(Debug)]
pub(super) struct TermContribution {
    weight: f32,
    norms: [f32; HEAD_TERMS + 1],
    /// The score of a single occurrence, which is the usual case, for every head length.
    single_score: [f32; HEAD_TERMS + 1],
    /// Range of the remaining postings.
    postings: (usize, usize),
    bit: u32,
    /// For a longer word: the mask bit of its term, and the bit of the term's position.
    longer: Option<(u32, u32)>,
}

impl TermContribution {
    /// Returns the next document.
    fn next_ordinal(&self, postings: &[Posting]) -> Option<u32> {
        let (next, end) = self.postings;
        (next < end).then(|| postings.get(next).map(|posting| posting.ordinal))?
    }

    /// Adds the scores of the documents in the window that begins at `begin`.
    fn add_to_window(
        &mut self,
        postings: &[Posting],
        begin: u32,
        cells: &mut [WindowCell],
        touched: &mut [u64],
    ) {
        let own = postings.get(self.postings.0..self.postings.1);
        for posting in own.unwrap_or_default() {
            let at = posting.ordinal.saturating_sub(begin) as usize;
            let (Some(cell), Some(word)) = (cells.get_mut(at), touched.get_mut(at / 64)) else {
                break;
            };
            self.postings.0 += 1;
            let length = usize::from(posting.length).min(HEAD_TERMS);
            if let Some((held, longer)) = self.longer {
                if posting.head == 0 || cell.terms & held != 0 || cell.longer & longer != 0 {
                    continue;
                }
                cell.longer |= longer;
            }
            cell.score += match posting.head {
                0 => self.weight * TAIL_COUNT / (TAIL_COUNT + self.norms[length]),
                1 => self.single_score[length],
                head => self.weight * f32::from(head) / (f32::from(head) + self.norms[length]),
            };
            cell.terms |= self.bit;
            *word |= 1 << (at % 64);
        }
    }
}

impl LexicalScratch {
    /// Scores every document that has a term, window by window: fills the hits and the best `k` of
    /// the view, and returns the spread of all scores.
    pub(super) fn score_windows(&mut self, view: &IndexView, k: usize) -> Spread {
        let live_set = view.live_set();
        let has_bare_prompts = live_set.live > live_set.statistics_documents;
        let (mut sum, mut squares) = (0.0_f64, 0.0_f64);
        self.best.clear(k);
        let mut contributions = self.contributions(live_set);
        let Self {
            cells,
            touched,
            hits,
            postings,
            best,
            ..
        } = self;
        while let Some(first) = contributions
            .iter()
            .filter_map(|contribution| contribution.next_ordinal(postings))
            .min()
        {
            let begin = first / WINDOW as u32 * WINDOW as u32;
            for contribution in &mut contributions {
                contribution.add_to_window(postings, begin, cells, touched);
            }
            for at in iter_set_bits(touched) {
                let Some(cell) = cells.get_mut(at as usize).map(std::mem::take) else {
                    continue;
                };
                let (ordinal, score) = (begin + at, cell.score);
                hits.push(DocHit {
                    ordinal,
                    score,
                    terms: cell.terms,
                });
                if score <= 0.0 {
                    continue;
                }
                if !has_bare_prompts || live_set.is_in_statistics(ordinal) {
                    sum += f64::from(score);
                    squares += f64::from(score) * f64::from(score);
                }
                if best.can_enter(score) && view.contains(ordinal) {
                    best.insert(ordinal, score);
                }
            }
            touched.fill(0);
        }
        self.index_hits(live_set.len());
        Spread::from_sums(sum, squares, live_set.statistics_documents)
    }

    /// Returns the contributions to the scores in the order in which they are added: the terms,
    /// then the longer words.
    fn contributions(&self, live_set: &LiveSet) -> Vec<TermContribution> {
        let norms = live_set.head_norms();
        let of = |idf: f32, postings: (usize, usize)| TermContribution {
            weight: idf * (K1_HEAD + 1.0),
            norms,
            single_score: norms.map(|norm| idf * (K1_HEAD + 1.0) / (1.0 + norm)),
            postings,
            bit: 0,
            longer: None,
        };
        let terms = self.terms.iter().map(|term| TermContribution {
            bit: term.bit.map_or(0, |bit| 1 << bit),
            ..of(term.idf, term.postings)
        });
        let longer = self.longer.iter().filter_map(|longer| {
            let own = self.terms.get(longer.position as usize)?;
            let is_left_out = own.idf > 0.0 && own.bit.is_none();
            (!is_left_out).then(|| TermContribution {
                longer: Some((own.bit.map_or(0, |bit| 1 << bit), 1 << longer.position)),
                ..of(longer.weight, longer.postings)
            })
        });
        terms.chain(longer).collect()
    }

    /// Fills the table of the first hit of each [`STRIDE`].
    fn index_hits(&mut self, documents: usize) {
        self.starts.clear();
        let mut at = 0;
        for stride in 0..=documents.div_ceil(STRIDE) {
            let first = (stride * STRIDE) as u32;
            let before = self.hits[at..].iter().take_while(|hit| hit.ordinal < first);
            at += before.count();
            self.starts.push(at as u32);
        }
    }
}

/// The highest scores inserted since [`Self::clear`], ties by newer.
#[derive(Debug, Default)]
pub(super) struct TopScores {
    k: usize,
    scores: Vec<(u32, f32)>,
    threshold: f32,
}

impl TopScores {
    /// Removes all scores and sets `k`.
    pub(super) fn clear(&mut self, k: usize) {
        self.k = k;
        self.scores.clear();
        self.threshold = f32::NEG_INFINITY;
    }

    /// Whether a score could still be among the best.
    pub(super) fn can_enter(&self, score: f32) -> bool {
        score >= self.threshold && self.k > 0
    }

    /// Adds a score for which [`Self::can_enter`] returned true.
    pub(super) fn insert(&mut self, ordinal: u32, score: f32) {
        self.scores.push((ordinal, score));
        // Up to `2 k` scores are buffered before only the best `k` are kept, which raises the
        // threshold.
        if self.scores.len() >= 2 * self.k {
            self.truncate_to_best();
        }
    }

    /// Sorts and returns the best `k` scores, best first.
    pub(super) fn sort_best(&mut self) -> &[(u32, f32)] {
        self.truncate_to_best();
        self.scores
            .sort_unstable_by(|a, b| compare_best_first(*a, *b));
        &self.scores
    }

    fn truncate_to_best(&mut self) {
        if self.scores.len() > self.k && self.k > 0 {
            let (_, worst, _) = self
                .scores
                .select_nth_unstable_by(self.k - 1, |a, b| compare_best_first(*a, *b));
            self.threshold = worst.1;
            self.scores.truncate(self.k);
        }
    }
}

/// A document's ordinal and score.
type ScoredDoc = (u32, f32);

fn compare_best_first(a: ScoredDoc, b: ScoredDoc) -> Ordering {
    b.1.total_cmp(&a.1).then(b.0.cmp(&a.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_order_and_newer_wins_a_tie() {
        let mut top = TopScores::default();
        for (k, expected) in [(0, vec![]), (2, vec![7, 3]), (9, vec![7, 3, 6, 0, 5])] {
            top.clear(k);
            for (ordinal, score) in [(0, 0.1), (3, 0.9), (5, 0.0), (6, 0.5), (7, 0.9)] {
                if top.can_enter(score) {
                    top.insert(ordinal, score);
                }
            }
            let found: Vec<u32> = top.sort_best().iter().map(|best| best.0).collect();
            assert_eq!(found, expected, "k = {k}");
        }
    }

    #[test]
    fn a_long_stream_gives_what_sorting_gives() {
        let scores: Vec<(u32, f32)> = (0..1000_u32)
            .map(|n| (n, (n * 7919 % 101) as f32))
            .collect();
        let mut top = TopScores::default();
        top.clear(10);
        for &(ordinal, score) in &scores {
            if top.can_enter(score) {
                top.insert(ordinal, score);
            }
        }
        let mut sorted = scores;
        sorted.sort_unstable_by(|a, b| compare_best_first(*a, *b));
        assert_eq!(top.sort_best(), &sorted[..10]);
    }
}
