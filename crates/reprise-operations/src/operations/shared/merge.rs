//! Publishing what was tried out on a branch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::publish::Done;
use crate::catalogue::{Operation, Spec, post};
use crate::memories::Memory;
use crate::problem::Problem;

/// Which branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its name.
    pub branch: String,
}

/// The operation. No tool of MCP, as publishing is none.
#[derive(Debug)]
pub struct PublishBranch;

impl Operation for PublishBranch {
    const SPEC: Spec = Spec::adds(
        "publish_branch",
        "Let others find everything that was published on a branch, all of it or nothing.",
    )
    .at(&[post("/v1/users/{user}/branches/{branch}/publish")]);
    type Arguments = Arguments;
    type Answer = Done;

    async fn run(memory: &Memory, Arguments { branch }: Arguments) -> Result<Done, Problem> {
        let (published, receipt) = memory.merge(&branch).await?;
        Ok(Done { published, receipt })
    }
}
