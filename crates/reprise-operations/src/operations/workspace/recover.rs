//! What crashes left, tied up.

use reprise_workspace::Recovered;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::AGENTS_BRANCH;
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
    /// An agent's branch, not the shared one: `agent/NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = AGENTS_BRANCH))]
    pub branch: Option<String>,
}

#[derive(Debug)]
pub struct Recover;

impl Operation for Recover {
    const SPEC: Spec = Spec::adds(
        "workspace_recover",
        "Tie up what crashes left: finish what had happened, take back what had not.",
    )
    .at(&[post("/v1/users/{user}/workspace/recover")]);
    type Arguments = Arguments;
    type Answer = Recovered;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Recovered, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        memory
            .on_workspace(asked, reprise_workspace::Workspace::recover)
            .await
    }
}
