//! What waits for a person.

use reprise_workspace::{Review as Found, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// Branches, each with what a merge would bring and a person's last word on it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reviews {
    pub reviews: Vec<Found>,
}

#[derive(Debug)]
pub struct Review;

impl Operation for Review {
    const SPEC: Spec = Spec::reads("workspace_review", "What merging a branch would bring; without one, the branches that a person has to approve.")
    .at(&[get("/v1/users/{user}/workspace/review")])
    .tool("workspace_review", Profile::Workspace);
    type Arguments = Arguments;
    type Answer = Reviews;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Reviews, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: None,
        };
        let branch = arguments.branch;
        let look = move |workspace: &Workspace| match branch {
            Some(branch) => Ok(vec![workspace.review(&branch)?]),
            None => workspace.reviews(),
        };
        let reviews = memory.on_workspace(asked, look).await?;
        Ok(Reviews { reviews })
    }
}
