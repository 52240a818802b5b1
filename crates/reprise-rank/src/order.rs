//! The one place that decides the order of an answer.
//!
//! A place depends on, the first difference first: the tier that a look-up gives, the turn that
//! diversity gives to a score, and whether a record contradicts an older one, before which it then
//! comes. What else should move a record (a signal, a lift, what was learned) moves its score.

pub(crate) mod contradictions;
mod diversify;
pub(crate) mod leads;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::HashMap;

use reprise_types::{LearnedAdjustment, RetrievedMemory};

use crate::fuse::scored::{ScoredCandidate, compare_scored};
use crate::logits::{logistic, logit};
use crate::names::NamesInQuestion;
use contradictions::Contradictions;
use diversify::{mix_kinds, spread_sessions};

/// A scored candidate with what decides its place besides the score.
#[derive(Debug, Clone, Copy)]
pub struct RankedCandidate {
    pub scored: ScoredCandidate,
    /// What outcomes of runs add to its score.
    pub learned: LearnedAdjustment,
    pub session: Option<u32>,
    /// Number of its kind and source: records of a kind that came often give way to others.
    pub kind: u32,
    /// When it happened.
    pub time: Option<i64>,
}

/// A place in an answer: the lowest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AnswerPosition {
    tier: (bool, i64),
    turn: usize,
    /// 0 for the record whose turn it is; lower for those that come before it because they
    /// contradict it or each other.
    step: i32,
}

impl RankedCandidate {
    /// Returns its probability to answer, before learning.
    pub fn score(&self) -> f32 {
        logistic(self.scored.logit)
    }

    /// Returns its probability to answer.
    pub fn adjusted_score(&self) -> f32 {
        (self.score() + self.learned.adjustment).clamp(0.0, 1.0)
    }

    fn adjusted_logit(&self) -> f32 {
        if self.learned.adjustment == 0.0 {
            self.scored.logit
        } else {
            logit(self.score() + self.learned.adjustment)
        }
    }

    /// Returns the session that others of it crowd: only conversations and runs of one session
    /// crowd others out.
    fn crowded_session(&self) -> Option<u32> {
        let crowds = self.scored.dialogue > 0.0 || self.scored.outcome.is_some();
        self.session.filter(|_| crowds)
    }

    /// Returns the kind that gives way to others. All turns of dialogues are one kind.
    fn kind_that_gives_way(&self) -> u32 {
        if self.scored.dialogue == 0.0 {
            self.kind
        } else {
            0
        }
    }
}

/// Puts candidates in the order of the answer.
pub fn decide_order(
    ranked: &mut [RankedCandidate],
    names: &NamesInQuestion,
    contradictions: &Contradictions,
) {
    let mut turns: Vec<&RankedCandidate> = ranked.iter().collect();
    turns.sort_by(|a, b| compare_adjusted(a, b));
    let turns = spread_sessions(turns, |one| one.crowded_session());
    let turns = mix_kinds(
        turns,
        |one| one.kind_that_gives_way(),
        |one| one.adjusted_logit(),
    );
    let turns = turns.into_iter().enumerate();
    let places = turns.map(|(turn, one)| {
        let tier = names.tier_of(&one.scored, one.time);
        let place = AnswerPosition {
            tier,
            turn,
            step: 0,
        };
        (one.scored.ordinal, place)
    });
    let mut places: HashMap<u32, AnswerPosition> = places.collect();
    put_newer_first(&mut places, contradictions.pairs().iter().copied());
    ranked.sort_by_cached_key(|one| places.get(&one.scored.ordinal).copied());
}

/// Puts anything that was scored in order: by its tier, the lowest first, then by its score, the
/// highest first; ties stay in their order.
pub fn order_by_tier<T, Tier: Ord>(
    results: &mut [T],
    tier: impl Fn(&T) -> Tier,
    score: impl Fn(&T) -> f32,
) {
    results.sort_by(|a, b| {
        let first = tier(a).cmp(&tier(b));
        first.then(score(b).total_cmp(&score(a)))
    });
}

/// Puts results that were merged or judged anew in order: those that `is_first` selects, then the
/// others, each by their adjusted scores; ties stay in their order.
pub(crate) fn order_results(
    results: &mut [RetrievedMemory],
    is_first: impl Fn(&RetrievedMemory) -> bool,
) {
    order_by_tier(results, |found| !is_first(found), |found| found.sona_score);
    put_contradicting_first(results);
}

/// Puts each result that contradicts another before that one; all others stay in their order.
pub fn put_contradicting_first(results: &mut [RetrievedMemory]) {
    let noted: Vec<_> = results
        .iter()
        .filter_map(|found| Some((found.record.id, found.why.contradicted_by?)))
        .collect();
    if noted.is_empty() {
        return;
    }
    let place = |(turn, found): (usize, &RetrievedMemory)| {
        let place = AnswerPosition {
            tier: (false, 0),
            turn,
            step: 0,
        };
        (found.record.id, place)
    };
    let mut places: HashMap<_, AnswerPosition> = results.iter().enumerate().map(place).collect();
    put_newer_first(&mut places, noted.into_iter());
    results.sort_by_key(|found| places.get(&found.record.id).copied());
}

/// Gives the newer of two contradictory records the place before the older one's, if its own is
/// behind that. `pairs` are the older and the newer.
fn put_newer_first<Id: std::hash::Hash + Eq>(
    places: &mut HashMap<Id, AnswerPosition>,
    pairs: impl Iterator<Item = (Id, Id)>,
) {
    for (older, newer) in pairs {
        let Some(above) = places.get(&older).copied() else {
            continue;
        };
        if places.get(&newer).is_none_or(|place| *place <= above) {
            continue;
        }
        // Another record may come before the older one already: this one is before both.
        let of_turn =
            |place: &&AnswerPosition| (place.tier, place.turn) == (above.tier, above.turn);
        let first = places.values().filter(of_turn).min().copied();
        let step = first.unwrap_or(above).step - 1;
        places.insert(newer, AnswerPosition { step, ..above });
    }
}

/// Compares candidates by their adjusted scores, the best first; ties by their own scores.
fn compare_adjusted(a: &RankedCandidate, b: &RankedCandidate) -> Ordering {
    b.adjusted_score()
        .total_cmp(&a.adjusted_score())
        .then(compare_scored(&a.scored, &b.scored))
}
