//! Step three of a transaction: every path of a change against schema, rules and the DAG, and all
//! of them against what names fit into one tree.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use reprise_workspace_types::{ArtifactNode, Class, MergeRule, RepoPath};
use serde_json::{Value, json};

use crate::combine::LogLines;
use crate::error::{Result, WorkspaceError, invalid_error, refused_error};
use crate::files;
use crate::git::index::refuse_unindexable_name;
use crate::git::{Git, blob_id, blob_id_of_file};
use crate::governor::{PathAction, PermissionRequest};
use crate::graph::{Artifacts, Upstream, is_hash_of, source_ids};
use crate::rules;
use crate::schema;
use crate::stage::Changes;
use crate::transaction::{Draft, TransactionAttempt, git_commits};

/// Where it is kept that a PRD has moved on under a TSD.
const DRIFT: &str = "memory/long_term/drift_history.jsonl";

/// A draft that passed validation.
#[derive(Debug, Default)]
pub(crate) struct ValidatedChange {
    /// What really changes, with what the Orchestrator adds.
    pub(crate) changes: Changes,
    /// The rules that allowed it.
    pub(crate) rules: Vec<String>,
    pub(crate) details: Value,
    /// Paths of the artifacts made from what changed.
    pub(crate) downstream: Vec<String>,
}

/// Validates a draft as a whole.
pub(crate) fn validate_draft(
    view: &TransactionAttempt<'_>,
    draft: &Draft,
) -> Result<ValidatedChange> {
    let (git, tree, root) = (view.git, view.head.tree, view.workspace.root());
    refuse_collisions(git, tree, &draft.changes)?;
    let Some(act) = draft.act else {
        return Ok(ValidatedChange {
            changes: draft.changes.clone(),
            details: draft.details.clone(),
            ..ValidatedChange::default()
        });
    };
    refuse_twins(git, tree, &draft.changes)?;
    let artifacts = Artifacts {
        git,
        tree,
        changes: &draft.changes,
    };
    let in_force = view.in_force;
    let mut governor = in_force.rules.governor(git)?;
    let mut allowed_by = BTreeSet::new();
    for (path, content) in &draft.changes {
        // Both trails are brought together by the Orchestrator; nobody asked for it.
        if act == PathAction::Merge && path.is_trail() {
            continue;
        }
        files::refuse_detours(root, path)?;
        if path.is_policy() && view.on_main && in_force.is_pending {
            return Err(rules::pending_rules_error(&draft.actor, path));
        }
        let before = if path.class().is_versioned() {
            git.content_at(tree, path)?
        } else {
            files::read_below(root, path.as_str(), schema::ARTIFACT_BYTES_MAX)?
        };
        let shortens = shortens(path, before.as_deref(), content.as_deref());
        let upstream = match content {
            Some(bytes) => artifacts.upstream(path, bytes)?,
            None => Upstream::default(),
        };
        let ask = PermissionRequest {
            actor: &draft.actor,
            act: refine_action(act, path, content.is_none(), shortens),
            path,
            branch: view.head.branch(),
            on_main: view.on_main,
            owners: &owner_names(path, before.as_deref(), content.as_deref()),
            approved: draft.approved,
            shortens,
            upstream: &upstream,
        };
        let verdict = governor.judge(&ask)?;
        if let Some(why) = verdict.refusal {
            let (actor, act) = (&draft.actor, ask.act.name());
            return Err(refused_error(verdict.rule, actor, act, path.as_str(), why));
        }
        allowed_by.insert(verdict.rule);
        if let Some(bytes) = content {
            let known = before.as_deref().unwrap_or_default();
            schema::check_content(path, bytes, known, &|own| in_force.rules.schema(git, own))?;
            if path.class().is_core() {
                artifacts.refuse_cycle(path, bytes)?;
            }
        }
    }
    let mut passed = ValidatedChange {
        rules: allowed_by.into_iter().collect(),
        details: draft.details.clone(),
        changes: effective_changes(view, draft)?,
        downstream: Vec::new(),
    };
    check_downstream(view, &artifacts, &mut passed)?;
    Ok(passed)
}

/// Returns the changes that really change something.
fn effective_changes(view: &TransactionAttempt<'_>, draft: &Draft) -> Result<Changes> {
    let mut effective = Changes::new();
    for (path, content) in &draft.changes {
        let after = content.as_ref().map(|bytes| blob_id(bytes)).transpose()?;
        let (before, has_mode) = if path.is_in_git() {
            let there = view.git.blob_at(view.head.tree, path)?;
            let mode = draft.modes.get(path);
            let has_mode = there.is_none_or(|blob| mode.is_none_or(|mode| *mode == blob.mode));
            (there.map(|blob| blob.id), has_mode)
        } else {
            let file = view.workspace.root().join(path.as_str());
            (blob_id_of_file(&file)?, true)
        };
        if before != after || (after.is_some() && !has_mode) {
            effective.insert(path.clone(), content.clone());
        }
    }
    Ok(effective)
}

/// Refines a plain write into an append or a deletion.
fn refine_action(act: PathAction, path: &RepoPath, is_removal: bool, shortens: bool) -> PathAction {
    let is_log = path.merge_rule() == MergeRule::Lines || path.class() == Class::Logs;
    match act {
        PathAction::Write if is_removal => PathAction::Delete,
        PathAction::Write if is_log && !shortens => PathAction::Append,
        other => other,
    }
}

/// Returns whether a log would lose lines.
fn shortens(path: &RepoPath, before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let is_lines = path.merge_rule() == MergeRule::Lines
        || (path.class() == Class::Logs && path.ends_with(".jsonl"));
    let Some(before) = before else {
        return false;
    };
    let after = after.unwrap_or_default();
    if !is_lines {
        return path.class() == Class::Logs && !after.starts_with(before);
    }
    let read = |bytes| LogLines::parse(&String::from_utf8_lossy(bytes));
    match (read(before), read(after)) {
        (Ok(before), Ok(after)) => !after.contains_all(&before),
        _ => !after.starts_with(before),
    }
}

/// Returns the names that a checkpoint or an extension goes by; its writer must own them all.
fn owner_names(path: &RepoPath, before: Option<&[u8]>, after: Option<&[u8]>) -> Vec<String> {
    match path.class() {
        Class::AgentState => {
            let agent = |bytes: &[u8]| {
                let document: Value = serde_json::from_slice(bytes).ok()?;
                document.get("agent_id")?.as_str().map(str::to_owned)
            };
            let mut owners = vec![path.stem().to_owned()];
            owners.extend(before.and_then(agent));
            owners.extend(after.and_then(agent));
            owners
        }
        Class::Extensions => {
            let mut parts = path.as_str().split('/').skip(1);
            match (parts.next(), parts.next()) {
                (Some(folder), Some(_)) => vec![folder.to_owned()],
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Checks what is made from the artifacts that change, by this transaction or by plain git since
/// the last one: a removal of a source is refused, and what is made from a changed PRD is validated
/// again and noted.
fn check_downstream(
    view: &TransactionAttempt<'_>,
    artifacts: &Artifacts<'_>,
    passed: &mut ValidatedChange,
) -> Result<()> {
    let by_git = git_commits::list_moved_artifacts(view)?;
    let mut moved = artifacts.ids_of(passed.changes.keys());
    let below = artifacts.list_downstream(&moved)?;
    let changes = passed.changes.iter();
    for (path, _) in changes.filter(|(_, content)| content.is_none()) {
        let ids = artifacts.ids_of(std::iter::once(path));
        let is_made_from =
            |node: &&ArtifactNode| source_ids(node).iter().any(|id| ids.contains(id));
        if let Some(node) = below.iter().find(is_made_from) {
            let why = format!(
                "`{}` is made from it; remove or change that first",
                node.path
            );
            return Err(invalid_error("dag", path.as_str(), why));
        }
    }
    passed.downstream = below.iter().map(|node| node.path.to_string()).collect();
    // What git does not keep is no reason for a commit.
    if !passed.changes.keys().any(RepoPath::is_in_git) {
        return Ok(());
    }
    moved.extend(artifacts.ids_of(by_git.iter()));
    let mut drift_lines = Vec::new();
    for node in artifacts.list_downstream(&moved)? {
        let is_new = passed.changes.contains_key(&node.path) || by_git.contains(&node.path);
        for id in source_ids(&node) {
            if moved.contains(&id)
                && let Some(line) = find_drift(view, artifacts, (&node, &id), is_new)?
            {
                drift_lines.extend(crate::wal::encode_line(&line));
            }
        }
    }
    if drift_lines.is_empty() {
        return Ok(());
    }
    let path = RepoPath::trusted(DRIFT);
    let mut bytes = match passed.changes.get(&path) {
        Some(content) => content.clone().unwrap_or_default(),
        None => artifacts
            .git
            .content_at(artifacts.tree, &path)?
            .unwrap_or_default(),
    };
    bytes.extend(drift_lines);
    passed.changes.insert(path, Some(bytes));
    Ok(())
}

/// Finds what is to be noted of an artifact whose source has changed, and validates it. One that
/// names the source's present hash has not drifted, nor has a TSD without a hash that is written at
/// the same time.
fn find_drift(
    view: &TransactionAttempt<'_>,
    artifacts: &Artifacts<'_>,
    (node, id): (&ArtifactNode, &str),
    is_new: bool,
) -> Result<Option<Value>> {
    let Some((source, bytes)) = artifacts.find(id)? else {
        return Ok(None);
    };
    let has_drifted = if let Some(hash) = &node.prd_hash {
        !is_hash_of(hash, &bytes)?
    } else {
        let classes = (node.path.class(), source.path.class());
        !is_new && classes == (Class::Tsd, Class::Prd)
    };
    if !has_drifted {
        return Ok(None);
    }
    let own = artifacts.content(&node.path)?.unwrap_or_default();
    let rules = view.in_force.rules;
    let checked = schema::check_content(&node.path, &own, &[], &|own| rules.schema(view.git, own));
    let upstream = artifacts.upstream(&node.path, &own)?;
    let why = match checked {
        Err(error) => error.to_string(),
        Ok(()) if !upstream.missing.is_empty() => {
            format!(
                "it names {}, which is not there",
                upstream.missing.join(", ")
            )
        }
        Ok(()) => String::new(),
    };
    Ok(Some(json!({
        "event_id": view.workspace.new_id(),
        "ts": view.workspace.now(),
        "tsd_id": node.id,
        "prd_id": id,
        "status": "drifted",
        "prd_hash": node.prd_hash,
        "prd_hash_now": blob_id(&bytes)?.to_string(),
        "valid": why.is_empty(),
        "why": why,
    })))
}

/// Refuses written paths of which one is the folder of another, or of something that is there: git
/// would keep one of the two, and the working tree could not hold both.
fn refuse_collisions(git: &Git, tree: Option<Oid>, changes: &Changes) -> Result<()> {
    let mut names: BTreeMap<&str, bool> = BTreeMap::new();
    for path in written_paths(changes) {
        for (name, is_file) in path_prefixes(path) {
            let there = *names.entry(name).or_insert(is_file);
            if there != is_file {
                return Err(file_and_folder_error(path, name));
            }
        }
        refuse_unindexable_name(path)?;
    }
    for (name, is_file) in names {
        let is_other = git
            .is_file_at(tree, name)?
            .is_some_and(|there| there != is_file);
        if is_other {
            let path =
                written_paths(changes).find(|path| path_prefixes(path).any(|(own, _)| own == name));
            return Err(path.map_or_else(
                || invalid_error("one-name", name, ""),
                |path| file_and_folder_error(path, name),
            ));
        }
    }
    Ok(())
}

fn file_and_folder_error(path: &RepoPath, name: &str) -> WorkspaceError {
    let why = format!(
        "`{name}` would be a file and a folder; take the one away in a transaction of its own, or \
         use another name"
    );
    invalid_error("one-name", path.as_str(), why)
}

/// Refuses a name that differs from another in case only: on some file systems they are one.
fn refuse_twins(git: &Git, tree: Option<Oid>, changes: &Changes) -> Result<()> {
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for path in written_paths(changes) {
        let beside = path_prefixes(path).find_map(|(name, _)| {
            let there = *names.entry(name.to_lowercase()).or_insert(name);
            (there != name).then(|| there.to_owned())
        });
        if let Some(twin) = beside.or(git.find_case_twin(tree, path)?) {
            let why = format!(
                "`{twin}` is there and differs in case only, so on some disks the two are one; use \
                 that name or another"
            );
            return Err(invalid_error("case-twin", path.as_str(), why));
        }
    }
    Ok(())
}

fn written_paths(changes: &Changes) -> impl Iterator<Item = &RepoPath> {
    changes
        .iter()
        .filter(|(_, content)| content.is_some())
        .map(|(path, _)| path)
}

/// Returns each folder of a path, then the path itself; with each whether it is a file.
fn path_prefixes(path: &RepoPath) -> impl Iterator<Item = (&str, bool)> {
    let text = path.as_str();
    let folders = text
        .match_indices('/')
        .map(|(end, _)| (&text[..end], false));
    folders.chain(std::iter::once((text, true)))
}
