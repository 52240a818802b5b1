//! Scores a window of documents at a time, from all terms in one order: the sums do not depend on
//! the window, to the bit.

use std::cmp::Ordering;

use super::{Cell, Hit, LexicalScratch, SignalSpread, TAIL_COUNT};
use crate::segment::Posting;
use crate::snapshot::set_bits;
use crate::view::View;
use crate::words::HEAD_TERMS;
use crate::world::{K1_HEAD, World};

/// Documents scored together.
pub(super) const WINDOW: usize = 4096;
/// Documents of one entry in the table of where hits begin.
pub(super) const STRIDE: usize = 256;

/// What one term, or a longer word, adds to the scores of documents.
#[derive(Debug)]
pub(super) struct Part {
    weight: f32,
    norms: [f32; HEAD_TERMS + 1],
    /// Most terms occur once in a head: that score for every head length.
    once: [f32; HEAD_TERMS + 1],
    /// Postings that are left.
    postings: (usize, usize),
    bit: u32,
    /// Of a longer word: the bit of its term among those held, and that of its position.
    longer: Option<(u32, u32)>,
}

impl Part {
    /// The next document.
    fn next(&self, postings: &[Posting]) -> Option<u32> {
        let (next, end) = self.postings;
        (next < end).then(|| postings.get(next).map(|posting| posting.ordinal))?
    }

    /// Adds the documents of the window that begins with `begin`.
    fn add(&mut self, postings: &[Posting], begin: u32, cells: &mut [Cell], touched: &mut [u64]) {
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
                1 => self.once[length],
                head => self.weight * f32::from(head) / (f32::from(head) + self.norms[length]),
            };
            cell.terms |= self.bit;
            *word |= 1 << (at % 64);
        }
    }
}

impl LexicalScratch {
    /// Scores every document that holds a term, window by window: fills the hits and the best `k`
    /// admitted ones, and returns the spread of all scores.
    pub(super) fn score(&mut self, view: &View, k: usize) -> SignalSpread {
        let world = view.world();
        let leads = world.live > world.counted;
        let (mut sum, mut squares) = (0.0_f64, 0.0_f64);
        self.best.clear(k);
        let mut parts = self.parts(world);
        let Self {
            cells,
            touched,
            hits,
            postings,
            best,
            ..
        } = self;
        while let Some(first) = parts.iter().filter_map(|part| part.next(postings)).min() {
            let begin = first / WINDOW as u32 * WINDOW as u32;
            for part in &mut parts {
                part.add(postings, begin, cells, touched);
            }
            for at in set_bits(touched) {
                let Some(cell) = cells.get_mut(at as usize).map(std::mem::take) else {
                    continue;
                };
                let (ordinal, score) = (begin + at, cell.score);
                hits.push(Hit {
                    ordinal,
                    score,
                    terms: cell.terms,
                });
                if score <= 0.0 {
                    continue;
                }
                if !leads || world.counts(ordinal) {
                    sum += f64::from(score);
                    squares += f64::from(score) * f64::from(score);
                }
                if best.wants(score) && view.admits(ordinal) {
                    best.offer(ordinal, score);
                }
            }
            touched.fill(0);
        }
        self.index_hits(world.len());
        SignalSpread::of(sum, squares, world.counted)
    }

    /// What adds to the scores of documents, in the order in which it is added: the terms, then the
    /// longer words.
    fn parts(&self, world: &World) -> Vec<Part> {
        let norms = world.head_norms();
        let of = |idf: f32, postings: (usize, usize)| Part {
            weight: idf * (K1_HEAD + 1.0),
            norms,
            once: norms.map(|norm| idf * (K1_HEAD + 1.0) / (1.0 + norm)),
            postings,
            bit: 0,
            longer: None,
        };
        let terms = self.terms.iter().map(|term| Part {
            bit: term.bit.map_or(0, |bit| 1 << bit),
            ..of(term.idf, term.postings)
        });
        let longer = self.longer.iter().filter_map(|longer| {
            let own = self.terms.get(longer.position as usize)?;
            let is_left_out = own.idf > 0.0 && own.bit.is_none();
            (!is_left_out).then(|| Part {
                longer: Some((own.bit.map_or(0, |bit| 1 << bit), 1 << longer.position)),
                ..of(longer.weight, longer.postings)
            })
        });
        terms.chain(longer).collect()
    }

    /// Fills the table of where the hits of each [`STRIDE`] begin.
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

/// The highest scores offered since [`Self::clear`], ties by newer.
#[derive(Debug, Default)]
pub(super) struct Top {
    k: usize,
    kept: Vec<(u32, f32)>,
    bar: f32,
}

impl Top {
    /// Clears it and sets `k`.
    pub(super) fn clear(&mut self, k: usize) {
        self.k = k;
        self.kept.clear();
        self.bar = f32::NEG_INFINITY;
    }

    /// Whether a score could still be among the best.
    pub(super) fn wants(&self, score: f32) -> bool {
        score >= self.bar && self.k > 0
    }

    /// Adds a score that [`Self::wants`] accepted.
    pub(super) fn offer(&mut self, ordinal: u32, score: f32) {
        self.kept.push((ordinal, score));
        // Buffers up to `2 k` scores before cutting back to the best `k`, which raises the
        // threshold.
        if self.kept.len() >= 2 * self.k {
            self.thin_out();
        }
    }

    /// The best, best first.
    pub(super) fn sorted(&mut self) -> &[(u32, f32)] {
        self.thin_out();
        self.kept.sort_unstable_by(|a, b| compare(*a, *b));
        &self.kept
    }

    fn thin_out(&mut self) {
        if self.kept.len() > self.k && self.k > 0 {
            let (_, worst, _) = self
                .kept
                .select_nth_unstable_by(self.k - 1, |a, b| compare(*a, *b));
            self.bar = worst.1;
            self.kept.truncate(self.k);
        }
    }
}

/// Best first, ties by newer.
type Offer = (u32, f32);

fn compare(a: Offer, b: Offer) -> Ordering {
    b.1.total_cmp(&a.1).then(b.0.cmp(&a.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_order_and_newer_wins_a_tie() {
        let mut top = Top::default();
        for (k, expected) in [(0, vec![]), (2, vec![7, 3]), (9, vec![7, 3, 6, 0, 5])] {
            top.clear(k);
            for (ordinal, score) in [(0, 0.1), (3, 0.9), (5, 0.0), (6, 0.5), (7, 0.9)] {
                if top.wants(score) {
                    top.offer(ordinal, score);
                }
            }
            let found: Vec<u32> = top.sorted().iter().map(|best| best.0).collect();
            assert_eq!(found, expected, "k = {k}");
        }
    }

    #[test]
    fn a_long_stream_gives_what_sorting_gives() {
        let scores: Vec<(u32, f32)> = (0..1000_u32)
            .map(|n| (n, (n * 7919 % 101) as f32))
            .collect();
        let mut top = Top::default();
        top.clear(10);
        for &(ordinal, score) in &scores {
            if top.wants(score) {
                top.offer(ordinal, score);
            }
        }
        let mut sorted = scores;
        sorted.sort_unstable_by(|a, b| compare(*a, *b));
        assert_eq!(top.sorted(), &sorted[..10]);
    }
}
