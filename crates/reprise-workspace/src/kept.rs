//! What the trail of a branch held when its last transaction ended, kept where no reset of the
//! branch and no edit of the file reaches: `refs/reprise/trail/BRANCH` names that commit.
//!
//! It is this clone's own knowledge. Whoever may write in `.git` may take it away.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::Oid;
use reprise_types::sha256_hex;
use serde::Deserialize;
use serde_json::json;

use crate::actor::Actor;
use crate::audit::{self, Action, AuditLine};
use crate::error::Result;
use crate::files;
use crate::git::index::holds;
use crate::git::{Blob, Git, Head, blob_id_of_file};
use crate::path::RepoPath;
use crate::stage::Stage;
use crate::transaction::View;
use crate::workspace::Workspace;

/// Before the name of each branch.
const KEPT: &str = "refs/reprise/trail/";
/// Before the hash of each tip that its branch has lost.
const LOST: &str = "refs/reprise/lost/";
/// Longest name of a file that is made of a branch's.
const NAME_BYTES_MAX: usize = 200;
/// Most lines that are named one by one.
const NAMED_MAX: usize = 256;

/// The reference that keeps the trail of a branch: flat, so that no branch's stands in the way of
/// another's.
fn reference_of(branch: &str) -> String {
    let name = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let flat = name.replace('%', "%25").replace('/', "%2F");
    if flat.len() > NAME_BYTES_MAX {
        return format!("{KEPT}{}", sha256_hex(name.as_bytes()));
    }
    format!("{KEPT}{flat}")
}

/// The commit whose trail is kept.
fn kept(git: &Git, branch: &str) -> Option<Oid> {
    let id = git.repo.refname_to_id(&reference_of(branch)).ok()?;
    git.repo.find_commit(id).ok().map(|commit| commit.id())
}

/// Keeps the trail of a branch as it is with `commit`. A history that is left behind is kept, too.
/// Where that cannot be written the transaction stands all the same.
pub(crate) fn keep(git: &Git, branch: &str, commit: Oid, stage: &mut Stage) {
    let before = kept(git, branch);
    let is_left = before.is_some_and(|before| !holds(git, Some(commit), before).unwrap_or(true));
    let mut write = |name: &str, id| git.set_own(name, id, stage);
    let lost = before.filter(|_| is_left);
    let written = lost
        .map_or(Ok(()), |lost| write(&format!("{LOST}{lost}"), lost))
        .and_then(|()| write(&reference_of(branch), commit));
    if let Err(error) = written {
        tracing::warn!(%error, branch, "the trail is not kept beside its branch");
    }
}

/// The branch has been put away by rule; its trail is kept with it.
pub(crate) fn forget(git: &Git, branch: &str) {
    drop(git.drop_own(&reference_of(branch)));
}

/// Lines that the trail held and does not hold any more.
#[derive(Debug)]
pub(crate) struct Missing {
    /// The commit that has them.
    pub(crate) commit: Oid,
    /// Their ids, in the order of the trail.
    pub(crate) ids: Vec<String>,
}

impl Missing {
    /// What the trail says of it.
    pub(crate) fn line(&self, view: &View<'_>) -> AuditLine {
        let named = &self.ids[..self.ids.len().min(NAMED_MAX)];
        AuditLine {
            event_id: view.workspace.new_id(),
            ts: view.at,
            action: Action::Rewritten,
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

/// What a branch has lost of the trail that is kept of it.
pub(crate) fn missing(git: &Git, head: &Head) -> Result<Option<Missing>> {
    if kept(git, &head.reference) == head.commit {
        return Ok(None);
    }
    let there: BTreeMap<RepoPath, Oid> = audit::parts(git, head.tree)?
        .into_iter()
        .map(|(path, blob)| (path, blob.id))
        .collect();
    let is_same = |path: &RepoPath, blob: Blob| Ok(there.get(path) == Some(&blob.id));
    let present = || {
        let bytes = there.values().map(|id| git.bytes(*id));
        Ok(bytes.collect::<Result<Vec<_>>>()?.concat())
    };
    gone(git, head, &is_same, &present)
}

/// The same of the files in the working tree.
pub(crate) fn missing_in(root: &Path, git: &Git, head: &Head) -> Result<Option<Missing>> {
    let is_same = |path: &RepoPath, blob: Blob| {
        files::refuse_detours(root, path)?;
        Ok(blob_id_of_file(&root.join(path.as_str()))? == Some(blob.id))
    };
    gone(git, head, &is_same, &|| audit::read_all(root))
}

fn gone(
    git: &Git,
    head: &Head,
    is_same: &dyn Fn(&RepoPath, Blob) -> Result<bool>,
    present: &dyn Fn() -> Result<Vec<u8>>,
) -> Result<Option<Missing>> {
    let Some(commit) = kept(git, &head.reference) else {
        return Ok(None);
    };
    let mut ids = Vec::new();
    for (path, blob) in audit::parts(git, Some(git.tree_of(commit)?))? {
        if !is_same(&path, blob).unwrap_or(false) {
            ids.extend(ids_of(&git.bytes(blob.id)?));
        }
    }
    if !ids.is_empty() {
        // Wherever a line stands now: old files become one.
        let there: BTreeSet<String> = ids_of(&present().unwrap_or_default()).into_iter().collect();
        ids.retain(|id| !there.contains(id));
    }
    Ok((!ids.is_empty()).then_some(Missing { commit, ids }))
}

fn ids_of(bytes: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Named {
        event_id: String,
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice::<Named>(line).ok())
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
        let (committed, mut ids) = (missing(&git, &head)?, Vec::new());
        ids.extend(committed.map(|missing| missing.ids).unwrap_or_default());
        let on_disk = missing_in(self.root(), &git, &head)?;
        for id in on_disk.map(|missing| missing.ids).unwrap_or_default() {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }
}
