//! A person's refusal.

use reprise_workspace::{Receipt, Workspace};
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug)]
pub struct Decline;

impl Operation for Decline {
    const SPEC: Spec = Spec::adds("workspace_decline", "Record that a person declines a branch or commit as it stands now; an approval of it ends.")
    .at(&[post("/v1/users/{user}/workspace/decline")]);
    type Arguments = Arguments;
    type Answer = Receipt;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Receipt, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: None,
        };
        let human = human(memory, &asked, &arguments.human)?;
        let (name, message) = (arguments.reference, arguments.message);
        let decline =
            move |workspace: &Workspace| workspace.decline(&human, &name, message.as_deref());
        memory.on_workspace(asked, decline).await
    }
}
