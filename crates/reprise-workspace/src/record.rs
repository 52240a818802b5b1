//! Telling what a transaction did, once it has happened; again where a crash came between.

use std::path::Path;

use crate::durable::Unsynced;
use crate::error::{Result, WorkspaceError};
use crate::event::{EVENTS, WorkspaceEvent};
use crate::files;
use crate::folders::CONFLICTS;
use crate::git::Git;
use crate::kept;
use crate::wal::{Entry, line};

impl Entry {
    /// Tells what happened: the event, the log of conflicts, the tag, and the trail beside its
    /// branch. What is told already is not told again. `stage` is the folder of a living
    /// transaction.
    pub(crate) fn record(
        &self,
        git: &Git,
        root: &Path,
        event: &WorkspaceEvent,
        stage: &Path,
        unsynced: &mut Unsynced,
    ) -> Result<()> {
        let mut tell = |log: &str, lines: &[u8]| -> Result<()> {
            if !lines.is_empty() && !files::ends_with(root, log, lines)? {
                unsynced.add_file(files::append_lines(root, log, lines)?);
            }
            Ok(())
        };
        tell(EVENTS, &line(event))?;
        tell(
            CONFLICTS,
            &self.conflicts.iter().flat_map(line).collect::<Vec<u8>>(),
        )?;
        if let Some(tag) = &self.tag {
            match git.tag(tag, stage, unsynced) {
                // A disk that fails is tried again; what git refuses it refuses for good.
                Err(error @ WorkspaceError::Io { .. }) if error.is_passing() => return Err(error),
                Err(error) => tracing::warn!(%error, tag = tag.name, "the snapshot has no tag"),
                Ok(()) => {}
            }
        }
        if let (Some(commit), Some(branch)) = (&self.commit, &self.branch)
            && let Ok(commit) = git2::Oid::from_str(commit)
        {
            kept::keep(git, branch, commit, stage, unsynced);
        }
        Ok(())
    }
}
