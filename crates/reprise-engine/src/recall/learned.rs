//! What outcomes of runs add to the scores of the ranked candidates.

use reprise_rank::{RankedCandidate, ScoredCandidate};
use reprise_types::{LearnedAdjustment, LearningEngine, RecordId};

use super::scene::Scene;

/// Adds to each scored candidate what was learned, and what decides its place besides.
pub(super) fn add_learned(
    scene: &Scene<'_>,
    scored: &[ScoredCandidate],
    learning: &dyn LearningEngine,
) -> Vec<RankedCandidate> {
    let index = &scene.snapshot.index;
    let docs: Vec<_> = scored.iter().map(|one| index.doc(one.ordinal)).collect();
    let id = |doc: &Option<reprise_index::Doc>| doc.map_or(RecordId::from_u128(0), |doc| doc.id);
    let ids: Vec<RecordId> = docs.iter().map(id).collect();
    let (cap, gates) = (learning.adjustment_cap(), learning.learner_gates());
    let evidence = learning.adjust(scene.plan.vector, &ids);
    let ranked = scored.iter().zip(evidence).zip(docs);
    let ranked = ranked.map(|((scored, evidence), doc)| {
        let correction = scene.plan.correction.as_ref();
        let adapter = correction.map_or(0.0, |by| by.gain_of(scene.snapshot, scored.ordinal));
        let adapter = adapter + outcome_step(scene, learning, scored);
        let kind = |doc: reprise_index::Doc| {
            u32::from(doc.kind.number()) << 8 | u32::from(doc.source.number())
        };
        RankedCandidate {
            scored: *scored,
            learned: LearnedAdjustment::from_capped_parts(cap, gates, evidence, adapter),
            session: doc.and_then(|doc| doc.session()),
            kind: doc.map_or(0, kind),
            time: index.time_key(scored.ordinal).map(|place| place.0),
        }
    });
    ranked.collect()
}

/// Returns the adapter's step for an outcome record; 0 for any other record.
fn outcome_step(scene: &Scene<'_>, learning: &dyn LearningEngine, scored: &ScoredCandidate) -> f32 {
    let outcome = scored.outcome.and_then(|outcome| outcome.quality);
    let step = outcome.zip(scene.nearness_of(scored.ordinal));
    step.map_or(0.0, |(quality, near)| {
        learning.outcome_step(quality, near.cosine)
    })
}
