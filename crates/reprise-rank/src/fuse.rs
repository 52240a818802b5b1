//! Fuses the signals into one weighted sum, selects the best candidates by it, and turns it into a
//! probability by a logit.
//!
//! Which record answers depends on how far it exceeds its rivals; whether any record answers
//! depends on how similar the best one is by itself. The score combines both: no record of a store
//! about something else gets a high one.

pub(crate) mod scored;

use crate::candidate::{MeasuredCandidate, OutcomeMeasures, SignalContext};
use crate::signals::ablation::Ablation;
use crate::signals::weights::{
    COUNT, EVIDENCE_CENTRE, EVIDENCE_FEW, EVIDENCE_RECORDS, EVIDENCE_SLOPE, INTERCEPT, RIVALRY,
    SHARPNESS, WEIGHTS,
};
use crate::signals::{SAME_TEXT, is_dialogue_signal, signal_values};
use scored::{Lift, ScoredCandidate, compare_scored, select_best};

/// Number of the best candidates that are each other's rivals: the same in a store of a thousand
/// and of a million records.
pub(crate) const RIVALS: usize = 64;
/// Number of the best turns of dialogues from which the context of a typical answer is taken.
const TURNS: usize = 16;
/// Cosine from which on a record begins to say the same as the best one.
const ALIKE_FROM: f32 = 0.7;
/// Cosine from which on a record is no rival of the best one, because both answer. Fifteen runs
/// that went the same way do not make each other unlikely.
const ALIKE_AT: f32 = 0.85;
/// Cosine of query and outcome record from which on the run was asked for something alike.
const ASKED_ALIKE: f32 = 0.2;
/// Probability that the outcome of such a run answers, if it is no more alike than that, and if the
/// same was asked.
const LIKELY_ALIKE: f32 = 0.25;
const LIKELY_SAME: f32 = 0.5;
/// Quality below which a run went badly, and the factor to the odds of its outcome record.
const WENT_BADLY: f32 = 0.5;
const BAD_RUN: f32 = 0.5;

/// Logit that a record of the asked type gains.
const ASKED_TYPE: f32 = 1.5;

/// The weights and the baseline with which all records of a question are scored.
#[derive(Debug, Clone, Copy)]
pub struct ScoreModel {
    pub(crate) weights: [f32; COUNT],
    pub(crate) base: f32,
    /// Logit that all records lose because the question is likely about something else, 0 or more.
    pub(crate) doubt: f32,
}

impl ScoreModel {
    pub fn new(ablation: &Ablation) -> Self {
        let mut weights = WEIGHTS;
        for (signal, weight) in weights.iter_mut().enumerate() {
            if !ablation.takes_part(signal) {
                *weight = 0.0;
            }
        }
        Self {
            weights,
            base: INTERCEPT,
            doubt: 0.0,
        }
    }

    pub(crate) fn weighted_sum(&self, values: &[f32; COUNT]) -> f32 {
        values.iter().zip(self.weights).map(|(v, w)| v * w).sum()
    }

    /// Sets the baseline among `rivals` for a question whose best evidence is `evidence`, after
    /// `records` records were considered. `likeness` is the cosine of two of them, by ordinal.
    pub(crate) fn compute_baseline(
        &mut self,
        rivals: &[ScoredCandidate],
        evidence: f32,
        records: u32,
        likeness: impl Fn(u32, u32) -> f32,
    ) {
        self.base = self.base_logit_among_rivals(rivals, likeness);
        self.doubt = softplus(EVIDENCE_SLOPE * (evidence_at_even_odds(records) - evidence));
    }

    /// Returns the mean contribution of the dialogue around the best turns. A record outside any
    /// dialogue has no context that could count for or against it, so it gets as much; otherwise
    /// every turn of a chat would rank above every lesson.
    fn mean_context_of_turns(&self, scored: &[ScoredCandidate]) -> f32 {
        if scored.iter().all(|one| one.dialogue >= 1.0) {
            return 0.0;
        }
        let mut turns: Vec<&ScoredCandidate> =
            scored.iter().filter(|one| one.dialogue > 0.0).collect();
        if turns.is_empty() {
            return 0.0;
        }
        if turns.len() > TURNS {
            turns.select_nth_unstable_by(TURNS - 1, |a, b| compare_scored(a, b));
            turns.truncate(TURNS);
        }
        let context = |one: &&ScoredCandidate| {
            let parts = one.values.iter().zip(self.weights).enumerate();
            let around = parts.filter(|(signal, _)| is_dialogue_signal(*signal));
            around
                .map(|(_, (value, weight))| value * weight)
                .sum::<f32>()
                / one.dialogue
        };
        turns.iter().map(context).sum::<f32>() / turns.len() as f32
    }

    /// Returns the logit that every record's own sum is added to.
    pub(crate) fn baseline(&self) -> f32 {
        self.base - self.doubt
    }

    fn base_logit_among_rivals(
        &self,
        rivals: &[ScoredCandidate],
        likeness: impl Fn(u32, u32) -> f32,
    ) -> f32 {
        let own = |one: &ScoredCandidate| {
            let same = one.values[SAME_TEXT] * self.weights[SAME_TEXT];
            (one.logit - same) / SHARPNESS
        };
        let Some(best) = rivals.iter().min_by(|a, b| compare_scored(a, b)) else {
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

/// Returns the evidence at which a question is as likely about this store as about anything else.
/// The best of many unrelated records is more similar by chance than the best of few: the largest
/// of `n` normal draws grows as `sqrt(2 ln n)` (Fisher and Tippett 1928).
fn evidence_at_even_odds(records: u32) -> f32 {
    let growth = |records: f32| (records + EVIDENCE_FEW).ln().sqrt();
    EVIDENCE_CENTRE * (growth(records as f32) / growth(EVIDENCE_RECORDS)).min(1.0)
}

/// Returns `ln(1 + e^x)`: near 0 for x far below 0, near x far above.
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// What candidates are scored by, besides their own measures.
pub struct Fusion<'a> {
    pub question: SignalContext,
    /// Number of records that were considered as answers.
    pub considered: u32,
    /// Whether the question is about a time, so that it is a question about this memory.
    pub is_of_time: bool,
    /// Number of the best candidates that are wanted.
    pub most: usize,
    /// Candidates that are ranked however low they score, ascending.
    pub always_ranked: &'a [u32],
    /// Returns the records of the run that a record belongs to, ascending.
    pub records_of_its_run: &'a dyn Fn(u32) -> Vec<u32>,
    /// Returns the cosine of two records.
    pub likeness: &'a dyn Fn(u32, u32) -> f32,
}

reprise_types::show_fields!(Fusion<'_> { question, considered, is_of_time, most, always_ranked });

impl Fusion<'_> {
    /// Scores the candidates and fills `out` with the best, and with those that are always ranked,
    /// in no order.
    pub fn fuse_candidates(
        &self,
        candidates: impl Iterator<Item = MeasuredCandidate>,
        model: &mut ScoreModel,
        out: &mut Vec<ScoredCandidate>,
    ) {
        out.clear();
        let mut evidence = 0.0_f32;
        out.extend(candidates.map(|candidate| {
            evidence = evidence.max(candidate.evidence);
            self.score_candidate(model, &candidate)
        }));
        let unknown_context = model.mean_context_of_turns(out);
        if unknown_context != 0.0 {
            for scored in out.iter_mut() {
                let outside = 1.0 - scored.dialogue;
                scored.lift(Lift::UnknownContext, outside * unknown_context);
            }
        }
        let rivals = &*select_best(out, RIVALS);
        let best = rivals.iter().min_by(|a, b| compare_scored(a, b));
        let of_one_run = best.map(|best| (self.records_of_its_run)(best.ordinal));
        let of_one_run = of_one_run.unwrap_or_default();
        let likeness = |one, other| {
            if of_one_run.binary_search(&one).is_ok() {
                return 1.0;
            }
            (self.likeness)(one, other)
        };
        model.compute_baseline(rivals, evidence, self.considered, likeness);
        if self.is_of_time {
            model.doubt = 0.0;
        }
        for scored in out.iter_mut() {
            scored.logit += model.baseline();
        }
        raise_run_outcome(&of_one_run, out);
        score_outcomes_of_alike_requests(out);
        self.keep_best(out);
    }

    fn score_candidate(&self, model: &ScoreModel, one: &MeasuredCandidate) -> ScoredCandidate {
        let values = signal_values(self.question, one);
        let logit = model.weighted_sum(&values);
        let mut scored = ScoredCandidate::new(one.ordinal, values, logit);
        scored.tie_break = one.tie_break;
        scored.dialogue = one.dialogue;
        scored.outcome = one.outcome;
        scored.lift(Lift::AskedBefore, one.asked_before);
        scored.lift(Lift::AskedType, one.asked_type * ASKED_TYPE);
        scored
    }

    /// Keeps the best candidates and those that are always ranked.
    fn keep_best(&self, scored: &mut Vec<ScoredCandidate>) {
        let best = select_best(scored, self.most).len();
        let mut count = best;
        for at in best..scored.len() {
            if self
                .always_ranked
                .binary_search(&scored[at].ordinal)
                .is_ok()
            {
                scored.swap(count, at);
                count += 1;
            }
        }
        scored.truncate(count);
    }
}

/// Raises a run's outcome record, which says what all records of the run say, to the probability
/// that any of them answers.
fn raise_run_outcome(of_run: &[u32], scored: &mut [ScoredCandidate]) {
    let is_of_it = |one: &ScoredCandidate| of_run.binary_search(&one.ordinal).is_ok();
    let own = scored.iter().filter(|one| is_of_it(one));
    let none_does: f32 = own.map(|one| 1.0 / (1.0 + one.logit.exp())).product();
    let mut own = scored.iter_mut().filter(|one| is_of_it(one));
    let left = own.find(|one| one.outcome.is_some());
    if let Some(left) = left.filter(|_| none_does > 0.0) {
        let together = ((1.0 - none_does) / none_does).ln();
        left.lift(Lift::StepsOfRun, (together - left.logit).max(0.0));
    }
}

/// Lets the outcome of a run that was asked for something alike answer, whatever the words are: a
/// run that went well more than one that did not.
fn score_outcomes_of_alike_requests(scored: &mut [ScoredCandidate]) {
    for one in scored {
        let Some(OutcomeMeasures {
            quality: Some(quality),
            cosine,
        }) = one.outcome
        else {
            continue;
        };
        let nearness = (cosine - ASKED_ALIKE) / (1.0 - ASKED_ALIKE);
        let weight = if quality < WENT_BADLY { BAD_RUN } else { 1.0 };
        let mut logit = one.logit;
        if nearness > 0.0 {
            let likely = weight * (LIKELY_ALIKE + (LIKELY_SAME - LIKELY_ALIKE) * nearness);
            logit = logit.max((likely / (1.0 - likely)).ln());
        }
        if quality < WENT_BADLY {
            logit += BAD_RUN.ln();
        }
        one.lift_to(Lift::StepsOfRun, logit);
    }
}
