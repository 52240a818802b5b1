//! The one table of weights. Fitted on the development conversations and chats by
//! `tests/quality/fit_weights.py`; nothing else in the house knows a ranking number.

/// Weights of the fused score and the line that turns it into a probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Standard scores of the cosine.
    pub meaning: f32,
    /// Of BM25 over the record's first words.
    pub words: f32,
    /// Of the cosine with its neighbours.
    pub near_meaning: f32,
    /// Of BM25 over its neighbourhood.
    pub near_words: f32,
    /// Of BM25 over its session.
    pub session: f32,
    /// Added for the user's own words, where others also speak.
    pub own_words: f32,
    /// Logit per unit of the fused score.
    pub slope: f32,
    /// Logit of a fused score of zero in a store of [`Self::base_records`].
    pub intercept: f32,
    /// The store size at which the line was fitted: one of N records is relevant with prior odds
    /// of about 1 to N, so the logit moves by `ln(base_records / N)`.
    pub base_records: f32,
}

/// The weights in force.
pub const WEIGHTS: Weights = Weights {
    meaning: 1.0,
    words: 0.2,
    near_meaning: 0.2,
    near_words: 0.2,
    session: 0.6,
    own_words: 0.9,
    slope: 0.654,
    intercept: -6.247,
    base_records: 400.0,
};

/// Stores smaller than this are taken as this large: below it the prior says more than the data.
pub(super) const RECORDS_MIN: f32 = 20.0;

/// Pseudo-records that steady mean and deviation in a small store.
pub(super) const PRIOR_RECORDS: f64 = 8.0;
/// Their mean cosine and its deviation: what MiniLM gives unrelated short texts.
pub(super) const PRIOR_MEANING: (f32, f32) = (0.1, 0.12);
/// Their BM25 score and its deviation.
pub(super) const PRIOR_WORDS: (f32, f32) = (0.0, 1.5);
