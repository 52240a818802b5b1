//! What goes with a transaction: what the trail and the bus are told, and what git's hooks say.

use std::collections::BTreeSet;

use git2::Oid;

use super::{Changes, Draft, View};
use crate::actor::Actor;
use crate::audit::{self, Action, AuditLine};
use crate::error::{Result, refused};
use crate::event::{self, WorkspaceEvent};
use crate::files;
use crate::foreign;
use crate::kept;
use crate::path::{Class, RepoPath, TRAIL};
use crate::stage::Stage;

/// The rule under which a hook of git's refuses.
pub(super) const HOOK_RULE: &str = "git-hook";

impl View<'_> {
    /// Whoever waits for PRDs or TSDs is told of those that came with a merge, a rollback or files
    /// of other kinds, too.
    pub(super) fn of_kinds(
        &self,
        changes: &Changes,
        event: &WorkspaceEvent,
    ) -> Vec<WorkspaceEvent> {
        let mut told = Vec::new();
        for class in [Class::Prd, Class::Tsd] {
            let paths: Vec<&RepoPath> = changes
                .keys()
                .filter(|path| path.class() == class)
                .collect();
            let topic = event::topic_of(paths.iter().copied());
            if !paths.is_empty() && topic != event.topic {
                told.push(WorkspaceEvent {
                    event_id: self.workspace.new_id(),
                    topic: topic.to_owned(),
                    paths: paths.into_iter().map(ToString::to_string).collect(),
                    ..event.clone()
                });
            }
        }
        told
    }

    /// See [`crate::Workspace::notice`].
    pub(super) fn notice(&self, stage: &mut Stage) -> Result<usize> {
        let waiting = audit::pending(self.workspace.root(), self.head.branch())?;
        let (lines, told) = foreign::noted(self, &ids_of(&waiting))?;
        let count = lines.len();
        if count > 0 {
            let draft = Draft::new(&Actor::orchestrator(), Action::Git);
            self.carry_out(stage, &draft, Changes::new(), &lines, told, None)?;
        }
        Ok(count)
    }

    /// The file of the trail that a commit adds: what waited, what plain git did meanwhile, and
    /// its own lines.
    pub(super) fn record(
        &self,
        draft: &Draft,
        own: &[AuditLine],
        waiting: &[(RepoPath, Vec<AuditLine>)],
        changes: &mut Changes,
        events: &mut Vec<WorkspaceEvent>,
    ) -> Result<()> {
        let mut lines: Vec<AuditLine> = waiting
            .iter()
            .flat_map(|(_, lines)| lines.clone())
            .collect();
        lines.extend(self.noted(draft, waiting, events)?);
        let missing = kept::missing(self.git, self.head)?;
        lines.extend(missing.map(|missing| missing.line(self)));
        lines.extend_from_slice(own);
        changes.extend(waiting.iter().map(|(path, _)| (path.clone(), None)));
        let first = RepoPath::known(TRAIL);
        let is_first =
            draft.action == Action::Init && self.git.blob_at(self.head.tree, &first)?.is_none();
        let place = if is_first {
            first
        } else {
            audit::part_of(self.tx, draft.action)
        };
        changes.insert(place, Some(audit::written(&lines)));
        Ok(())
    }

    /// What plain git did that is not on record yet.
    pub(super) fn noted(
        &self,
        draft: &Draft,
        waiting: &[(RepoPath, Vec<AuditLine>)],
        events: &mut Vec<WorkspaceEvent>,
    ) -> Result<Vec<AuditLine>> {
        // A transaction that notes nothing else has them as its own.
        if draft.action == Action::Git {
            return Ok(Vec::new());
        }
        let (lines, told) = foreign::noted(self, &ids_of(waiting))?;
        events.extend(told);
        Ok(lines)
    }

    /// Asks git's hooks before a commit; the message as they leave it.
    pub(super) fn hooked(
        &self,
        stage: &Stage,
        draft: &Draft,
        tree: Oid,
        message: &str,
    ) -> Result<String> {
        let folder = stage.folder();
        let index = self.git.index_of(tree, folder)?;
        let file = folder.join("COMMIT_EDITMSG");
        files::remove(&file)?;
        files::write_unsynced(&file, message.as_bytes())?;
        for (name, argument) in [("pre-commit", None), ("commit-msg", Some(file.as_path()))] {
            let said = self.git.run_hook(name, argument, Some(&index), folder)?;
            if let Some(why) = said {
                return Err(refused(HOOK_RULE, &draft.actor, "commit past", name, why));
            }
        }
        let edited = files::read(&file)?.unwrap_or_default();
        let edited = String::from_utf8_lossy(&edited).into_owned();
        // Whatever a hook writes, the trailers that we read again stay last.
        let trailers = message
            .rsplit_once("\n\n")
            .map_or("", |(_, trailers)| trailers);
        if edited.trim_end().ends_with(trailers.trim_end()) {
            return Ok(edited);
        }
        Ok(format!("{}\n\n{trailers}", edited.trim_end()))
    }

    /// A hook that comes after the commit changes nothing of it.
    pub(super) fn after_commit(&self, stage: &Stage) {
        match self.git.run_hook("post-commit", None, None, stage.folder()) {
            Ok(None) => {}
            Ok(Some(why)) => tracing::warn!(why, "post-commit failed"),
            Err(error) => tracing::warn!(%error, "post-commit did not run"),
        }
    }
}

/// The ids of what is on record already.
fn ids_of(waiting: &[(RepoPath, Vec<AuditLine>)]) -> BTreeSet<&str> {
    let lines = waiting.iter().flat_map(|(_, lines)| lines);
    lines.map(|line| line.event_id.as_str()).collect()
}
