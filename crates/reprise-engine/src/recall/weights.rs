//! The one table of weights. Fitted by `tests/quality/fit_weights.py` (its head says on what and
//! how); nothing else in the house knows a ranking number.

use super::signals::COUNT;

/// Logit per unit of each signal, in the order of [`super::signals::SIGNALS`].
pub(super) const WEIGHTS: [f32; COUNT] = [
    13.385, // meaning
    -7.998, // meaning_of_short_turn
    5.352,  // words
    -5.813, // words_of_short_turn
    1.437,  // coverage
    2.308,  // same_text
    7.483,  // near_meaning
    3.639,  // near_words
    4.195,  // near_coverage
    5.265,  // session_words
    3.554,  // session_meaning
    2.031,  // own_words
    -2.351, // asked_of_assistant
    2.343,  // speaker
    1.678,  // standing_instruction
    1.395,  // substance
    2.598,  // time_asked
    0.408,  // time_told
];

/// Logit of a record without rivals, for which every signal is 0.
pub(super) const INTERCEPT: f32 = -1.961;

/// What the candidates together take from each: this times the logarithm of the sum of their odds,
/// sharpened by [`SHARPNESS`]. A record that stands alone is more likely to be the answer than one
/// among many of its kind.
pub(super) const RIVALRY: f32 = 0.953;
pub(super) const SHARPNESS: f32 = 1.154;

/// Evidence (0..1) of the best record at which a question is as likely to be about this store as
/// about anything else, and the logit per unit beyond it.
pub(super) const EVIDENCE_CENTRE: f32 = 0.44;
pub(super) const EVIDENCE_SLOPE: f32 = 60.0;
/// Records from which on the centre is what it was fitted as; all stores of the fit are larger.
pub(super) const EVIDENCE_RECORDS: f32 = 200.0;
/// Records that every store counts beside its own: also a single one is not near by being alone.
pub(super) const EVIDENCE_FEW: f32 = 4.0;
