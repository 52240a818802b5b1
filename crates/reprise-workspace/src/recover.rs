//! After a crash (W18): what had happened is finished, what had not is taken back.
//!
//! A transaction with a commit has happened if its branch holds that commit; one without (nothing
//! that git keeps) if all its new content still waits.

use std::path::Path;

use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::AUDIT;
use crate::durable::Unsynced;
use crate::error::{Result, WorkspaceError};
use crate::event::{self, WorkspaceEvent};
use crate::files::{self, Mark, Placed};
use crate::git::index::holds;
use crate::git::reference::remove_if_ours;
use crate::git::{Blob, Git, blob_id_of_file};
use crate::lock::{self, Held};
use crate::path::RepoPath;
use crate::stage::{self, STAGES, Stage};
use crate::wal::{self, Action, Entry};
use crate::workspace::{LOCKS, Workspace};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recovered {
    /// Transactions that had happened and were finished.
    pub finished: Vec<String>,
    /// Transactions that had not happened; nothing of them is left.
    pub undone: Vec<String>,
    /// Paths that were left alone, because somebody edited them since.
    pub left_alone: Vec<String>,
    /// Folders of dead transactions that were removed.
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
        recovered.swept = stage::sweep(self.root())?;
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
        let mut locks = vec![git.index_lock_path()];
        let branches = reading
            .open
            .iter()
            .filter_map(|entry| entry.branch.as_ref());
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

    fn has_happened(&self, git: &Git, entry: &Entry) -> Result<bool> {
        if let (Some(commit), Some(branch)) = (&entry.commit, &entry.branch) {
            let commit = parse(commit)?;
            let tip = git.repo.refname_to_id(branch).ok();
            return match git.repo.find_commit(commit) {
                Ok(_) => holds(git, tip, commit),
                Err(_) => Ok(false),
            };
        }
        let waits = |(path, hashes): (&String, &wal::Hashes)| -> Result<bool> {
            let Some(after) = &hashes.after else {
                return Ok(true);
            };
            let waiting = stage::folder_of(self.root(), &entry.tx_id).join(after);
            let there = blob_id_of_file(&self.root().join(path))?;
            let after = Some(parse(after)?);
            Ok(there == after || blob_id_of_file(&waiting)? == after)
        };
        for pair in &entry.hashes {
            if !waits(pair)? {
                return Ok(false);
            }
        }
        // An entry without hashes is none of ours; nothing shows that it happened.
        Ok(!entry.hashes.is_empty())
    }

    fn finish_one(&self, git: &Git, entry: &Entry, recovered: &mut Recovered) -> Result<()> {
        let commit = entry.commit.as_deref().map(parse).transpose()?;
        let tree = commit.map(|commit| git.tree_of(commit)).transpose()?;
        // On another branch by now, the working tree is that branch's.
        let is_here = match &entry.branch {
            Some(branch) => git.head().is_ok_and(|head| head.reference == *branch),
            None => true,
        };
        if is_here {
            let mut stage = Stage::new(self.root(), &self.new_id())?;
            let stages = self.root().join(STAGES);
            let index = commit
                .map(|_| git.lock_index(stage.folder(), &stages))
                .transpose()?;
            let mut of_git: Vec<(RepoPath, Option<Blob>)> = Vec::new();
            for path in &entry.files {
                let path = RepoPath::new(path)?;
                if self.put_back(git, tree, entry, &path, &mut stage)? == Placed::Theirs {
                    recovered.left_alone.push(path.to_string());
                }
                if path.class().is_versioned() || path.as_str() == AUDIT {
                    let blob = git.blob_at(tree, &path)?;
                    of_git.push((path, blob));
                }
            }
            if let Some(index) = index {
                let of_git: Vec<_> = of_git.iter().map(|(path, blob)| (path, *blob)).collect();
                index.update(git, &of_git)?;
            }
        }
        let event: Option<WorkspaceEvent> = entry
            .event
            .clone()
            .and_then(|event| serde_json::from_value(event).ok());
        if let Some(event) = event
            && !event::is_recorded(self.root(), &event.event_id)?
        {
            let mut unsynced = Unsynced::default();
            event::record(self.root(), &event, &mut unsynced)?;
            unsynced.sync()?;
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
    ) -> Result<Placed> {
        let to = self.root().join(path.as_str());
        let Some(hashes) = entry.hashes.get(path.as_str()) else {
            return Ok(Placed::Done);
        };
        let (before, after) = (
            hashes.before.as_deref().map(parse).transpose()?,
            hashes.after.as_deref().map(parse).transpose()?,
        );
        let found = files::look(&to)?;
        let there = blob_id_of_file(&to)?;
        let blob = git.blob_at(tree, path)?;
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
        let mark = found.as_ref().map(Mark::of);
        let Some(after) = after else {
            return match mark {
                Some(mark) => files::take_away(&to, &stage.folder().join("removed"), mark),
                None => Ok(Placed::Done),
            };
        };
        let bytes = match git.content_at(tree, path)? {
            Some(bytes) => bytes,
            None => waiting(self.root(), entry, after)?,
        };
        if let Some(folder) = to.parent() {
            stage.unsynced.make_folder(folder)?;
        }
        stage.put(path, &bytes)?;
        stage.unsynced.sync()?;
        let placed = match stage.take(path, is_executable)? {
            Some(from) => files::place(&from, &to, mark)?,
            None => Placed::Done,
        };
        files::sync_folder(to.parent().unwrap_or(self.root()))?;
        Ok(placed)
    }
}

fn waiting(root: &Path, entry: &Entry, after: Oid) -> Result<Vec<u8>> {
    let path = stage::folder_of(root, &entry.tx_id).join(after.to_string());
    Ok(files::read(&path)?.unwrap_or_default())
}

fn parse(hash: &str) -> Result<Oid> {
    Oid::from_str(hash).map_err(WorkspaceError::git("read a hash of the WAL"))
}
