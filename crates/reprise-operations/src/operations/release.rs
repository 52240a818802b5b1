//! Letting go of a file for another program.

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
pub struct Released {
    /// Always.
    pub released: bool,
}

#[derive(Debug)]
pub struct Release;

impl Operation for Release {
    const SPEC: Spec = Spec::adds(
        "release",
        "Close the file for another program; the next request opens it again.",
    )
    .at(&[post("/v1/users/{user}/release")])
    .for_machine();
    type Arguments = Arguments;
    type Answer = Released;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<Released, Problem> {
        memory.release().await?;
        Ok(Released { released: true })
    }
}
