//! Session: what the whole conversation around a record is about. It counts as far as the record is
//! in a dialogue: a week of commits is a session too, and about everything.

use crate::recall::scale::unit;
use crate::recall::scene::{Candidate, Scene};

/// How far the session's BM25, as one text, stands out.
pub(super) fn session_words(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * unit(scene.session_words_of(candidate.traits.session))
}

/// How far the cosines of its most meaningful candidates stand out.
pub(super) fn session_meaning(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * unit(candidate.session_meaning)
}
