//! A commit taken back.

use reprise_workspace::{Receipt, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub commit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug)]
pub struct Rollback;

impl Operation for Rollback {
    const SPEC: Spec = Spec::adds(
        "workspace_rollback",
        "Take back what a commit did to core/, by a new commit.",
    )
    .at(&[post("/v1/users/{user}/workspace/rollback")])
    .tool("workspace_rollback", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Receipt;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Receipt, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let actor = memory.actor(&asked, &arguments.actor)?;
        let (name, message) = (arguments.commit, arguments.message);
        let rollback =
            move |workspace: &Workspace| workspace.rollback(&actor, &name, message.as_deref());
        memory.on_workspace(asked, rollback).await
    }
}
