//! Merging a branch (W12 to W15, W20): both sides validated, each class by its rule, structural
//! conflicts refused with a report; and setting back a commit by a new one (W19): history is never
//! rewritten.

mod plan;

use std::collections::BTreeMap;
use std::path::Path;

use git2::{MergeOptions, Oid};
pub(crate) use plan::{Meeting, Merging, differing, merging};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::audit::{self, Action};
use crate::error::{Result, WorkspaceError, invalid, refused, unknown};
use crate::files;
use crate::git::Git;
use crate::git::index::holds;
use crate::governor::Act;
use crate::layout::CONFLICTS;
use crate::path::{MergeRule, RepoPath};
use crate::schema;
use crate::stage::Stage;
use crate::transaction::{Changes, Draft, Receipt, View};
use crate::workspace::{Workspace, message};

/// Where reports of conflicts are; derived artifacts are versioned (W5).
const REPORTS: &str = "memory/long_term/conflicts";

impl Workspace {
    /// Merges a branch into the one that is checked out.
    pub fn merge(&self, actor: &Actor, name: &str, text: Option<&str>) -> Result<Receipt> {
        let text = message(text)?;
        self.make_folders()?;
        let tx = self.new_id();
        let mut stage = Stage::new(self.root(), &tx)?;
        let mut conflict = None;
        let merged = self.transact(&mut stage, &tx, actor, &mut |view| {
            refuse_unreviewed(view, actor, name)?;
            let title = format!("Merge {name}");
            let Some(meeting) = meet(view, name)? else {
                return Ok(Draft {
                    act: Some(Act::Merge),
                    title,
                    ..Draft::new(actor, Action::Merge)
                });
            };
            validate_sides(view, &meeting, name)?;
            let merging = merging(view.git, &meeting)?;
            if !merging.contradictions.is_empty() {
                let error = refusal(name, &tx, &merging);
                conflict = Some((merging, meeting));
                return Err(error);
            }
            let kept = |loser: &Value| {
                json!({ "event_id": tx, "ts": self.now(), "ref": name, "kind": "checkpoint",
                    "loser": loser })
            };
            Ok(Draft {
                conflicts: merging.losers.iter().map(kept).collect(),
                act: Some(Act::Merge),
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
                ..Draft::new(actor, Action::Merge)
            })
        });
        drop(stage);
        if let Some((merging, meeting)) = conflict {
            self.report(actor, name, &tx, &merging, &meeting)?;
        }
        merged
    }

    /// Takes back what a commit of this branch did. Logs only ever grow: their lines stay.
    pub fn rollback(&self, actor: &Actor, name: &str, text: Option<&str>) -> Result<Receipt> {
        let text = message(text)?;
        self.make_folders()?;
        self.transact_anew(actor, &mut |view| reverting(view, actor, name, &text))
    }

    /// One line for the log of conflicts (C30), of what plain git merged.
    pub fn log_conflict(&self, line: &Value) -> Result<()> {
        files::append_lines(self.root(), CONFLICTS, &crate::wal::line(line))?.sync()
    }

    /// Writes down what contradicts itself and what a person can do about it.
    fn report(
        &self,
        actor: &Actor,
        name: &str,
        tx: &str,
        merging: &Merging,
        meeting: &Meeting,
    ) -> Result<()> {
        let conflict = json!({
            "event_id": tx, "ts": self.now(), "ref": name, "kind": "structural",
            "base": meeting.base.to_string(), "ours": meeting.ours.to_string(),
            "theirs": meeting.theirs.to_string(), "files": merging.contradictions,
        });
        let path = RepoPath::known(format!("{REPORTS}/{tx}.md"));
        let text = report_text(name, merging, meeting);
        let paths: Vec<&str> = merging
            .contradictions
            .iter()
            .map(|one| one.path.as_str())
            .collect();
        let details = json!({ "ref": name, "rejected": paths, "report": path,
            "theirs": meeting.theirs.to_string() });
        self.transact_anew(actor, &mut |_| {
            Ok(Draft {
                conflicts: vec![conflict.clone()],
                changes: Changes::from([(path.clone(), Some(text.clone().into_bytes()))]),
                title: format!("Report why {name} was not merged"),
                topic: Some("Merge_Rejected"),
                details: details.clone(),
                ..Draft::new(actor, Action::Merge)
            })
        })?;
        Ok(())
    }
}

/// The shared branch takes a branch from the Governor, the Orchestrator or a person alone (W20): an
/// agent proposes.
fn refuse_unreviewed(view: &View<'_>, actor: &Actor, name: &str) -> Result<()> {
    if !view.on_main || actor.may_govern() {
        return Ok(());
    }
    let why = "the Governor or a person brings a branch to the shared one; ask them for it";
    Err(refused("merge-review", actor, "merge", name, why))
}

/// The commit that a branch, tag or hash names.
pub(crate) fn resolve(git: &Git, name: &str) -> Result<Oid> {
    let found = git
        .repo
        .revparse_single(name)
        .and_then(|found| found.peel_to_commit());
    let hint = "`git branch --all` lists the branches";
    found
        .map(|commit| commit.id())
        .map_err(|_| unknown("branch or commit", name, hint))
}

/// Where two branches meet; `None` if the one is in the other already.
fn meet(view: &View<'_>, name: &str) -> Result<Option<Meeting>> {
    let theirs = resolve(view.git, name)?;
    let ours = view.head.commit.ok_or_else(WorkspaceError::unborn)?;
    if holds(view.git, Some(ours), theirs)? {
        return Ok(None);
    }
    let base = view.git.repo.merge_base(ours, theirs).map_err(|_| {
        WorkspaceError::repository(format!(
            "`{name}` shares no history with this branch (or the clone is shallow: `git fetch \
             --unshallow`); there is nothing to merge by"
        ))
    })?;
    Ok(Some(Meeting { base, ours, theirs }))
}

fn refusal(name: &str, tx: &str, merging: &Merging) -> WorkspaceError {
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

/// Whether a person's last word on this very commit, in the trail of the branch merged into, is an
/// approval.
pub(crate) fn is_approved(view: &View<'_>, tip: Oid) -> Result<bool> {
    Ok(audit::approved(view.git, view.head.tree)?.contains(&tip))
}

/// Both sides must be in order by themselves (W12).
fn validate_sides(view: &View<'_>, meeting: &Meeting, name: &str) -> Result<()> {
    let (git, rules) = (view.git, view.in_force.rules);
    let base = Some(git.tree_of(meeting.base)?);
    for (side, commit) in [
        ("the branch merged into", meeting.ours),
        (name, meeting.theirs),
    ] {
        let tree = Some(git.tree_of(commit)?);
        for path in differing(git, meeting.base, commit)? {
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
            schema::check(&path, &bytes, &known, &|own| rules.schema(git, own)).map_err(
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

fn report_text(name: &str, merging: &Merging, meeting: &Meeting) -> String {
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
        text += &section(one);
    }
    text
}

fn section(one: &plan::Contradiction) -> String {
    let mut text = format!("\n## {}\n\n{}.\n", one.path, one.why);
    for (number, line) in one.excerpt.lines().enumerate() {
        let gap = if number == 0 { "\n" } else { "" };
        text.extend([gap, "    ", line, "\n"]);
    }
    text
}

/// A draft that takes a commit back.
fn reverting(view: &View<'_>, actor: &Actor, name: &str, text: &str) -> Result<Draft> {
    let git = view.git;
    let id = resolve(git, name)?;
    if !holds(git, view.head.commit, id)? {
        let hint = "`reprise workspace log` lists them";
        return Err(unknown("commit of this branch", name, hint));
    }
    let read = || WorkspaceError::git("revert a commit");
    let commit = git.repo.find_commit(id).map_err(read())?;
    let Ok(parent) = commit.parent(0) else {
        let why = "it is the first commit; there is nothing before it";
        return Err(invalid("rollback", name, why));
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
    for path in differing(git, parent.id(), id)? {
        if path.merge_rule() == MergeRule::Lines {
            continue;
        }
        let at = Path::new(path.as_str());
        if (1..=3).any(|stage| index.get_path(at, stage).is_some()) {
            let why = "it has changed since, in the same place; write what it should hold instead";
            return Err(invalid("rollback-conflict", path.as_str(), why));
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
        return Err(invalid("rollback", name, why));
    }
    let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
    let reason = format!("This reverts commit {id}.");
    Ok(Draft {
        act: Some(Act::Rollback),
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
        ..Draft::new(actor, Action::Rollback)
    })
}
