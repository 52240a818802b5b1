//! One record as it is kept.

use reprise_types::MemoryRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec, get};
use crate::memories::Memory;
use crate::problem::Problem;

/// Which record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id, or its external id.
    pub id: String,
}

#[derive(Debug)]
pub struct Show;

impl Operation for Show {
    const SPEC: Spec =
        Spec::reads("show", "Show a record.").at(&[get("/v1/users/{user}/records/{id}")]);
    type Arguments = Arguments;
    /// Without its vector: 384 numbers tell a reader nothing.
    type Answer = MemoryRecord;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<MemoryRecord, Problem> {
        Ok(memory.record(&arguments.id).await?.without_vector())
    }
}
