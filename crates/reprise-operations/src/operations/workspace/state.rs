//! An agent's state.

use reprise_workspace::Saved;
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
    pub agent: String,
}

#[derive(Debug)]
pub struct StateOf;

impl Operation for StateOf {
    const SPEC: Spec = Spec::reads("workspace_state", "An agent's newest checkpoint.")
        .at(&[get("/v1/users/{user}/workspace/state")])
        .tool("workspace_state", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Saved;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Saved, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        memory
            .on_workspace(asked, move |workspace| workspace.state_of(&arguments.agent))
            .await
    }
}
