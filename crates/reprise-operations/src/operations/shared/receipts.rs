//! What left a memory, as its own log says.

use reprise_types::RecordId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec, get};
use crate::memories::{Memory, ReceiptLine};
use crate::operations::stats::Arguments;
use crate::problem::Problem;

/// What was published, taken back and used of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// Newest first.
    pub receipts: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The record of the log that says so.
    pub receipt: RecordId,
    #[serde(flatten)]
    pub line: ReceiptLine,
}

#[derive(Debug)]
pub struct ReceiptsOf;

impl Operation for ReceiptsOf {
    const SPEC: Spec = Spec::reads(
        "receipts",
        "What was published, taken back and used of others, as the user's own log says.",
    )
    .at(&[get("/v1/users/{user}/receipts")]);
    type Arguments = Arguments;
    type Answer = Kept;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<Kept, Problem> {
        let lines = memory.receipts().await?.into_iter();
        let receipts = lines.map(|(receipt, line)| Row { receipt, line });
        Ok(Kept {
            receipts: receipts.collect(),
        })
    }
}
