//! A snapshot brought back.

use reprise_workspace::{Receipt, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Who: an agent's name, or `human:NAME`.
    pub actor: String,
    pub id: String,
}

#[derive(Debug)]
pub struct Restore;

impl Operation for Restore {
    const SPEC: Spec = Spec::destroys(
        "workspace_restore",
        "Set the tree back to a snapshot by a new commit; logs keep what came since.",
    )
    .at(&[post("/v1/users/{user}/workspace/restore")]);
    type Arguments = Arguments;
    type Answer = Receipt;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Receipt, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: None,
        };
        let actor = memory.actor(&asked, &arguments.actor)?;
        let restore = move |workspace: &Workspace| workspace.restore(&actor, &arguments.id);
        memory.on_workspace(asked, restore).await
    }
}
