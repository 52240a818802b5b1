//! Voice: who said it, and in what tone. All of it is about records in a dialogue.

use crate::recall::scale::flag;
use crate::recall::scene::{Candidate, Scene};

/// Terms from which on a text is taken for whole.
const SUBSTANTIAL_TERMS: f32 = 16.0;

/// The user's own words, where they stand among those of others.
pub(super) fn own_words(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * flag(scene.mixed && candidate.traits.by_user)
}

/// The user's own words, where the question is for the assistant's.
pub(super) fn asked_of_assistant(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * flag(scene.plan.asked.assistant && candidate.traits.by_user)
}

/// 1 where the question names who speaks, 0 where it names somebody else, between them where it
/// names nobody.
pub(super) fn speaker(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    let speaker = candidate.traits.speaker;
    let named = if !scene.named || speaker == 0 {
        0.5
    } else {
        flag(scene.names(speaker))
    };
    candidate.dialogue * named
}

/// A rule or preference that the user gave for good: it applies to whatever is near it.
pub(super) fn standing_instruction(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * flag(candidate.traits.instruction && candidate.traits.by_user)
}

/// Something is said at all: greetings and thanks have few words that are not stop words.
pub(super) fn substance(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * (candidate.traits.terms as f32 / SUBSTANTIAL_TERMS).min(1.0)
}
