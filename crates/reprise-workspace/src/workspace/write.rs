//! Writes of artifacts as an actor asks for them, all or none.

use reprise_workspace_types::{Actor, AuditAction, Receipt, RepoPath};

use super::{LOCKS, TransactionStep, Workspace};
use crate::error::{Result, invalid_error};
use crate::governor::PathAction;
use crate::lock;
use crate::schema;
use crate::stage::{Changes, StagingFolder};
use crate::transaction::Draft;

/// Longest message, in bytes.
const MESSAGE_BYTES_MAX: usize = 4096;
/// Most paths of one write.
const PATHS_MAX: usize = 1_000;

/// A write as its author means it.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    pub actor: Actor,
    /// New content; `None` takes the file away.
    pub changes: Vec<(RepoPath, Option<Vec<u8>>)>,
    /// Why, in the actor's words.
    pub message: Option<String>,
}

impl Workspace {
    /// Writes artifacts, all or none.
    pub fn write(&self, request: &WriteRequest) -> Result<Receipt> {
        let mut changes = Changes::new();
        for (path, content) in &request.changes {
            if changes.insert(path.clone(), content.clone()).is_some() {
                let why = "it is named twice in one write";
                return Err(invalid_error("path", path.as_str(), why));
            }
        }
        if changes.is_empty() || changes.len() > PATHS_MAX {
            let why = "a write names one path at least and 1000 at most";
            return Err(invalid_error("path", "", why));
        }
        let message = validate_message(request.message.as_deref())?;
        self.make_folders()?;
        let too_large = changes.iter().find_map(|(path, content)| {
            let bytes = content.as_ref().map_or(0, Vec::len) as u64;
            (bytes > schema::ARTIFACT_BYTES_MAX).then_some((path, bytes))
        });
        if let Some((path, bytes)) = too_large {
            let why = schema::too_large(bytes);
            let refusal = || invalid_error("artifact-size", path.as_str(), why.as_str());
            return self.refuse(&request.actor, &refusal);
        }
        let tx = self.new_id();
        let _artifacts = lock::lock_artifacts(&self.root.join(LOCKS), changes.keys())?;
        let mut stage = StagingFolder::new(&self.root, &tx)?;
        for (path, content) in &changes {
            stage.write_content(path, content.as_deref())?;
        }
        self.notify_step(TransactionStep::Staged);
        let title = match (&message, changes.keys().next()) {
            (text, _) if !text.is_empty() => text.lines().next().unwrap_or_default().to_owned(),
            (_, Some(path)) if changes.len() == 1 => format!("Write {path}"),
            _ => format!("Write {} files", changes.len()),
        };
        self.transact(&mut stage, &tx, &request.actor, &mut |_| {
            Ok(Draft {
                act: Some(PathAction::Write),
                changes: changes.clone(),
                title: title.clone(),
                message: message.clone(),
                ..Draft::new(&request.actor, AuditAction::Write)
            })
        })
    }
}

/// Validates a message for a commit.
pub(crate) fn validate_message(text: Option<&str>) -> Result<String> {
    let text = text.unwrap_or_default().trim();
    if text.len() > MESSAGE_BYTES_MAX || text.contains('\0') {
        let why = "a message has 4096 bytes at most, and no NUL";
        return Err(invalid_error("message", "--message", why));
    }
    Ok(text.to_owned())
}
