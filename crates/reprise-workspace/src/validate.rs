//! Step three of a transaction: every path of a change against schema, rules and the DAG, and all
//! of them against what names can stand in one tree.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use serde_json::{Value, json};

use crate::combine::Lines;
use crate::error::{Result, WorkspaceError, invalid, refused};
use crate::files;
use crate::foreign;
use crate::git::index::refuse_name;
use crate::git::{Git, blob_id, blob_id_of_file};
use crate::governor::{Act, Ask};
use crate::graph::{Artifacts, Node, Upstream, is_hash_of};
use crate::path::{Class, MergeRule, RepoPath};
use crate::rules;
use crate::schema;
use crate::transaction::{Changes, Draft, View};

/// Where it is kept that a PRD has moved on under a TSD.
const DRIFT: &str = "memory/long_term/drift_history.jsonl";

/// What may go on.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    /// What really changes, with what the Orchestrator adds.
    pub(crate) changes: Changes,
    /// The rules that allowed it.
    pub(crate) rules: Vec<String>,
    pub(crate) details: Value,
    /// Paths of the artifacts made from what changed.
    pub(crate) downstream: Vec<String>,
}

/// Checks a draft whole.
pub(crate) fn changes(view: &View<'_>, draft: &Draft) -> Result<Passed> {
    let (git, tree, root) = (view.git, view.head.tree, view.workspace.root());
    refuse_collisions(git, tree, &draft.changes)?;
    let Some(act) = draft.act else {
        return Ok(Passed {
            changes: draft.changes.clone(),
            details: draft.details.clone(),
            ..Passed::default()
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
        if act == Act::Merge && path.is_trail() {
            continue;
        }
        files::refuse_detours(root, path)?;
        if path.is_policy() && view.on_main && in_force.is_pending {
            return Err(rules::refuse_while_pending(&draft.actor, path));
        }
        let before = if path.class().is_versioned() {
            git.content_at(tree, path)?
        } else {
            files::read_in(root, path.as_str(), schema::ARTIFACT_BYTES_MAX)?
        };
        let shortens = shortens(path, before.as_deref(), content.as_deref());
        let upstream = match content {
            Some(bytes) => artifacts.upstream(path, bytes)?,
            None => Upstream::default(),
        };
        let ask = Ask {
            actor: &draft.actor,
            act: act_on(act, path, content.is_none(), shortens),
            path,
            branch: view.head.branch(),
            on_main: view.on_main,
            owners: &owners(path, before.as_deref(), content.as_deref()),
            approved: draft.approved,
            shortens,
            upstream: &upstream,
        };
        let verdict = governor.judge(&ask)?;
        if let Some(why) = verdict.refusal {
            let (actor, act) = (&draft.actor, ask.act.name());
            return Err(refused(verdict.rule, actor, act, path.as_str(), why));
        }
        allowed_by.insert(verdict.rule);
        if let Some(bytes) = content {
            let known = before.as_deref().unwrap_or_default();
            schema::check(path, bytes, known, &|own| in_force.rules.schema(git, own))?;
            if path.class().is_core() {
                artifacts.refuse_cycle(path, bytes)?;
            }
        }
    }
    let mut passed = Passed {
        rules: allowed_by.into_iter().collect(),
        details: draft.details.clone(),
        changes: effective(view, draft)?,
        downstream: Vec::new(),
    };
    look_downstream(view, &artifacts, &mut passed)?;
    Ok(passed)
}

/// Changes that leave something different from what is there.
fn effective(view: &View<'_>, draft: &Draft) -> Result<Changes> {
    let mut effective = Changes::new();
    for (path, content) in &draft.changes {
        let after = content.as_ref().map(|bytes| blob_id(bytes)).transpose()?;
        let (before, has_mode) = if path.is_kept() {
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

/// What a plain write does to a path, seen closely.
fn act_on(act: Act, path: &RepoPath, is_removal: bool, shortens: bool) -> Act {
    let is_log = path.merge_rule() == MergeRule::Lines || path.class() == Class::Logs;
    match act {
        Act::Write if is_removal => Act::Delete,
        Act::Write if is_log && !shortens => Act::Append,
        other => other,
    }
}

/// Whether something that a log holds would be gone.
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
    let read = |bytes| Lines::read(&String::from_utf8_lossy(bytes));
    match (read(before), read(after)) {
        (Ok(before), Ok(after)) => !after.holds_all(&before),
        _ => !after.starts_with(before),
    }
}

/// The names that a checkpoint or an extension goes by; who writes it has them all.
fn owners(path: &RepoPath, before: Option<&[u8]>, after: Option<&[u8]>) -> Vec<String> {
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

/// Looks again at what is made from the artifacts that change (W20), by this transaction or by
/// plain git since the last one: a removal under something is refused, what is made from a PRD that
/// has moved on is validated again and noted.
fn look_downstream(view: &View<'_>, artifacts: &Artifacts<'_>, passed: &mut Passed) -> Result<()> {
    let by_git = foreign::moved(view)?;
    let mut moved = artifacts.ids_of(passed.changes.keys());
    let below = artifacts.downstream(&moved)?;
    let changes = passed.changes.iter();
    for (path, _) in changes.filter(|(_, content)| content.is_none()) {
        let ids = artifacts.ids_of(std::iter::once(path));
        let is_made_from = |node: &&Node| node.sources().iter().any(|id| ids.contains(id));
        if let Some(node) = below.iter().find(is_made_from) {
            let why = format!(
                "`{}` is made from it; remove or change that first",
                node.path
            );
            return Err(invalid("dag", path.as_str(), why));
        }
    }
    passed.downstream = below.iter().map(|node| node.path.to_string()).collect();
    // What git does not keep is no reason for a commit.
    if !passed.changes.keys().any(RepoPath::is_kept) {
        return Ok(());
    }
    moved.extend(artifacts.ids_of(by_git.iter()));
    let mut noted = Vec::new();
    for node in artifacts.downstream(&moved)? {
        let is_new = passed.changes.contains_key(&node.path) || by_git.contains(&node.path);
        for id in node.sources() {
            if moved.contains(&id)
                && let Some(line) = drift(view, artifacts, (&node, &id), is_new)?
            {
                noted.extend(crate::wal::line(&line));
            }
        }
    }
    if noted.is_empty() {
        return Ok(());
    }
    let path = RepoPath::known(DRIFT);
    let mut bytes = match passed.changes.get(&path) {
        Some(content) => content.clone().unwrap_or_default(),
        None => artifacts
            .git
            .content_at(artifacts.tree, &path)?
            .unwrap_or_default(),
    };
    bytes.extend(noted);
    passed.changes.insert(path, Some(bytes));
    Ok(())
}

/// What is to be noted of an artifact whose source has moved on, validated as it stands. One that
/// names the source's present hash has not drifted, nor has a TSD without a hash that is written at
/// the same time.
fn drift(
    view: &View<'_>,
    artifacts: &Artifacts<'_>,
    (node, id): (&Node, &str),
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
    let checked = schema::check(&node.path, &own, &[], &|own| rules.schema(view.git, own));
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
    for path in written(changes) {
        for (name, is_file) in names_of(path) {
            let there = *names.entry(name).or_insert(is_file);
            if there != is_file {
                return Err(one_name(path, name));
            }
        }
        refuse_name(path)?;
    }
    for (name, is_file) in names {
        let is_other = git
            .is_file_at(tree, name)?
            .is_some_and(|there| there != is_file);
        if is_other {
            let path = written(changes).find(|path| names_of(path).any(|(own, _)| own == name));
            return Err(path.map_or_else(
                || invalid("one-name", name, ""),
                |path| one_name(path, name),
            ));
        }
    }
    Ok(())
}

fn one_name(path: &RepoPath, name: &str) -> WorkspaceError {
    let why = format!(
        "`{name}` would be a file and a folder; take the one away in a transaction of its own, or \
         use another name"
    );
    invalid("one-name", path.as_str(), why)
}

/// Refuses a name that differs from another in case only: on some file systems they are one.
fn refuse_twins(git: &Git, tree: Option<Oid>, changes: &Changes) -> Result<()> {
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for path in written(changes) {
        let beside = names_of(path).find_map(|(name, _)| {
            let there = *names.entry(name.to_lowercase()).or_insert(name);
            (there != name).then(|| there.to_owned())
        });
        if let Some(twin) = beside.or(git.twin(tree, path)?) {
            let why = format!(
                "`{twin}` is there and differs in case only, so on some disks the two are one; use \
                 that name or another"
            );
            return Err(invalid("case-twin", path.as_str(), why));
        }
    }
    Ok(())
}

fn written(changes: &Changes) -> impl Iterator<Item = &RepoPath> {
    changes
        .iter()
        .filter(|(_, content)| content.is_some())
        .map(|(path, _)| path)
}

/// Each folder of a path, then the path itself; with each whether it is a file.
fn names_of(path: &RepoPath) -> impl Iterator<Item = (&str, bool)> {
    let text = path.as_str();
    let folders = text
        .match_indices('/')
        .map(|(end, _)| (&text[..end], false));
    folders.chain(std::iter::once((text, true)))
}
