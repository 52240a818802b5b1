//! Merging a branch: both sides are validated, each class merges by its rule, and structural
//! conflicts are refused with a report. Reverting a commit makes a new one: history is never
//! rewritten.

mod plan;

use std::collections::BTreeMap;
use std::path::Path;

use git2::{MergeOptions, Oid};
pub(crate) use plan::{MergeCommits, MergePlan, list_differing_paths, plan_merge};
use reprise_workspace_types::{Actor, AuditAction, MergeRule, Receipt, RepoPath};
use serde_json::{Value, json};

use crate::audit;
use crate::error::{Result, WorkspaceError, invalid_error, refused_error, unknown_error};
use crate::files;
use crate::git::Git;
use crate::git::index::contains_commit;
use crate::governor::PathAction;
use crate::layout::CONFLICTS;
use crate::schema;
use crate::stage::{Changes, StagingFolder};
use crate::transaction::{Draft, TransactionAttempt};
use crate::workspace::{Workspace, validate_message};

/// Where reports of conflicts are; derived artifacts are versioned.
const REPORTS: &str = "memory/long_term/conflicts";

impl Workspace {
    /// Merges a branch into the one that is checked out.
    pub fn merge(&self, actor: &Actor, name: &str, text: Option<&str>) -> Result<Receipt> {
        let text = validate_message(text)?;
        self.make_folders()?;
        let tx = self.new_id();
        let mut stage = StagingFolder::new(self.root(), &tx)?;
        let mut conflict = None;
        let merged = self.transact(&mut stage, &tx, actor, &mut |view| {
            ensure_may_merge(view, actor, name)?;
            let title = format!("Merge {name}");
            let Some(meeting) = find_commits_to_merge(view, name)? else {
                return Ok(Draft {
                    act: Some(PathAction::Merge),
                    title,
                    ..Draft::new(actor, AuditAction::Merge)
                });
            };
            validate_sides(view, &meeting, name)?;
            let merging = plan_merge(view.git, &meeting)?;
            if !merging.contradictions.is_empty() {
                let error = conflict_error(name, &tx, &merging);
                conflict = Some((merging, meeting));
                return Err(error);
            }
            let to_log_line = |loser: &Value| {
                json!({ "event_id": tx, "ts": self.now(), "ref": name, "kind": "checkpoint",
                    "loser": loser })
            };
            Ok(Draft {
                conflicts: merging.losers.iter().map(to_log_line).collect(),
                act: Some(PathAction::Merge),
                changes: merging.changes,
                modes: merging.modes,
                title,
                message: text.clone(),
                other_parent: Some(meeting.theirs),
                approved: is_approved(view, meeting.theirs)?,
                topic: Some("Branch_Merged"),
                details: json!({
                    "ref": name,
                    "base": meeting.base.to_string(),
                    "ours": meeting.ours.to_string(),
                    "theirs": meeting.theirs.to_string(),
                    "losers": merging.losers,
                    "re_embed": merging.re_embed,
                }),
                ..Draft::new(actor, AuditAction::Merge)
            })
        });
        drop(stage);
        if let Some((merging, meeting)) = conflict {
            self.record_conflicts(actor, name, &tx, &merging, &meeting)?;
        }
        merged
    }

    /// Takes back what a commit of this branch did. Logs only ever grow: their lines stay.
    pub fn rollback(&self, actor: &Actor, name: &str, text: Option<&str>) -> Result<Receipt> {
        let text = validate_message(text)?;
        self.make_folders()?;
        self.transact_alone(actor, &mut |view| draft_revert(view, actor, name, &text))
    }

    /// Appends a line about a merge by plain git to the log of conflicts.
    pub fn log_conflict(&self, line: &Value) -> Result<()> {
        files::append_lines(self.root(), CONFLICTS, &crate::wal::encode_line(line))?.sync()
    }

    /// Records the conflicts and writes a report of what a person can do.
    fn record_conflicts(
        &self,
        actor: &Actor,
        name: &str,
        tx: &str,
        merging: &MergePlan,
        meeting: &MergeCommits,
    ) -> Result<()> {
        let conflict = json!({
            "event_id": tx, "ts": self.now(), "ref": name, "kind": "structural",
            "base": meeting.base.to_string(), "ours": meeting.ours.to_string(),
            "theirs": meeting.theirs.to_string(), "files": merging.contradictions,
        });
        let path = RepoPath::trusted(format!("{REPORTS}/{tx}.md"));
        let text = render_conflict_report(name, merging, meeting);
        let paths: Vec<&str> = merging
            .contradictions
            .iter()
            .map(|one| one.path.as_str())
            .collect();
        let details = json!({ "ref": name, "rejected": paths, "report": path,
            "theirs": meeting.theirs.to_string() });
        self.transact_alone(actor, &mut |_| {
            Ok(Draft {
                conflicts: vec![conflict.clone()],
                changes: Changes::from([(path.clone(), Some(text.clone().into_bytes()))]),
                title: format!("Report why {name} was not merged"),
                topic: Some("Merge_Rejected"),
                details: details.clone(),
                ..Draft::new(actor, AuditAction::Merge)
            })
        })?;
        Ok(())
    }
}

/// Refuses a merge into the shared branch by an agent: only the Governor, the Orchestrator and
/// people merge there.
fn ensure_may_merge(view: &TransactionAttempt<'_>, actor: &Actor, name: &str) -> Result<()> {
    if !view.on_main || actor.may_govern() {
        return Ok(());
    }
    let why = "the Governor or a person brings a branch to the shared one; ask them for it";
    Err(refused_error("merge-review", actor, "merge", name, why))
}

/// Resolves a branch, tag or hash to its commit.
pub(crate) fn resolve_commit(git: &Git, name: &str) -> Result<Oid> {
    let found = git
        .repo
        .revparse_single(name)
        .and_then(|found| found.peel_to_commit());
    let hint = "`git branch --all` lists the branches";
    found
        .map(|commit| commit.id())
        .map_err(|_| unknown_error("branch or commit", name, hint))
}

/// Finds the commits of a merge; `None` if one branch contains the other already.
fn find_commits_to_merge(
    view: &TransactionAttempt<'_>,
    name: &str,
) -> Result<Option<MergeCommits>> {
    let theirs = resolve_commit(view.git, name)?;
    let ours = view.head.commit.ok_or_else(WorkspaceError::unborn_branch)?;
    if contains_commit(view.git, Some(ours), theirs)? {
        return Ok(None);
    }
    let base = view.git.repo.merge_base(ours, theirs).map_err(|_| {
        WorkspaceError::repository(format!(
            "`{name}` shares no history with this branch (or the clone is shallow: `git fetch \
             --unshallow`); there is nothing to merge by"
        ))
    })?;
    Ok(Some(MergeCommits { base, ours, theirs }))
}

fn conflict_error(name: &str, tx: &str, merging: &MergePlan) -> WorkspaceError {
    let first = merging.contradictions.first();
    WorkspaceError::Conflict {
        branch: name.to_owned(),
        count: merging.contradictions.len(),
        first: first
            .map(|one| format!("{}: {}", one.path, one.why))
            .unwrap_or_default(),
        report: format!("{REPORTS}/{tx}.md"),
    }
}

/// Returns whether a person's last verdict on this commit, in the trail of the branch merged into,
/// is an approval.
pub(crate) fn is_approved(view: &TransactionAttempt<'_>, tip: Oid) -> Result<bool> {
    Ok(audit::list_approved_commits(view.git, view.head.tree)?.contains(&tip))
}

/// Validates both sides of a merge by themselves.
fn validate_sides(view: &TransactionAttempt<'_>, meeting: &MergeCommits, name: &str) -> Result<()> {
    let (git, rules) = (view.git, view.in_force.rules);
    let base = Some(git.tree_of(meeting.base)?);
    for (side, commit) in [
        ("the branch merged into", meeting.ours),
        (name, meeting.theirs),
    ] {
        let tree = Some(git.tree_of(commit)?);
        for path in list_differing_paths(git, meeting.base, commit)? {
            // A link on our side is a person's, and stays as it is.
            if commit == meeting.ours && git.blob_at(tree, &path).is_err() {
                continue;
            }
            let Some(bytes) = git.content_at(tree, &path)? else {
                continue;
            };
            let known = git
                .content_at(base, &path)
                .ok()
                .flatten()
                .unwrap_or_default();
            schema::check_content(&path, &bytes, &known, &|own| rules.schema(git, own)).map_err(
                |error| match error {
                    WorkspaceError::Invalid { rule, path, why } => WorkspaceError::Invalid {
                        rule,
                        path,
                        why: format!("on {side} {why}"),
                    },
                    other => other,
                },
            )?;
        }
    }
    Ok(())
}

fn render_conflict_report(name: &str, merging: &MergePlan, meeting: &MergeCommits) -> String {
    let mut text = format!(
        "# `{name}` was not merged\n\n{} of its files contradict the branch merged into. Nothing \
         was changed.\n\nOurs is {}, theirs {}, both come from {}.\n\n## What to do\n\n    git \
         switch {name}\n    git merge {}\n\nResolve the files below, commit, have a person approve \
         the result (`reprise workspace approve --human NAME {name}`) where PRDs are among them, \
         and merge again (`reprise workspace merge --actor governor {name}`).\n",
        merging.contradictions.len(),
        meeting.ours,
        meeting.theirs,
        meeting.base,
        meeting.ours,
    );
    for one in &merging.contradictions {
        text += &render_conflict(one);
    }
    text
}

fn render_conflict(one: &plan::FileConflict) -> String {
    let mut text = format!("\n## {}\n\n{}.\n", one.path, one.why);
    for (number, line) in one.excerpt.lines().enumerate() {
        let gap = if number == 0 { "\n" } else { "" };
        text.extend([gap, "    ", line, "\n"]);
    }
    text
}

/// Drafts a transaction that reverts a commit.
fn draft_revert(
    view: &TransactionAttempt<'_>,
    actor: &Actor,
    name: &str,
    text: &str,
) -> Result<Draft> {
    let git = view.git;
    let id = resolve_commit(git, name)?;
    if !contains_commit(git, view.head.commit, id)? {
        let hint = "`reprise workspace log` lists them";
        return Err(unknown_error("commit of this branch", name, hint));
    }
    let read = || WorkspaceError::git("revert a commit");
    let commit = git.repo.find_commit(id).map_err(read())?;
    let Ok(parent) = commit.parent(0) else {
        let why = "it is the first commit; there is nothing before it";
        return Err(invalid_error("rollback", name, why));
    };
    let tree = |id| git.tree_of(id).and_then(|id| git.tree(id));
    let head = view.head.commit.unwrap_or(id);
    let mut options = MergeOptions::new();
    options.find_renames(false);
    let index = git
        .repo
        .merge_trees(
            &tree(id)?,
            &tree(head)?,
            &tree(parent.id())?,
            Some(&options),
        )
        .map_err(read())?;
    let (mut changes, mut modes) = (Changes::new(), BTreeMap::new());
    for path in list_differing_paths(git, parent.id(), id)? {
        if path.merge_rule() == MergeRule::Lines {
            continue;
        }
        let at = Path::new(path.as_str());
        if (1..=3).any(|stage| index.get_path(at, stage).is_some()) {
            let why = "it has changed since, in the same place; write what it should hold instead";
            return Err(invalid_error("rollback-conflict", path.as_str(), why));
        }
        let entry = index.get_path(at, 0);
        modes.extend(
            entry
                .iter()
                .map(|entry| (path.clone(), entry.mode.cast_signed())),
        );
        let content = entry.map(|entry| git.bytes(entry.id)).transpose()?;
        changes.insert(path, content);
    }
    if changes.is_empty() {
        let why = "it changed logs alone, and logs only ever grow";
        return Err(invalid_error("rollback", name, why));
    }
    let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
    let reason = format!("This reverts commit {id}.");
    Ok(Draft {
        act: Some(PathAction::Rollback),
        changes,
        modes,
        title: format!("Revert \"{subject}\""),
        message: if text.is_empty() {
            reason
        } else {
            format!("{text}\n\n{reason}")
        },
        topic: Some("Artifact_Rolled_Back"),
        details: json!({ "commit": id.to_string() }),
        ..Draft::new(actor, AuditAction::Rollback)
    })
}
