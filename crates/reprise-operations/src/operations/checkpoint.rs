//! Writing the derived parts of the file.

use reprise_engine::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec, post};
use crate::memories::Memory;
use crate::problem::Problem;

/// None.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// It is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpointed {
    /// Always.
    pub checkpointed: bool,
}

#[derive(Debug)]
pub struct Checkpoint;

impl Operation for Checkpoint {
    const SPEC: Spec = Spec::adds(
        "checkpoint",
        "Write the derived parts now, so that the file can be copied and opens quickly.",
    )
    .at(&[
        post("/v1/users/{user}/checkpoint"),
        post("/api/memory/snapshot"),
    ]);
    type Arguments = Arguments;
    type Answer = Checkpointed;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<Checkpointed, Problem> {
        memory.with_engine(Engine::checkpoint).await??;
        Ok(Checkpointed { checkpointed: true })
    }
}
