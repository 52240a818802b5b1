//! What the trail of a branch held when its last transaction ended, kept where no reset of the
//! branch and no edit of the file reaches: `refs/reprise/trail/BRANCH` names that commit.
//!
//! It is this clone's own knowledge. Anybody who may write in `.git` can remove it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::Oid;
use reprise_types::sha256_hex;
use reprise_workspace_types::{Actor, AuditAction, AuditEntry, RepoPath};
use serde::Deserialize;
use serde_json::json;

use crate::audit;
use crate::error::Result;
use crate::files;
use crate::git::index::contains_commit;
use crate::git::{Blob, Git, Head, blob_id_of_file};
use crate::stage::StagingFolder;
use crate::transaction::TransactionAttempt;
use crate::workspace::Workspace;

/// Before the name of each branch.
const KEPT: &str = "refs/reprise/trail/";
/// Before the hash of each tip that its branch has lost.
const LOST: &str = "refs/reprise/lost/";
/// Longest name of a file that is made of a branch's.
const NAME_BYTES_MAX: usize = 200;
/// Most lines that are named one by one.
const NAMED_MAX: usize = 256;

/// Returns the reference that keeps the trail of a branch: flat, so that no two branches collide.
fn kept_trail_reference(branch: &str) -> String {
    let name = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let flat = name.replace('%', "%25").replace('/', "%2F");
    if flat.len() > NAME_BYTES_MAX {
        return format!("{KEPT}{}", sha256_hex(name.as_bytes()));
    }
    format!("{KEPT}{flat}")
}

/// Returns the commit whose trail is kept for a branch.
fn find_kept_commit(git: &Git, branch: &str) -> Option<Oid> {
    let id = git.repo.refname_to_id(&kept_trail_reference(branch)).ok()?;
    git.repo.find_commit(id).ok().map(|commit| commit.id())
}

/// Keeps the trail of a branch as it is with `commit`. A history that is left behind is kept, too.
/// If that cannot be written the transaction is valid all the same.
pub(crate) fn keep_trail(git: &Git, branch: &str, commit: Oid, stage: &mut StagingFolder) {
    let before = find_kept_commit(git, branch);
    let is_left =
        before.is_some_and(|before| !contains_commit(git, Some(commit), before).unwrap_or(true));
    let mut write = |name: &str, id| git.set_reference(name, id, stage);
    let lost = before.filter(|_| is_left);
    let written = lost
        .map_or(Ok(()), |lost| write(&format!("{LOST}{lost}"), lost))
        .and_then(|()| write(&kept_trail_reference(branch), commit));
    if let Err(error) = written {
        tracing::warn!(%error, branch, "the trail of this branch was not kept");
    }
}

/// Removes the kept trail of a branch that was abandoned.
pub(crate) fn remove_kept_trail(git: &Git, branch: &str) {
    drop(git.remove_reference(&kept_trail_reference(branch)));
}

/// Lines that the trail held and does not hold any more.
#[derive(Debug)]
pub(crate) struct MissingLines {
    /// The commit that has them.
    pub(crate) commit: Oid,
    /// Their ids, in the order of the trail.
    pub(crate) ids: Vec<String>,
}

impl MissingLines {
    /// Returns the audit entry about the missing lines.
    pub(crate) fn line(&self, view: &TransactionAttempt<'_>) -> AuditEntry {
        let named = &self.ids[..self.ids.len().min(NAMED_MAX)];
        AuditEntry {
            event_id: view.workspace.new_id(),
            ts: view.at,
            action: AuditAction::Rewritten,
            actor: Actor::orchestrator().to_string(),
            identity: None,
            rules: Vec::new(),
            paths: Vec::new(),
            branch: view.head.branch().to_owned(),
            message: "lines of the trail were taken away outside of any transaction".to_owned(),
            details: json!({ "commit": self.commit.to_string(), "count": self.ids.len(),
                "missing": named }),
        }
    }
}

/// Finds the lines that a branch has lost since its trail was kept.
pub(crate) fn find_missing_lines(git: &Git, head: &Head) -> Result<Option<MissingLines>> {
    if find_kept_commit(git, &head.reference) == head.commit {
        return Ok(None);
    }
    let there: BTreeMap<RepoPath, Oid> = audit::list_trail_parts(git, head.tree)?
        .into_iter()
        .map(|(path, blob)| (path, blob.id))
        .collect();
    let is_same = |path: &RepoPath, blob: Blob| Ok(there.get(path) == Some(&blob.id));
    let present = || {
        let bytes = there.values().map(|id| git.bytes(*id));
        Ok(bytes.collect::<Result<Vec<_>>>()?.concat())
    };
    find_lost_lines(git, head, &is_same, &present)
}

/// Finds the kept lines that the files of the working tree lack.
pub(crate) fn find_missing_on_disk(
    root: &Path,
    git: &Git,
    head: &Head,
) -> Result<Option<MissingLines>> {
    let is_same = |path: &RepoPath, blob: Blob| {
        files::refuse_detours(root, path)?;
        Ok(blob_id_of_file(&root.join(path.as_str()))? == Some(blob.id))
    };
    find_lost_lines(git, head, &is_same, &|| audit::read_trail(root))
}

fn find_lost_lines(
    git: &Git,
    head: &Head,
    is_same: &dyn Fn(&RepoPath, Blob) -> Result<bool>,
    present: &dyn Fn() -> Result<Vec<u8>>,
) -> Result<Option<MissingLines>> {
    let Some(commit) = find_kept_commit(git, &head.reference) else {
        return Ok(None);
    };
    let mut ids = Vec::new();
    for (path, blob) in audit::list_trail_parts(git, Some(git.tree_of(commit)?))? {
        if !is_same(&path, blob).unwrap_or(false) {
            ids.extend(event_ids(&git.bytes(blob.id)?));
        }
    }
    if !ids.is_empty() {
        // A line may be in another file now, because old files are packed into one.
        let there: BTreeSet<String> = event_ids(&present().unwrap_or_default())
            .into_iter()
            .collect();
        ids.retain(|id| !there.contains(id));
    }
    Ok((!ids.is_empty()).then_some(MissingLines { commit, ids }))
}

fn event_ids(bytes: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct EventIdOnly {
        event_id: String,
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice::<EventIdOnly>(line).ok())
        .map(|line| line.event_id)
        .collect()
}

impl Workspace {
    /// Ids of lines of the trail that were there when the last transaction of this branch ended and
    /// are not any more: the branch was set back, or its trail shortened.
    pub fn trail_missing(&self) -> Result<Vec<String>> {
        let git = Git::open(self.root())?;
        let Ok(head) = git.head() else {
            return Ok(Vec::new());
        };
        let (committed, mut ids) = (find_missing_lines(&git, &head)?, Vec::new());
        ids.extend(committed.map(|missing| missing.ids).unwrap_or_default());
        let on_disk = find_missing_on_disk(self.root(), &git, &head)?;
        for id in on_disk.map(|missing| missing.ids).unwrap_or_default() {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }
}
