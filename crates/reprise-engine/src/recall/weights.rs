//! The one table of weights. Fitted by `tests/quality/fit_weights.py` (its head says on what and
//! how); nothing else in the house knows a ranking number.

use super::signals::COUNT;

/// Logit per unit of each signal, in the order of [`super::signals::SIGNALS`].
pub(super) const WEIGHTS: [f32; COUNT] = [
    2.209,  // meaning
    4.197,  // meaning_of_long_text
    0.994,  // words
    3.008,  // words_of_long_text
    4.600,  // near_meaning
    2.519,  // near_words
    2.205,  // near_coverage
    3.300,  // session_words
    3.962,  // session_meaning
    0.975,  // own_words
    -1.451, // asked_of_assistant
    1.651,  // speaker
    1.033,  // standing_instruction
    1.389,  // substance
    1.681,  // time_asked
    0.253,  // time_told
];

/// Logit of a record for which every signal is 0, in a store of [`BASE_RECORDS`].
pub(super) const INTERCEPT: f32 = -12.238;

/// The store size at which the line was fitted: one of N records is relevant with prior odds of
/// about 1 to N, so the logit moves by `ln(BASE_RECORDS / N)`.
pub(super) const BASE_RECORDS: f32 = 400.0;

/// Stores smaller than this are taken as this large: below it the prior says more than the data.
pub(super) const RECORDS_MIN: f32 = 20.0;
