//! What goes with a transaction: what the trail and the bus are told, and what git's hooks say.

use std::collections::BTreeSet;

use git2::Oid;

use super::{Draft, TransactionAttempt, git_commits};

use crate::audit;
use crate::error::{Result, refused_error};
use crate::event;
use crate::files;
use crate::stage::{Changes, StagingFolder};
use crate::trail;
use reprise_workspace_types::{
    Actor, AuditAction, AuditEntry, Class, RepoPath, TRAIL, WorkspaceEvent,
};

/// The rule under which a hook of git's refuses.
pub(super) const HOOK_RULE: &str = "git-hook";

impl TransactionAttempt<'_> {
    /// Returns extra events for PRDs and TSDs that came with a merge, a rollback or files of other
    /// kinds.
    pub(super) fn build_artifact_events(
        &self,
        changes: &Changes,
        event: &WorkspaceEvent,
    ) -> Vec<WorkspaceEvent> {
        let mut new_events = Vec::new();
        for class in [Class::Prd, Class::Tsd] {
            let paths: Vec<&RepoPath> = changes
                .keys()
                .filter(|path| path.class() == class)
                .collect();
            let topic = event::choose_topic(paths.iter().copied());
            if !paths.is_empty() && topic != event.topic {
                new_events.push(WorkspaceEvent {
                    event_id: self.workspace.new_id(),
                    topic: topic.to_owned(),
                    paths: paths.into_iter().map(ToString::to_string).collect(),
                    ..event.clone()
                });
            }
        }
        new_events
    }

    /// Records and publishes commits by plain git; see [`crate::Workspace::record_git_commits`].
    pub(super) fn record_git_commits(&self, stage: &mut StagingFolder) -> Result<usize> {
        let waiting = audit::list_pending(self.workspace.root(), self.head.branch())?;
        let (lines, new_events) = git_commits::describe_new_commits(self, &recorded_ids(&waiting))?;
        let count = lines.len();
        if count > 0 {
            let draft = Draft::new(&Actor::orchestrator(), AuditAction::Git);
            self.run_transaction(stage, &draft, Changes::new(), &lines, new_events, None)?;
        }
        Ok(count)
    }

    /// Adds the trail's file of a commit: the pending entries, commits by plain git, and its own
    /// entries.
    pub(super) fn add_trail_file(
        &self,
        draft: &Draft,
        own: &[AuditEntry],
        waiting: &[(RepoPath, Vec<AuditEntry>)],
        changes: &mut Changes,
        events: &mut Vec<WorkspaceEvent>,
    ) -> Result<()> {
        let mut lines: Vec<AuditEntry> = waiting
            .iter()
            .flat_map(|(_, lines)| lines.clone())
            .collect();
        lines.extend(self.collect_git_commits(draft, waiting, events)?);
        let missing = trail::find_missing_lines(self.git, self.head)?;
        lines.extend(missing.map(|missing| missing.line(self)));
        lines.extend_from_slice(own);
        changes.extend(waiting.iter().map(|(path, _)| (path.clone(), None)));
        let first = RepoPath::trusted(TRAIL);
        let is_first = draft.action == AuditAction::Init
            && self.git.blob_at(self.head.tree, &first)?.is_none();
        let place = if is_first {
            first
        } else {
            audit::trail_part_path(self.tx, draft.action)
        };
        changes.insert(place, Some(audit::encode_lines(&lines)));
        Ok(())
    }

    /// Collects the entries of commits by plain git that are not recorded yet.
    pub(super) fn collect_git_commits(
        &self,
        draft: &Draft,
        waiting: &[(RepoPath, Vec<AuditEntry>)],
        events: &mut Vec<WorkspaceEvent>,
    ) -> Result<Vec<AuditEntry>> {
        // A transaction that notes nothing else has them as its own.
        if draft.action == AuditAction::Git {
            return Ok(Vec::new());
        }
        let (lines, new_events) = git_commits::describe_new_commits(self, &recorded_ids(waiting))?;
        events.extend(new_events);
        Ok(lines)
    }

    /// Runs git's hooks before a commit, and returns the message as they leave it.
    pub(super) fn run_commit_hooks(
        &self,
        stage: &StagingFolder,
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
            let refusal = self.git.run_hook(name, argument, Some(&index), folder)?;
            if let Some(why) = refusal {
                return Err(refused_error(
                    HOOK_RULE,
                    &draft.actor,
                    "commit past",
                    name,
                    why,
                ));
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

    /// Runs the hook after a commit, whose failure changes nothing.
    pub(super) fn run_post_commit_hook(&self, stage: &StagingFolder) {
        match self.git.run_hook("post-commit", None, None, stage.folder()) {
            Ok(None) => {}
            Ok(Some(why)) => tracing::warn!(why, "post-commit failed"),
            Err(error) => tracing::warn!(%error, "post-commit did not run"),
        }
    }
}

/// Returns the ids of the entries that are recorded already.
fn recorded_ids(waiting: &[(RepoPath, Vec<AuditEntry>)]) -> BTreeSet<&str> {
    let lines = waiting.iter().flat_map(|(_, lines)| lines);
    lines.map(|line| line.event_id.as_str()).collect()
}
