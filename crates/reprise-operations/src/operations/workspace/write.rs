//! A transaction of a workspace.

use std::collections::BTreeMap;

use reprise_workspace::{Receipt, RepoPath, WorkspaceError, WriteRequest};
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
    /// From each path to its new text.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    #[serde(default)]
    pub delete: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug)]
pub struct Write;

impl Operation for Write {
    const SPEC: Spec = Spec::adds(
        "workspace_write",
        "Write files of a workspace in one governed transaction, all or none.",
    )
    .at(&[post("/v1/users/{user}/workspace/write")])
    .tool("workspace_write", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Receipt;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Receipt, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let actor = memory.actor(&asked, &arguments.actor)?;
        let path = |path: &str| RepoPath::new(path).map_err(WorkspaceError::from);
        let mut changes = Vec::new();
        for (name, text) in arguments.files {
            changes.push((path(&name)?, Some(text.into_bytes())));
        }
        for name in arguments.delete {
            changes.push((path(&name)?, None));
        }
        let request = WriteRequest {
            actor,
            changes,
            message: arguments.message,
        };
        memory
            .on_workspace(asked, move |workspace| workspace.write(&request))
            .await
    }
}
