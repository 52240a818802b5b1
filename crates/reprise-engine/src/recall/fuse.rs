//! Fuse: one weighted sum of the signals, the best of the candidates by it, and the logit that
//! makes it a probability.
//!
//! Which record answers is a question of how far it stands out from its rivals; whether any does is
//! one of how near the best comes on its own. The score holds both: no record of a store that is
//! about something else gets one.

use std::cmp::Ordering;

use reprise_types::MemorySource;

use super::ablation::Ablation;
use super::kinds;
use super::leads::Leads;
use super::scene::{Candidate, Scene};
use super::signals::{COUNT, SAME_TEXT, has_evidence, is_of_dialogue, values};
use super::weights::{
    EVIDENCE_CENTRE, EVIDENCE_FEW, EVIDENCE_RECORDS, EVIDENCE_SLOPE, INTERCEPT, RIVALRY, SHARPNESS,
    WEIGHTS,
};
use crate::names::of_run;
use crate::snapshot::Snapshot;

/// The best candidates, who are each other's rivals: the same number in a store of a thousand,
/// where every record is one, and of a million.
pub(super) const RIVALS: usize = 64;
/// The best turns of dialogues, whose context is what a typical answer's would be.
const TURNS: usize = 16;
/// From this cosine on a record begins to tell the same as the best, ...
const ALIKE_FROM: f32 = 0.7;
/// ... and from this one on it is no rival: both answer. Fifteen runs that went the same way do not
/// make each other unlikely.
const ALIKE_AT: f32 = 0.85;

/// One record's score in parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub(super) ordinal: u32,
    pub(super) values: [f32; COUNT],
    /// Logit of the probability that it answers.
    pub(super) logit: f32,
    /// What of it the records add that belong to the run which it tells of.
    pub(super) steps: f32,
    /// Of two with the same logit the higher one comes first.
    pub(super) before: u32,
    /// How far it is a turn of a dialogue, 0..1.
    pub(super) dialogue: f32,
}

/// What every record of a question starts from and is weighed with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fusion {
    pub(super) weights: [f32; COUNT],
    pub(super) base: f32,
    /// Logit that a record gains as far as it is in no dialogue, see [`Fusion::context_of_turns`].
    pub(super) unknown_context: f32,
    /// Logit that the question loses for being likely about something else, 0 or more.
    pub(super) doubt: f32,
}

impl Fusion {
    pub(super) fn new(ablation: &Ablation) -> Self {
        let mut weights = WEIGHTS;
        for (signal, weight) in weights.iter_mut().enumerate() {
            if !ablation.takes_part(signal) {
                *weight = 0.0;
            }
        }
        Self {
            weights,
            base: INTERCEPT,
            unknown_context: 0.0,
            doubt: 0.0,
        }
    }

    pub(super) fn sum(&self, values: &[f32; COUNT]) -> f32 {
        values.iter().zip(self.weights).map(|(v, w)| v * w).sum()
    }

    /// Takes up what every record starts from among `rivals`, where the best evidence is
    /// `evidence` and so many records were considered. `likeness` is the cosine of two of them, by
    /// ordinal.
    pub(super) fn weigh(
        &mut self,
        rivals: &[Scored],
        evidence: f32,
        records: u32,
        likeness: impl Fn(u32, u32) -> f32,
    ) {
        self.base = self.base(rivals, likeness);
        self.doubt = softplus(EVIDENCE_SLOPE * (evidence_centre(records) - evidence));
    }

    /// What the dialogue around the best turns adds to each, in the mean. A record outside any
    /// dialogue has nothing around it that could speak for or against it, so it gets as much:
    /// without that every turn of a chat would stand above every lesson.
    fn context_of_turns(&self, scored: &[Scored]) -> f32 {
        if scored.iter().all(|one| one.dialogue >= 1.0) {
            return 0.0;
        }
        let mut turns: Vec<&Scored> = scored.iter().filter(|one| one.dialogue > 0.0).collect();
        if turns.is_empty() {
            return 0.0;
        }
        if turns.len() > TURNS {
            turns.select_nth_unstable_by(TURNS - 1, |a, b| order(a, b));
            turns.truncate(TURNS);
        }
        let context = |one: &&Scored| {
            let parts = one.values.iter().zip(self.weights).enumerate();
            let around = parts.filter(|(signal, _)| is_of_dialogue(*signal));
            around
                .map(|(_, (value, weight))| value * weight)
                .sum::<f32>()
                / one.dialogue
        };
        turns.iter().map(context).sum::<f32>() / turns.len() as f32
    }

    /// What every record's own sum is added to.
    pub(super) fn start(&self) -> f32 {
        self.base - self.doubt
    }

    fn base(&self, rivals: &[Scored], likeness: impl Fn(u32, u32) -> f32) -> f32 {
        let own = |one: &Scored| {
            let same = one.values[SAME_TEXT] * self.weights[SAME_TEXT];
            (one.logit - same) / SHARPNESS
        };
        let Some(best) = rivals.iter().min_by(|a, b| order(a, b)) else {
            return INTERCEPT;
        };
        let most = own(best);
        let odds: f32 = rivals
            .iter()
            .map(|one| {
                let alike = if one.ordinal == best.ordinal {
                    0.0
                } else {
                    likeness(one.ordinal, best.ordinal)
                };
                let apart = ((ALIKE_AT - alike) / (ALIKE_AT - ALIKE_FROM)).clamp(0.0, 1.0);
                apart * (own(one) - most).exp()
            })
            .sum();
        INTERCEPT - RIVALRY * (most + odds.ln())
    }
}

/// The best of many unrelated records comes nearer by chance than the best of few: the largest of
/// `n` normal draws grows as `sqrt(2 ln n)` (Fisher and Tippett 1928).
fn evidence_centre(records: u32) -> f32 {
    let growth = |records: f32| (records + EVIDENCE_FEW).ln().sqrt();
    EVIDENCE_CENTRE * (growth(records as f32) / growth(EVIDENCE_RECORDS)).min(1.0)
}

/// `ln(1 + e^x)`: nothing far below 0, x far above.
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// Fills `out` with the `most` best candidates and with those of `kept` (ascending) that are not
/// among them, best first.
pub(super) fn run(
    scene: &Scene<'_>,
    candidates: &[Candidate],
    leads: &Leads,
    fusion: &mut Fusion,
    (most, kept): (usize, &[u32]),
    out: &mut Vec<Scored>,
) {
    out.clear();
    let stays = |ordinal: u32| kept.binary_search(&ordinal).is_ok();
    let with_evidence = candidates
        .iter()
        .filter(|c| has_evidence(scene, c) || stays(c.ordinal) || leads.gain(c.ordinal) > 0.0);
    let mut evidence = 0.0_f32;
    out.extend(with_evidence.map(|candidate| {
        evidence = evidence.max(candidate.evidence);
        let values = values(scene, candidate);
        Scored {
            ordinal: candidate.ordinal,
            values,
            logit: fusion.sum(&values)
                + leads.gain(candidate.ordinal)
                + kinds::gain(scene.plan, candidate.ordinal),
            steps: 0.0,
            before: if scene.snapshot.first_told {
                u32::MAX - candidate.ordinal
            } else {
                candidate.ordinal
            },
            dialogue: candidate.dialogue,
        }
    }));
    fusion.unknown_context = fusion.context_of_turns(out);
    if fusion.unknown_context != 0.0 {
        for scored in out.iter_mut() {
            scored.logit += (1.0 - scored.dialogue) * fusion.unknown_context;
        }
    }
    if out.len() > RIVALS {
        out.select_nth_unstable_by(RIVALS - 1, order);
    }
    let rivals = &out[..out.len().min(RIVALS)];
    let considered = scene.plan.view.considered() - leads.count;
    let best = rivals.iter().min_by(|a, b| order(a, b));
    let of_one_run = best.map(|best| of_its_run(scene.snapshot, best.ordinal));
    let of_one_run = of_one_run.unwrap_or_default();
    let likeness = |one, other| {
        if of_one_run.binary_search(&one).is_ok() {
            return 1.0;
        }
        scene.likeness(one, other)
    };
    fusion.weigh(rivals, evidence, considered, likeness);
    if scene.plan.when.is_filter {
        // What is asked of a time is asked of this store.
        fusion.doubt = 0.0;
    }
    for scored in out.iter_mut() {
        scored.logit += fusion.start();
    }
    tell_together(scene.snapshot, &of_one_run, out);
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

/// What a run left tells all that its own records tell: it answers where any of them does.
fn tell_together(snapshot: &Snapshot, of_run: &[u32], scored: &mut [Scored]) {
    let is_of_it = |one: &Scored| of_run.binary_search(&one.ordinal).is_ok();
    let own = scored.iter().filter(|one| is_of_it(one));
    let none_does: f32 = own.map(|one| 1.0 / (1.0 + one.logit.exp())).product();
    let is_left = |one: &Scored| {
        let doc = snapshot.index.doc(one.ordinal);
        doc.is_some_and(|doc| doc.source == MemorySource::TrajectoryOutcome)
    };
    let mut own = scored.iter_mut().filter(|one| is_of_it(one));
    if let Some(left) = own.find(|one| is_left(one)).filter(|_| none_does > 0.0) {
        let together = ((1.0 - none_does) / none_does).ln();
        left.steps = (together - left.logit).max(0.0);
        left.logit += left.steps;
    }
}

/// The records of the run that a record belongs to, ascending: they tell of one event, and none of
/// them makes another unlikely.
fn of_its_run(snapshot: &Snapshot, ordinal: u32) -> Vec<u32> {
    let doc = snapshot.index.doc(ordinal);
    if doc.is_none_or(|doc| doc.source == MemorySource::UserInput) {
        return Vec::new();
    }
    let record = snapshot.reader.record(ordinal).ok();
    let run = record.and_then(|record| record.body.provenance.run_id);
    run.map(|run| snapshot.index.holding(&of_run(&run)))
        .unwrap_or_default()
}

/// Best first, ties by [`Scored::before`].
pub(super) fn order(a: &Scored, b: &Scored) -> Ordering {
    b.logit.total_cmp(&a.logit).then(b.before.cmp(&a.before))
}
