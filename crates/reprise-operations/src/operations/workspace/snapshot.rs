//! A snapshot of a workspace, taken.

use reprise_workspace::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::snapshots::Taken;
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
    /// Who: an agent's name, or `human:NAME`.
    pub actor: String,
    /// Put a tag of git on its commit, too.
    #[serde(default)]
    pub tag: bool,
}

#[derive(Debug)]
pub struct Snapshot;

impl Operation for Snapshot {
    const SPEC: Spec = Spec::adds(
        "workspace_snapshot",
        "Keep the committed tree as an archive with a manifest of hashes.",
    )
    .at(&[post("/v1/users/{user}/workspace/snapshot")])
    .tool("workspace_snapshot", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Taken;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Taken, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: None,
        };
        let actor = memory.actor(&asked, &arguments.actor)?;
        let take = move |workspace: &Workspace| workspace.snapshot(&actor, arguments.tag);
        Ok(Taken::of(&memory.on_workspace(asked, take).await?))
    }
}
