//! What a reader says of something published.

use reprise_types::RecordId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Profile, Spec, post};
use crate::memories::Memory;
use crate::problem::Problem;

/// Which thing, and what it is given; the answer is the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rating {
    /// Its id in the global store.
    pub id: RecordId,
    /// From 0 (of no use, or wrong) to 1 (what was needed). The last word of each reader counts.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub rating: f32,
}

#[derive(Debug)]
pub struct Rate;

impl Operation for Rate {
    const SPEC: Spec = Spec::adds(
        "rate",
        "Say how good something is that others published, 0..1.",
    )
    .at(&[post("/v1/users/{user}/published/{id}/rating")])
    .tool("rate", Profile::Full);
    type Arguments = Rating;
    type Answer = Rating;

    async fn run(memory: &Memory, given: Rating) -> Result<Rating, Problem> {
        memory.rate(given.id, given.rating).await?;
        Ok(given)
    }
}
