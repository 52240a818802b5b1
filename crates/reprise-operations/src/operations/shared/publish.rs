//! Publishing what was shown.

use reprise_global::Published;
use reprise_types::RecordId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::preview;
use crate::catalogue::{Operation, Spec, post};
use crate::memories::Memory;
use crate::problem::Problem;

/// What is to be published, how, and the yes to its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// As for `publish_preview`.
    #[serde(flatten)]
    pub what: preview::Arguments,
    /// The yes: the `sha256` of each record's bytes as `publish_preview` showed them.
    pub agreed: Vec<String>,
    /// A branch of the catalogue on which they are to stand: there their owner alone finds them,
    /// until `publish_branch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// What was published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    pub published: Vec<Published>,
    /// The record of the user's own log that says so; the earlier one where nothing is new.
    pub receipt: Option<RecordId>,
}

/// The operation. No tool of MCP: the yes is a person's (ADR 0023).
#[derive(Debug)]
pub struct Publish;

impl Operation for Publish {
    const SPEC: Spec = Spec::adds(
        "publish",
        "Let others find records, as `publish_preview` showed them and their owner agreed.",
    )
    .at(&[post("/v1/users/{user}/publish")]);
    type Arguments = Arguments;
    type Answer = Done;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Done, Problem> {
        let wanted = arguments.what.wanted(memory).await?;
        let (agreed, branch) = (&arguments.agreed, arguments.branch.as_deref());
        let (published, receipt) = memory.publish(&wanted, agreed, branch).await?;
        Ok(Done { published, receipt })
    }
}
