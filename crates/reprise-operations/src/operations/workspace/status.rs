//! How a workspace is.

use reprise_workspace::Status as State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::AGENTS_BRANCH;
use crate::catalogue::{Operation, Profile, Spec, get};
use crate::memories::{Asked, Memory};
use crate::problem::Problem;

/// Which workspace, and what of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The name or absolute path; the only one where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// An agent's branch, not the shared one: `agent/NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = AGENTS_BRANCH))]
    pub branch: Option<String>,
}

#[derive(Debug)]
pub struct Status;

impl Operation for Status {
    const SPEC: Spec = Spec::reads(
        "workspace_status",
        "How a governed workspace is: branch, artifacts, uncommitted work, loose ends.",
    )
    .at(&[get("/v1/users/{user}/workspace/status")])
    .tool("workspace_status", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = State;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<State, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let mut status = memory
            .on_workspace(asked, reprise_workspace::Workspace::status)
            .await?;
        status.root = memory.shown(status.root);
        Ok(status)
    }
}
