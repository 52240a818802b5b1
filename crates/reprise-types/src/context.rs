//! Memories as text for a prompt, within a budget of tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{RecallId, RecordId};
use crate::recall::{DegradedPart, RelevanceVerdict};

/// Memories as text within a token budget, with the receipt of the recall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextBlock {
    /// A frame of quoted memory: sessions, best first; in each the memories, oldest first, with
    /// date, id and reason. Empty if nothing was found or nothing fits.
    pub text: String,
    /// Tokens of `text`, never more than the budget.
    pub tokens: usize,
    /// How tokens were counted.
    pub counted_by: TokenUnit,
    /// The records in `text`, in its order, which an outcome may name as used.
    pub records: Vec<RecordId>,
    /// Number of memories left out because they are unlikely to help, repeat another one, did not
    /// fit, or are sensitive.
    pub left_out: usize,
    /// Even the best result is unlikely to be relevant: treat the response as "nothing known".
    pub nothing_relevant: bool,
    /// How relevant the best result is.
    #[serde(default)]
    pub verdict: RelevanceVerdict,
    /// The id of the recall, which an outcome refers to.
    pub recall_id: RecallId,
    /// The parts of the recall that were unavailable or late.
    pub degraded: Vec<DegradedPart>,
}

/// The unit in which tokens were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TokensBy")]
pub enum TokenUnit {
    /// Tokens of the embedding model's tokeniser.
    Model,
    /// Bytes of UTF-8 divided by four, rounded up: an estimate for English prose without a
    /// tokeniser.
    BytesOverFour,
}
