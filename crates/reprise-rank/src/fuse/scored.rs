//! The score of a candidate in parts: its signals, and the lifts that are added to them.

use std::cmp::Ordering;

use crate::candidate::OutcomeMeasures;
use crate::signals::weights::COUNT;

/// What moves a candidate's score in addition to its weighted signals, in the order of an
/// explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lift {
    /// It is in no dialogue, so no context counts for or against it.
    UnknownContext,
    /// The other records of its run, or how the run went.
    StepsOfRun,
    /// It followed an earlier question that asked the same, or a prompt about it.
    AskedBefore,
    /// It is of the type that is plainly asked for.
    AskedType,
    /// It has what the question names.
    Named,
    /// It contradicts an older record among the best.
    Newer,
}

impl Lift {
    const COUNT: usize = 6;
    const ALL: [Self; Self::COUNT] = [
        Self::UnknownContext,
        Self::StepsOfRun,
        Self::AskedBefore,
        Self::AskedType,
        Self::Named,
        Self::Newer,
    ];

    /// Returns its name in an explanation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UnknownContext => "unknown_context",
            Self::StepsOfRun => "steps_of_run",
            Self::AskedBefore => "asked_before",
            Self::AskedType => "asked_type",
            Self::Named => "named",
            Self::Newer => "newer",
        }
    }
}

/// One candidate's score in parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredCandidate {
    pub ordinal: u32,
    pub(crate) values: [f32; COUNT],
    /// Logit of the probability that the record answers.
    pub(crate) logit: f32,
    /// Parts of the logit in addition to the weighted signals and the baseline.
    lifts: [f32; Lift::COUNT],
    /// Share of what the question names that it has, 0..1; `None` if nothing speaks for it so.
    pub(crate) named: Option<f32>,
    /// Breaks ties: of two records with the same logit, the one with the higher value comes first.
    pub(crate) tie_break: u32,
    /// How far the record is a turn of a dialogue, 0..1.
    pub(crate) dialogue: f32,
    /// What it tells of a run, if it is the outcome of one.
    pub outcome: Option<OutcomeMeasures>,
}

impl ScoredCandidate {
    /// Creates a candidate with the score of its signals.
    pub(crate) fn new(ordinal: u32, values: [f32; COUNT], logit: f32) -> Self {
        Self {
            ordinal,
            values,
            logit,
            lifts: [0.0; Lift::COUNT],
            named: None,
            tie_break: ordinal,
            dialogue: 0.0,
            outcome: None,
        }
    }

    /// Adds to the score.
    pub(crate) fn lift(&mut self, by: Lift, amount: f32) {
        self.lifts[by as usize] += amount;
        self.logit += amount;
    }

    /// Moves the score to this logit.
    pub(crate) fn lift_to(&mut self, by: Lift, logit: f32) {
        self.lifts[by as usize] += logit - self.logit;
        self.logit = logit;
    }

    /// Returns each lift with its value and its weight.
    pub(crate) fn lifts(&self) -> impl Iterator<Item = (Lift, f32, f32)> {
        let counted = Lift::ALL.into_iter().zip(self.lifts);
        counted.filter_map(|(by, amount)| {
            let value = match by {
                Lift::UnknownContext => 1.0 - self.dialogue,
                Lift::StepsOfRun | Lift::AskedBefore => amount,
                Lift::AskedType | Lift::Newer => 1.0,
                Lift::Named => self.named.filter(|share| *share > 0.0).unwrap_or(1.0),
            };
            let counts = amount != 0.0 || (by == Lift::Named && self.named.is_some());
            counts.then(|| (by, value, amount / value))
        })
    }
}

/// Compares candidates by score, the best first; ties by [`ScoredCandidate::tie_break`].
pub(crate) fn compare_scored(a: &ScoredCandidate, b: &ScoredCandidate) -> Ordering {
    b.logit
        .total_cmp(&a.logit)
        .then(b.tie_break.cmp(&a.tie_break))
}

/// Moves the `most` best candidates to the front, in no order, and returns them.
pub(crate) fn select_best(scored: &mut [ScoredCandidate], most: usize) -> &mut [ScoredCandidate] {
    if most > 0 && scored.len() > most {
        scored.select_nth_unstable_by(most - 1, compare_scored);
    }
    let most = most.min(scored.len());
    scored.get_mut(..most).unwrap_or_default()
}
