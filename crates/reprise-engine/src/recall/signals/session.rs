//! Session: what the whole conversation around a record is about.

use crate::recall::scale::unit;
use crate::recall::scene::{Candidate, Scene};

/// How far the session's BM25, as one text, stands out. A record without one speaks for itself.
pub(super) fn session_words(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(match candidate.traits.session {
        Some(session) => scene.session_words_of(Some(session)),
        None => candidate.words,
    })
}

/// How far the cosines of its most meaningful candidates stand out.
pub(super) fn session_meaning(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.session_meaning)
}
