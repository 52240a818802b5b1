//! Events that the workspace publishes: one event for each transaction, with its ULID.
//!
//! Events are in `.sdlc_ide/logs/events.jsonl` before anybody is notified; a reader keeps the id of
//! the last one it took.

use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use reprise_files::OpenMode;
use reprise_workspace_types::{AuditEntry, Class, RepoPath, WorkspaceEvent};
use serde::{Deserialize, Serialize};

use crate::error::{Result, WorkspaceError};
use crate::files::{self, OpenedFile};

pub(crate) const EVENTS: &str = ".sdlc_ide/logs/events.jsonl";

/// Events that are read at a time.
const BATCH: usize = 1_000;

/// Builds the event of an audit entry.
pub(crate) fn build_event(line: &AuditEntry, topic: &str) -> WorkspaceEvent {
    WorkspaceEvent {
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

/// The position of a reader in the events.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct EventCursor {
    /// The file that was read; care begins it anew.
    inode: u64,
    /// Up to which byte.
    offset: u64,
}

impl EventCursor {
    /// Reads the events since the last call, oldest first, at most `limit`. Where the file was
    /// begun anew it is read from its beginning, so that events may come again; their ids tell.
    pub(crate) fn read(&mut self, root: &Path, limit: usize) -> Result<Vec<WorkspaceEvent>> {
        let Some(OpenedFile { file, path }) = files::open_below(root, EVENTS, OpenMode::Read)?
        else {
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

/// Returns the topic of a plain write: the kind's own if all paths are of one kind.
pub(crate) fn choose_topic<'a>(mut paths: impl Iterator<Item = &'a RepoPath>) -> &'static str {
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

/// Lists the events after `after` (`None`: from the first on), at most `limit`.
pub(crate) fn list_events_after(
    root: &Path,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<WorkspaceEvent>> {
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
