//! What a session taught, in its own words.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::{Extracted, Memory};
use crate::problem::Problem;

/// Which session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The session, as its records name it.
    #[serde(alias = "session_id")]
    #[schemars(length(min = 1))]
    pub session: String,
    /// Only say what would be kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// The operation. A session that an agent's program ends does it by itself.
#[derive(Debug)]
pub struct ExtractLearnings;

impl Operation for ExtractLearnings {
    const SPEC: Spec = Spec::adds(
        "extract_learnings",
        "Sunwell: keep the sentences of a finished session that say what was learned in it.",
    );
    type Arguments = Arguments;
    type Answer = Extracted;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Extracted, Problem> {
        memory.extract(&arguments.session, arguments.dry_run).await
    }

    fn text(found: &Extracted) -> Cow<'_, str> {
        let (all, new) = (found.learnings.len(), found.ids.len());
        format!("{all} learnings, {new} of them new").into()
    }
}
