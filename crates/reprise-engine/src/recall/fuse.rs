//! Fuse: standard scores per signal, one weighted sum, the best k of those the view admits.
//!
//! Scores are normalised by their spread in this store and for this query, so that a signal that
//! separates nothing weighs nothing (DESIGN 6: merging ranks is worse than BM25 alone).

use std::cmp::Ordering;

use super::plan::Plan;
use super::search::Signals;
use super::weights::{PRIOR_MEANING, PRIOR_RECORDS, PRIOR_WORDS, RECORDS_MIN, WEIGHTS};

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
    pub(super) parts: [Part; SIGNALS + 1],
    pub(super) logit: f32,
}

/// One signal's part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Part {
    pub(super) value: f32,
    pub(super) weight: f32,
}

/// Signals that are fused; the base rate comes on top.
const SIGNALS: usize = 6;

/// The signals' names, as explanations print them.
pub(super) const NAMES: [&str; SIGNALS + 1] = [
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
    pub(super) fn of(column: &[f32], prior: (f32, f32), counts: impl Fn(usize) -> bool) -> Self {
        let (mut count, mut sum, mut squares) = (0_u32, 0.0_f64, 0.0_f64);
        for (place, value) in column.iter().enumerate() {
            let (one, value) = if counts(place) {
                (1, f64::from(*value))
            } else {
                (0, 0.0)
            };
            count += one;
            sum += value;
            squares += value * value;
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

pub(super) fn run(plan: &Plan<'_>, signals: &Signals<'_>, fused: &mut Vec<f32>) -> Ranked {
    let fusion = Fusion::new(plan, signals);
    fusion.fuse(fused);
    let mut best = Best::new(plan.candidates);
    let mut unembedded = false;
    for ((score, traits), ordinal) in fused.iter().zip(signals.traits).zip(0_u32..) {
        unembedded |= traits.admitted && !traits.embedded;
        if traits.admitted && *score >= best.threshold() && fusion.has_evidence(ordinal) {
            best.offer(ordinal, *score);
        }
    }
    let best = best
        .into_sorted()
        .into_iter()
        .map(|ordinal| fusion.explained(ordinal))
        .collect();
    Ranked {
        best,
        considered: plan.view.considered(),
        unembedded: unembedded && plan.vector.is_some(),
    }
}

/// Everything that is the same for all records of one question.
struct Fusion<'a> {
    signals: &'a Signals<'a>,
    spreads: [Spread; SIGNALS],
    weights: [f32; SIGNALS],
    /// Weight over deviation, and what the means take away: the fused score as one dot product.
    scales: [f32; SIGNALS],
    intercept: f32,
}

impl<'a> Fusion<'a> {
    fn new(plan: &Plan<'_>, signals: &'a Signals<'a>) -> Self {
        let traits = signals.traits;
        let live = |place: usize| traits.get(place).is_some_and(|t| t.live);
        let embedded = |place: usize| traits.get(place).is_some_and(|t| t.live && t.embedded);
        let all = traits.iter().all(|t| t.live && t.embedded);
        let lexical = |column| {
            if all {
                Spread::of(column, PRIOR_WORDS, |_| true)
            } else {
                Spread::of(column, PRIOR_WORDS, live)
            }
        };
        let meaning = |column| {
            if all {
                Spread::of(column, PRIOR_MEANING, |_| true)
            } else {
                Spread::of(column, PRIOR_MEANING, embedded)
            }
        };
        // The user's words weigh more only where they stand among those of others.
        let mut by_user = traits.iter().filter(|t| t.live).map(|t| t.by_user);
        let first = by_user.next();
        let mixed = by_user.any(|other| Some(other) != first);
        let weights = [
            WEIGHTS.meaning,
            WEIGHTS.words,
            WEIGHTS.near_meaning,
            WEIGHTS.near_words,
            WEIGHTS.session,
            if mixed { WEIGHTS.own_words } else { 0.0 },
        ];
        let spreads = [
            meaning(signals.meaning),
            lexical(signals.lexical.head),
            meaning(signals.near_meaning),
            lexical(signals.lexical.around),
            lexical(signals.lexical.session),
            UNIT,
        ];
        let mut scales = weights;
        for (scale, spread) in scales.iter_mut().zip(spreads) {
            *scale /= spread.deviation;
        }
        let prior_odds = (WEIGHTS.base_records / (plan.view.live() as f32).max(RECORDS_MIN)).ln();
        Self {
            signals,
            spreads,
            weights,
            scales,
            intercept: WEIGHTS.intercept + prior_odds,
        }
    }

    /// The raw columns, in the order of [`NAMES`]; the last one is a trait, not a column.
    fn columns(&self) -> [&'a [f32]; SIGNALS - 1] {
        let signals = self.signals;
        let lexical = &signals.lexical;
        [
            signals.meaning,
            lexical.head,
            signals.near_meaning,
            lexical.around,
            lexical.session,
        ]
    }

    /// The weighted sum of the standard scores of every record, column by column.
    fn fuse(&self, out: &mut Vec<f32>) {
        let [.., own] = self.scales;
        let shift: f32 = self
            .spreads
            .iter()
            .zip(self.scales)
            .map(|(s, scale)| s.mean * scale)
            .sum();
        let traits = self.signals.traits;
        out.clear();
        out.extend(
            traits
                .iter()
                .map(|t| if t.by_user { own - shift } else { -shift }),
        );
        let columns = self
            .columns()
            .into_iter()
            .zip(self.spreads)
            .zip(self.scales);
        for (signal, ((column, spread), scale)) in columns.enumerate() {
            if column.is_empty() {
                // Without a query vector nothing is known of meaning: every record at the mean.
                for fused in out.iter_mut() {
                    *fused += spread.mean * scale;
                }
            } else if is_meaning(signal) {
                // So is a record without a vector: it speaks neither for nor against itself.
                for ((fused, value), t) in out.iter_mut().zip(column).zip(traits) {
                    *fused += if t.embedded { *value } else { spread.mean } * scale;
                }
            } else {
                for (fused, value) in out.iter_mut().zip(column) {
                    *fused += value * scale;
                }
            }
        }
    }

    /// A record that shares neither meaning nor a word with the query is no answer.
    fn has_evidence(&self, ordinal: u32) -> bool {
        let place = ordinal as usize;
        let [meaning, _, _, near_words, session] = self.columns();
        let positive = |column: &[f32]| column.get(place).is_some_and(|value| *value > 0.0);
        positive(meaning) || positive(near_words) || positive(session)
    }

    fn explained(&self, ordinal: u32) -> Scored {
        let place = ordinal as usize;
        let traits = self.signals.traits.get(place);
        let embedded = traits.is_some_and(|t| t.embedded);
        let mut parts = [Part {
            value: 1.0,
            weight: self.intercept,
        }; SIGNALS + 1];
        let own = f32::from(u8::from(traits.is_some_and(|t| t.by_user)));
        for (signal, part) in parts.iter_mut().take(SIGNALS).enumerate() {
            let raw = self
                .columns()
                .get(signal)
                .map(|column| column.get(place).copied());
            let spread = self.spreads.get(signal).copied().unwrap_or(UNIT);
            let value = match raw {
                Some(Some(value)) if embedded || !is_meaning(signal) => spread.standard(value),
                Some(_) => 0.0,
                None => own,
            };
            let weight = self.weights.get(signal).copied().unwrap_or(0.0) * WEIGHTS.slope;
            *part = Part { value, weight };
        }
        let logit = parts.iter().map(|part| part.value * part.weight).sum();
        Scored {
            ordinal,
            parts,
            logit,
        }
    }
}

/// Whether the signal with this number needs a vector.
fn is_meaning(signal: usize) -> bool {
    signal == 0 || signal == 2
}

/// The spread of a signal that is used as it is.
const UNIT: Spread = Spread {
    mean: 0.0,
    deviation: 1.0,
};

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

    /// A score below this one would not be taken.
    fn threshold(&self) -> f32 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.k => worst.score,
            _ => f32::NEG_INFINITY,
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
