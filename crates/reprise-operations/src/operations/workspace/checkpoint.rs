//! An agent's state, saved.

use reprise_workspace::{Receipt, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounds::AGENTS_BRANCH;
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
    /// An agent's branch, not the shared one: `agent/NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = AGENTS_BRANCH))]
    pub branch: Option<String>,
    /// Who: an agent's name, or `human:NAME`.
    pub actor: String,
    pub state: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug)]
pub struct SaveState;

impl Operation for SaveState {
    const SPEC: Spec = Spec::adds("workspace_checkpoint", "Save an agent's state.")
        .at(&[post("/v1/users/{user}/workspace/checkpoint")])
        .tool("workspace_checkpoint", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Receipt;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Receipt, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let actor = memory.actor(&asked, &arguments.actor)?;
        let state = serde_json::to_vec(&arguments.state).map_err(Problem::invalid)?;
        let message = arguments.message;
        let save =
            move |workspace: &Workspace| workspace.checkpoint(&actor, &state, message.as_deref());
        memory.on_workspace(asked, save).await
    }
}
