//! One prompt once more: what was found, put into it, used, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::{Memory, Replayed, replay};
use crate::problem::Problem;

/// Which prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of its record.
    pub id: String,
}

#[derive(Debug)]
pub struct Replay;

impl Operation for Replay {
    const SPEC: Spec = Spec::reads(
        "replay",
        "A prompt once more: what was found for it, put into it, used, and what came of it.",
    );
    type Arguments = Arguments;
    type Answer = Replayed;

    async fn run(memory: &Memory, Arguments { id }: Arguments) -> Result<Replayed, Problem> {
        let record = memory.record(&id).await?;
        memory.read(move |snapshot| replay(snapshot, &record)).await
    }
}
