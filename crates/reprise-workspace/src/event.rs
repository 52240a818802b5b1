//! What the workspace announces (W16): one event for each transaction, with its ULID.
//!
//! Events stand in `.sdlc_ide/logs/events.jsonl` before anybody is told; a reader keeps the id of
//! the last one it took. Must never live here: who listens.

use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::durable::Unsynced;
use crate::error::Result;
use crate::files;
use crate::path::{Class, RepoPath};

/// Where they are.
pub(crate) const EVENTS: &str = ".sdlc_ide/logs/events.jsonl";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceEvent {
    /// The transaction's ULID.
    pub event_id: String,
    /// When.
    pub ts: DateTime<Utc>,
    /// Such as `PRD_Written`.
    pub topic: String,
    /// Who.
    pub actor: String,
    /// Where.
    pub paths: Vec<String>,
    /// On which branch.
    pub branch: String,
    /// The commit, where git keeps what was written.
    pub commit: Option<String>,
    /// In the actor's words.
    pub message: String,
    /// Artifacts made from what changed, to be looked at again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downstream: Vec<String>,
}

/// The topic of a plain write: the kind's own where all paths are of one kind.
pub(crate) fn topic_of<'a>(mut paths: impl Iterator<Item = &'a RepoPath>) -> &'static str {
    let of = |path: &RepoPath| match path.class() {
        Class::Prd => "PRD_Written",
        Class::Tsd => "TSD_Written",
        Class::Adr => "ADR_Written",
        Class::Kb => "KB_Written",
        Class::AgentState => "Checkpoint_Saved",
        _ => "File_Written",
    };
    let Some(first) = paths.next().map(of) else {
        return "File_Written";
    };
    if paths.all(|path| of(path) == first) {
        first
    } else {
        "File_Written"
    }
}

/// Writes an event down.
pub(crate) fn record(root: &Path, event: &WorkspaceEvent, unsynced: &mut Unsynced) -> Result<()> {
    let path = root.join(EVENTS);
    files::append_unsynced(&path, &crate::wal::line(event))?;
    unsynced.add(path);
    Ok(())
}

/// Whether an event is among the last that were written down.
pub(crate) fn is_recorded(root: &Path, id: &str) -> Result<bool> {
    let bytes = files::read(&root.join(EVENTS))?.unwrap_or_default();
    let word = format!("\"event_id\":\"{id}\"");
    let lines = bytes.rsplit(|b| *b == b'\n').take(64);
    Ok(lines
        .into_iter()
        .any(|line| String::from_utf8_lossy(line).contains(&word)))
}

/// Every event after `after` (`None`: from the first on), at most `limit`.
pub(crate) fn since(root: &Path, after: Option<&str>, limit: usize) -> Result<Vec<WorkspaceEvent>> {
    let bytes = files::read(&root.join(EVENTS))?.unwrap_or_default();
    let events = bytes
        .split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice::<WorkspaceEvent>(line).ok());
    let Some(after) = after else {
        return Ok(events.take(limit).collect());
    };
    let mut is_after = false;
    let kept = events.filter(|event| {
        let keep = is_after;
        is_after |= event.event_id == after;
        keep
    });
    Ok(kept.take(limit).collect())
}
