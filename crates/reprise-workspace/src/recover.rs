//! Recovery after a crash: transactions that had happened are finished, the others are undone.
//!
//! A transaction with a commit has happened if its branch holds that commit; one without (nothing
//! that git keeps) if all its new content still waits.

use std::path::Path;

use git2::Oid;
use reprise_files::{ChangeOutcome, FileFingerprint};
use reprise_workspace_types::{RepoPath, WorkspaceEvent, WorkspaceRecovery};

use crate::error::{Result, WorkspaceError};
use crate::event::EVENTS;
use crate::files;
use crate::git::index::{contains_commit, refuse_unindexable_name};
use crate::git::reference::remove_if_ours;
use crate::git::{Blob, Git, blob_id, blob_id_of_file};
use crate::layout::{self, CONFLICTS};
use crate::lock::{self, LockGuard};
use crate::stage::{self, STAGES, StagingFolder};
use crate::trail;
use crate::wal::{self, WalAction, WalEntry, encode_line};
use crate::workspace::{LOCKS, Workspace};

/// Largest file that a dead transaction can have made ready: a snapshot.
const WAITING_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

impl Workspace {
    /// Finishes or undoes what crashes left; safe to call at any time.
    pub fn recover(&self) -> Result<WorkspaceRecovery> {
        self.make_folders()?;
        let guard = self.lock()?;
        let mut recovered = self.recover_locked(&guard)?;
        recovered.swept =
            stage::remove_dead_folders(self.root())? + self.remove_orphaned_archives()?;
        lock::remove_dead_locks(&self.root().join(LOCKS))?;
        Ok(recovered)
    }

    /// Recovers at the beginning of a transaction, if the log has an open end.
    pub(crate) fn recover_if_needed(&self, guard: &LockGuard) -> Result<()> {
        if wal::has_open_end(self.root())? {
            self.recover_locked(guard)?;
        }
        Ok(())
    }

    fn recover_locked(&self, _guard: &LockGuard) -> Result<WorkspaceRecovery> {
        let reading = wal::read(self.root())?;
        let git = Git::open(self.root())?;
        let mut recovered = WorkspaceRecovery {
            damaged: reading.damaged,
            ..WorkspaceRecovery::default()
        };
        let stages = self.root().join(STAGES);
        let mut locks = vec![git.index_lock_path(), git.config_lock_path()];
        let branches = reading
            .open
            .iter()
            .filter_map(|entry| entry.branch.as_ref())
            .filter(|branch| git2::Reference::is_valid_name(branch));
        locks.extend(branches.map(|branch| git.reference_lock_path(branch)));
        if let Ok(head) = git.head() {
            locks.push(git.reference_lock_path(&head.reference));
        }
        for path in locks {
            recovered.unlocked += usize::from(remove_if_ours(&path, &stages)?);
        }
        for entry in &reading.open {
            if self.has_happened(&git, entry)? {
                self.finish_transaction(&git, entry, &mut recovered)?;
                recovered.finished.push(entry.tx_id.clone());
                wal::append(self.root(), &entry.to_end_entry(WalAction::Commit))?;
            } else {
                recovered.undone.push(entry.tx_id.clone());
                wal::append(self.root(), &entry.to_end_entry(WalAction::Abort))?;
            }
        }
        Ok(recovered)
    }

    /// Returns whether a transaction of the log has happened. A foreign entry counts as not
    /// happened.
    fn has_happened(&self, git: &Git, entry: &WalEntry) -> Result<bool> {
        if let (Some(commit), Some(branch)) = (&entry.commit, &entry.branch) {
            let Some(commit) = parse_hash(commit) else {
                return Ok(false);
            };
            let tip = git.repo.refname_to_id(branch).ok();
            return match git.repo.find_commit(commit) {
                Ok(_) => contains_commit(git, tip, commit),
                Err(_) => Ok(false),
            };
        }
        let waits = |(path, hashes): (&String, &wal::Hashes)| {
            let path = RepoPath::from_git(path.as_bytes()).ok()?;
            let Some(after) = &hashes.after else {
                return Some(());
            };
            let after = parse_hash(after)?;
            let there = self.hash_on_disk(&path).ok()?;
            let is_there =
                there == Some(after) || read_staged_file(self.root(), entry, after).is_some();
            is_there.then_some(())
        };
        // An entry without hashes is none of ours; nothing shows that it happened.
        Ok(!entry.hashes.is_empty() && entry.hashes.iter().all(|pair| waits(pair).is_some()))
    }

    /// Returns the hash of the file at a path, and refuses links on the way.
    fn hash_on_disk(&self, path: &RepoPath) -> Result<Option<Oid>> {
        files::refuse_detours(self.root(), path)?;
        blob_id_of_file(&self.root().join(path.as_str()))
    }

    fn finish_transaction(
        &self,
        git: &Git,
        entry: &WalEntry,
        recovered: &mut WorkspaceRecovery,
    ) -> Result<()> {
        let commit = entry.commit.as_deref().and_then(parse_hash);
        let tree = commit.map(|commit| git.tree_of(commit)).transpose()?;
        // On another branch by now, the working tree is that branch's.
        let is_here = match &entry.branch {
            Some(branch) => git.head().is_ok_and(|head| head.reference == *branch),
            None => true,
        };
        let mut stage = StagingFolder::new(self.root(), &self.new_id())?;
        if is_here {
            let index = commit.map(|_| git.lock_index(&stage)).transpose()?;
            let mut of_git: Vec<(RepoPath, Option<Blob>)> = Vec::new();
            for name in &entry.files {
                let put = RepoPath::from_git(name.as_bytes())
                    .map_err(WorkspaceError::from)
                    .and_then(|path| {
                        self.restore_file(git, tree, entry, &path, &mut stage, &mut of_git)
                    });
                match put {
                    Ok(ChangeOutcome::Applied) => {}
                    Ok(ChangeOutcome::Conflict) => recovered.left_alone.push(name.clone()),
                    // Something blocks the path: git has the content, and plain git shows and
                    // restores it.
                    Err(error) if !error.is_passing() => recovered.left_alone.push(name.clone()),
                    Err(error) => return Err(error),
                }
            }
            if let Some(index) = index {
                index.update(git, &of_git)?;
            }
        }
        let event: Option<WorkspaceEvent> = entry
            .event
            .clone()
            .and_then(|event| serde_json::from_value(event).ok());
        if let Some(event) = event {
            entry.write_records(git, &event, &mut stage)?;
            stage.unsynced.sync()?;
        }
        Ok(())
    }

    /// Puts one file where the transaction meant it, if it is still as the transaction found it.
    fn restore_file(
        &self,
        git: &Git,
        tree: Option<Oid>,
        entry: &WalEntry,
        path: &RepoPath,
        stage: &mut StagingFolder,
        of_git: &mut Vec<(RepoPath, Option<Blob>)>,
    ) -> Result<ChangeOutcome> {
        let to = self.root().join(path.as_str());
        let Some(hashes) = entry.hashes.get(path.as_str()) else {
            return Ok(ChangeOutcome::Applied);
        };
        let read = |hash: &Option<String>| match hash {
            Some(hash) => parse_hash(hash).map(Some),
            None => Some(None),
        };
        let (Some(before), Some(after)) = (read(&hashes.before), read(&hashes.after)) else {
            return Ok(ChangeOutcome::Conflict);
        };
        let blob = git.blob_at(tree, path)?;
        if tree.is_some() && path.is_in_git() {
            if blob.map(|blob| blob.id) != after {
                return Ok(ChangeOutcome::Conflict);
            }
            refuse_unindexable_name(path)?;
            of_git.push((path.clone(), blob));
        }
        let there = self.hash_on_disk(path)?;
        let found = files::find_metadata(&to)?;
        let is_executable = blob.is_some_and(|blob| blob.mode != crate::git::FILE);
        let has_mode = |found: &std::fs::Metadata| {
            blob.is_none() || files::is_executable(found) == is_executable
        };
        if there == after
            && found.as_ref().is_none_or(has_mode)
            && found.is_some() == after.is_some()
        {
            return Ok(ChangeOutcome::Applied);
        }
        if there != before || found.is_some() != before.is_some() {
            return Ok(ChangeOutcome::Conflict);
        }
        let mark = found.as_ref().map(FileFingerprint::from);
        if let Some(after) = after {
            let bytes = match blob {
                Some(blob) => Some(git.bytes(blob.id)?),
                None => read_staged_file(self.root(), entry, after),
            };
            let Some(bytes) = bytes else {
                return Ok(ChangeOutcome::Conflict);
            };
            stage.write_content(path, Some(&bytes))?;
            stage.unsynced.sync()?;
        }
        let placed = stage.place_file(self.root(), path, is_executable, mark)?;
        let folder = to.parent().unwrap_or(self.root()).to_owned();
        if after.is_none() {
            layout::remove_empty_folders(self.root(), folder, &mut stage.unsynced);
        } else {
            stage.unsynced.add(folder);
            stage.unsynced.sync()?;
        }
        Ok(placed)
    }
}

impl WalEntry {
    /// Writes the records of a transaction that has happened, also again after a crash: the events,
    /// the log of conflicts, the tag, and the kept trail. Records that are written already are not
    /// written again. The stage is of a living transaction.
    pub(crate) fn write_records(
        &self,
        git: &Git,
        event: &WorkspaceEvent,
        stage: &mut StagingFolder,
    ) -> Result<()> {
        let root = git.root();
        let mut append_once = |log: &str, lines: &[u8]| -> Result<()> {
            if !lines.is_empty() && !files::ends_with(root, log, lines)? {
                let log_file = files::append_lines(root, log, lines)?;
                stage.unsynced.add_file(log_file);
            }
            Ok(())
        };
        let mut events: Vec<u8> = self.events.iter().flat_map(encode_line).collect();
        events.extend(encode_line(event));
        append_once(EVENTS, &events)?;
        append_once(
            CONFLICTS,
            &self
                .conflicts
                .iter()
                .flat_map(encode_line)
                .collect::<Vec<u8>>(),
        )?;
        if let Some(tag) = &self.tag {
            match git.tag(tag, stage) {
                // A disk that fails is tried again; what git refuses it refuses for good.
                Err(error @ WorkspaceError::Io { .. }) if error.is_passing() => return Err(error),
                Err(error) => tracing::warn!(%error, tag = tag.name, "the snapshot has no tag"),
                Ok(()) => {}
            }
        }
        if let (Some(commit), Some(branch)) = (&self.commit, &self.branch)
            && let Ok(commit) = Oid::from_str(commit)
        {
            trail::keep_trail(git, branch, commit, stage);
        }
        Ok(())
    }
}

/// Reads the content that a transaction had staged, if it is still complete.
fn read_staged_file(root: &Path, entry: &WalEntry, after: Oid) -> Option<Vec<u8>> {
    let name = RepoPath::new(&entry.tx_id).ok()?;
    let folder = stage::staging_path(root, name.as_str());
    let below = folder.join(after.to_string());
    let below = below.strip_prefix(root).ok()?.to_str()?;
    let bytes = files::read_below(root, below, WAITING_BYTES_MAX).ok()??;
    (blob_id(&bytes).ok()? == after).then_some(bytes)
}

fn parse_hash(hash: &str) -> Option<Oid> {
    Oid::from_str(hash).ok()
}
