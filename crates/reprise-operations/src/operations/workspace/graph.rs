//! The artifacts of a workspace.

use reprise_workspace::Node;
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

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Dag {
    /// Each with what it is made from.
    pub artifacts: Vec<Node>,
}

#[derive(Debug)]
pub struct Graph;

impl Operation for Graph {
    const SPEC: Spec = Spec::reads(
        "workspace_graph",
        "The DAG of artifacts: what is made from what.",
    )
    .at(&[get("/v1/users/{user}/workspace/graph")])
    .tool("workspace_graph", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Dag;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Dag, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let artifacts = memory
            .on_workspace(asked, reprise_workspace::Workspace::graph)
            .await?;
        Ok(Dag { artifacts })
    }
}
