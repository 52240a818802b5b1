//! Plans a merge: every path of the branch by the rule of its class.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::{Index, MergeFileOptions, MergeOptions, Oid};
use reprise_workspace_types::{MergeRule, RepoPath};
use serde::Serialize;
use serde_json::{Value, json};

use crate::combine::{MergeSides, combine};
use crate::error::{Result, WorkspaceError};
use crate::git::{Blob, Git};
use crate::stage::Changes;

/// Longest excerpt of one conflict in a report, in characters.
const EXCERPT_MAX: usize = 4_000;

/// A file that contradicts itself between two branches.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FileConflict {
    pub(crate) path: String,
    pub(crate) why: String,
    pub(crate) excerpt: String,
}

/// What a merge would change.
#[derive(Default)]
pub(crate) struct MergePlan {
    pub(crate) changes: Changes,
    /// The mode of each of them that is left.
    pub(crate) modes: BTreeMap<RepoPath, i32>,
    pub(crate) contradictions: Vec<FileConflict>,
    /// Checkpoints that lost, whole.
    pub(crate) losers: Vec<Value>,
    pub(crate) re_embed: Vec<String>,
}

pub(crate) struct MergeCommits {
    pub(crate) base: Oid,
    pub(crate) ours: Oid,
    pub(crate) theirs: Oid,
}

/// Lists the paths that differ between two commits.
pub(crate) fn list_differing_paths(git: &Git, from: Oid, to: Oid) -> Result<BTreeSet<RepoPath>> {
    let paths = git.deltas(Some(git.tree_of(from)?), git.tree_of(to)?)?;
    Ok(paths.into_iter().collect::<std::result::Result<_, _>>()?)
}

/// Plans a merge without changing anything in the tree.
pub(crate) fn plan_merge(git: &Git, meeting: &MergeCommits) -> Result<MergePlan> {
    let tree = |id| git.tree_of(id).map(Some);
    let (base, ours, theirs) = (
        tree(meeting.base)?,
        tree(meeting.ours)?,
        tree(meeting.theirs)?,
    );
    let merge = || WorkspaceError::git("merge");
    let commit = |id| git.repo.find_commit(id).map_err(merge());
    let mut options = MergeOptions::new();
    options.find_renames(false);
    let index = git
        .repo
        .merge_commits(
            &commit(meeting.ours)?,
            &commit(meeting.theirs)?,
            Some(&options),
        )
        .map_err(merge())?;
    let mut found = MergePlan::default();
    let mut settled = BTreeSet::new();
    for path in list_differing_paths(git, meeting.base, meeting.theirs)? {
        let at = |tree| git.blob_at(tree, &path);
        let (b, o, t) = (at(base)?, at(ours)?, at(theirs)?);
        let id = |blob: Option<Blob>| blob.map(|blob| blob.id);
        let mode = merged_mode(b, o, t);
        found.modes.extend(mode.map(|mode| (path.clone(), mode)));
        // Nobody takes a line out of the trail.
        if path.is_trail() && t.is_none() {
            continue;
        }
        if id(o) == id(t) {
            if let Some(o) = o.filter(|o| Some(o.mode) != mode) {
                found.changes.insert(path, Some(git.bytes(o.id)?));
            }
            continue;
        }
        // Logs only ever grow, so a side that lost lines takes none away.
        let is_log = path.merge_rule() == MergeRule::Lines && o.is_some() && t.is_some();
        if id(o) == id(b) && !is_log {
            let content = t.map(|blob| git.bytes(blob.id)).transpose()?;
            found.changes.insert(path, content);
            continue;
        }
        if let (Some(o), Some(t)) = (o, t)
            && path.merge_rule() != MergeRule::Text
        {
            settled.insert(path.clone());
            combine_file(git, &path, b, o, t, &mut found)?;
            continue;
        }
        if let Some(entry) = index.get_path(Path::new(path.as_str()), 0) {
            found.changes.insert(path, Some(git.bytes(entry.id)?));
        }
        // A path without an entry at stage 0 is among the conflicts below.
    }
    collect_conflicts(git, &index, &settled, &mut found)?;
    Ok(found)
}

/// Returns the mode of a file after a merge: the side that changed it since the base decides; if
/// both sides added the file, an executable one stays executable.
fn merged_mode(base: Option<Blob>, ours: Option<Blob>, theirs: Option<Blob>) -> Option<i32> {
    match (base, ours, theirs) {
        (Some(base), Some(ours), Some(theirs)) if theirs.mode == base.mode => Some(ours.mode),
        (Some(_), _, Some(theirs)) => Some(theirs.mode),
        (_, ours, theirs) => ours.into_iter().chain(theirs).map(|blob| blob.mode).max(),
    }
}

/// Collects the conflicts of libgit2 that our own rules did not settle.
fn collect_conflicts(
    git: &Git,
    index: &Index,
    settled: &BTreeSet<RepoPath>,
    found: &mut MergePlan,
) -> Result<()> {
    let merge = || WorkspaceError::git("merge");
    for conflict in index.conflicts().map_err(merge())? {
        let conflict = conflict.map_err(merge())?;
        let entry = conflict.our.as_ref().or(conflict.their.as_ref());
        let Some(entry) = entry.or(conflict.ancestor.as_ref()) else {
            continue;
        };
        let path = RepoPath::from_git(&entry.path)?;
        if settled.contains(&path) {
            continue;
        }
        let mut excerpt = String::new();
        let why = match (&conflict.ancestor, &conflict.our, &conflict.their) {
            (Some(ancestor), Some(our), Some(their)) => {
                let mut options = MergeFileOptions::new();
                options.style_diff3(true);
                let merged =
                    git.repo
                        .merge_file_from_index(ancestor, our, their, Some(&mut options));
                let text = merged.map(|text| String::from_utf8_lossy(text.content()).into_owned());
                excerpt = text.unwrap_or_default();
                "both sides changed the same lines"
            }
            (_, Some(_), Some(_)) => "both sides made it, differently",
            (_, Some(_), None) => "one side changed it, the branch removed it",
            _ => "the branch changed it, the other side removed it",
        };
        found.contradictions.push(FileConflict {
            path: path.to_string(),
            why: why.to_owned(),
            excerpt: excerpt.chars().take(EXCERPT_MAX).collect(),
        });
    }
    Ok(())
}

fn combine_file(
    git: &Git,
    path: &RepoPath,
    base: Option<Blob>,
    ours: Blob,
    theirs: Blob,
    found: &mut MergePlan,
) -> Result<()> {
    let base = base.map(|blob| git.bytes(blob.id)).transpose()?;
    let (ours, theirs) = (git.bytes(ours.id)?, git.bytes(theirs.id)?);
    let sides = MergeSides {
        base: base.as_deref(),
        ours: &ours,
        theirs: &theirs,
    };
    match combine(path.merge_rule(), sides) {
        Ok(combined) => {
            let loser = combined
                .loser
                .map(|loser| json!({ "path": path, "checkpoint": loser }));
            found.losers.extend(loser);
            found.re_embed.extend(combined.re_embed);
            found.changes.insert(path.clone(), Some(combined.bytes));
        }
        Err(why) => found.contradictions.push(FileConflict {
            path: path.to_string(),
            why,
            excerpt: String::new(),
        }),
    }
    Ok(())
}
