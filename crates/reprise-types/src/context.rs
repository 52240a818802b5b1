//! Memories as text for a prompt, within a budget of tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{RecallId, RecordId};
use crate::recall::{Degraded, Verdict};

/// The most useful text that fits a budget, with the receipt of the recall behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextBlock {
    /// A frame of quoted memory: sessions, best first; in each the memories, oldest first, with
    /// date, id and reason. Empty where nothing was found or nothing fits.
    pub text: String,
    /// Tokens of `text`, never more than the budget.
    pub tokens: usize,
    /// How they were counted.
    pub counted_by: TokensBy,
    /// The records in `text`, in its order: what an outcome may name as used.
    pub records: Vec<RecordId>,
    /// Memories found that repeat another one here or found no room.
    pub left_out: usize,
    /// Not even the best of them is likely to be relevant: take the text for "nothing known".
    pub nothing_relevant: bool,
    /// What may be made of the best of them.
    #[serde(default)]
    pub verdict: Verdict,
    /// The receipt: an outcome names it.
    pub recall_id: RecallId,
    /// What the recall had to do without.
    pub degraded: Vec<Degraded>,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokensBy {
    /// A token of the embedding model's own tokeniser.
    Model,
    /// Four bytes of UTF-8, rounded up: near enough for English prose where no tokeniser is at
    /// hand.
    BytesOverFour,
}
