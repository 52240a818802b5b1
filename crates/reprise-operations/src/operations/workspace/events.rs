//! What a workspace announced.

use reprise_workspace::{Workspace, WorkspaceEvent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::AGENTS_BRANCH;
use crate::catalogue::{Operation, Spec, get};
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
    /// Only what came after the event with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// At most so many; 100 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Announced {
    pub events: Vec<WorkspaceEvent>,
}

#[derive(Debug)]
pub struct Events;

impl Operation for Events {
    const SPEC: Spec = Spec::reads(
        "workspace_events",
        "What a workspace announced, oldest first.",
    )
    .at(&[get("/v1/users/{user}/workspace/events")]);
    type Arguments = Arguments;
    type Answer = Announced;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Announced, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let (after, limit) = (arguments.after, arguments.limit.unwrap_or(100));
        let read = move |workspace: &Workspace| workspace.events(after.as_deref(), limit);
        let events = memory.on_workspace(asked, read).await?;
        Ok(Announced { events })
    }
}
