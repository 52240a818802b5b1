//! Contradictions: where two records cannot both hold (`retire.rs`) and both are among the
//! best, the newer answers at least as well as the older, and stands directly above it. Neither is
//! hidden: which of them holds is for the reader to say.

use reprise_types::RetrievedMemory;

use super::fuse::{Scored, order};
use super::plan::Plan;
use crate::snapshot::Snapshot;

/// The best so many are looked at, or as many as are asked for: what is newer changes places with
/// what it contradicts, and pushes nothing out of the first ten.
const AMONG: usize = 10;
/// How far the newer lies above the older, as a logit.
const STEP: f32 = 0.01;

#[derive(Debug, Default)]
pub(super) struct Contrary {
    /// The older and the newer, in the order in which the newer ones happened.
    pairs: Vec<(u32, u32)>,
    /// What the newer ones were given.
    lifts: Vec<(u32, f32)>,
}

impl Contrary {
    /// The pairs among the best candidates that were noted by then.
    pub(super) fn among(snapshot: &Snapshot, plan: &Plan<'_>, ranked: &[Scored]) -> Self {
        let mut pairs = Vec::new();
        if snapshot.marks.has_contrary() {
            let by = plan.as_of.map_or(i64::MAX, |at| at.timestamp_micros());
            let most = plan.top_k.max(AMONG).min(ranked.len());
            let best = ranked.get(..most).unwrap_or_default();
            let is_there = |ordinal: u32| best.iter().any(|scored| scored.ordinal == ordinal);
            for scored in best {
                let noted = snapshot.marks.contrary(scored.ordinal);
                let noted = noted.filter(|link| link.since <= by && is_there(link.to));
                pairs.extend(noted.map(|link| (link.from, link.to)));
            }
        }
        let at = |ordinal| {
            snapshot
                .index
                .doc(ordinal)
                .map(|doc| (doc.timestamp(), doc.id))
        };
        pairs.sort_by_key(|(older, newer)| (at(*newer), at(*older)));
        Self {
            pairs,
            lifts: Vec::new(),
        }
    }

    /// Lifts the newer ones above the older.
    pub(super) fn raise(&mut self, ranked: &mut [Scored]) {
        for (older, newer) in &self.pairs {
            let logit = |ordinal: u32| {
                let found = ranked.iter().find(|scored| scored.ordinal == ordinal);
                found.map_or(f32::NEG_INFINITY, |scored| scored.logit)
            };
            let lift = logit(*older) + STEP - logit(*newer);
            if lift <= 0.0 {
                continue;
            }
            if let Some(scored) = ranked.iter_mut().find(|scored| scored.ordinal == *newer) {
                scored.logit += lift;
                self.lifts.push((*newer, lift));
            }
        }
        if !self.lifts.is_empty() {
            ranked.sort_unstable_by(order);
        }
    }

    /// What a record was given for contradicting older ones; `None` where it was given nothing.
    pub(super) fn lift(&self, ordinal: u32) -> Option<f32> {
        let own = self.lifts.iter().filter(|(newer, _)| *newer == ordinal);
        own.map(|(_, lift)| *lift).reduce(|all, lift| all + lift)
    }

    /// The last record that contradicts this one.
    pub(super) fn newest(&self, ordinal: u32) -> Option<u32> {
        let own = self.pairs.iter().rev().find(|(older, _)| *older == ordinal);
        own.map(|(_, newer)| *newer)
    }

    /// Puts each newer record directly above the first of the older ones that stands above it.
    pub(super) fn sorted<T>(&self, mut ranked: Vec<T>, ordinal: impl Fn(&T) -> u32) -> Vec<T> {
        for pair in &self.pairs {
            newer_above(&mut ranked, *pair, &ordinal);
        }
        ranked
    }
}

/// The same of an answer that was put into another order.
pub(super) fn newer_first(results: &mut [RetrievedMemory]) {
    let noted = results
        .iter()
        .filter_map(|found| Some((found.record.id, found.why.contradicted_by?)));
    for pair in noted.collect::<Vec<_>>() {
        newer_above(results, pair, |found: &RetrievedMemory| found.record.id);
    }
}

/// Moves the newer of two directly above the older, where it stands below it.
fn newer_above<T, Id: PartialEq>(
    ranked: &mut [T],
    (older, newer): (Id, Id),
    id: impl Fn(&T) -> Id,
) {
    let place = |of: &Id| ranked.iter().position(|item| id(item) == *of);
    if let (Some(above), Some(below)) = (place(&older), place(&newer))
        && above < below
    {
        ranked[above..=below].rotate_right(1);
    }
}
