//! Words: the record's own, by BM25.

use crate::recall::scale::unit;
use crate::recall::scene::{Candidate, Scene};

/// How far the record's BM25 stands out.
pub(super) fn words(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.words)
}

/// The same, as far as the text is long: a long text says itself what it is about.
pub(super) fn words_of_long_text(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.words) * (1.0 - candidate.brevity)
}
