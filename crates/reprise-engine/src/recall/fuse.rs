//! Fuse: standard scores per signal, one weighted sum, the best k of those the view admits.
//!
//! Scores are normalised by their spread in this store and for this query, so that a signal that
//! separates nothing weighs nothing (DESIGN 6: merging ranks is worse than BM25 alone).

use std::cmp::Ordering;

use reprise_types::MemorySource;

use super::plan::Plan;
use super::search::Signals;
use super::weights::{PRIOR_MEANING, PRIOR_RECORDS, PRIOR_WORDS, RECORDS_MIN, WEIGHTS};
use crate::snapshot::Snapshot;

/// The chosen records, best first, with the parts of their scores.
#[derive(Debug)]
pub(super) struct Ranked {
    pub(super) best: Vec<Scored>,
    /// Live records that the filter admitted.
    pub(super) considered: u32,
    /// Some of them have no vector yet.
    pub(super) unembedded: bool,
}

/// One record's score in parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub(super) ordinal: u32,
    /// Value, weight and contribution to the logit of each signal, in the order of [`NAMES`].
    pub(super) parts: [Part; 7],
    pub(super) logit: f32,
}

/// One signal's part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Part {
    pub(super) value: f32,
    pub(super) weight: f32,
}

/// The signals' names, as explanations print them.
pub(super) const NAMES: [&str; 7] = [
    "meaning",
    "words",
    "near_meaning",
    "near_words",
    "session",
    "own_words",
    "base_rate",
];

/// Mean and deviation of a signal among the live records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    mean: f32,
    deviation: f32,
}

impl Spread {
    /// Sample mean and deviation of what `counts`, steadied by [`PRIOR_RECORDS`] pseudo-records.
    pub(super) fn of(column: &[f32], prior: (f32, f32), counts: impl Fn(u32) -> bool) -> Self {
        let (mut count, mut sum, mut squares) = (0_u32, 0.0_f64, 0.0_f64);
        for (ordinal, value) in (0_u32..).zip(column) {
            if counts(ordinal) {
                count += 1;
                sum += f64::from(*value);
                squares += f64::from(*value) * f64::from(*value);
            }
        }
        let (prior_mean, prior_deviation) = (f64::from(prior.0), f64::from(prior.1));
        let prior_square = prior_mean.mul_add(prior_mean, prior_deviation * prior_deviation);
        let total = f64::from(count) + PRIOR_RECORDS;
        let mean = PRIOR_RECORDS.mul_add(prior_mean, sum) / total;
        let square = PRIOR_RECORDS.mul_add(prior_square, squares) / total;
        let variance = mean.mul_add(-mean, square).max(f64::EPSILON);
        Self {
            mean: mean as f32,
            deviation: variance.sqrt() as f32,
        }
    }

    pub(super) fn standard(self, value: f32) -> f32 {
        (value - self.mean) / self.deviation
    }
}

pub(super) fn run(snapshot: &Snapshot, plan: &Plan<'_>, signals: &Signals<'_>) -> Ranked {
    let fusion = Fusion::new(snapshot, plan, *signals);
    let mut best = Best::new(plan.candidates);
    let mut unembedded = false;
    for ordinal in plan.view.ordinals() {
        unembedded |= !snapshot.index.has_vector(ordinal);
        if fusion.has_evidence(ordinal) {
            best.offer(ordinal, fusion.fused(ordinal));
        }
    }
    let best = best
        .into_sorted()
        .into_iter()
        .map(|ordinal| fusion.explained(ordinal))
        .collect();
    let considered = plan.view.considered();
    Ranked {
        best,
        considered,
        unembedded: unembedded && plan.vector.is_some(),
    }
}

/// Everything that is the same for all records of one question.
struct Fusion<'a> {
    snapshot: &'a Snapshot,
    signals: Signals<'a>,
    with_vector: bool,
    meaning: Spread,
    near_meaning: Spread,
    words: Spread,
    near_words: Spread,
    session: Spread,
    own_words: f32,
    intercept: f32,
}

impl<'a> Fusion<'a> {
    fn new(snapshot: &'a Snapshot, plan: &Plan<'_>, signals: Signals<'a>) -> Self {
        let view = &plan.view;
        let lexical = |column: &[f32]| Spread::of(column, PRIOR_WORDS, |o| view.is_live(o));
        let embedded = |column: &[f32]| {
            let counts = |o| view.is_live(o) && snapshot.index.has_vector(o);
            Spread::of(column, PRIOR_MEANING, counts)
        };
        let prior_odds = (WEIGHTS.base_records / (view.live() as f32).max(RECORDS_MIN)).ln();
        Self {
            meaning: embedded(signals.meaning),
            near_meaning: embedded(signals.near_meaning),
            words: lexical(signals.lexical.head),
            near_words: lexical(signals.lexical.around),
            session: lexical(signals.lexical.session),
            own_words: if is_mixed(snapshot, plan) {
                WEIGHTS.own_words
            } else {
                0.0
            },
            intercept: WEIGHTS.intercept + prior_odds,
            with_vector: plan.vector.is_some(),
            snapshot,
            signals,
        }
    }

    /// A record that shares neither meaning nor a word with the query is no answer.
    fn has_evidence(&self, ordinal: u32) -> bool {
        value(self.signals.meaning, ordinal) > 0.0
            || value(self.signals.lexical.around, ordinal) > 0.0
            || value(self.signals.lexical.session, ordinal) > 0.0
    }

    fn parts(&self, ordinal: u32) -> [Part; 6] {
        let lexical = &self.signals.lexical;
        let vector = self.with_vector && self.snapshot.index.has_vector(ordinal);
        let meaning = |spread: Spread, column: &[f32], weight: f32| {
            let value = if vector {
                spread.standard(value(column, ordinal))
            } else {
                0.0
            };
            Part { value, weight }
        };
        let words = |spread: Spread, column: &[f32], weight: f32| Part {
            value: spread.standard(value(column, ordinal)),
            weight,
        };
        let own = self.snapshot.index.source(ordinal) == Some(MemorySource::UserInput);
        [
            meaning(self.meaning, self.signals.meaning, WEIGHTS.meaning),
            words(self.words, lexical.head, WEIGHTS.words),
            meaning(
                self.near_meaning,
                self.signals.near_meaning,
                WEIGHTS.near_meaning,
            ),
            words(self.near_words, lexical.around, WEIGHTS.near_words),
            words(self.session, lexical.session, WEIGHTS.session),
            Part {
                value: f32::from(u8::from(own)),
                weight: self.own_words,
            },
        ]
    }

    fn fused(&self, ordinal: u32) -> f32 {
        self.parts(ordinal)
            .iter()
            .map(|part| part.value * part.weight)
            .sum()
    }

    fn explained(&self, ordinal: u32) -> Scored {
        let mut parts = [Part {
            value: 1.0,
            weight: self.intercept,
        }; 7];
        for (slot, part) in parts.iter_mut().zip(self.parts(ordinal)) {
            *slot = Part {
                value: part.value,
                weight: part.weight * WEIGHTS.slope,
            };
        }
        let logit = parts.iter().map(|part| part.value * part.weight).sum();
        Scored {
            ordinal,
            parts,
            logit,
        }
    }
}

/// Whether the user's words stand among those of others: only then do they weigh more.
fn is_mixed(snapshot: &Snapshot, plan: &Plan<'_>) -> bool {
    let live = (0..snapshot.index.len() as u32).filter(|ordinal| plan.view.is_live(*ordinal));
    let mut sources = live.filter_map(|ordinal| snapshot.index.source(ordinal));
    let first = sources
        .next()
        .map(|source| source == MemorySource::UserInput);
    sources.any(|source| Some(source == MemorySource::UserInput) != first)
}

fn value(column: &[f32], ordinal: u32) -> f32 {
    column.get(ordinal as usize).copied().unwrap_or(0.0)
}

/// The best k by score, ties by newer record; a binary heap with the worst on top.
pub(super) struct Best {
    k: usize,
    heap: std::collections::BinaryHeap<Offer>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Offer {
    score: f32,
    ordinal: u32,
}

impl Eq for Offer {}

impl Ord for Offer {
    /// Greater means worse, so that the heap's top is the one to drop.
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(other.ordinal.cmp(&self.ordinal))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Best {
    pub(super) fn new(k: usize) -> Self {
        Self {
            k,
            heap: std::collections::BinaryHeap::with_capacity(k.saturating_add(1)),
        }
    }

    pub(super) fn offer(&mut self, ordinal: u32, score: f32) {
        let offer = Offer { score, ordinal };
        if self.heap.len() < self.k {
            self.heap.push(offer);
        } else if self.heap.peek().is_some_and(|worst| offer < *worst) {
            self.heap.pop();
            self.heap.push(offer);
        }
    }

    pub(super) fn into_sorted(self) -> Vec<u32> {
        self.heap
            .into_sorted_vec()
            .into_iter()
            .map(|offer| offer.ordinal)
            .collect()
    }
}
