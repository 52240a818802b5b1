//! Fuse: one weighted sum of the signals, the best of the candidates by it.

use std::cmp::Ordering;

use super::ablation::Ablation;
use super::scene::{Candidate, Scene};
use super::signals::{COUNT, has_evidence, values};
use super::weights::{BASE_RECORDS, INTERCEPT, RECORDS_MIN, WEIGHTS};

/// One record's score in parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub(super) ordinal: u32,
    pub(super) values: [f32; COUNT],
    pub(super) logit: f32,
}

/// What every record of a question starts from and is weighed with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fusion {
    pub(super) weights: [f32; COUNT],
    pub(super) base: f32,
}

impl Fusion {
    pub(super) fn new(live: u32, ablation: &Ablation) -> Self {
        let mut weights = WEIGHTS;
        for (signal, weight) in weights.iter_mut().enumerate() {
            if !ablation.takes_part(signal) {
                *weight = 0.0;
            }
        }
        let prior_odds = (BASE_RECORDS / (live as f32).max(RECORDS_MIN)).ln();
        Self {
            weights,
            base: INTERCEPT + prior_odds,
        }
    }

    fn logit(&self, values: &[f32; COUNT]) -> f32 {
        let weighted = values.iter().zip(self.weights).map(|(v, w)| v * w);
        self.base + weighted.sum::<f32>()
    }
}

/// Fills `out` with the `most` best candidates and with those of `kept` (ascending) that are not
/// among them, best first, ties by newer.
pub(super) fn run(
    scene: &Scene<'_>,
    candidates: &[Candidate],
    fusion: &Fusion,
    most: usize,
    kept: &[u32],
    out: &mut Vec<Scored>,
) {
    out.clear();
    let stays = |ordinal: u32| kept.binary_search(&ordinal).is_ok();
    let with_evidence = candidates
        .iter()
        .filter(|c| has_evidence(scene, c) || stays(c.ordinal));
    out.extend(with_evidence.map(|candidate| {
        let values = values(scene, candidate);
        Scored {
            ordinal: candidate.ordinal,
            values,
            logit: fusion.logit(&values),
        }
    }));
    if out.len() > most && most > 0 {
        out.select_nth_unstable_by(most - 1, order);
    }
    let best = most.min(out.len());
    let mut count = best;
    for at in best..out.len() {
        if stays(out[at].ordinal) {
            out.swap(count, at);
            count += 1;
        }
    }
    out.truncate(count);
    out.sort_unstable_by(order);
}

/// Best first, ties by newer.
pub(super) fn order(a: &Scored, b: &Scored) -> Ordering {
    b.logit.total_cmp(&a.logit).then(b.ordinal.cmp(&a.ordinal))
}
