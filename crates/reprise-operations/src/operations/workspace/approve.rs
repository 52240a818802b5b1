//! A person's approval.

use reprise_workspace::Receipt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::human;
use crate::catalogue::{Operation, Spec, post};
use crate::memories::{Asked, Memory};
use crate::problem::Problem;

/// Which workspace, and what of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The name or absolute path; the only one where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Who, with or without `human:`.
    pub human: String,
    pub reference: String,
}

#[derive(Debug)]
pub struct Approve;

impl Operation for Approve {
    const SPEC: Spec = Spec::adds(
        "workspace_approve",
        "Record that a person approves a branch or commit as it stands now.",
    )
    .at(&[post("/v1/users/{user}/workspace/approve")]);
    type Arguments = Arguments;
    type Answer = Receipt;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Receipt, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: None,
        };
        let human = human(memory, &asked, &arguments.human)?;
        let name = arguments.reference;
        memory
            .on_workspace(asked, move |workspace| workspace.approve(&human, &name))
            .await
    }
}
