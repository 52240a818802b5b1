//! One attempt at a transaction, against one state of its branch.

use std::path::Path;

use git2::Oid;
use reprise_files::{Placed, Stamp};

use super::beside::HOOK_RULE;
use super::{ACTOR, Changes, Draft, Receipt, Step, TRAILER, View};
use crate::actor::Actor;
use crate::audit::{self, Action, AuditLine};
use crate::error::{Result, WorkspaceError};
use crate::event::{self, WorkspaceEvent};
use crate::files;
use crate::git::index::{IndexLock, NewIndex};
use crate::git::{Blob, FILE, Written, signature};
use crate::layout;
use crate::path::{Class, RepoPath};
use crate::rules::Rules;
use crate::stage::Stage;
use crate::validate;
use crate::wal::{self, Entry, Hashes};

/// What was found about one path when its turn came.
struct Item {
    path: RepoPath,
    /// New content in git, `None` for removal; also `None` for what git does not keep.
    blob: Option<Blob>,
    is_versioned: bool,
    before: Option<Stamp>,
    hashes: Hashes,
}

impl View<'_> {
    /// Validates and carries out; `None` where the branch has moved.
    pub(super) fn attempt(
        &self,
        stage: &mut Stage,
        draft: &Draft,
        held: Option<IndexLock>,
    ) -> Result<Option<Receipt>> {
        let passed = match validate::changes(self, draft) {
            Err(error) => {
                drop(held);
                return self.refuse(stage, &draft.actor, &draft.message, error);
            }
            Ok(passed) => passed,
        };
        self.workspace.reach(Step::Validated);
        if passed.changes.is_empty() && draft.other_parent.is_none() && draft.act.is_some() {
            return Ok(Some(Receipt {
                tx: self.tx.to_owned(),
                commit: self.head.commit.map(|id| id.to_string()),
                rules: passed.rules,
                ..Receipt::default()
            }));
        }
        let line = AuditLine {
            event_id: self.tx.to_owned(),
            ts: self.at,
            action: draft.action,
            actor: draft.actor.to_string(),
            identity: self.identity(&draft.actor),
            rules: passed.rules.clone(),
            paths: names(&passed.changes),
            branch: self.head.branch().to_owned(),
            message: draft.message.clone(),
            details: passed.details.clone(),
        };
        let topic = draft
            .topic
            .unwrap_or_else(|| event::topic_of(passed.changes.keys()));
        let event = WorkspaceEvent {
            downstream: passed.downstream.clone(),
            ..WorkspaceEvent::of(&line, topic)
        };
        let mut told = self.of_kinds(&passed.changes, &event);
        told.push(event);
        let carried = self.carry_out(stage, draft, passed.changes, &[line], told, held);
        match carried {
            Err(error) if error.rule() == Some(HOOK_RULE) => {
                self.refuse(stage, &draft.actor, &draft.message, error)
            }
            carried => carried,
        }
    }

    fn identity(&self, actor: &Actor) -> Option<String> {
        let is_person = actor.is_human();
        is_person.then(|| self.workspace.identity(self.git))?
    }

    /// A refusal is on record, too; every other error is told alone.
    pub(super) fn refuse(
        &self,
        stage: &mut Stage,
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
        stage: &mut Stage,
        actor: &Actor,
        message: &str,
        (rule, act, path, why): (&str, &str, &str, &str),
    ) -> Result<Option<Receipt>> {
        let line = AuditLine {
            event_id: self.tx.to_owned(),
            ts: self.at,
            action: Action::Violation,
            actor: actor.to_string(),
            identity: self.identity(actor),
            rules: vec![rule.to_owned()],
            paths: vec![path.to_owned()],
            branch: self.head.branch().to_owned(),
            message: message.to_owned(),
            details: serde_json::json!({ "act": act, "why": why }),
        };
        let event = WorkspaceEvent {
            message: why.to_owned(),
            ..WorkspaceEvent::of(&line, "Policy_Violated")
        };
        let own = Draft {
            title: format!("Refuse {actor} {act} of {path}"),
            ..Draft::new(&Actor::governor(), Action::Violation)
        };
        self.carry_out(stage, &own, Changes::new(), &[line], vec![event], None)
    }

    /// Everything from the objects in git to the events, of which the last is its own. `None`: the
    /// branch has moved, nothing is done.
    pub(super) fn carry_out(
        &self,
        stage: &mut Stage,
        draft: &Draft,
        mut changes: Changes,
        lines: &[AuditLine],
        told: Vec<WorkspaceEvent>,
        mut lock: Option<IndexLock>,
    ) -> Result<Option<Receipt>> {
        let waiting = audit::pending(self.workspace.root(), self.head.branch())?;
        let has_commit = draft.other_parent.is_some()
            || matches!(
                draft.action,
                Action::Init | Action::Approve | Action::Decline
            )
            || changes.keys().any(RepoPath::is_kept)
            || waiting.len() >= audit::PENDING_MAX;
        let mut events = Vec::new();
        if has_commit {
            self.record(draft, lines, &waiting, &mut changes, &mut events)?;
        } else if draft.act.is_none() {
            let noted = self.noted(draft, &waiting, &mut events)?;
            let waits = [noted.as_slice(), lines].concat();
            changes.insert(audit::pending_of(self.tx), Some(audit::written(&waits)));
        }
        events.extend(told);
        let mut items = self.stage_all(stage, draft, &changes)?;
        let line = lines.last();
        let commit = has_commit
            .then(|| self.write_objects(stage, draft, &changes, &items, line))
            .transpose()?;
        self.look_before(&mut items)?;
        let index = commit.map(|_| self.new_index(stage, &items)).transpose()?;
        for event in &mut events {
            let own = || commit.map(|id| id.to_string());
            event.commit = event.commit.take().or_else(own);
        }
        let Some(event) = events.pop() else {
            return Ok(None);
        };
        let root = self.workspace.root();
        let begin = Entry {
            conflicts: draft.conflicts.clone(),
            tag: draft.tag.clone(),
            events: events.iter().flat_map(serde_json::to_value).collect(),
            ..self.begin(&items, &event, commit)
        };
        let logged = files::append_lines(root, wal::WAL, &wal::line(&begin))?;
        stage.unsynced.add_file(logged);
        // All that was staged and the log's word of it, in one wait: none of it has happened yet.
        let mut moved = stage.unsynced.sync().map(|()| true);
        if moved.is_ok() {
            self.workspace.reach(Step::Begun);
            if let Some(index) = &index {
                moved = self.advance(stage, index, &mut lock);
            }
        }
        if !matches!(moved, Ok(true)) {
            // The disk is waited for without git's lock: a person is at work.
            drop(lock);
            wal::append(root, &begin.ended(wal::Action::Abort))?;
            return moved.map(|_| None);
        }
        if commit.is_some() {
            self.workspace.reach(Step::Committed);
        }
        let finished = self
            .put_in_place(stage, &items, lock.zip(index.as_ref()))
            .and_then(|left_alone| {
                let moved = commit.map(|commit| (commit, draft.title.as_str()));
                self.finish(stage, &begin, &event, moved)?;
                Ok(left_alone)
            });
        let left_alone = finished.map_err(|error| WorkspaceError::Unfinished {
            commit: event.commit.clone().unwrap_or_else(|| self.tx.to_owned()),
            why: error.to_string(),
        })?;
        if commit.is_some() && draft.act.is_some() && self.git.runs_hooks() {
            self.after_commit(stage);
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

    fn new_index(&self, stage: &Stage, items: &[Item]) -> Result<NewIndex> {
        let of_git = items.iter().filter(|item| item.is_versioned);
        let of_git = of_git.map(|item| {
            let file = stage.waiting(&item.path).map(Path::to_owned);
            (&item.path, item.blob, file.unwrap_or_default())
        });
        self.git.new_index(stage.folder(), of_git)
    }

    /// Moves the branch, with git's lock on the index held from here until the files are in place:
    /// nobody commits in between. `false` where somebody was faster.
    fn advance(
        &self,
        stage: &Stage,
        index: &NewIndex,
        lock: &mut Option<IndexLock>,
    ) -> Result<bool> {
        if lock.is_none() {
            // Where somebody was faster already, nobody is kept out for nothing.
            if !self.git.is_of_index(index)? {
                return Ok(false);
            }
            *lock = Some(self.git.lock_index(stage)?);
            if self.git.head()? != *self.head || !self.git.is_of_index(index)? {
                return Ok(false);
            }
        }
        self.git.advance(self.head, stage)
    }

    fn stage_all(&self, stage: &mut Stage, draft: &Draft, changes: &Changes) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(changes.len());
        for (path, content) in changes {
            let is_versioned = path.is_kept();
            let there = if is_versioned {
                self.git.blob_at(self.head.tree, path)?
            } else {
                None
            };
            let after = stage.put(path, content.as_deref())?;
            let mode = draft.modes.get(path).copied();
            let mode = mode.unwrap_or_else(|| there.map_or(FILE, |blob| blob.mode));
            items.push(Item {
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

    fn write_objects(
        &self,
        stage: &mut Stage,
        draft: &Draft,
        changes: &Changes,
        items: &[Item],
        line: Option<&AuditLine>,
    ) -> Result<Oid> {
        let mut written = Written::default();
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
        let mut message = message_of(self.tx, draft, line);
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
            message = self.hooked(stage, draft, tree, &message)?;
        }
        let own = signature(&draft.actor, self.at)?;
        let person = self.git.person(self.at);
        // Who asked the daemon is not whom git's configuration names.
        let is_here = draft.actor.is_human() && !self.workspace.is_identified();
        let author = person.as_ref().filter(|_| is_here).unwrap_or(&own);
        let signatures = [author, person.as_ref().unwrap_or(&own)];
        let commit = self
            .git
            .write_commit(signatures, &message, tree, &parents, &mut written)?;
        self.git.to_sync(&written, &mut stage.unsynced);
        self.git.prepare(self.head, commit, stage)?;
        Ok(commit)
    }

    /// Nobody else's work stands where we write.
    fn look_before(&self, items: &mut [Item]) -> Result<()> {
        let index = self.git.read_index()?;
        for item in items {
            let file = self.workspace.root().join(item.path.as_str());
            files::refuse_detours(self.workspace.root(), &item.path)?;
            item.before = if item.is_versioned {
                let committed = self.git.blob_at(self.head.tree, &item.path)?;
                self.git.refuse_edited(&index, committed, &item.path)?
            } else {
                let found = files::look(&file)?;
                if found.is_some() {
                    let id = crate::git::blob_id_of_file(&file)?;
                    item.hashes.before = id.map(|id| id.to_string());
                }
                found.map(|found| Stamp::from(&found))
            };
        }
        Ok(())
    }

    fn begin(&self, items: &[Item], event: &WorkspaceEvent, commit: Option<Oid>) -> Entry {
        let hashes = items
            .iter()
            .map(|item| (item.path.to_string(), item.hashes.clone()));
        Entry {
            action: wal::Action::Begin,
            tx_id: self.tx.to_owned(),
            files: items.iter().map(|item| item.path.to_string()).collect(),
            hashes: hashes.collect(),
            commit: commit.map(|id| id.to_string()),
            branch: commit.map(|_| self.head.reference.clone()),
            event: serde_json::to_value(event).ok(),
            ..Entry::default()
        }
    }

    /// Puts the files and the index where they belong; git's lock ends here.
    fn put_in_place(
        &self,
        stage: &mut Stage,
        items: &[Item],
        index: Option<(IndexLock, &NewIndex)>,
    ) -> Result<Vec<String>> {
        let root = self.workspace.root();
        let (mut left_alone, mut emptied) = (Vec::new(), Vec::new());
        for (number, item) in items.iter().enumerate() {
            let to = root.join(item.path.as_str());
            let folder = to.parent().unwrap_or(root).to_owned();
            let is_executable = item.blob.is_some_and(|blob| blob.mode != FILE);
            let placed = stage.place(root, &item.path, is_executable, item.before)?;
            if placed == Placed::Theirs {
                left_alone.push(item.path.to_string());
            }
            if item.hashes.after.is_none() {
                emptied.push(folder);
            } else {
                stage.unsynced.add(folder);
            }
            if number == 0 {
                self.workspace.reach(Step::Placing);
            }
        }
        for folder in emptied {
            layout::drop_empty(root, folder, &mut stage.unsynced);
        }
        self.workspace.reach(Step::Placed);
        if let Some((lock, index)) = index {
            lock.replace(self.git, index)?;
        }
        self.workspace.reach(Step::Indexed);
        Ok(left_alone)
    }

    /// Tells what has happened; of a branch that has moved git's own log, too.
    fn finish(
        &self,
        stage: &mut Stage,
        begin: &Entry,
        event: &WorkspaceEvent,
        moved: Option<(Oid, &str)>,
    ) -> Result<()> {
        if let Some((commit, why)) = moved {
            self.git
                .settle(self.head, commit, why, self.at, &mut stage.unsynced)?;
        }
        let root = self.workspace.root();
        begin.record(self.git, event, stage)?;
        stage.unsynced.sync()?;
        self.workspace.reach(Step::Recorded);
        wal::append(root, &begin.ended(wal::Action::Commit))?;
        self.workspace.reach(Step::Ended);
        wal::trim(root)
    }
}

/// The paths of a change as texts. The trail, which every change touches, is not among them.
fn names(changes: &Changes) -> Vec<String> {
    let is_own = |path: &&RepoPath| path.is_trail() || path.class() == Class::Internal;
    let named = changes.keys().filter(|path| !is_own(path));
    named.map(ToString::to_string).collect()
}

fn message_of(tx: &str, draft: &Draft, line: Option<&AuditLine>) -> String {
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
