//! Context: what stands just before and after in a dialogue. A short turn ("Yes, last summer!") is
//! understood with its neighbours, so each signal counts as far as the text is short and its
//! neighbours answer it.

use crate::recall::scale::unit;
use crate::recall::scene::{Candidate, Scene};

/// Turns on either side whose words count as around a record.
const REACH: usize = 3;

/// How far the neighbours' cosines stand out.
pub(super) fn near_meaning(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    understood_by(candidate) * unit(mean_of_turns(candidate, |near| scene.meaning_of(near)))
}

/// How far the neighbours' BM25 stands out.
pub(super) fn near_words(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    understood_by(candidate) * unit(mean_of_turns(candidate, |near| scene.words_of(near)))
}

/// Share of the question's rare words that the record and the turns around it hold together.
pub(super) fn near_coverage(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    if candidate.dialogue == 0.0 {
        return 0.0;
    }
    let mut terms = scene.lexical.terms_of(candidate.ordinal);
    let (previous, next) = candidate.traits.neighbours;
    let neighbours = |ordinal: u32| scene.plan.view.neighbours(ordinal);
    for (start, forward) in [(previous, false), (next, true)] {
        let mut at = start;
        for _ in 0..REACH {
            let Some(ordinal) = at else { break };
            terms |= scene.lexical.terms_of(ordinal);
            let (before, after) = neighbours(ordinal);
            at = if forward { after } else { before };
        }
    }
    understood_by(candidate) * scene.lexical.coverage(terms)
}

/// How far a record is understood by what stands around it.
fn understood_by(candidate: &Candidate) -> f32 {
    candidate.dialogue * candidate.brevity
}

/// The mean over both neighbours; one that is missing or no turn of the dialogue counts as the
/// store's mean.
fn mean_of_turns(candidate: &Candidate, standard: impl Fn(u32) -> f32) -> f32 {
    candidate.turns().map(standard).sum::<f32>() / 2.0
}
