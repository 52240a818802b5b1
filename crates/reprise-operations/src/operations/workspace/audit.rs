//! Who changed what in a workspace.

use reprise_workspace::{Action, AuditLine, AuditQuery, Workspace};
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
    /// Only what this actor did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Only what touched this path or something below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Only from this time on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// At most so many, the newest; 50 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Part of the audit trail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trail {
    pub lines: Vec<AuditLine>,
    /// Numbers of the trail's lines that are no entries.
    pub damaged: Vec<usize>,
    /// Ids of lines that were there when the last transaction of this branch ended and are not any
    /// more: the branch was set back, or its trail shortened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

#[derive(Debug)]
pub struct Audit;

impl Operation for Audit {
    const SPEC: Spec = Spec::reads(
        "workspace_audit",
        "Who changed what, when, under which rule.",
    )
    .at(&[get("/v1/users/{user}/workspace/audit")])
    .tool("workspace_audit", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Trail;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Trail, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: arguments.branch,
        };
        let since = arguments
            .since
            .map(|since| memory.calendar().since(&since))
            .transpose();
        let query = AuditQuery {
            actor: arguments.actor,
            path: arguments.path,
            action: arguments.action,
            since: since.map_err(Problem::invalid)?,
            limit: Some(arguments.limit.unwrap_or(50)),
        };
        let read = move |workspace: &Workspace| {
            let (lines, damaged) = workspace.audit(&query)?;
            let missing = workspace.trail_missing()?;
            Ok(Trail {
                lines,
                damaged,
                missing,
            })
        };
        memory.on_workspace(asked, read).await
    }
}
