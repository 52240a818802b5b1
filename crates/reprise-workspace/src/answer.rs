//! Answers the requests of other programs for the workspaces of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use reprise_types::{Clock, lock};
use reprise_workspace_types::{
    Actor, RepoPath, SnapshotRow, Trail, TreeCall, TreeError, TreeErrorKind, TreeRequest,
};
use serde::Serialize;
use serde_json::Value;

use crate::error::WorkspaceError;
use crate::maintenance::MaintenanceState;
use crate::snapshot::SnapshotManifest;
use crate::workspace::{Workspace, WriteRequest};

/// An answer as JSON.
type Answer = Result<Value, TreeError>;

/// Answers requests for any workspace of this machine. Cheap to clone.
#[derive(Clone)]
pub struct TreeServer {
    clock: Arc<dyn Clock>,
    /// What the last maintenance of each workspace left.
    maintained: Arc<Mutex<BTreeMap<PathBuf, MaintenanceState>>>,
}

reprise_types::show_fields!(TreeServer { maintained });

impl TreeServer {
    /// Creates a server that takes the time from `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            maintained: Arc::default(),
        }
    }

    /// Does what a request asks for. Waits for the disk.
    pub fn answer(&self, request: TreeRequest) -> Answer {
        let mut workspace = Workspace::open(&request.root, Arc::clone(&self.clock))?;
        if let Some(identity) = request.identity {
            workspace = workspace.with_identity(identity);
        }
        if let Some(branch) = &request.branch {
            workspace = workspace.open_agent_branch(branch)?;
        }
        match request.call {
            TreeCall::Maintain => self.maintain(&workspace, &request.root),
            call => answer_read_call(&workspace, call),
        }
    }

    fn maintain(&self, workspace: &Workspace, root: &Path) -> Answer {
        let known = lock(&self.maintained).get(root).cloned();
        let mut maintained = known.unwrap_or_default();
        workspace.maintain(&mut maintained)?;
        lock(&self.maintained).insert(root.to_owned(), maintained);
        Ok(Value::Null)
    }
}

/// Answers the calls that read, and `recover`.
fn answer_read_call(workspace: &Workspace, call: TreeCall) -> Answer {
    match call {
        TreeCall::Status => to_json(&workspace.status()?),
        TreeCall::Read { path, at } => {
            let bytes = workspace.read(&parse_path(&path)?, at.as_deref())?;
            let text = String::from_utf8(bytes).map_err(|_| {
                let said = format!("`{path}` is no text; read it from the tree itself");
                TreeError::new(TreeErrorKind::Invalid, said)
            });
            to_json(&text?)
        }
        TreeCall::Audit(query) => {
            let (lines, damaged) = workspace.audit(&query)?;
            let missing = workspace.trail_missing()?;
            to_json(&Trail {
                lines,
                damaged,
                missing,
            })
        }
        TreeCall::Diff { from, to, of } => to_json(&match of {
            Some(name) => workspace.diff_commit(&name)?,
            None => workspace.diff(from.as_deref(), to.as_deref())?,
        }),
        TreeCall::Log { limit } => to_json(&workspace.log(limit)?),
        TreeCall::Graph => to_json(&workspace.list_artifact_nodes()?),
        TreeCall::Review { branch } => to_json(&match branch {
            Some(branch) => vec![workspace.review(&branch)?],
            None => workspace.reviews()?,
        }),
        TreeCall::State { agent } => to_json(&workspace.require_checkpoint(&agent)?),
        TreeCall::Snapshots => {
            let found = workspace.snapshots()?;
            to_json(&found.iter().map(to_row).collect::<Vec<_>>())
        }
        TreeCall::Events { after, limit } => to_json(&workspace.events(after.as_deref(), limit)?),
        TreeCall::Recover => to_json(&workspace.recover()?),
        change => answer_change_call(workspace, change),
    }
}

/// Answers the calls that change a tree in somebody's name.
fn answer_change_call(workspace: &Workspace, call: TreeCall) -> Answer {
    match call {
        TreeCall::Write {
            actor,
            changes,
            message,
        } => {
            let changes = changes.into_iter().map(|(path, text)| {
                let path = parse_path(&path)?;
                Ok((path, text.map(String::into_bytes)))
            });
            to_json(&workspace.write(&WriteRequest {
                actor: parse_actor(&actor)?,
                changes: changes.collect::<Result<_, TreeError>>()?,
                message,
            })?)
        }
        TreeCall::Propose { actor } => to_json(&workspace.propose(&actor)?),
        TreeCall::Approve { human, reference } => {
            to_json(&workspace.approve(&parse_human(&human)?, &reference)?)
        }
        TreeCall::Decline {
            human,
            reference,
            message,
        } => {
            let human = parse_human(&human)?;
            to_json(&workspace.decline(&human, &reference, message.as_deref())?)
        }
        TreeCall::Merge {
            actor,
            from,
            message,
        } => to_json(&workspace.merge(&parse_actor(&actor)?, &from, message.as_deref())?),
        TreeCall::Abandon { actor } => to_json(&workspace.abandon(&actor)?),
        TreeCall::Rollback {
            actor,
            commit,
            message,
        } => to_json(&workspace.rollback(&parse_actor(&actor)?, &commit, message.as_deref())?),
        TreeCall::Checkpoint {
            actor,
            state,
            message,
        } => {
            let state = Value::Object(state).to_string();
            let (actor, message) = (parse_actor(&actor)?, message.as_deref());
            to_json(&workspace.checkpoint(&actor, state.as_bytes(), message)?)
        }
        TreeCall::Snapshot { actor, tag } => {
            let taken = workspace.snapshot(&parse_actor(&actor)?, tag)?;
            to_json(&to_row(&taken))
        }
        TreeCall::Restore { actor, id } => to_json(&workspace.restore(&parse_actor(&actor)?, &id)?),
        _ => Ok(Value::Null),
    }
}

fn parse_path(path: &str) -> Result<RepoPath, WorkspaceError> {
    Ok(RepoPath::new(path)?)
}

fn parse_actor(name: &str) -> Result<Actor, WorkspaceError> {
    Ok(Actor::new(name)?)
}

fn parse_human(name: &str) -> Result<Actor, WorkspaceError> {
    Ok(Actor::human(name)?)
}

fn to_row(manifest: &SnapshotManifest) -> SnapshotRow {
    SnapshotRow {
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

fn to_json(answer: &impl Serialize) -> Answer {
    serde_json::to_value(answer).map_err(|error| {
        let said = format!("the workspace's answer is not valid JSON ({error}); see its log");
        TreeError::new(TreeErrorKind::Internal, said)
    })
}

impl From<WorkspaceError> for TreeError {
    fn from(error: WorkspaceError) -> Self {
        let kind = match &error {
            WorkspaceError::Refused { .. } => TreeErrorKind::Forbidden,
            WorkspaceError::Path(_)
            | WorkspaceError::Actor(_)
            | WorkspaceError::Invalid { .. }
            | WorkspaceError::Rules { .. } => TreeErrorKind::Invalid,
            WorkspaceError::Edited { .. }
            | WorkspaceError::Conflict { .. }
            | WorkspaceError::Moved { .. }
            | WorkspaceError::Repository { .. } => TreeErrorKind::Conflict,
            WorkspaceError::Busy { .. } => TreeErrorKind::Unavailable,
            WorkspaceError::NotAWorkspace { .. } | WorkspaceError::Unknown { .. } => {
                TreeErrorKind::NotFound
            }
            _ => TreeErrorKind::Internal,
        };
        Self {
            kind,
            message: error.to_string(),
            rule: error.rule().map(str::to_owned),
        }
    }
}
