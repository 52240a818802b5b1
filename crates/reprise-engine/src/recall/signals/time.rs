//! Time: records that tell a time, before all where the question asks for one.

use crate::recall::scale::flag;
use crate::recall::scene::{Candidate, Scene};

/// Tells a time, and one is asked for.
pub(super) fn time_asked(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    flag(scene.plan.asked.when && candidate.traits.dated)
}

/// Tells a time, though none is asked for: such a record is about something that happened.
pub(super) fn time_told(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * flag(!scene.plan.asked.when && candidate.traits.dated)
}
