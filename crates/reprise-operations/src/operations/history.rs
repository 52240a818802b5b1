//! A record with the versions that it corrected.

use reprise_types::MemoryRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::Memory;
use crate::problem::Problem;

/// Which record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of any of its versions, or its external id.
    pub id: String,
}

/// Every version, without vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// The one that answers now.
    pub present: MemoryRecord,
    /// Those before it, newest first.
    pub earlier: Vec<MemoryRecord>,
}

#[derive(Debug)]
pub struct History;

impl Operation for History {
    const SPEC: Spec = Spec::reads("history", "A record with the versions that it corrected.");
    type Arguments = Arguments;
    type Answer = Versions;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Versions, Problem> {
        let present = memory.record(&arguments.id).await?;
        let id = present.id;
        let versions = memory.read(move |memory| memory.versions(id)).await?;
        let plain = MemoryRecord::without_vector;
        Ok(Versions {
            present: plain(present),
            earlier: versions.into_iter().skip(1).map(plain).collect(),
        })
    }
}
