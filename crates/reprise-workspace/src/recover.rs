//! After a crash (W18): what had happened is finished, what had not is taken back.
//!
//! A transaction with a commit has happened if its branch holds that commit; one without (nothing
//! that git keeps) if all its new content still waits.

use std::path::Path;

use git2::Oid;
use reprise_files::{Placed, Stamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Result, WorkspaceError};
use crate::event::{EVENTS, WorkspaceEvent};
use crate::files;
use crate::git::index::{holds, refuse_name};
use crate::git::reference::remove_if_ours;
use crate::git::{Blob, Git, blob_id, blob_id_of_file};
use crate::kept;
use crate::layout::{self, CONFLICTS};
use crate::lock::{self, Held};
use crate::path::RepoPath;
use crate::stage::{self, STAGES, Stage};
use crate::wal::{self, Action, Entry, line};
use crate::workspace::{LOCKS, Workspace};

/// Largest file that a dead transaction can have made ready: a snapshot.
const WAITING_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recovered {
    /// Transactions that had happened and were finished.
    pub finished: Vec<String>,
    /// Transactions that had not happened; nothing of them is left.
    pub undone: Vec<String>,
    /// Paths that were left alone, because somebody edited them since or something stands in their
    /// way; git has them, and `git checkout -- PATH` brings them.
    pub left_alone: Vec<String>,
    /// Folders of dead transactions that were removed, and archives without a manifest.
    pub swept: usize,
    /// Lock files of git that dead transactions had left.
    pub unlocked: usize,
    /// Numbers of lines of the WAL that are no entries.
    pub damaged: Vec<usize>,
}

impl Workspace {
    /// Ties up what crashes left, whether there was one or not.
    pub fn recover(&self) -> Result<Recovered> {
        self.make_folders()?;
        let guard = self.lock()?;
        let mut recovered = self.recover_under(&guard)?;
        recovered.swept = stage::sweep(self.root())? + self.sweep_snapshots()?;
        lock::sweep(&self.root().join(LOCKS))?;
        Ok(recovered)
    }

    /// The same where the log ends loosely, at the beginning of each transaction.
    pub(crate) fn tie_up(&self, guard: &Held) -> Result<()> {
        if wal::ends_loose(self.root())? {
            self.recover_under(guard)?;
        }
        Ok(())
    }

    fn recover_under(&self, _guard: &Held) -> Result<Recovered> {
        let reading = wal::read(self.root())?;
        let git = Git::open(self.root())?;
        let mut recovered = Recovered {
            damaged: reading.damaged,
            ..Recovered::default()
        };
        let stages = self.root().join(STAGES);
        let mut locks = vec![git.index_lock_path(), git.config_lock_path()];
        let branches = reading
            .open
            .iter()
            .filter_map(|entry| entry.branch.as_ref())
            .filter(|branch| git2::Reference::is_valid_name(branch));
        locks.extend(branches.map(|branch| git.reference_lock(branch)));
        if let Ok(head) = git.head() {
            locks.push(git.reference_lock(&head.reference));
        }
        for path in locks {
            recovered.unlocked += usize::from(remove_if_ours(&path, &stages)?);
        }
        for entry in &reading.open {
            if self.has_happened(&git, entry)? {
                self.finish_one(&git, entry, &mut recovered)?;
                recovered.finished.push(entry.tx_id.clone());
                wal::append(self.root(), &entry.ended(Action::Commit))?;
            } else {
                recovered.undone.push(entry.tx_id.clone());
                wal::append(self.root(), &entry.ended(Action::Abort))?;
            }
        }
        Ok(recovered)
    }

    /// What an entry says that is none of ours shows nothing.
    fn has_happened(&self, git: &Git, entry: &Entry) -> Result<bool> {
        if let (Some(commit), Some(branch)) = (&entry.commit, &entry.branch) {
            let Some(commit) = parse(commit) else {
                return Ok(false);
            };
            let tip = git.repo.refname_to_id(branch).ok();
            return match git.repo.find_commit(commit) {
                Ok(_) => holds(git, tip, commit),
                Err(_) => Ok(false),
            };
        }
        let waits = |(path, hashes): (&String, &wal::Hashes)| {
            let path = RepoPath::in_git(path.as_bytes()).ok()?;
            let Some(after) = &hashes.after else {
                return Some(());
            };
            let after = parse(after)?;
            let there = self.there(&path).ok()?;
            let is_there = there == Some(after) || waiting(self.root(), entry, after).is_some();
            is_there.then_some(())
        };
        // An entry without hashes is none of ours; nothing shows that it happened.
        Ok(!entry.hashes.is_empty() && entry.hashes.iter().all(|pair| waits(pair).is_some()))
    }

    /// The hash of the file that stands at a path, by no detour.
    fn there(&self, path: &RepoPath) -> Result<Option<Oid>> {
        files::refuse_detours(self.root(), path)?;
        blob_id_of_file(&self.root().join(path.as_str()))
    }

    fn finish_one(&self, git: &Git, entry: &Entry, recovered: &mut Recovered) -> Result<()> {
        let commit = entry.commit.as_deref().and_then(parse);
        let tree = commit.map(|commit| git.tree_of(commit)).transpose()?;
        // On another branch by now, the working tree is that branch's.
        let is_here = match &entry.branch {
            Some(branch) => git.head().is_ok_and(|head| head.reference == *branch),
            None => true,
        };
        let mut stage = Stage::new(self.root(), &self.new_id())?;
        if is_here {
            let index = commit.map(|_| git.lock_index(&stage)).transpose()?;
            let mut of_git: Vec<(RepoPath, Option<Blob>)> = Vec::new();
            for name in &entry.files {
                let put = RepoPath::in_git(name.as_bytes())
                    .map_err(WorkspaceError::from)
                    .and_then(|path| {
                        self.put_back(git, tree, entry, &path, &mut stage, &mut of_git)
                    });
                match put {
                    Ok(Placed::Done) => {}
                    Ok(Placed::Theirs) => recovered.left_alone.push(name.clone()),
                    // Whatever stands in the way: git has it, and plain git shows and brings it.
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
            entry.record(git, &event, &mut stage)?;
            stage.unsynced.sync()?;
        }
        Ok(())
    }

    /// Puts one file where the transaction meant it, if it is still as the transaction found it.
    fn put_back(
        &self,
        git: &Git,
        tree: Option<Oid>,
        entry: &Entry,
        path: &RepoPath,
        stage: &mut Stage,
        of_git: &mut Vec<(RepoPath, Option<Blob>)>,
    ) -> Result<Placed> {
        let to = self.root().join(path.as_str());
        let Some(hashes) = entry.hashes.get(path.as_str()) else {
            return Ok(Placed::Done);
        };
        let read = |hash: &Option<String>| match hash {
            Some(hash) => parse(hash).map(Some),
            None => Some(None),
        };
        let (Some(before), Some(after)) = (read(&hashes.before), read(&hashes.after)) else {
            return Ok(Placed::Theirs);
        };
        let blob = git.blob_at(tree, path)?;
        if tree.is_some() && path.is_kept() {
            if blob.map(|blob| blob.id) != after {
                return Ok(Placed::Theirs);
            }
            refuse_name(path)?;
            of_git.push((path.clone(), blob));
        }
        let there = self.there(path)?;
        let found = files::look(&to)?;
        let is_executable = blob.is_some_and(|blob| blob.mode != crate::git::FILE);
        let has_mode = |found: &std::fs::Metadata| {
            blob.is_none() || files::is_executable(found) == is_executable
        };
        if there == after
            && found.as_ref().is_none_or(has_mode)
            && found.is_some() == after.is_some()
        {
            return Ok(Placed::Done);
        }
        if there != before || found.is_some() != before.is_some() {
            return Ok(Placed::Theirs);
        }
        let mark = found.as_ref().map(Stamp::from);
        if let Some(after) = after {
            let bytes = match blob {
                Some(blob) => Some(git.bytes(blob.id)?),
                None => waiting(self.root(), entry, after),
            };
            let Some(bytes) = bytes else {
                return Ok(Placed::Theirs);
            };
            stage.put(path, Some(&bytes))?;
            stage.unsynced.sync()?;
        }
        let placed = stage.place(self.root(), path, is_executable, mark)?;
        let folder = to.parent().unwrap_or(self.root()).to_owned();
        if after.is_none() {
            layout::drop_empty(self.root(), folder, &mut stage.unsynced);
        } else {
            stage.unsynced.add(folder);
            stage.unsynced.sync()?;
        }
        Ok(placed)
    }
}

impl Entry {
    /// Tells what happened, once it has, and again where a crash came between: the events, the log
    /// of conflicts, the tag, and the trail beside its branch. What is told already is not told
    /// again. The stage is of a living transaction.
    pub(crate) fn record(
        &self,
        git: &Git,
        event: &WorkspaceEvent,
        stage: &mut Stage,
    ) -> Result<()> {
        let root = git.root();
        let mut tell = |log: &str, lines: &[u8]| -> Result<()> {
            if !lines.is_empty() && !files::ends_with(root, log, lines)? {
                let told = files::append_lines(root, log, lines)?;
                stage.unsynced.add_file(told);
            }
            Ok(())
        };
        let mut events: Vec<u8> = self.events.iter().flat_map(line).collect();
        events.extend(line(event));
        tell(EVENTS, &events)?;
        tell(
            CONFLICTS,
            &self.conflicts.iter().flat_map(line).collect::<Vec<u8>>(),
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
            kept::keep(git, branch, commit, stage);
        }
        Ok(())
    }
}

/// What the transaction had made ready, if it is still there whole.
fn waiting(root: &Path, entry: &Entry, after: Oid) -> Option<Vec<u8>> {
    let name = RepoPath::new(&entry.tx_id).ok()?;
    let folder = stage::folder_of(root, name.as_str());
    let below = folder.join(after.to_string());
    let below = below.strip_prefix(root).ok()?.to_str()?;
    let bytes = files::read_in(root, below, WAITING_BYTES_MAX).ok()??;
    (blob_id(&bytes).ok()? == after).then_some(bytes)
}

fn parse(hash: &str) -> Option<Oid> {
    Oid::from_str(hash).ok()
}
