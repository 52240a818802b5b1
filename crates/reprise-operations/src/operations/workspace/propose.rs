//! An agent's branch, begun.

use reprise_workspace::{Proposal, Workspace};
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

#[derive(Debug)]
pub struct Propose;

impl Operation for Propose {
    const SPEC: Spec = Spec::adds(
        "workspace_propose",
        "Begin the branch agent/NAME, or open it again; write there with `branch`.",
    )
    .at(&[post("/v1/users/{user}/workspace/propose")])
    .tool("workspace_propose", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Proposal;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Proposal, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: None,
        };
        let actor = memory.actor(&asked, &arguments.actor)?;
        let propose = move |workspace: &Workspace| workspace.propose(actor.as_str());
        let mut proposal = memory.on_workspace(asked, propose).await?;
        proposal.directory = memory.shown(proposal.directory);
        Ok(proposal)
    }
}
