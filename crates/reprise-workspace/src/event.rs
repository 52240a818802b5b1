//! What the workspace announces (W16): one event for each transaction, with its ULID.
//!
//! Events stand in `.sdlc_ide/logs/events.jsonl` before anybody is told; a reader keeps the id of
//! the last one it took.

use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use chrono::{DateTime, Utc};
use reprise_files::Access;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::AuditLine;
use crate::error::{Result, WorkspaceError};
use crate::files::{self, Opened};
use crate::path::{Class, RepoPath};

pub(crate) const EVENTS: &str = ".sdlc_ide/logs/events.jsonl";

/// Events that are read at a time.
const BATCH: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceEvent {
    /// The transaction's ULID.
    pub event_id: String,
    /// When.
    pub ts: DateTime<Utc>,
    /// Such as `PRD_Written`.
    pub topic: String,
    pub actor: String,
    pub paths: Vec<String>,
    pub branch: String,
    /// The commit, where git keeps what was written.
    pub commit: Option<String>,
    /// In the actor's words.
    pub message: String,
    /// Artifacts made from what changed, to be looked at again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downstream: Vec<String>,
}

impl WorkspaceEvent {
    /// What a line of the trail tells, announced.
    pub(crate) fn of(line: &AuditLine, topic: &str) -> Self {
        Self {
            event_id: line.event_id.clone(),
            ts: line.ts,
            topic: topic.to_owned(),
            actor: line.actor.clone(),
            paths: line.paths.clone(),
            branch: line.branch.clone(),
            commit: None,
            message: line.message.clone(),
            downstream: Vec::new(),
        }
    }

    /// What happened, as a sentence that a memory keeps.
    pub fn sentence(&self) -> String {
        let what = self.topic.replace('_', " ").to_lowercase();
        let place = self.paths.join(", ");
        let mut text = format!("{what} by {}", self.actor);
        if !place.is_empty() {
            text = format!("{text}: {place}");
        }
        if !self.message.is_empty() {
            text = format!("{text}. {}", self.message);
        }
        text
    }
}

/// How far a reader of the events has come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct EventCursor {
    /// The file that was read; care begins it anew.
    inode: u64,
    /// Up to which byte.
    offset: u64,
}

impl EventCursor {
    /// What came since, oldest first, at most `limit`. Where the file was begun anew it is read
    /// from its beginning, so that events may come again; their ids tell.
    pub(crate) fn read(&mut self, root: &Path, limit: usize) -> Result<Vec<WorkspaceEvent>> {
        let Some(Opened { file, path }) = files::open_in(root, EVENTS, Access::Read)? else {
            return Ok(Vec::new());
        };
        let io = || WorkspaceError::io("cannot read", &path);
        let mut file = BufReader::new(file);
        let found = file.get_ref().metadata().map_err(io())?;
        if found.ino() != self.inode || found.len() < self.offset {
            (self.inode, self.offset) = (found.ino(), 0);
        }
        file.seek(SeekFrom::Start(self.offset)).map_err(io())?;
        let (mut events, mut line) = (Vec::new(), Vec::new());
        while events.len() < limit {
            line.clear();
            let size = file.read_until(b'\n', &mut line).map_err(io())?;
            // A line that is being written is for the next time.
            if line.last() != Some(&b'\n') {
                break;
            }
            self.offset += size as u64;
            events.extend(serde_json::from_slice::<WorkspaceEvent>(&line));
        }
        Ok(events)
    }
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

/// Every event after `after` (`None`: from the first on), at most `limit`.
pub(crate) fn since(root: &Path, after: Option<&str>, limit: usize) -> Result<Vec<WorkspaceEvent>> {
    let (mut cursor, mut found) = (EventCursor::default(), Vec::new());
    let mut is_after = after.is_none();
    while found.len() < limit {
        let events = cursor.read(root, BATCH)?;
        if events.is_empty() {
            break;
        }
        for event in events {
            let is_it = after == Some(event.event_id.as_str());
            if is_after && found.len() < limit {
                found.push(event);
            }
            is_after |= is_it;
        }
    }
    Ok(found)
}
