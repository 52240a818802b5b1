//! Probabilities and their logits.

/// Returns the logit of a probability, which is finite.
pub(crate) fn logit(score: f32) -> f32 {
    logit_within(score, 1e-4)
}

/// Returns the logit of a probability after keeping it at least `nearest` away from 0 and 1.
pub(crate) fn logit_within(probability: f32, nearest: f32) -> f32 {
    let within = probability.clamp(nearest, 1.0 - nearest);
    (within / (1.0 - within)).ln()
}

/// Returns the probability of a logit.
pub(crate) fn logistic(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}
