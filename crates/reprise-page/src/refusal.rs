//! How whoever lends the page its memory says no.

/// What was asked was not done; the sentence says why and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Refusal {
    /// The HTTP status that says the same.
    pub status: u16,
    pub sentence: String,
}
