//! Snapshots (W21): the committed tree as `.tar.gz` with a manifest of hashes, and back.
//!
//! The same commit gives the same archive, byte for byte.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use git2::{ObjectType, Oid, TreeWalkMode, TreeWalkResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::audit::{AUDIT, Action};
use crate::error::{Result, WorkspaceError};
use crate::event::WorkspaceEvent;
use crate::files;
use crate::git::{EXECUTABLE, FILE, Git, signature};
use crate::lines::Lines;
use crate::main_branch::main_of;
use crate::merge::is_approved;
use crate::path::{Class, MergeRule, RepoPath};
use crate::rules;
use crate::stage::Stage;
use crate::transaction::{Changes, Draft, Receipt, View};
use crate::workspace::{Workspace, invalid};

const FOLDER: &str = ".sdlc_ide/snapshots";
/// What no snapshot holds, for whoever has to keep it otherwise.
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
/// Largest archive that is unpacked, in bytes of content.
const CONTENT_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

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
    /// git's tag, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// What is not in it.
    pub left_out: Vec<String>,
}

impl Workspace {
    fn archive_path(&self, id: &str) -> PathBuf {
        self.root().join(FOLDER).join(format!("{id}.tar.gz"))
    }

    fn manifest_path(&self, id: &str) -> PathBuf {
        self.root().join(FOLDER).join(format!("{id}.json"))
    }

    /// Takes a snapshot of the branch as it is committed; with `is_tagged` git gets a tag, too.
    pub fn snapshot(&self, actor: &Actor, is_tagged: bool) -> Result<SnapshotManifest> {
        let git = Git::open(self.root())?;
        let Some(commit) = git.head()?.commit else {
            return Err(WorkspaceError::repository(
                "it has no commit yet; run `reprise workspace init`",
            ));
        };
        self.snapshot_of(&git, actor, commit, is_tagged, None)
    }

    /// Takes the snapshot that a transaction on the shared branch asks for (W21).
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
            let kept = kept(&git);
            if kept == 0 || branch != main_of(&git) {
                return Ok(None);
            }
            let commit = Oid::from_str(&commit).map_err(WorkspaceError::git("read a hash"))?;
            let orchestrator = Actor::orchestrator();
            let taken = self.snapshot_of(&git, &orchestrator, commit, false, Some(point))?;
            let old = self.snapshots()?;
            let old: Vec<_> = old.iter().filter(|one| one.point.is_some()).collect();
            for one in &old[..old.len().saturating_sub(kept)] {
                self.forget_snapshot(&one.id)?;
            }
            Ok(Some(taken.id))
        };
        match taken() {
            Ok(taken) => receipt.snapshot = taken,
            Err(error) => {
                let why = error.to_string();
                self.tell_failure(point, &commit, &why);
                receipt.snapshot_failed = Some(why);
            }
        }
    }

    /// Puts on record that a snapshot was due and is not there. Where not even that can be written
    /// the receipt alone says it.
    fn tell_failure(&self, point: &str, commit: &str, why: &str) {
        let tx = self.new_id();
        let told = Stage::new(self.root(), &tx).and_then(|mut stage| {
            self.transact(&mut stage, &tx, &mut |_| {
                let details = json!({ "failed": why, "commit": commit, "point": point });
                Ok(Draft {
                    message: format!("no snapshot at {point}: {why}"),
                    ..recording(
                        &Actor::orchestrator(),
                        "Note that a snapshot failed",
                        "Snapshot_Failed",
                        Changes::new(),
                        &details,
                    )
                })
            })
        });
        if let Err(error) = told {
            tracing::warn!(%error, why, "a snapshot that failed is not on record");
        }
    }

    fn snapshot_of(
        &self,
        git: &Git,
        actor: &Actor,
        commit: Oid,
        is_tagged: bool,
        point: Option<&str>,
    ) -> Result<SnapshotManifest> {
        let id = self.new_id();
        let taken = self.take(git, actor, commit, is_tagged, point, &id);
        if taken.is_err() {
            // What is not on record is no snapshot, and takes no room.
            self.forget_snapshot(&id)?;
            drop(git.repo.tag_delete(&tag_of(&id)));
        }
        taken
    }

    fn take(
        &self,
        git: &Git,
        actor: &Actor,
        commit: Oid,
        is_tagged: bool,
        point: Option<&str>,
        id: &str,
    ) -> Result<SnapshotManifest> {
        self.make_folders()?;
        let (head, tree) = (git.head()?, git.tree_of(commit)?);
        let (archive, hashes) = pack(git, commit, tree)?;
        let tag = is_tagged.then(|| tag_of(id));
        let manifest = SnapshotManifest {
            id: id.to_owned(),
            ts: self.now(),
            actor: actor.to_string(),
            branch: head.branch().to_owned(),
            commit: commit.to_string(),
            archive_sha256: files::sha256(&archive),
            files: hashes,
            point: point.map(str::to_owned),
            tag: tag.clone(),
            left_out: LEFT_OUT.map(str::to_owned).to_vec(),
        };
        let mut stage = Stage::new(self.root(), id)?;
        let waiting = stage.folder().join("snapshot");
        files::write_new(&waiting, &archive)?;
        let io = |path| WorkspaceError::io("cannot write", path);
        let path = self.archive_path(id);
        std::fs::rename(&waiting, &path).map_err(io(&path))?;
        // The manifest last: an archive without one is no snapshot.
        files::write_new(&waiting, &crate::wal::line(&manifest))?;
        let path = self.manifest_path(id);
        std::fs::rename(&waiting, &path).map_err(io(&path))?;
        files::sync_folder(&self.root().join(FOLDER))?;
        if let Some(tag) = &tag {
            let tagged = || WorkspaceError::git("tag the snapshot");
            let target = git.repo.find_object(commit, None).map_err(tagged())?;
            let by = signature(actor, self.now())?;
            let why = format!("Snapshot {id}");
            git.repo
                .tag(tag, &target, &by, &why, false)
                .map_err(tagged())?;
        }
        let details = json!({ "snapshot": id, "commit": manifest.commit,
            "archive_sha256": manifest.archive_sha256, "tag": tag, "point": point });
        self.transact(&mut stage, id, &mut |_| {
            let changes = Changes::new();
            Ok(recording(
                actor,
                "Take a snapshot",
                "Snapshot_Taken",
                changes,
                &details,
            ))
        })?;
        Ok(manifest)
    }

    /// Removes a snapshot: its manifest first, for an archive without one is no snapshot.
    pub(crate) fn forget_snapshot(&self, id: &str) -> Result<()> {
        files::remove(&self.manifest_path(id))?;
        files::remove(&self.archive_path(id))
    }

    /// The snapshots that are there, oldest first.
    pub fn snapshots(&self) -> Result<Vec<SnapshotManifest>> {
        let folder = self.root().join(FOLDER);
        let Ok(entries) = std::fs::read_dir(&folder) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "json") {
                let bytes = files::read(&path)?.unwrap_or_default();
                found.extend(serde_json::from_slice::<SnapshotManifest>(&bytes));
            }
        }
        found.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(found)
    }

    /// Sets the tree back to a snapshot by a new commit. Logs keep what came since.
    pub fn restore(&self, actor: &Actor, id: &str) -> Result<Receipt> {
        if !actor.is_human() && actor.role() != "governor" {
            return Err(WorkspaceError::Refused {
                rule: "restore".to_owned(),
                actor: actor.to_string(),
                act: "restore",
                path: id.to_owned(),
                why: "snapshots are brought back by the Governor and by people".to_owned(),
            });
        }
        let (manifest, content) = self.proven(id)?;
        let tx = self.new_id();
        let mut stage = Stage::new(self.root(), &tx)?;
        let details = json!({ "snapshot": manifest.id, "commit": manifest.commit });
        let receipt = self.transact(&mut stage, &tx, &mut |view| {
            let mut changes = Changes::new();
            for path in all_paths(view.git, view.head.tree)? {
                if path.merge_rule() != MergeRule::Lines && !content.contains_key(&path) {
                    changes.insert(path, None);
                }
            }
            let mut modes = BTreeMap::new();
            for (path, Packed { bytes, mode }) in &content {
                modes.insert(path.clone(), *mode);
                let blob = view.git.blob_at(view.head.tree, path)?;
                let present = view.git.content_at(view.head.tree, path)?;
                let bytes = match (path.merge_rule(), &present) {
                    (MergeRule::Lines, Some(present)) => joined(bytes, present),
                    _ => bytes.clone(),
                };
                let is_there =
                    present.as_ref() == Some(&bytes) && blob.is_some_and(|blob| blob.mode == *mode);
                if path.as_str() != AUDIT && !is_there {
                    changes.insert(path.clone(), Some(bytes));
                }
            }
            refuse_rules(view, actor, &manifest, &changes)?;
            let title = "Restore a snapshot";
            Ok(Draft {
                modes,
                ..recording(actor, title, "Snapshot_Restored", changes, &details)
            })
        })?;
        self.prove(&content)?;
        Ok(receipt)
    }

    /// What an archive holds, every hash compared.
    fn proven(&self, id: &str) -> Result<(SnapshotManifest, BTreeMap<RepoPath, Packed>)> {
        let unknown = || WorkspaceError::Unknown {
            what: "snapshot",
            name: id.to_owned(),
            hint: "`reprise workspace snapshots` lists them",
        };
        Actor::new(id).map_err(|_| unknown())?;
        let bytes = files::read(&self.manifest_path(id))?.ok_or_else(unknown)?;
        let damaged = |why: &str| invalid("snapshot", id, why);
        let manifest: SnapshotManifest = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(&format!("its manifest is damaged: {error}")))?;
        let archive = files::read(&self.archive_path(id))?.ok_or_else(unknown)?;
        if files::sha256(&archive) != manifest.archive_sha256 {
            return Err(damaged(
                "its archive is not the one of its manifest; take another snapshot",
            ));
        }
        let content = unpack(&archive).map_err(|why| damaged(&why))?;
        let hashes: BTreeMap<String, String> = content
            .iter()
            .map(|(path, packed)| (path.to_string(), files::sha256(&packed.bytes)))
            .collect();
        if hashes != manifest.files {
            return Err(damaged(
                "its files are not those of its manifest; take another snapshot",
            ));
        }
        Ok((manifest, content))
    }

    /// What stands in the tree now is what the snapshot holds; logs hold at least that.
    fn prove(&self, content: &BTreeMap<RepoPath, Packed>) -> Result<()> {
        for (path, Packed { bytes, .. }) in
            content.iter().filter(|(path, _)| path.as_str() != AUDIT)
        {
            let there = files::read(&self.root().join(path.as_str()))?;
            let is_there = match (path.merge_rule(), &there) {
                (MergeRule::Lines, Some(there)) => joined(bytes, there).len() == there.len(),
                (_, there) => there.as_ref() == Some(bytes),
            };
            if !is_there {
                let why =
                    "after the restore it is not what the snapshot holds; somebody wrote meanwhile";
                return Err(invalid("snapshot", path.as_str(), why));
            }
        }
        Ok(())
    }
}

fn tag_of(id: &str) -> String {
    format!("snapshot/{id}")
}

fn kept(git: &Git) -> usize {
    let configured = git.repo.config().and_then(|all| all.get_i64(KEPT_KEY));
    configured.map_or(KEPT, |kept| usize::try_from(kept).unwrap_or_default())
}

/// A file of an archive, with its mode in git's trees.
struct Packed {
    bytes: Vec<u8>,
    mode: i32,
}

/// The project's rules come back by a person, or where one approved that very commit.
fn refuse_rules(
    view: &View<'_>,
    actor: &Actor,
    manifest: &SnapshotManifest,
    changes: &Changes,
) -> Result<()> {
    let Some(path) = changes.keys().find(|path| path.class() == Class::Rules) else {
        return Ok(());
    };
    if view.on_main && view.in_force.is_pending {
        return Err(rules::refuse_while_pending(actor, path));
    }
    let commit = Oid::from_str(&manifest.commit).map_err(WorkspaceError::git("read a hash"))?;
    if actor.is_human() || is_approved(view, commit)? {
        return Ok(());
    }
    Err(WorkspaceError::Refused {
        rule: "project-rules".to_owned(),
        actor: actor.to_string(),
        act: "restore",
        path: path.to_string(),
        why:
            "the snapshot would change the project's rules; a person restores it, or approves its \
              commit first"
                .to_owned(),
    })
}

fn recording(
    actor: &Actor,
    title: &str,
    topic: &'static str,
    changes: Changes,
    details: &Value,
) -> Draft {
    Draft {
        changes,
        title: title.to_owned(),
        topic: Some(topic),
        details: details.clone(),
        ..Draft::new(actor, Action::Snapshot)
    }
}

/// Both logs, as lines where they are lines.
fn joined(old: &[u8], present: &[u8]) -> Vec<u8> {
    let read = |bytes| Lines::read(&String::from_utf8_lossy(bytes));
    match (read(present), read(old)) {
        (Ok(present_lines), Ok(old)) if !present_lines.holds_all(&old) => {
            present_lines.joined(old).write()
        }
        _ => present.to_vec(),
    }
}

/// Every regular file of a tree, in the order of their paths.
fn all_paths(git: &Git, tree: Option<Oid>) -> Result<Vec<RepoPath>> {
    let Some(tree) = tree else {
        return Ok(Vec::new());
    };
    let read = || WorkspaceError::git("read a tree");
    let tree = git.repo.find_tree(tree).map_err(read())?;
    let mut names = Vec::new();
    tree.walk(TreeWalkMode::PreOrder, |above, entry| {
        if entry.kind() == Some(ObjectType::Blob) {
            names.push(format!(
                "{above}{}",
                String::from_utf8_lossy(entry.name_bytes())
            ));
        }
        TreeWalkResult::Ok
    })
    .map_err(read())?;
    names.sort_unstable();
    names.iter().map(|name| Ok(RepoPath::new(name)?)).collect()
}

fn pack(git: &Git, commit: Oid, tree: Oid) -> Result<(Vec<u8>, BTreeMap<String, String>)> {
    let time = git
        .repo
        .find_commit(commit)
        .map(|commit| commit.time().seconds())
        .map_err(WorkspaceError::git("read a commit"))?;
    let io = |cause| WorkspaceError::Io {
        doing: "cannot pack",
        path: PathBuf::from(FOLDER),
        cause,
    };
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut hashes = BTreeMap::new();
    for path in all_paths(git, Some(tree))? {
        let Some(blob) = git.blob_at(Some(tree), &path)? else {
            continue;
        };
        let bytes = git.bytes(blob.id)?;
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode((blob.mode & 0o777) as u32);
        header.set_mtime(u64::try_from(time).unwrap_or_default());
        header.set_cksum();
        archive
            .append_data(&mut header, path.as_str(), bytes.as_slice())
            .map_err(io)?;
        hashes.insert(path.to_string(), files::sha256(&bytes));
    }
    let bytes = archive
        .into_inner()
        .and_then(|mut encoder| {
            encoder.flush()?;
            encoder.finish()
        })
        .map_err(io)?;
    Ok((bytes, hashes))
}

fn unpack(archive: &[u8]) -> std::result::Result<BTreeMap<RepoPath, Packed>, String> {
    let limited = GzDecoder::new(archive).take(CONTENT_BYTES_MAX);
    let mut content = BTreeMap::new();
    let mut archive = tar::Archive::new(limited);
    let entries = archive.entries().map_err(|error| error.to_string())?;
    for entry in entries {
        let mut entry = entry.map_err(|error| format!("its archive is damaged: {error}"))?;
        let name = entry.path().map_err(|error| error.to_string())?;
        let path = RepoPath::new(&name.to_string_lossy()).map_err(|error| error.to_string())?;
        let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let mode = if is_executable { EXECUTABLE } else { FILE };
        let mut bytes = Vec::new();
        entry
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        content.insert(path, Packed { bytes, mode });
    }
    Ok(content)
}
