//! One attempt at a transaction, against one state of its branch.

use std::path::Path;

use git2::Oid;
use reprise_files::{ChangeOutcome, FileFingerprint};

use super::records::HOOK_RULE;
use super::{ACTOR, Draft, Receipt, TRAILER, TransactionAttempt, TransactionStep};
use crate::audit;
use crate::error::{Result, WorkspaceError};
use crate::event;
use crate::files;
use crate::git::index::{IndexLock, NewIndex};
use crate::git::{Blob, FILE, WrittenObjects, signature};
use crate::layout;
use crate::rules::Rules;
use crate::stage::{Changes, StagingFolder};
use crate::validate;
use crate::wal::{self, Hashes, WalEntry};
use reprise_workspace_types::{Actor, AuditAction, AuditEntry, Class, RepoPath, WorkspaceEvent};

/// What was found about one path when its turn came.
struct StagedChange {
    path: RepoPath,
    /// New content in git, `None` for removal; also `None` for what git does not keep.
    blob: Option<Blob>,
    is_versioned: bool,
    before: Option<FileFingerprint>,
    hashes: Hashes,
}

impl TransactionAttempt<'_> {
    /// Validates and runs the transaction; `None` if the branch has moved.
    pub(super) fn validate_and_run(
        &self,
        stage: &mut StagingFolder,
        draft: &Draft,
        held: Option<IndexLock>,
    ) -> Result<Option<Receipt>> {
        let passed = match validate::validate_draft(self, draft) {
            Err(error) => {
                drop(held);
                return self.refuse(stage, &draft.actor, &draft.message, error);
            }
            Ok(passed) => passed,
        };
        self.workspace.notify_step(TransactionStep::Validated);
        if passed.changes.is_empty() && draft.other_parent.is_none() && draft.act.is_some() {
            return Ok(Some(Receipt {
                tx: self.tx.to_owned(),
                commit: self.head.commit.map(|id| id.to_string()),
                rules: passed.rules,
                ..Receipt::default()
            }));
        }
        let line = AuditEntry {
            event_id: self.tx.to_owned(),
            ts: self.at,
            action: draft.action,
            actor: draft.actor.to_string(),
            identity: self.find_identity_of_person(&draft.actor),
            rules: passed.rules.clone(),
            paths: list_reportable_paths(&passed.changes),
            branch: self.head.branch().to_owned(),
            message: draft.message.clone(),
            details: passed.details.clone(),
        };
        let topic = draft
            .topic
            .unwrap_or_else(|| event::choose_topic(passed.changes.keys()));
        let event = WorkspaceEvent {
            downstream: passed.downstream.clone(),
            ..event::build_event(&line, topic)
        };
        let mut own_events = self.build_artifact_events(&passed.changes, &event);
        own_events.push(event);
        let carried = self.run_transaction(stage, draft, passed.changes, &[line], own_events, held);
        match carried {
            Err(error) if error.rule() == Some(HOOK_RULE) => {
                self.refuse(stage, &draft.actor, &draft.message, error)
            }
            carried => carried,
        }
    }

    fn find_identity_of_person(&self, actor: &Actor) -> Option<String> {
        let is_person = actor.is_human();
        is_person.then(|| self.workspace.identity(self.git))?
    }

    /// Records a refusal; every other error is only returned.
    pub(super) fn refuse(
        &self,
        stage: &mut StagingFolder,
        actor: &Actor,
        message: &str,
        error: WorkspaceError,
    ) -> Result<Option<Receipt>> {
        let Some(refusal) = error.refusal() else {
            return Err(error);
        };
        // Where the branch has moved the whole is asked again, so that each refusal is on record.
        // Where no record can be made the refusal alone is told.
        match self.record_violation(stage, actor, message, refusal) {
            Ok(None) => Ok(None),
            _ => Err(error),
        }
    }

    fn record_violation(
        &self,
        stage: &mut StagingFolder,
        actor: &Actor,
        message: &str,
        (rule, act, path, why): (&str, &str, &str, &str),
    ) -> Result<Option<Receipt>> {
        let line = AuditEntry {
            event_id: self.tx.to_owned(),
            ts: self.at,
            action: AuditAction::Violation,
            actor: actor.to_string(),
            identity: self.find_identity_of_person(actor),
            rules: vec![rule.to_owned()],
            paths: vec![path.to_owned()],
            branch: self.head.branch().to_owned(),
            message: message.to_owned(),
            details: serde_json::json!({ "act": act, "why": why }),
        };
        let event = WorkspaceEvent {
            message: why.to_owned(),
            ..event::build_event(&line, "Policy_Violated")
        };
        let own = Draft {
            title: format!("Refuse {actor} {act} of {path}"),
            ..Draft::new(&Actor::governor(), AuditAction::Violation)
        };
        self.run_transaction(stage, &own, Changes::new(), &[line], vec![event], None)
    }

    /// Runs everything from git's objects to the events, of which the last is the transaction's
    /// own. Returns `None`, with nothing done, if the branch has moved.
    pub(super) fn run_transaction(
        &self,
        stage: &mut StagingFolder,
        draft: &Draft,
        mut changes: Changes,
        lines: &[AuditEntry],
        own_events: Vec<WorkspaceEvent>,
        mut lock: Option<IndexLock>,
    ) -> Result<Option<Receipt>> {
        let waiting = audit::list_pending(self.workspace.root(), self.head.branch())?;
        let has_commit = draft.other_parent.is_some()
            || matches!(
                draft.action,
                AuditAction::Init | AuditAction::Approve | AuditAction::Decline
            )
            || changes.keys().any(RepoPath::is_in_git)
            || waiting.len() >= audit::PENDING_MAX;
        let mut events = Vec::new();
        if has_commit {
            self.add_trail_file(draft, lines, &waiting, &mut changes, &mut events)?;
        } else if draft.act.is_none() {
            let git_lines = self.collect_git_commits(draft, &waiting, &mut events)?;
            let waits = [git_lines.as_slice(), lines].concat();
            let waits = Some(audit::encode_lines(&waits));
            changes.insert(audit::pending_path(self.tx), waits);
        }
        events.extend(own_events);
        let mut items = self.stage_all(stage, draft, &changes)?;
        let line = lines.last();
        let commit = has_commit
            .then(|| self.write_commit_and_stage_branch(stage, draft, &changes, &items, line))
            .transpose()?;
        self.check_current_files(&mut items)?;
        let index = commit
            .map(|_| self.prepare_index(stage, &items))
            .transpose()?;
        for event in &mut events {
            let own = || commit.map(|id| id.to_string());
            event.commit = event.commit.take().or_else(own);
        }
        let Some(event) = events.pop() else {
            return Ok(None);
        };
        let root = self.workspace.root();
        let begin = WalEntry {
            conflicts: draft.conflicts.clone(),
            tag: draft.tag.clone(),
            events: events.iter().flat_map(serde_json::to_value).collect(),
            ..self.build_begin_entry(&items, &event, commit)
        };
        let logged = files::append_lines(root, wal::WAL, &wal::encode_line(&begin))?;
        stage.unsynced.add_file(logged);
        // All that was staged and the log's word of it, in one wait: none of it has happened yet.
        let mut moved = stage.unsynced.sync().map(|()| true);
        if moved.is_ok() {
            self.workspace.notify_step(TransactionStep::Begun);
            if let Some(index) = &index {
                moved = self.move_branch(stage, index, &mut lock);
            }
        }
        if !matches!(moved, Ok(true)) {
            // The disk is waited for without git's lock: a person is at work.
            drop(lock);
            wal::append(root, &begin.to_end_entry(wal::WalAction::Abort))?;
            return moved.map(|_| None);
        }
        if commit.is_some() {
            self.workspace.notify_step(TransactionStep::Committed);
        }
        let finished = self
            .place_files(stage, &items, lock.zip(index.as_ref()))
            .and_then(|left_alone| {
                let moved = commit.map(|commit| (commit, draft.title.as_str()));
                self.record_and_end(stage, &begin, &event, moved)?;
                Ok(left_alone)
            });
        let left_alone = finished.map_err(|error| WorkspaceError::Unfinished {
            commit: event.commit.clone().unwrap_or_else(|| self.tx.to_owned()),
            why: error.to_string(),
        })?;
        if commit.is_some() && draft.act.is_some() && self.git.runs_hooks() {
            self.run_post_commit_hook(stage);
        }
        Ok(Some(Receipt {
            tx: self.tx.to_owned(),
            commit: commit.map(|id| id.to_string()),
            rules: line.map(|line| line.rules.clone()).unwrap_or_default(),
            left_alone,
            event: Some(event),
            ..Receipt::default()
        }))
    }

    fn prepare_index(&self, stage: &StagingFolder, items: &[StagedChange]) -> Result<NewIndex> {
        let of_git = items.iter().filter(|item| item.is_versioned);
        let of_git = of_git.map(|item| {
            let file = stage.staged_file(&item.path).map(Path::to_owned);
            (&item.path, item.blob, file.unwrap_or_default())
        });
        self.git.prepare_index(stage.folder(), of_git)
    }

    /// Moves the branch, with git's lock on the index held from here until the files are in place:
    /// nobody commits in between. `false` where somebody was faster.
    fn move_branch(
        &self,
        stage: &StagingFolder,
        index: &NewIndex,
        lock: &mut Option<IndexLock>,
    ) -> Result<bool> {
        if lock.is_none() {
            // Where somebody was faster already, nobody is kept out for nothing.
            if !self.git.is_still_current(index)? {
                return Ok(false);
            }
            *lock = Some(self.git.lock_index(stage)?);
            if self.git.head()? != *self.head || !self.git.is_still_current(index)? {
                return Ok(false);
            }
        }
        self.git.move_branch(self.head, stage)
    }

    fn stage_all(
        &self,
        stage: &mut StagingFolder,
        draft: &Draft,
        changes: &Changes,
    ) -> Result<Vec<StagedChange>> {
        let mut items = Vec::with_capacity(changes.len());
        for (path, content) in changes {
            let is_versioned = path.is_in_git();
            let there = if is_versioned {
                self.git.blob_at(self.head.tree, path)?
            } else {
                None
            };
            let after = stage.write_content(path, content.as_deref())?;
            let mode = draft.modes.get(path).copied();
            let mode = mode.unwrap_or_else(|| there.map_or(FILE, |blob| blob.mode));
            items.push(StagedChange {
                path: path.clone(),
                blob: after.filter(|_| is_versioned).map(|id| Blob { id, mode }),
                is_versioned,
                before: None,
                hashes: Hashes {
                    before: there.map(|blob| blob.id.to_string()),
                    after: after.map(|id| id.to_string()),
                },
            });
        }
        Ok(items)
    }

    fn write_commit_and_stage_branch(
        &self,
        stage: &mut StagingFolder,
        draft: &Draft,
        changes: &Changes,
        items: &[StagedChange],
        line: Option<&AuditEntry>,
    ) -> Result<Oid> {
        let mut written = WrittenObjects::default();
        for item in items.iter().filter(|item| item.is_versioned) {
            if let Some(Some(bytes)) = changes.get(&item.path) {
                self.git.write_blob(bytes, &mut written)?;
            }
        }
        let of_git = items.iter().filter(|item| item.is_versioned);
        let of_git: Vec<_> = of_git.map(|item| (item.path.as_str(), item.blob)).collect();
        let tree = self.git.write_tree(self.head.tree, &of_git, &mut written)?;
        let parents: Vec<Oid> = self
            .head
            .commit
            .into_iter()
            .chain(draft.other_parent)
            .collect();
        let mut message = commit_message(self.tx, draft, line);
        if self.on_main {
            let changes_rules = items.iter().any(|item| item.path.is_policy());
            let rules = if changes_rules {
                Rules::of_tree(self.git, Some(tree))?
            } else {
                self.in_force.rules
            };
            message = format!("{message}{}\n", rules.trailer());
        }
        if draft.act.is_some() && self.git.runs_hooks() {
            message = self.run_commit_hooks(stage, draft, tree, &message)?;
        }
        let own = signature(&draft.actor, self.at)?;
        let person = self.git.person_signature(self.at);
        // Who asked the daemon is not whom git's configuration names.
        let is_here = draft.actor.is_human() && !self.workspace.has_identity();
        let author = person.as_ref().filter(|_| is_here).unwrap_or(&own);
        let signatures = [author, person.as_ref().unwrap_or(&own)];
        let commit = self
            .git
            .write_commit(signatures, &message, tree, &parents, &mut written)?;
        self.git.queue_objects(&written, &mut stage.unsynced);
        self.git.stage_branch_move(self.head, commit, stage)?;
        Ok(commit)
    }

    /// Refuses to write over somebody else's work.
    fn check_current_files(&self, items: &mut [StagedChange]) -> Result<()> {
        let index = self.git.read_index()?;
        for item in items {
            let file = self.workspace.root().join(item.path.as_str());
            files::refuse_detours(self.workspace.root(), &item.path)?;
            item.before = if item.is_versioned {
                let committed = self.git.blob_at(self.head.tree, &item.path)?;
                self.git.refuse_edited(&index, committed, &item.path)?
            } else {
                let found = files::find_metadata(&file)?;
                if found.is_some() {
                    let id = crate::git::blob_id_of_file(&file)?;
                    item.hashes.before = id.map(|id| id.to_string());
                }
                found.map(|found| FileFingerprint::from(&found))
            };
        }
        Ok(())
    }

    fn build_begin_entry(
        &self,
        items: &[StagedChange],
        event: &WorkspaceEvent,
        commit: Option<Oid>,
    ) -> WalEntry {
        let hashes = items
            .iter()
            .map(|item| (item.path.to_string(), item.hashes.clone()));
        WalEntry {
            action: wal::WalAction::Begin,
            tx_id: self.tx.to_owned(),
            files: items.iter().map(|item| item.path.to_string()).collect(),
            hashes: hashes.collect(),
            commit: commit.map(|id| id.to_string()),
            branch: commit.map(|_| self.head.reference.clone()),
            event: serde_json::to_value(event).ok(),
            ..WalEntry::default()
        }
    }

    /// Moves the files and the index into place, and releases git's lock.
    fn place_files(
        &self,
        stage: &mut StagingFolder,
        items: &[StagedChange],
        index: Option<(IndexLock, &NewIndex)>,
    ) -> Result<Vec<String>> {
        let root = self.workspace.root();
        let (mut left_alone, mut emptied) = (Vec::new(), Vec::new());
        for (number, item) in items.iter().enumerate() {
            let to = root.join(item.path.as_str());
            let folder = to.parent().unwrap_or(root).to_owned();
            let is_executable = item.blob.is_some_and(|blob| blob.mode != FILE);
            let placed = stage.place_file(root, &item.path, is_executable, item.before)?;
            if placed == ChangeOutcome::Conflict {
                left_alone.push(item.path.to_string());
            }
            if item.hashes.after.is_none() {
                emptied.push(folder);
            } else {
                stage.unsynced.add(folder);
            }
            if number == 0 {
                self.workspace.notify_step(TransactionStep::Placing);
            }
        }
        for folder in emptied {
            layout::remove_empty_folders(root, folder, &mut stage.unsynced);
        }
        self.workspace.notify_step(TransactionStep::Placed);
        if let Some((lock, index)) = index {
            lock.replace(self.git, index)?;
        }
        self.workspace.notify_step(TransactionStep::Indexed);
        Ok(left_alone)
    }

    /// Writes the records of the transaction, and the reflog if a branch has moved.
    fn record_and_end(
        &self,
        stage: &mut StagingFolder,
        begin: &WalEntry,
        event: &WorkspaceEvent,
        moved: Option<(Oid, &str)>,
    ) -> Result<()> {
        if let Some((commit, why)) = moved {
            self.git
                .log_branch_move(self.head, commit, why, self.at, &mut stage.unsynced)?;
        }
        let root = self.workspace.root();
        begin.write_records(self.git, event, stage)?;
        stage.unsynced.sync()?;
        self.workspace.notify_step(TransactionStep::Recorded);
        wal::append(root, &begin.to_end_entry(wal::WalAction::Commit))?;
        self.workspace.notify_step(TransactionStep::Ended);
        wal::clear_if_long(root)
    }
}

/// Returns the paths of a change as texts. The trail, which every change touches, is not among
/// them.
fn list_reportable_paths(changes: &Changes) -> Vec<String> {
    let is_own = |path: &&RepoPath| path.is_trail() || path.class() == Class::Internal;
    let named = changes.keys().filter(|path| !is_own(path));
    named.map(ToString::to_string).collect()
}

fn commit_message(tx: &str, draft: &Draft, line: Option<&AuditEntry>) -> String {
    let mut message = draft.title.clone();
    if !draft.message.is_empty() && draft.message != draft.title {
        message = format!("{message}\n\n{}", draft.message);
    }
    let actor = &draft.actor;
    message = format!("{}\n\n{TRAILER}{tx}\n{ACTOR}{actor}", message.trim_end());
    if let Some(line) = line.filter(|line| !line.rules.is_empty()) {
        message = format!("{message}\nReprise-Rule: {}", line.rules.join(", "));
    }
    message.push('\n');
    message
}
