//! An agent's branch, put aside.

use reprise_workspace::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Profile, Spec, post};
use crate::memories::{Asked, Memory};
use crate::problem::Problem;

/// Which workspace, and what of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The name or absolute path; the only one where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The agent, whose name the branch has.
    pub actor: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Aside {
    /// git's name for the newest.
    pub kept: String,
}

#[derive(Debug)]
pub struct Abandon;

impl Operation for Abandon {
    const SPEC: Spec = Spec::destroys(
        "workspace_abandon",
        "Put the branch agent/NAME aside; its commits are kept.",
    )
    .at(&[post("/v1/users/{user}/workspace/abandon")])
    .tool("workspace_abandon", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Aside;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Aside, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: None,
        };
        let actor = memory.actor(&asked, &arguments.actor)?;
        let abandon = move |workspace: &Workspace| workspace.abandon(actor.as_str());
        let kept = memory.on_workspace(asked, abandon).await?;
        Ok(Aside { kept })
    }
}
