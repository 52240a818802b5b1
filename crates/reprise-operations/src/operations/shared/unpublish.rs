//! Taking back what was published.

use reprise_types::RecordId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Profile, Spec, delete};
use crate::memories::Memory;
use crate::problem::Problem;

/// Which thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id that `publish` answered, or the record: its id or external id.
    pub id: String,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakenBack {
    pub unpublished: RecordId,
    /// How many versions of it there were.
    pub versions: u32,
    /// The store was asked for it afterwards, by id and by its own words, and had nothing.
    pub verified: bool,
    /// The record of the user's own log that says so.
    pub receipt: Option<RecordId>,
}

#[derive(Debug)]
pub struct Unpublish;

impl Operation for Unpublish {
    const SPEC: Spec = Spec::destroys(
        "unpublish",
        "Take a published thing back, in every version, out of every answer.",
    )
    .at(&[delete("/v1/users/{user}/published/{id}")])
    .tool("unpublish", Profile::Full);
    type Arguments = Arguments;
    type Answer = TakenBack;

    async fn run(memory: &Memory, Arguments { id }: Arguments) -> Result<TakenBack, Problem> {
        let (done, receipt) = memory.unpublish(&id).await?;
        Ok(TakenBack {
            unpublished: done.id,
            versions: done.versions,
            verified: done.verified,
            receipt,
        })
    }
}
