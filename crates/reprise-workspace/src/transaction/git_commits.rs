//! Commits that people made by plain git: the next transaction, or a service that looks, puts them
//! into the audit trail, with what the rules say of them, and announces them. They have happened:
//! nothing is refused.

use std::collections::BTreeSet;

use chrono::DateTime;
use git2::{Commit, Oid};
use reprise_workspace_types::{
    Actor, AuditAction, AuditEntry, MergeRule, RepoPath, WorkspaceEvent,
};
use serde_json::json;
use ulid::Ulid;

use super::{TRAILER, TransactionAttempt};
use crate::combine::{LogLines, MergeSides, combine};
use crate::error::Result;
use crate::event;
use crate::git::{Git, trailer};
use crate::governor::{PathAction, PermissionRequest};
use crate::graph::{Artifacts, Upstream};

/// Most commits that are looked at: who brings a long history tells it in one line.
const COMMITS_MAX: usize = 256;
/// Most paths of one commit that are named.
const PATHS_MAX: usize = 64;

/// Lists the commits since the last transaction of this branch, oldest first.
fn list_git_commits(view: &TransactionAttempt<'_>) -> Vec<Oid> {
    let (git, head) = (view.git, view.head);
    let (mut ahead, mut seen, mut found) =
        (Vec::from_iter(head.commit), BTreeSet::new(), Vec::new());
    let mut has_ours = false;
    while let Some(id) = ahead.pop() {
        if !seen.insert(id) {
            continue;
        }
        // In a shallow clone the history ends somewhere.
        let Ok(commit) = git.repo.find_commit(id) else {
            continue;
        };
        // A transaction's.
        if trailer(&commit, TRAILER).is_some() {
            has_ours = true;
            continue;
        }
        ahead.extend(commit.parent_ids());
        found.push(id);
        if found.len() == COMMITS_MAX {
            break;
        }
    }
    // Before the first transaction the history is what the workspace was made in.
    if !has_ours {
        found.clear();
    }
    found.reverse();
    found
}

/// Describes the commits since the last transaction of this branch that are not recorded yet, as
/// audit entries and events.
pub(crate) fn describe_new_commits(
    view: &TransactionAttempt<'_>,
    known: &BTreeSet<&str>,
) -> Result<(Vec<AuditEntry>, Vec<WorkspaceEvent>)> {
    let (mut lines, mut events) = (Vec::new(), Vec::new());
    for id in list_git_commits(view) {
        let commit = view.git.commit(id)?;
        if known.contains(derive_event_id(&commit).as_str()) {
            continue;
        }
        let (line, paths) = describe_commit(view, &commit)?;
        events.push(WorkspaceEvent {
            commit: Some(id.to_string()),
            downstream: list_downstream_paths(view, &paths)?,
            ..event::build_event(&line, event::choose_topic(paths.iter()))
        });
        lines.push(line);
    }
    Ok((lines, events))
}

/// Lists the paths of artifacts made from what a commit changed.
fn list_downstream_paths(view: &TransactionAttempt<'_>, paths: &[RepoPath]) -> Result<Vec<String>> {
    let artifacts = Artifacts::committed(view.git, view.head.tree);
    let moved = artifacts.ids_of(paths.iter());
    if moved.is_empty() {
        return Ok(Vec::new());
    }
    let below = artifacts.list_downstream(&moved)?;
    Ok(below.iter().map(|node| node.path.to_string()).collect())
}

/// Lists the artifacts that plain git changed since the last transaction of this branch.
pub(crate) fn list_moved_artifacts(view: &TransactionAttempt<'_>) -> Result<BTreeSet<RepoPath>> {
    let mut moved = BTreeSet::new();
    for id in list_git_commits(view) {
        let paths = list_changed_paths(view.git, &view.git.commit(id)?)?;
        moved.extend(paths.into_iter().filter(|path| path.class().is_core()));
    }
    Ok(moved)
}

/// Derives an id from the commit's hash, so that two clones write the same entry.
fn derive_event_id(commit: &Commit<'_>) -> String {
    let random = commit.id().as_bytes()[..10]
        .iter()
        .fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    let seconds = u64::try_from(commit.time().seconds()).unwrap_or_default();
    Ulid::from_parts(seconds.saturating_mul(1000), random).to_string()
}

/// Returns the audit entry of a commit, and the paths that it changed.
fn describe_commit(
    view: &TransactionAttempt<'_>,
    commit: &Commit<'_>,
) -> Result<(AuditEntry, Vec<RepoPath>)> {
    let (git, head) = (view.git, view.head);
    let author = commit.author();
    let name = author.name().unwrap_or("unknown").to_owned();
    let (mut paths, mut judged) = (Vec::new(), Vec::new());
    for path in list_changed_paths(git, commit)? {
        let is_joined = is_driver_merge(git, commit, &path)?;
        if !is_joined {
            judged.push(path.clone());
        }
        // The trail of a branch comes with it.
        if !(is_joined && path.is_trail()) {
            paths.push(path);
        }
    }
    let violated = list_violated_rules(view, &name, &judged)?;
    let seconds = commit.time().seconds();
    let line = AuditEntry {
        event_id: derive_event_id(commit),
        ts: DateTime::from_timestamp(seconds, 0).unwrap_or(view.at),
        action: AuditAction::Git,
        actor: format!("human:{name}"),
        identity: author
            .email()
            .ok()
            .map(|address| format!("{name} <{address}>")),
        rules: violated.clone(),
        paths: paths.iter().map(ToString::to_string).collect(),
        branch: head.branch().to_owned(),
        message: String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned(),
        details: json!({ "commit": commit.id().to_string(), "violates": violated }),
    };
    Ok((line, paths))
}

/// Lists the paths that a commit changes against its first parent.
pub(crate) fn list_changed_paths(git: &Git, commit: &Commit<'_>) -> Result<Vec<RepoPath>> {
    let before = commit.parent(0).ok().map(|parent| parent.tree_id());
    let paths = git.deltas(before, commit.tree_id())?.into_iter().flatten();
    let (trail, mut paths): (Vec<_>, Vec<_>) = paths.partition(RepoPath::is_trail);
    paths.extend(trail);
    paths.truncate(PATHS_MAX);
    Ok(paths)
}

/// Returns whether this path of a merge is what our `git merge` drivers make of its parents, so
/// that nobody else wrote it.
fn is_driver_merge(git: &Git, commit: &Commit<'_>, path: &RepoPath) -> Result<bool> {
    let parents: Vec<Oid> = commit.parent_ids().collect();
    let (MergeRule::Lines | MergeRule::Checkpoint | MergeRule::Manifest, &[ours, theirs]) =
        (path.merge_rule(), parents.as_slice())
    else {
        return Ok(false);
    };
    // What is a link there is nothing that we make.
    let content = |id: Oid| -> Result<Option<Vec<u8>>> {
        Ok(git
            .content_at(Some(git.tree_of(id)?), path)
            .unwrap_or_default())
    };
    let Some(own) = content(commit.id())? else {
        return Ok(false);
    };
    let sides = [content(ours)?, content(theirs)?];
    let is_one = sides.iter().flatten().any(|side| *side == own);
    let lines = |bytes: &[u8]| LogLines::parse(&String::from_utf8_lossy(bytes)).ok();
    match (path.merge_rule(), &sides) {
        (MergeRule::Lines, sides) => Ok(lines(&own).is_some_and(|own| {
            let mut sides = sides.iter().flatten().map(|side| lines(side));
            sides.all(|side| side.is_some_and(|side| own.contains_all(&side)))
        })),
        (MergeRule::Manifest, [Some(ours_has), Some(theirs_has)]) if !is_one => {
            let base = git.repo.merge_base(ours, theirs).ok();
            let base = base.map(content).transpose()?.flatten();
            let sides = MergeSides {
                base: base.as_deref(),
                ours: ours_has,
                theirs: theirs_has,
            };
            Ok(combine(MergeRule::Manifest, sides).is_ok_and(|made| made.bytes == own))
        }
        _ => Ok(is_one),
    }
}

/// Returns the rules that would have refused the commit.
fn list_violated_rules(
    view: &TransactionAttempt<'_>,
    name: &str,
    paths: &[RepoPath],
) -> Result<Vec<String>> {
    let head = view.head;
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let Ok(actor) = Actor::human(&plain).or_else(|_| Actor::human("unknown")) else {
        return Ok(Vec::new());
    };
    let mut governor = view.in_force.rules.governor(view.git)?;
    let upstream = Upstream {
        named: true,
        ..Upstream::default()
    };
    let mut rules = BTreeSet::new();
    for path in paths {
        let ask = PermissionRequest {
            actor: &actor,
            act: PathAction::Append,
            path,
            branch: head.branch(),
            on_main: view.on_main,
            owners: &[],
            approved: false,
            shortens: false,
            upstream: &upstream,
        };
        let verdict = governor.judge(&ask)?;
        let waits = view.on_main && view.in_force.is_pending && path.is_policy();
        if waits || verdict.refusal.is_some() {
            rules.insert(verdict.rule);
        }
    }
    Ok(rules.into_iter().collect())
}
