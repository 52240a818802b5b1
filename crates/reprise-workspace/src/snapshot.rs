//! Snapshots: the committed tree as `.tar.gz` with a manifest of hashes, and back.
//!
//! A commit gives one archive, always the same to the byte.

mod pack;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use git2::Oid;
use pack::{CONTENT_BYTES_MAX, FOLDER, SnapshotFile, list_tree, pack, unpack_archive};
use reprise_types::sha256_hex;
use reprise_workspace_types::{
    Actor, AuditAction, Class, MergeRule, Receipt, RepoPath, WorkspaceEvent,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::combine::LogLines;
use crate::error::{Result, WorkspaceError, invalid_error, refused_error, unknown_error};
use crate::files;
use crate::git::{Git, Tag, shared_branch_name};
use crate::merge::is_approved;
use crate::rules;
use crate::stage::{Changes, StagingFolder};
use crate::transaction::{Draft, TransactionAttempt};
use crate::workspace::Workspace;

const ARCHIVE_END: &str = ".tar.gz";
const MANIFEST_END: &str = ".json";
/// Longest manifest that is read.
const MANIFEST_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// What no snapshot holds, so that people keep it in another way.
const LEFT_OUT: [&str; 5] = [
    "cache/",
    "memory/episodic/",
    "embeddings/vectors/",
    ".sdlc_ide/logs/ but for the audit trail",
    "the memory store of each user (`reprise backup`)",
];
/// The events on the shared branch at which a snapshot is taken by itself.
const POINTS: [&str; 2] = ["TSD_Written", "Branch_Merged"];
/// How many of those are kept, in git's configuration; 0 takes none.
const KEPT_KEY: &str = "reprise.snapshots";
/// How many are kept where nothing is configured.
const KEPT: usize = 10;

/// What a snapshot is of, and the proof of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotManifest {
    /// Its ULID; the transaction that recorded it has the same.
    pub id: String,
    pub ts: DateTime<Utc>,
    pub actor: String,
    pub branch: String,
    pub commit: String,
    /// SHA-256 of the archive.
    pub archive_sha256: String,
    /// SHA-256 of each file.
    pub files: BTreeMap<String, String>,
    /// The event at which it was taken by itself; nothing where somebody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<String>,
    /// The git tag, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Symbolic links with what they name. They are in the archive; a restore leaves those of the
    /// tree as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
    /// What the archive does not hold.
    pub left_out: Vec<String>,
}

impl Workspace {
    /// Takes a snapshot of the branch as it is committed; with `is_tagged` git gets a tag, too.
    pub fn snapshot(&self, actor: &Actor, is_tagged: bool) -> Result<SnapshotManifest> {
        let git = Git::open(self.root())?;
        let commit = git
            .head()?
            .commit
            .ok_or_else(WorkspaceError::unborn_branch)?;
        self.snapshot_commit(&git, actor, commit, is_tagged, None)
    }

    /// Takes the snapshot that is due after a transaction on the shared branch.
    pub(crate) fn snapshot_when_due(&self, receipt: &mut Receipt) {
        let due = |event: &WorkspaceEvent| {
            let point = POINTS.into_iter().find(|point| *point == event.topic)?;
            Some((point, event.branch.clone(), event.commit.clone()?))
        };
        let Some((point, branch, commit)) = receipt.event.as_ref().and_then(due) else {
            return;
        };
        let taken = || -> Result<Option<String>> {
            let git = Git::open(self.root())?;
            let kept = automatic_snapshots_max(&git);
            if kept == 0 || branch != shared_branch_name(&git) {
                return Ok(None);
            }
            let commit = Oid::from_str(&commit).map_err(WorkspaceError::git("read a hash"))?;
            let orchestrator = Actor::orchestrator();
            let taken = self.snapshot_commit(&git, &orchestrator, commit, false, Some(point))?;
            let old = self.snapshots()?;
            let old: Vec<_> = old.iter().filter(|one| one.point.is_some()).collect();
            for one in &old[..old.len().saturating_sub(kept)] {
                self.remove_snapshot(&one.id)?;
            }
            Ok(Some(taken.id))
        };
        match taken() {
            Ok(taken) => receipt.snapshot = taken,
            Err(error) => {
                let why = error.to_string();
                self.record_snapshot_failure(point, &commit, &why);
                receipt.snapshot_failed = Some(why);
            }
        }
    }

    /// Records that a snapshot was due and failed. If that cannot be written either, only the
    /// receipt says so.
    fn record_snapshot_failure(&self, point: &str, commit: &str, why: &str) {
        let orchestrator = Actor::orchestrator();
        let recorded = self.transact_alone(&orchestrator, &mut |_| {
            Ok(Draft {
                title: "Note that a snapshot failed".to_owned(),
                message: format!("no snapshot at {point}: {why}"),
                topic: Some("Snapshot_Failed"),
                details: json!({ "failed": why, "commit": commit, "point": point }),
                ..Draft::new(&orchestrator, AuditAction::Snapshot)
            })
        });
        if let Err(error) = recorded {
            tracing::warn!(%error, why, "a snapshot that failed is not on record");
        }
    }

    fn snapshot_commit(
        &self,
        git: &Git,
        actor: &Actor,
        commit: Oid,
        is_tagged: bool,
        point: Option<&str>,
    ) -> Result<SnapshotManifest> {
        self.make_folders()?;
        let id = self.new_id();
        let (head, tree) = (git.head()?, git.tree_of(commit)?);
        let listing = list_tree(git, Some(tree))?;
        let (archive, hashes) = pack(git, commit, &listing)?;
        let tag = is_tagged.then(|| format!("snapshot/{id}"));
        if is_tagged && git.repo.find_reference("refs/tags/snapshot").is_ok() {
            let why = "git has a tag `snapshot`, which leaves no room for `snapshot/ID`; rename it";
            return Err(invalid_error("snapshot", "snapshot", why));
        }
        let mut left_out = LEFT_OUT.map(str::to_owned).to_vec();
        left_out.extend(listing.others);
        let manifest = SnapshotManifest {
            id: id.clone(),
            ts: self.now(),
            actor: actor.to_string(),
            branch: head.branch().to_owned(),
            commit: commit.to_string(),
            archive_sha256: sha256_hex(&archive),
            files: hashes,
            point: point.map(str::to_owned),
            tag: tag.clone(),
            links: listing.links,
            left_out,
        };
        // Archive and manifest are files of the transaction that records them: all or none.
        let changes = Changes::from([
            (archive_path(&id), Some(archive)),
            (manifest_path(&id), Some(crate::wal::encode_line(&manifest))),
        ]);
        let details = json!({ "snapshot": id, "commit": manifest.commit,
            "archive_sha256": manifest.archive_sha256, "tag": tag, "point": point });
        let mut stage = StagingFolder::new(self.root(), &id)?;
        self.transact(&mut stage, &id, actor, &mut |_| {
            Ok(Draft {
                tag: tag.as_ref().map(|name| Tag {
                    name: name.clone(),
                    commit: manifest.commit.clone(),
                    actor: actor.to_string(),
                    ts: manifest.ts,
                }),
                changes: changes.clone(),
                title: "Take a snapshot".to_owned(),
                topic: Some("Snapshot_Taken"),
                details: details.clone(),
                ..Draft::new(actor, AuditAction::Snapshot)
            })
        })?;
        Ok(manifest)
    }

    /// Removes a snapshot: its manifest first, for an archive without one is no snapshot.
    pub(crate) fn remove_snapshot(&self, id: &str) -> Result<()> {
        let place = |path: RepoPath| self.root().join(path.as_str());
        files::remove(&place(manifest_path(id)))?;
        files::remove(&place(archive_path(id)))
    }

    /// Removes archives that have no manifest any more; how many.
    pub(crate) fn remove_orphaned_archives(&self) -> Result<usize> {
        let names = self.list_snapshot_files()?;
        let mut swept = 0;
        for name in &names {
            let Some(id) = name.strip_suffix(ARCHIVE_END) else {
                continue;
            };
            if !names.contains(&format!("{id}{MANIFEST_END}")) {
                files::remove(&self.root().join(FOLDER).join(name))?;
                swept += 1;
            }
        }
        Ok(swept)
    }

    fn list_snapshot_files(&self) -> Result<BTreeSet<String>> {
        files::refuse_detours_to(self.root(), FOLDER, FOLDER)?;
        let entries = std::fs::read_dir(self.root().join(FOLDER));
        // A link counts: an archive whose manifest is one is not swept, and who reads that is told.
        let names = entries.into_iter().flatten().flatten();
        Ok(names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect())
    }

    /// Lists the snapshots that are there, oldest first.
    pub fn snapshots(&self) -> Result<Vec<SnapshotManifest>> {
        let mut found = Vec::new();
        for name in self.list_snapshot_files()? {
            if name.ends_with(MANIFEST_END) {
                let below = format!("{FOLDER}/{name}");
                let bytes = files::read_below(self.root(), &below, MANIFEST_BYTES_MAX)?;
                let read = serde_json::from_slice::<SnapshotManifest>(&bytes.unwrap_or_default());
                // One that names another is none of ours: its id becomes a path.
                found.extend(
                    read.ok()
                        .filter(|one| format!("{}{MANIFEST_END}", one.id) == name),
                );
            }
        }
        found.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(found)
    }

    /// Sets the tree back to a snapshot by a new commit. Logs keep what came since.
    pub fn restore(&self, actor: &Actor, id: &str) -> Result<Receipt> {
        if !actor.is_human() && actor.role() != "governor" {
            let why = "snapshots are brought back by the Governor and by people";
            return self.refuse(actor, &|| {
                refused_error("restore", actor, "restore", id, why)
            });
        }
        let (manifest, content) = self.load_verified_snapshot(id)?;
        let receipt = self.transact_alone(actor, &mut |view| {
            let mut changes = Changes::new();
            let there = list_tree(view.git, view.head.tree)?;
            // Which links people have made or changed since.
            let links: BTreeSet<&String> = [&there.links, &manifest.links]
                .into_iter()
                .flat_map(BTreeMap::keys)
                .filter(|path| there.links.get(*path) != manifest.links.get(*path))
                .collect();
            let mut details = json!({ "snapshot": manifest.id, "commit": manifest.commit });
            if !links.is_empty() {
                details["links_left"] = json!(links);
            }
            for (path, _) in there.files {
                if path.merge_rule() != MergeRule::Lines && !content.contains_key(&path) {
                    changes.insert(path, None);
                }
            }
            let mut modes = BTreeMap::new();
            for (path, SnapshotFile { bytes, mode }) in &content {
                modes.insert(path.clone(), *mode);
                let blob = view.git.blob_at(view.head.tree, path)?;
                let present = view.git.content_at(view.head.tree, path)?;
                let bytes = match (path.merge_rule(), &present) {
                    (MergeRule::Lines, Some(present)) => merge_logs(bytes, present),
                    _ => bytes.clone(),
                };
                let is_there =
                    present.as_ref() == Some(&bytes) && blob.is_some_and(|blob| blob.mode == *mode);
                if !path.is_trail() && !is_there {
                    changes.insert(path.clone(), Some(bytes));
                }
            }
            refuse_rule_changes(view, actor, &manifest, &changes)?;
            Ok(Draft {
                changes,
                modes,
                title: "Restore a snapshot".to_owned(),
                topic: Some("Snapshot_Restored"),
                details,
                ..Draft::new(actor, AuditAction::Snapshot)
            })
        })?;
        self.verify_restored(&content)?;
        Ok(receipt)
    }

    /// Loads a snapshot and verifies every hash.
    fn load_verified_snapshot(
        &self,
        id: &str,
    ) -> Result<(SnapshotManifest, BTreeMap<RepoPath, SnapshotFile>)> {
        let unknown = || unknown_error("snapshot", id, "`reprise workspace snapshots` lists them");
        Actor::new(id).map_err(|_| unknown())?;
        let read = |path: RepoPath, limit| files::read_below(self.root(), path.as_str(), limit);
        let bytes = read(manifest_path(id), MANIFEST_BYTES_MAX)?.ok_or_else(unknown)?;
        let damaged = |why: &str| invalid_error("snapshot", id, why);
        let manifest: SnapshotManifest = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(&format!("its manifest is damaged: {error}")))?;
        let archive = read(archive_path(id), CONTENT_BYTES_MAX)?.ok_or_else(unknown)?;
        if sha256_hex(&archive) != manifest.archive_sha256 {
            return Err(damaged(
                "its archive is not the one of its manifest; take another snapshot",
            ));
        }
        let (content, links) = unpack_archive(&archive).map_err(|why| damaged(&why))?;
        let hashes: BTreeMap<String, String> = content
            .iter()
            .map(|(path, packed)| (path.to_string(), sha256_hex(&packed.bytes)))
            .collect();
        if hashes != manifest.files || links != manifest.links {
            return Err(damaged(
                "its files are not those of its manifest; take another snapshot",
            ));
        }
        Ok((manifest, content))
    }

    /// Verifies that the tree has the snapshot's content; logs may have more lines.
    fn verify_restored(&self, content: &BTreeMap<RepoPath, SnapshotFile>) -> Result<()> {
        for (path, SnapshotFile { bytes, .. }) in
            content.iter().filter(|(path, _)| !path.is_trail())
        {
            let there = files::read_below(self.root(), path.as_str(), CONTENT_BYTES_MAX)?;
            let is_there = match (path.merge_rule(), &there) {
                (MergeRule::Lines, Some(there)) => merge_logs(bytes, there).len() == there.len(),
                (_, there) => there.as_ref() == Some(bytes),
            };
            if !is_there {
                let why =
                    "after the restore it is not what the snapshot holds; somebody wrote meanwhile";
                return Err(invalid_error("snapshot", path.as_str(), why));
            }
        }
        Ok(())
    }
}

fn archive_path(id: &str) -> RepoPath {
    RepoPath::trusted(format!("{FOLDER}/{id}{ARCHIVE_END}"))
}

fn manifest_path(id: &str) -> RepoPath {
    RepoPath::trusted(format!("{FOLDER}/{id}{MANIFEST_END}"))
}

fn automatic_snapshots_max(git: &Git) -> usize {
    let configured = git.repo.config().and_then(|all| all.get_i64(KEPT_KEY));
    configured.map_or(KEPT, |kept| usize::try_from(kept).unwrap_or_default())
}

/// Refuses to restore the project's rules without a person or a person's approval.
fn refuse_rule_changes(
    view: &TransactionAttempt<'_>,
    actor: &Actor,
    manifest: &SnapshotManifest,
    changes: &Changes,
) -> Result<()> {
    let Some(path) = changes.keys().find(|path| path.class() == Class::Rules) else {
        return Ok(());
    };
    if view.on_main && view.in_force.is_pending && changes.keys().any(RepoPath::is_policy) {
        return Err(rules::pending_rules_error(actor, path));
    }
    let commit = Oid::from_str(&manifest.commit).map_err(WorkspaceError::git("read a hash"))?;
    if actor.is_human() || is_approved(view, commit)? {
        return Ok(());
    }
    let why = "the snapshot would change the project's rules; a person restores it, or approves its \
               commit first";
    Err(refused_error(
        "project-rules",
        actor,
        "restore",
        path.as_str(),
        why,
    ))
}

/// Merges both logs line by line if both are lines.
fn merge_logs(old: &[u8], present: &[u8]) -> Vec<u8> {
    let read = |bytes| LogLines::parse(&String::from_utf8_lossy(bytes));
    match (read(present), read(old)) {
        (Ok(present_lines), Ok(old)) if !present_lines.contains_all(&old) => {
            present_lines.merge_with(old).encode()
        }
        _ => present.to_vec(),
    }
}
