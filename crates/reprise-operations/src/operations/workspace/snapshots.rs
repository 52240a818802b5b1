//! The snapshots of a workspace.

use chrono::{DateTime, Utc};
use reprise_workspace::SnapshotManifest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    pub snapshots: Vec<Taken>,
}

/// A snapshot; the hash of each file stands in its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    pub id: String,
    pub ts: DateTime<Utc>,
    pub actor: String,
    pub branch: String,
    pub commit: String,
    pub archive_sha256: String,
    /// How many files it holds.
    pub files: usize,
    /// The event at which it was taken by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

impl Taken {
    pub(super) fn of(manifest: &SnapshotManifest) -> Self {
        Self {
            id: manifest.id.clone(),
            ts: manifest.ts,
            actor: manifest.actor.clone(),
            branch: manifest.branch.clone(),
            commit: manifest.commit.clone(),
            archive_sha256: manifest.archive_sha256.clone(),
            files: manifest.files.len(),
            point: manifest.point.clone(),
            tag: manifest.tag.clone(),
        }
    }
}

#[derive(Debug)]
pub struct Snapshots;

impl Operation for Snapshots {
    const SPEC: Spec = Spec::reads(
        "workspace_snapshots",
        "The snapshots of a workspace, oldest first.",
    )
    .at(&[get("/v1/users/{user}/workspace/snapshots")]);
    type Arguments = Arguments;
    type Answer = Kept;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Kept, Problem> {
        let asked = Asked {
            workspace: arguments.workspace,
            branch: None,
        };
        let found = memory
            .on_workspace(asked, reprise_workspace::Workspace::snapshots)
            .await?;
        let snapshots = found.iter().map(Taken::of).collect();
        Ok(Kept { snapshots })
    }
}
