//! Agents' branches (W20): `agent/NAME`, each in a working tree of its own.
//!
//! What is abandoned is put aside, never lost.

use std::path::{Path, PathBuf};

use git2::{BranchType, WorktreeAddOptions, WorktreePruneOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::error::{Result, WorkspaceError, folder_of};
use crate::files;
use crate::git::{Git, main_of};
use crate::kept;
use crate::merge::resolve;
use crate::path::RepoPath;
use crate::stage::{STAGES, Stage};
use crate::workspace::Workspace;

/// Before the name of every agent's branch.
const PREFIX: &str = "agent/";
/// Where the tips of abandoned branches are kept.
const ABANDONED: &str = "refs/abandoned/";

/// An agent's branch with its working tree.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// Such as `agent/contradiction-fix`.
    pub branch: String,
    /// Where its files are; write there with `-C`.
    pub directory: PathBuf,
    /// Its newest commit.
    pub commit: String,
}

impl Workspace {
    fn place_of(&self, name: &str) -> PathBuf {
        self.root().join(STAGES).join("agents").join(name)
    }

    /// Whether an agent's tree was checked out to its end: git writes the index last.
    fn is_whole(&self, git: &Git, directory: &Path, git_name: &str) -> Result<bool> {
        let below = format!("{STAGES}/agents");
        files::refuse_detours_to(self.root(), &below, &below)?;
        let index = git
            .repo
            .commondir()
            .join("worktrees")
            .join(git_name)
            .join("index");
        let is_folder = files::look(directory)?.is_some_and(|found| found.is_dir());
        Ok(is_folder
            && files::look(&index)?.is_some()
            && files::look(&directory.join(".git"))?.is_some())
    }

    /// Begins a branch at the shared one, or opens it again where it was.
    pub fn propose(&self, name: &str) -> Result<Proposal> {
        let name = checked(name)?;
        let branch = format!("{PREFIX}{name}");
        let _guard = self.lock()?;
        let git = Git::open(self.root())?;
        let failed = || WorkspaceError::git("make the agent's branch");
        if git.repo.find_branch(&branch, BranchType::Local).is_err() {
            let tip = resolve(&git, &main_of(&git))?;
            let mut stage = Stage::new(self.root(), &self.new_id())?;
            let (folder, name) = (stage.folder().to_owned(), full(&branch)?);
            git.set_own(&name, tip, &folder, &mut stage.unsynced)?;
            stage.unsynced.sync()?;
        }
        let directory = self.place_of(&name);
        let git_name = format!("agent-{name}");
        if !self.is_whole(&git, &directory, &git_name)? {
            // git's own folder of it goes too, or it would say that the branch is checked out.
            for left in [
                git.repo.commondir().join("worktrees").join(&git_name),
                directory.clone(),
            ] {
                if files::look(&left)?.is_some() {
                    std::fs::remove_dir_all(&left)
                        .map_err(WorkspaceError::io("cannot remove", &left))?;
                }
            }
            if let Some(above) = directory.parent() {
                files::make_folder(above)?;
            }
            let found = git
                .repo
                .find_branch(&branch, BranchType::Local)
                .map_err(failed())?;
            let reference = found.into_reference();
            let mut options = WorktreeAddOptions::new();
            options.reference(Some(&reference));
            git.repo
                .worktree(&git_name, &directory, Some(&options))
                .map_err(failed())?;
        }
        let commit = resolve(&git, &branch)?.to_string();
        Ok(Proposal {
            branch,
            directory,
            commit,
        })
    }

    /// The working tree of an agent's branch, as a workspace of its own.
    pub fn tree_of(&self, name: &str) -> Result<Self> {
        let name = checked(name)?;
        let directory = self.place_of(&name);
        if files::look(&directory)?.is_none() {
            return Err(WorkspaceError::Unknown {
                what: "agent's branch",
                name,
                hint: "`reprise workspace agent propose NAME` begins one",
            });
        }
        let own = Self::open(&directory, self.clock())?;
        Ok(own.like(self))
    }

    /// Puts an agent's branch aside: its commits stay under `refs/abandoned/`, its working tree
    /// goes if nothing in it is uncommitted.
    pub fn abandon(&self, name: &str) -> Result<String> {
        let name = checked(name)?;
        let branch = format!("{PREFIX}{name}");
        let _guard = self.lock()?;
        let git = Git::open(self.root())?;
        let failed = || WorkspaceError::git("put the branch aside");
        let tip = resolve(&git, &branch)?;
        let directory = self.place_of(&name);
        if files::look(&directory)?.is_some() {
            let own = Workspace::open(&directory, self.clock())?;
            let edited = own.status()?.edited;
            if let Some(first) = edited.first() {
                return Err(WorkspaceError::Edited {
                    folder: folder_of(&directory),
                    path: RepoPath::new(&first.path)?,
                    what: "it is not committed on the agent's branch",
                });
            }
        }
        let aside = format!("{ABANDONED}{name}/{tip}");
        if git.repo.find_reference(&aside).is_err() {
            let mut stage = Stage::new(self.root(), &self.new_id())?;
            let folder = stage.folder().to_owned();
            git.set_own(&aside, tip, &folder, &mut stage.unsynced)?;
            stage.unsynced.sync()?;
        }
        if let Ok(worktree) = git.repo.find_worktree(&format!("agent-{name}")) {
            let mut options = WorktreePruneOptions::new();
            options.valid(true).working_tree(true);
            worktree.prune(Some(&mut options)).map_err(failed())?;
        }
        git.drop_own(&full(&branch)?)?;
        kept::forget(&git, &branch);
        Ok(aside)
    }
}

/// The reference of a branch.
fn full(branch: &str) -> Result<String> {
    let name = format!("refs/heads/{branch}");
    if git2::Reference::is_valid_name(&name) {
        return Ok(name);
    }
    let why = git2::Error::from_str("git takes no branch of this name");
    Err(WorkspaceError::git("name the agent's branch")(why))
}

/// A name that is one component of a branch and of a path.
fn checked(name: &str) -> Result<String> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    Actor::new(name)?;
    RepoPath::new(name)?;
    Ok(name.to_owned())
}
