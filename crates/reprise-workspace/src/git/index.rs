//! The git index: what a person has staged stays staged; only our paths are updated.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexTime, Oid};
use reprise_files::FileFingerprint;

use super::reference::{LockFile, make_token};
use super::{Blob, FILE, Git, blob_id_of_file};
use crate::error::{Result, WorkspaceError, edited_error, invalid_error};
use crate::files;
use crate::stage::StagingFolder;
use reprise_workspace_types::RepoPath;

/// Most folders that are looked into for what git would wait for.
const FOLDERS_MAX: usize = 100_000;
/// The token's name in a transaction's folder.
const TOKEN: &str = "index.token";
/// The new index's name there.
const NEW: &str = "index.new";

/// A lock on the git index. While it is held no `git commit`, `git add` or `git switch` goes on.
#[derive(Debug)]
pub(crate) struct IndexLock {
    _lock: LockFile,
    stage: PathBuf,
}

impl Git {
    /// Returns the path of the index; each worktree has its own.
    pub(crate) fn index_path(&self) -> PathBuf {
        self.repo.path().join("index")
    }

    pub(crate) fn index_lock_path(&self) -> PathBuf {
        self.repo.path().join("index.lock")
    }

    /// Returns the path of git's lock on the repository's own configuration.
    pub(crate) fn config_lock_path(&self) -> PathBuf {
        self.repo.commondir().join("config.lock")
    }

    /// Waits until nobody writes the index, then keeps others out.
    pub(crate) fn lock_index(&self, stage: &StagingFolder) -> Result<IndexLock> {
        let stage = stage.folder().to_owned();
        let token = stage.join(TOKEN);
        make_token(&token, b"")?;
        let lock = LockFile::acquire(&self.index_lock_path(), token)?;
        Ok(IndexLock { _lock: lock, stage })
    }

    /// Reads the index in its present state.
    pub(crate) fn read_index(&self) -> Result<Index> {
        Index::open(&self.index_path()).map_err(WorkspaceError::git(
            "read the index (an index split in parts or sparse is not supported)",
        ))
    }

    /// Refuses a working tree in which a file that git obeys is a pipe or a device, or a link to
    /// one: git would wait for the other end of it. What git passes over is not looked into.
    pub(crate) fn refuse_pipes(&self) -> Result<()> {
        let mut tracked = BTreeSet::new();
        for entry in self.read_index()?.iter() {
            let path = String::from_utf8_lossy(&entry.path).into_owned();
            for folder in Path::new(&path).ancestors().skip(1) {
                if !tracked.insert(folder.to_owned()) {
                    break;
                }
            }
        }
        let (mut ahead, mut seen) = (vec![PathBuf::new()], 0);
        // A folder is asked about only once those above it are known for harmless.
        while let Some(folder) = ahead.pop() {
            self.refuse_pipes_in(&folder)?;
            let below = fs::read_dir(self.root().join(&folder));
            for entry in below.into_iter().flatten().flatten() {
                let path = folder.join(entry.file_name());
                let is_folder = entry.file_type().is_ok_and(|found| found.is_dir());
                let is_passed = || self.repo.is_path_ignored(&path).unwrap_or(false);
                if is_folder
                    && entry.file_name() != ".git"
                    && (tracked.contains(&path) || !is_passed())
                {
                    ahead.push(path);
                }
            }
            seen += 1;
            if seen == FOLDERS_MAX {
                break;
            }
        }
        Ok(())
    }

    fn refuse_pipes_in(&self, folder: &Path) -> Result<()> {
        for name in [".gitignore", ".gitattributes"] {
            let below = folder.join(name);
            let found = fs::metadata(self.root().join(&below));
            if found.is_ok_and(|found| !found.is_file() && !found.is_dir()) {
                let why = "it is a pipe or a device, and git would wait for it; move it away";
                return Err(invalid_error("no-links", &below.display().to_string(), why));
            }
        }
        Ok(())
    }

    /// Refuses a path that a person is at work on: commit, index and working tree must agree.
    /// Returns the fingerprint of the file at the path.
    pub(crate) fn refuse_edited(
        &self,
        index: &Index,
        committed: Option<Blob>,
        path: &RepoPath,
    ) -> Result<Option<FileFingerprint>> {
        let refuse = |what| Err(edited_error(self.root(), path.clone(), what));
        let of_path = Path::new(path.as_str());
        if (1..=3).any(|stage| index.get_path(of_path, stage).is_some()) {
            return refuse("it has a merge conflict that nobody has resolved");
        }
        let staged = index.get_path(of_path, 0);
        if staged.as_ref().map(|entry| entry.id) != committed.map(|blob| blob.id) {
            return refuse("a change to it is staged");
        }
        let file = self.root().join(path.as_str());
        match (files::find_metadata(&file)?, staged) {
            (None, None) => Ok(None),
            (None, Some(_)) => refuse("somebody has deleted it and not committed that"),
            (Some(_), None) => refuse("a file that git does not track is there"),
            (Some(found), Some(entry)) => {
                if !found.is_file() || blob_id_of_file(&file)? != Some(entry.id) {
                    return refuse("it has an edit that nobody has committed");
                }
                let is_executable = committed.is_some_and(|blob| blob.mode != FILE);
                let has_other = files::is_executable(&found) != is_executable;
                if has_other && self.config_flag("core.filemode").unwrap_or(true) {
                    return refuse("its mode was changed and nobody has committed that");
                }
                Ok(Some(FileFingerprint::from(&found)))
            }
        }
    }
}

/// The index as it is to be, made ready before git's lock is taken, which is then held for moments.
#[derive(Debug)]
pub(crate) struct NewIndex {
    file: PathBuf,
    /// The index that it was made from.
    of: Option<FileFingerprint>,
}

impl Git {
    /// Returns the fingerprint of the index, which every write changes.
    pub(crate) fn index_fingerprint(&self) -> Result<Option<FileFingerprint>> {
        let found = files::find_metadata(&self.index_path())?;
        Ok(found.map(|found| FileFingerprint::from(&found)))
    }

    /// Prepares an index whose entries of `changes` are those of the commit, each with the present
    /// or coming file. Nothing else in it changes.
    pub(crate) fn prepare_index<'a>(
        &self,
        stage: &Path,
        changes: impl Iterator<Item = (&'a RepoPath, Option<Blob>, PathBuf)>,
    ) -> Result<NewIndex> {
        let path = self.index_path();
        let of = self.index_fingerprint()?;
        let new = stage.join(NEW);
        files::remove(&new)?;
        let edit = || WorkspaceError::git("update the index");
        match fs::copy(&path, &new) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(WorkspaceError::io("cannot copy", &path)(error)),
        }
        let mut index = Index::open(&new).map_err(edit())?;
        for (path, blob, file) in changes {
            match blob {
                Some(blob) => {
                    let found = files::find_metadata(&file)?;
                    // If somebody edited the file, an entry without times makes git look.
                    let is_ours = blob_id_of_file(&file)? == Some(blob.id);
                    let found = found.filter(|_| is_ours);
                    let entry = entry(path, blob, found.as_ref());
                    index.add(&entry).map_err(edit())?;
                }
                None if index.get_path(Path::new(path.as_str()), 0).is_some() => {
                    index.remove(Path::new(path.as_str()), 0).map_err(edit())?;
                }
                None => {}
            }
        }
        index.write().map_err(edit())?;
        Ok(NewIndex { file: new, of })
    }

    /// Returns whether nobody has written the index since it was copied.
    pub(crate) fn is_still_current(&self, new: &NewIndex) -> Result<bool> {
        Ok(self.index_fingerprint()? == new.of)
    }
}

impl IndexLock {
    /// Puts the new index in place, and lets go.
    pub(crate) fn replace(self, git: &Git, new: &NewIndex) -> Result<()> {
        let path = git.index_path();
        fs::rename(&new.file, &path).map_err(WorkspaceError::io("cannot write", &path))?;
        drop(self);
        Ok(())
    }

    /// Brings the entries of `changes` up to date with the commit and the files on disk.
    pub(crate) fn update(self, git: &Git, changes: &[(RepoPath, Option<Blob>)]) -> Result<()> {
        let there = changes
            .iter()
            .map(|(path, blob)| (path, *blob, git.root().join(path.as_str())));
        let new = git.prepare_index(&self.stage, there)?;
        self.replace(git, &new)
    }
}

fn entry(path: &RepoPath, blob: Blob, found: Option<&fs::Metadata>) -> IndexEntry {
    let time = |seconds: i64, nanoseconds: i64| IndexTime::new(seconds as i32, nanoseconds as u32);
    IndexEntry {
        ctime: time(
            found.map_or(0, MetadataExt::ctime),
            found.map_or(0, MetadataExt::ctime_nsec),
        ),
        mtime: time(
            found.map_or(0, MetadataExt::mtime),
            found.map_or(0, MetadataExt::mtime_nsec),
        ),
        dev: found.map_or(0, |found| found.dev() as u32),
        ino: found.map_or(0, |found| found.ino() as u32),
        mode: blob.mode as u32,
        uid: found.map_or(0, MetadataExt::uid),
        gid: found.map_or(0, MetadataExt::gid),
        file_size: found.map_or(0, |found| found.len() as u32),
        id: blob.id,
        flags: 0,
        flags_extended: 0,
        path: path.as_str().as_bytes().to_vec(),
    }
}

/// Refuses a name that the index would not take once the branch has moved.
pub(crate) fn refuse_unindexable_name(path: &RepoPath) -> Result<()> {
    let blob = Blob {
        id: Oid::ZERO_SHA1,
        mode: FILE,
    };
    let added = Index::new().and_then(|mut index| index.add(&entry(path, blob, None)));
    added.map_err(|error| {
        let why = format!("git refuses the name: {}", error.message());
        invalid_error("path", path.as_str(), why)
    })
}

/// Returns whether a branch contains a commit.
pub(crate) fn contains_commit(git: &Git, tip: Option<Oid>, commit: Oid) -> Result<bool> {
    match tip {
        Some(tip) if tip == commit => Ok(true),
        Some(tip) => git
            .repo
            .graph_descendant_of(tip, commit)
            .map_err(WorkspaceError::git("walk the history")),
        None => Ok(false),
    }
}
