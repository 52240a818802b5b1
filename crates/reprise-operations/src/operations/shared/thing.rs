//! A published thing, whole.

use reprise_global::{GlobalRecord, Version};
use reprise_types::RecordId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec, get};
use crate::memories::Memory;
use crate::problem::Problem;

/// Which thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id in the global store.
    pub id: RecordId,
    /// Which version; else the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

#[derive(Debug)]
pub struct PublishedThing;

impl Operation for PublishedThing {
    const SPEC: Spec = Spec::reads(
        "published_thing",
        "A published thing, in its newest or a named version.",
    )
    .at(&[get("/v1/users/{user}/published/{id}")]);
    type Arguments = Arguments;
    /// Without its vector.
    type Answer = GlobalRecord;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<GlobalRecord, Problem> {
        memory
            .published_thing(arguments.id, arguments.version)
            .await
    }
}
