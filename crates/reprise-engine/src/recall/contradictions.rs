//! Looks up which of the best candidates contradict each other (`retire.rs`).

use reprise_rank::{Contradictions, ScoredCandidate};

use super::plan::RecallPlan;
use crate::snapshot::Snapshot;

/// Finds the pairs among the best candidates that were noted by the time of the question.
pub(super) fn find_contradictions(
    snapshot: &Snapshot,
    plan: &RecallPlan<'_>,
    ranked: &mut [ScoredCandidate],
) -> Contradictions {
    if !snapshot.marks.has_contradictions() {
        return Contradictions::default();
    }
    let by = plan.as_of.map_or(i64::MAX, |at| at.timestamp_micros());
    let best = Contradictions::select_best_among(ranked, plan.top_k);
    let mut pairs = Vec::new();
    for ordinal in &best {
        let noted = snapshot.marks.open_contradictions(*ordinal);
        let noted = noted.filter(|link| link.since <= by);
        let counts = |to: u32| best.contains(&to) || snapshot.live_doc(to).is_some();
        let noted = noted.filter(|link| counts(link.to));
        pairs.extend(noted.map(|link| (link.from, link.to)));
    }
    let at = |ordinal| {
        let doc = snapshot.index.doc(ordinal);
        doc.map(|doc| (doc.timestamp(), doc.id))
    };
    pairs.sort_by_key(|(older, newer)| (at(*newer), at(*older)));
    Contradictions::from_pairs(pairs, &best)
}
