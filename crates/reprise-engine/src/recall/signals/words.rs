//! Words: the record's own, by BM25 and by how much of the question they are.

use crate::recall::scale::unit;
use crate::recall::scene::{Candidate, Scene};

/// Record and question are taken for one text from this share of common words on.
const SAME_FROM: f32 = 0.75;

/// How far the record's BM25 stands out.
pub(super) fn words(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.words)
}

/// The same, as far as the record is a short turn of a dialogue: what it is about stands in the
/// turn that it answers.
pub(super) fn words_of_short_turn(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.words) * candidate.brevity * candidate.dialogue
}

/// Weighted share of the question's words that the record holds, of all that it asks for.
pub(super) fn coverage(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    let terms = scene.lexical.terms_of(candidate.ordinal);
    scene.lexical.share(terms)
}

/// The question is the record's own text, or nearly: all its words, and no others.
pub(super) fn same_text(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    let asked: u32 = scene.plan.query.terms.iter().map(|term| term.count).sum();
    same(coverage(scene, candidate), asked, candidate.traits.terms)
}

/// The same from the share of the question's words, and how many terms both have.
pub(crate) fn same(share: f32, asked: u32, terms: u32) -> f32 {
    let length = asked as f32 / terms.max(1) as f32;
    let alike = share * length.min(1.0);
    ((alike - SAME_FROM) / (1.0 - SAME_FROM)).max(0.0)
}
