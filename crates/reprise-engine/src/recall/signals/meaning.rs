//! Meaning: the record's own vector against the question's.

use crate::recall::scale::unit;
use crate::recall::scene::{Candidate, Scene};

/// How far the record's cosine stands out.
pub(super) fn meaning(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.meaning)
}

/// The same, as far as the record is a short turn of a dialogue: its vector says less of what it is
/// about.
pub(super) fn meaning_of_short_turn(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.meaning) * candidate.brevity * candidate.dialogue
}
