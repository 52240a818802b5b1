//! What changed in a workspace.

use reprise_workspace::{FileChange, Workspace};
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
    /// A branch, a commit or a transaction; the newest commit where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The same; the working tree where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What this one commit or transaction did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    pub files: Vec<FileChange>,
}

#[derive(Debug)]
pub struct Diff;

impl Operation for Diff {
    const SPEC: Spec = Spec::reads(
        "workspace_diff",
        "What changed, file by file: what people have not committed, or between two states.",
    )
    .at(&[get("/v1/users/{user}/workspace/diff")])
    .tool("workspace_diff", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Differences;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Differences, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let (from, to, of) = (arguments.from, arguments.to, arguments.of);
        if of.is_some() && (from.is_some() || to.is_some()) {
            return Err(Problem::conflict("name `of`, or `from` and `to`"));
        }
        let compare = move |workspace: &Workspace| match of {
            Some(name) => workspace.diff_of(&name),
            None => workspace.diff(from.as_deref(), to.as_deref()),
        };
        let files = memory.on_workspace(asked, compare).await?;
        Ok(Differences { files })
    }
}
