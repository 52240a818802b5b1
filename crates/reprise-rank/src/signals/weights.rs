//! The one table of weights. It was fitted by `tests/quality/fit_weights.py` (whose head says on
//! what and how); no other file of the product has a ranking weight.

/// Number of signals.
pub(crate) const COUNT: usize = 18;

/// Logit per unit of each signal, in the order of [`super::SIGNALS`].
pub(crate) const WEIGHTS: [f32; COUNT] = [
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
pub(crate) const INTERCEPT: f32 = -1.961;

/// How much rivals lower each candidate: this times the logarithm of the sum of their odds,
/// sharpened by [`SHARPNESS`]. A single record is more likely to be the answer than one among many
/// of its kind.
pub(crate) const RIVALRY: f32 = 0.953;
pub(crate) const SHARPNESS: f32 = 1.154;

/// Evidence (0..1) of the best record at which a question is as likely about this store as about
/// anything else.
pub(crate) const EVIDENCE_CENTRE: f32 = 0.44;
/// Logit per unit of evidence beyond that centre.
pub(crate) const EVIDENCE_SLOPE: f32 = 60.0;
/// Records from which on the centre is what it was fitted as; all stores of the fit are larger.
pub(crate) const EVIDENCE_RECORDS: f32 = 200.0;
/// Records that every store counts in addition to its own, so that a single record is not near by
/// being alone.
pub(crate) const EVIDENCE_FEW: f32 = 4.0;
