//! Memories as text for a prompt, within a budget of tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{RecallId, RecordId};
use crate::recall::{Degraded, Verdict};

/// Memories as text within a token budget, with the receipt of the recall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextBlock {
    /// A frame of quoted memory: sessions, best first; in each the memories, oldest first, with
    /// date, id and reason. Empty where nothing was found or nothing fits.
    pub text: String,
    /// Tokens of `text`, never more than the budget.
    pub tokens: usize,
    /// How tokens were counted.
    pub counted_by: TokensBy,
    /// The records in `text`, in its order: what an outcome may name as used.
    pub records: Vec<RecordId>,
    /// Memories left out because they are unlikely to help, repeat another one, did not fit, or
    /// are sensitive.
    pub left_out: usize,
    /// Even the best result is unlikely to be relevant: treat the answer as "nothing known".
    pub nothing_relevant: bool,
    /// How relevant the best result is.
    #[serde(default)]
    pub verdict: Verdict,
    /// The receipt, which an outcome refers to.
    pub recall_id: RecallId,
    /// The parts of the recall that were unavailable or late.
    pub degraded: Vec<Degraded>,
}

/// The unit in which tokens were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokensBy {
    /// Tokens of the embedding model's tokeniser.
    Model,
    /// Bytes of UTF-8 divided by four, rounded up: an estimate for English prose without a
    /// tokeniser.
    BytesOverFour,
}
