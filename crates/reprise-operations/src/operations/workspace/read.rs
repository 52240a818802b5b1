//! A file of a workspace.

use std::borrow::Cow;

use reprise_workspace::{RepoPath, Workspace, WorkspaceError};
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
    /// Where it is in the tree.
    pub path: String,
    /// In which state: a branch, a commit or a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    pub text: String,
}

#[derive(Debug)]
pub struct Read;

impl Operation for Read {
    const SPEC: Spec = Spec::reads("workspace_read", "Read a committed file of a workspace.")
        .at(&[get("/v1/users/{user}/workspace/read")])
        .tool("workspace_read", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Content;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Content, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let path = RepoPath::new(&arguments.path).map_err(WorkspaceError::from)?;
        let at = arguments.at;
        let (named, read) = (path.to_string(), move |workspace: &Workspace| {
            workspace.read(&path, at.as_deref())
        });
        let bytes = memory.on_workspace(asked, read).await?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Problem::invalid(format!(
                "`{named}` is no text; read it from the tree itself"
            ))
        })?;
        Ok(Content { text })
    }

    fn text(content: &Content) -> Cow<'_, str> {
        content.text.as_str().into()
    }
}
