//! The repository behind a workspace, through libgit2: reading its content and writing new objects.
//!
//! Nothing is forced, stashed or rewritten.

pub(crate) mod blob;
pub(crate) mod hooks;
pub(crate) mod index;
pub(crate) mod reference;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use git2::{
    BranchType, Commit, ObjectType, Oid, Repository, RepositoryState, Signature, Time, Tree,
    TreeEntry,
};
use reprise_workspace_types::{Actor, PathError, RepoPath};
use serde::{Deserialize, Serialize};

pub(crate) use self::blob::{Blob, EXECUTABLE, FILE, LINK, blob_id, blob_id_of_file};
use crate::error::{Result, WorkspaceError, allow_missing, folder_name, invalid_error};
use crate::stage::StagingFolder;
use crate::sync_queue::SyncQueue;

/// A folder's mode in a tree.
const FOLDER: i32 = 0o040_000;

/// An open repository with a working tree.
pub(crate) struct Git {
    pub(crate) repo: Repository,
    root: PathBuf,
}

/// The branch that is checked out, with its newest commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Such as `refs/heads/main`.
    pub(crate) reference: String,
    /// The newest commit; `None` before the first.
    pub(crate) commit: Option<Oid>,
    pub(crate) tree: Option<Oid>,
}

impl Head {
    /// Returns the branch's name without `refs/heads/`.
    pub(crate) fn branch(&self) -> &str {
        self.reference
            .strip_prefix("refs/heads/")
            .unwrap_or(&self.reference)
    }
}

impl Git {
    /// Opens the repository whose working tree is `root`.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let repo = Repository::open(root).map_err(WorkspaceError::git("open the repository"))?;
        if repo.is_bare() {
            return Err(WorkspaceError::bare());
        }
        let root = root.to_owned();
        Ok(Self { repo, root })
    }

    /// Returns the author that git's configuration names, if it names one.
    pub(crate) fn identity(&self) -> Option<String> {
        let config = self.repo.config().and_then(|mut all| all.snapshot()).ok()?;
        let name = config.get_str("user.name").ok()?;
        let address = config.get_str("user.email").unwrap_or_default();
        Some(format!("{name} <{address}>"))
    }

    /// Returns the identity of git's configuration as a signature at a time.
    pub(crate) fn person_signature(&self, at: DateTime<Utc>) -> Option<Signature<'static>> {
        let config = self.repo.config().and_then(|mut all| all.snapshot()).ok()?;
        let (name, address) = (config.get_str("user.name"), config.get_str("user.email"));
        let time = Time::new(at.timestamp(), 0);
        Signature::new(name.ok()?, address.ok()?, &time).ok()
    }

    /// Reads a boolean of git's configuration.
    pub(crate) fn config_flag(&self, key: &str) -> Option<bool> {
        self.repo.config().and_then(|all| all.get_bool(key)).ok()
    }

    /// Returns the root of the working tree.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Refuses a repository that is in the middle of something.
    pub(crate) fn refuse_unfinished(&self) -> Result<()> {
        let under_way = match self.repo.state() {
            RepositoryState::Clean => return Ok(()),
            RepositoryState::Merge => "a merge",
            RepositoryState::Revert | RepositoryState::RevertSequence => "a revert",
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => "a cherry-pick",
            RepositoryState::Bisect => "a bisect",
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge => "a rebase",
            RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
                "an application of patches"
            }
        };
        Err(WorkspaceError::repository(format!(
            "{under_way} is under way in the working tree `{}`; finish it or take it back with \
             git, then try again",
            folder_name(&self.root)
        )))
    }

    /// Returns the branch that is checked out. A detached HEAD is refused: a commit there would be
    /// lost.
    pub(crate) fn head(&self) -> Result<Head> {
        let head = self.repo.find_reference("HEAD");
        let head = head.map_err(WorkspaceError::git("read HEAD"))?;
        let Ok(Some(reference)) = head.symbolic_target() else {
            return Err(WorkspaceError::repository(format!(
                "HEAD is detached in the working tree `{}`; check out a branch (`git switch \
                 main`), then try again",
                folder_name(&self.root)
            )));
        };
        let reference = reference.to_owned();
        let commit = allow_missing(self.repo.refname_to_id(&reference), "read HEAD")?;
        let tree = commit.map(|id| self.tree_of(id)).transpose()?;
        Ok(Head {
            reference,
            commit,
            tree,
        })
    }

    /// Returns the names of this clone's branches.
    pub(crate) fn branches(&self) -> Result<Vec<String>> {
        let branches = self.repo.branches(Some(BranchType::Local));
        let branches = branches.map_err(WorkspaceError::git("list the branches"))?;
        let names = branches.flatten();
        let names = names.filter_map(|(branch, _)| Some(branch.name().ok()??.to_owned()));
        Ok(names.collect())
    }

    /// Returns the tree of a commit.
    pub(crate) fn tree_of(&self, commit: Oid) -> Result<Oid> {
        Ok(self.commit(commit)?.tree_id())
    }

    pub(crate) fn commit(&self, id: Oid) -> Result<Commit<'_>> {
        let commit = self.repo.find_commit(id);
        commit.map_err(WorkspaceError::git("read a commit"))
    }

    pub(crate) fn tree(&self, id: Oid) -> Result<Tree<'_>> {
        self.repo
            .find_tree(id)
            .map_err(WorkspaceError::git("read a tree"))
    }

    /// Returns the entry at `path` in a tree.
    pub(crate) fn entry_at(
        &self,
        tree: Option<Oid>,
        path: &str,
    ) -> Result<Option<TreeEntry<'static>>> {
        let Some(tree) = tree else {
            return Ok(None);
        };
        allow_missing(self.tree(tree)?.get_path(Path::new(path)), "read a tree")
    }

    /// Returns the file at `path` in a tree. What is there and is no regular file is refused.
    pub(crate) fn blob_at(&self, tree: Option<Oid>, path: &RepoPath) -> Result<Option<Blob>> {
        let Some(entry) = self.entry_at(tree, path.as_str())? else {
            return Ok(None);
        };
        let (id, mode) = (entry.id(), entry.filemode());
        if mode == FILE || mode == EXECUTABLE {
            return Ok(Some(Blob { id, mode }));
        }
        let why = "in git it is a link, a submodule or a folder; only regular files are written";
        Err(invalid_error("no-links", path.as_str(), why))
    }

    /// Returns whether `path` is a file in a tree (anything but a folder), a folder, or nothing.
    pub(crate) fn is_file_at(&self, tree: Option<Oid>, path: &str) -> Result<Option<bool>> {
        let entry = self.entry_at(tree, path)?;
        Ok(entry.map(|entry| entry.filemode() != FOLDER))
    }

    /// Returns the bytes of a blob.
    pub(crate) fn bytes(&self, id: Oid) -> Result<Vec<u8>> {
        self.repo
            .find_blob(id)
            .map(|blob| blob.content().to_vec())
            .map_err(WorkspaceError::git("read a file's content"))
    }

    /// Returns the bytes of the file at `path` in a tree.
    pub(crate) fn content_at(&self, tree: Option<Oid>, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        let blob = self.blob_at(tree, path)?;
        blob.map(|blob| self.bytes(blob.id)).transpose()
    }

    /// Returns the files and links in a folder of a tree, and in those below it, so many folders
    /// deep at most.
    pub(crate) fn list(
        &self,
        tree: Option<Oid>,
        folder: &str,
        depth_max: usize,
    ) -> Result<Vec<(RepoPath, Blob)>> {
        let start = self.entry_at(tree, folder)?;
        let start = start.filter(|entry| entry.filemode() == FOLDER);
        self.list_in(start.map(|entry| entry.id()), folder, depth_max)
    }

    /// Lists the files and links of `tree` and its folders, with `folder` before each path.
    pub(crate) fn list_in(
        &self,
        tree: Option<Oid>,
        folder: &str,
        depth_max: usize,
    ) -> Result<Vec<(RepoPath, Blob)>> {
        let mut found = Vec::new();
        let mut ahead = Vec::from_iter(tree.map(|id| (folder.to_owned(), id, 1)));
        while let Some((folder, id, depth)) = ahead.pop() {
            for entry in &self.tree(id)? {
                let Ok(name) = entry.name() else {
                    continue;
                };
                let path = format!("{folder}/{name}");
                let (id, mode) = (entry.id(), entry.filemode());
                if mode == FOLDER && depth < depth_max {
                    ahead.push((path, id, depth + 1));
                } else if entry.kind() == Some(ObjectType::Blob) {
                    found.push((RepoPath::trusted(path), Blob { id, mode }));
                }
            }
        }
        Ok(found)
    }

    /// Returns the paths that differ between two trees, as far as they are any; `None` is before
    /// the first commit.
    pub(crate) fn deltas(
        &self,
        from: Option<Oid>,
        to: Oid,
    ) -> Result<Vec<std::result::Result<RepoPath, PathError>>> {
        let from = from.map(|id| self.tree(id)).transpose()?;
        let to = self.tree(to)?;
        let diff = self.repo.diff_tree_to_tree(from.as_ref(), Some(&to), None);
        let diff = diff.map_err(WorkspaceError::git("compare two commits"))?;
        let paths = diff.deltas().filter_map(|delta| {
            let (old, new) = (delta.old_file(), delta.new_file());
            new.path_bytes()
                .or(old.path_bytes())
                .map(RepoPath::from_git)
        });
        Ok(paths.collect())
    }

    /// Finds another name in the same folder that differs in case only, because on some file
    /// systems both are one.
    pub(crate) fn find_case_twin(
        &self,
        tree: Option<Oid>,
        path: &RepoPath,
    ) -> Result<Option<String>> {
        let Some(mut id) = tree else {
            return Ok(None);
        };
        let mut parts = path.as_str().split('/').peekable();
        while let Some(part) = parts.next() {
            let tree = self.tree(id)?;
            let folded = part.to_lowercase();
            for entry in &tree {
                if let Ok(name) = entry.name()
                    && name != part
                    && name.to_lowercase() == folded
                {
                    return Ok(Some(name.to_owned()));
                }
            }
            match tree.get_name(part) {
                Some(entry) if parts.peek().is_some() && entry.filemode() == FOLDER => {
                    id = entry.id();
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// The configuration key that names the branch which people and agents share.
pub(crate) const MAIN_KEY: &str = "reprise.main";

/// Returns the name of the shared branch: as configured at `init`; in a clone `main`, or what git's
/// own default once was.
pub(crate) fn shared_branch_name(git: &Git) -> String {
    let configured = git
        .repo
        .config()
        .and_then(|mut config| config.snapshot()?.get_string(MAIN_KEY));
    configured.unwrap_or_else(|_| {
        let has = |name: &str| git.repo.find_branch(name, BranchType::Local).is_ok();
        if !has("main") && has("master") {
            "master".to_owned()
        } else {
            "main".to_owned()
        }
    })
}

/// Objects written for one commit, to be synced together.
#[derive(Debug, Default)]
pub(crate) struct WrittenObjects(BTreeSet<Oid>);

impl Git {
    /// Writes a file's content.
    pub(crate) fn write_blob(&self, bytes: &[u8], written: &mut WrittenObjects) -> Result<Oid> {
        let id = self
            .repo
            .blob(bytes)
            .map_err(WorkspaceError::git("write a file's content"))?;
        written.0.insert(id);
        Ok(id)
    }

    /// Writes the tree that `base` becomes with these changes; `None` removes.
    pub(crate) fn write_tree(
        &self,
        base: Option<Oid>,
        changes: &[(&str, Option<Blob>)],
        written: &mut WrittenObjects,
    ) -> Result<Oid> {
        if let Some(id) = self.write_subtree(base, changes, written)? {
            return Ok(id);
        }
        let empty = self.repo.treebuilder(None);
        let id = empty.and_then(|builder| builder.write());
        let id = id.map_err(WorkspaceError::git("write a tree"))?;
        written.0.insert(id);
        Ok(id)
    }

    fn write_subtree(
        &self,
        base: Option<Oid>,
        changes: &[(&str, Option<Blob>)],
        written: &mut WrittenObjects,
    ) -> Result<Option<Oid>> {
        let git = || WorkspaceError::git("write a tree");
        let base = base.map(|id| self.tree(id)).transpose()?;
        let mut builder = self.repo.treebuilder(base.as_ref()).map_err(git())?;
        let mut below: BTreeMap<&str, Vec<(&str, Option<Blob>)>> = BTreeMap::new();
        for &(path, blob) in changes {
            match (path.split_once('/'), blob) {
                (Some((folder, rest)), blob) => {
                    below.entry(folder).or_default().push((rest, blob));
                }
                (None, Some(blob)) => {
                    builder.insert(path, blob.id, blob.mode).map_err(git())?;
                }
                (None, None) => {
                    if builder.get(path).map_err(git())?.is_some() {
                        builder.remove(path).map_err(git())?;
                    }
                }
            }
        }
        for (folder, changes) in below {
            let inner = base
                .as_ref()
                .and_then(|tree| tree.get_name(folder))
                .filter(|entry| entry.filemode() == FOLDER)
                .map(|entry| entry.id());
            match self.write_subtree(inner, &changes, written)? {
                Some(id) => drop(builder.insert(folder, id, FOLDER).map_err(git())?),
                None if inner.is_some() => builder.remove(folder).map_err(git())?,
                None => {}
            }
        }
        if builder.is_empty() {
            return Ok(None);
        }
        let id = builder.write().map_err(git())?;
        written.0.insert(id);
        Ok(Some(id))
    }

    /// Writes a commit object; no branch moves.
    pub(crate) fn write_commit(
        &self,
        [author, committer]: [&Signature<'_>; 2],
        message: &str,
        tree: Oid,
        parents: &[Oid],
        written: &mut WrittenObjects,
    ) -> Result<Oid> {
        let git = || WorkspaceError::git("write a commit");
        let tree = self.tree(tree)?;
        let parents = parents.iter().map(|id| self.repo.find_commit(*id));
        let parents = parents
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(git())?;
        let parents: Vec<_> = parents.iter().collect();
        let buffer = self
            .repo
            .commit_create_buffer(author, committer, message, &tree, &parents)
            .map_err(git())?;
        let odb = self.repo.odb().map_err(git())?;
        let id = odb.write(ObjectType::Commit, &buffer).map_err(git())?;
        written.0.insert(id);
        Ok(id)
    }

    /// Queues the files of new objects for a sync, because git itself does not sync them.
    pub(crate) fn queue_objects(&self, written: &WrittenObjects, unsynced: &mut SyncQueue) {
        let objects = self.repo.commondir().join("objects");
        for id in &written.0 {
            let name = id.to_string();
            let folder = objects.join(&name[..2]);
            let path = folder.join(&name[2..]);
            // An object that was there before may be in a pack: then it is durable already.
            if path.is_file() {
                unsynced.add(path);
                unsynced.add(folder);
                unsynced.add(&objects);
            }
        }
    }
}

/// A tag of git's, to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) commit: String,
    pub(crate) actor: String,
    pub(crate) ts: DateTime<Utc>,
}

impl Git {
    /// Makes a tag, if there is none of its name.
    pub(crate) fn tag(&self, tag: &Tag, stage: &mut StagingFolder) -> Result<()> {
        let name = format!("refs/tags/{}", tag.name);
        if self.repo.find_reference(&name).is_ok() {
            return Ok(());
        }
        let tagged = || WorkspaceError::git("tag the snapshot");
        let commit = Oid::from_str(&tag.commit).map_err(tagged())?;
        let target = self.repo.find_object(commit, None).map_err(tagged())?;
        let by = signature(&Actor::new(&tag.actor)?, tag.ts)?;
        let why = format!("Snapshot {}", tag.name.trim_start_matches("snapshot/"));
        let made = self
            .repo
            .tag_annotation_create(&tag.name, &target, &by, &why);
        let made = made.map_err(tagged())?;
        self.queue_objects(&WrittenObjects(BTreeSet::from([made])), &mut stage.unsynced);
        self.set_reference(&name, made, stage)
    }
}

/// Returns an author for git. The address is one that no mail reaches (RFC 2606).
pub(crate) fn signature(author: &Actor, at: DateTime<Utc>) -> Result<Signature<'static>> {
    let kind = if author.is_human() {
        "people"
    } else {
        "agents"
    };
    let name = author.as_str();
    let name = name.strip_prefix("human:").unwrap_or(name);
    let email = format!("{}@{kind}.reprise.invalid", name.to_ascii_lowercase());
    Signature::new(name, &email, &Time::new(at.timestamp(), 0))
        .map_err(WorkspaceError::git("name the author"))
}

/// Returns the value of the trailer `name` of a commit.
pub(crate) fn trailer(commit: &Commit<'_>, name: &str) -> Option<String> {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let trailer = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let mut named = trailer.lines().filter_map(|line| line.strip_prefix(name));
    named.next().map(|value| value.trim().to_owned())
}
