//! Commits of a workspace.

use reprise_workspace::LogEntry;
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
    /// At most so many; 30 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Commits {
    pub commits: Vec<LogEntry>,
}

#[derive(Debug)]
pub struct Log;

impl Operation for Log {
    const SPEC: Spec = Spec::reads(
        "workspace_log",
        "The commits of a workspace, newest first, each with its transaction.",
    )
    .at(&[get("/v1/users/{user}/workspace/log")])
    .tool("workspace_log", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Commits;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Commits, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let limit = arguments.limit.unwrap_or(30);
        let commits = memory
            .on_workspace(asked, move |workspace| workspace.log(limit))
            .await?;
        Ok(Commits { commits })
    }
}
