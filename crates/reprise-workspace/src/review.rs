//! Agents' branches (W20): `agent/NAME`, each in a working tree of its own; what waits for a
//! person, and the word of one: branches that a merge needs an approval for.
//!
//! What is abandoned is put aside, never lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::{BranchType, WorktreeAddOptions, WorktreePruneOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::actor::Actor;
use crate::audit::{self, Action};
use crate::error::{Result, WorkspaceError, edited, refused, unknown};
use crate::files;
use crate::git::index::holds;
use crate::git::{Git, main_of};
use crate::kept;
use crate::merge::{differing, resolve};
use crate::path::{Class, RepoPath};
use crate::rules;
use crate::stage::{STAGES, Stage};
use crate::transaction::{Draft, Receipt};
use crate::workspace::{Workspace, message};

/// What merging a branch would change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    pub branch: String,
    /// Its newest commit: what an approval would be of.
    pub commit: String,
    /// Commits that the shared branch does not have.
    pub ahead: usize,
    /// Commits of the shared branch that it does not have.
    pub behind: usize,
    /// Paths that it changes, with their classes.
    pub paths: Vec<(RepoPath, Class)>,
    /// Whether a person has to approve it.
    pub needs_approval: bool,
    /// A person's last word on this very commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<Word>,
}

/// What a person said of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Word {
    pub human: String,
    pub is_approved: bool,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Workspace {
    /// Records that a person approves a branch or commit as it stands now.
    pub fn approve(&self, human: &Actor, name: &str) -> Result<Receipt> {
        self.say(human, name, Action::Approve, None)
    }

    /// Records that a person declines a branch or commit as it stands now; an earlier approval of
    /// it ends.
    pub fn decline(&self, human: &Actor, name: &str, text: Option<&str>) -> Result<Receipt> {
        self.say(human, name, Action::Decline, text)
    }

    fn say(
        &self,
        human: &Actor,
        name: &str,
        action: Action,
        text: Option<&str>,
    ) -> Result<Receipt> {
        let (act, verb, topic) = match action {
            Action::Approve => ("approve", "Approve", "Merge_Approved"),
            _ => ("decline", "Decline", "Merge_Declined"),
        };
        let text = message(text)?;
        self.make_folders()?;
        if !human.is_human() {
            let why = "a review is a person's";
            return self.refuse(human, &|| refused("human-review", human, act, name, why));
        }
        self.transact_anew(human, &mut |view| {
            let tip = resolve(view.git, name)?;
            Ok(Draft {
                title: format!("{verb} {name} at {tip:.10}"),
                message: text.clone(),
                topic: Some(topic),
                details: json!({ "ref": name, "commit": tip.to_string() }),
                ..Draft::new(human, action)
            })
        })
    }

    /// Says what merging a branch into the shared one would bring.
    pub fn review(&self, branch: &str) -> Result<Review> {
        let git = Git::open(self.root())?;
        let words = audit::words(&git, git.head()?.tree)?;
        review(&git, branch, &words)
    }

    /// What waits for a person's word, and what has one and is not merged: branches that a merge
    /// needs an approval for, and the shared branch itself while its rules wait.
    pub fn reviews(&self) -> Result<Vec<Review>> {
        let git = Git::open(self.root())?;
        let (head, main) = (git.head()?, main_of(&git));
        let words = audit::words(&git, head.tree)?;
        let tip = resolve(&git, &main)?;
        let names: BTreeSet<String> = git.branches()?.into_iter().collect();
        let mut found = Vec::new();
        for name in names.iter().filter(|name| **name != main) {
            let is_merged = holds(&git, Some(tip), resolve(&git, name)?)?;
            // One that shares no history cannot be merged either.
            if let (false, Ok(review)) = (is_merged, review(&git, name, &words))
                && review.needs_approval
            {
                found.push(review);
            }
        }
        if rules::in_force(&git, head.commit)?.is_pending {
            let mut own = review(&git, &main, &words)?;
            own.needs_approval = true;
            found.push(own);
        }
        Ok(found)
    }
}

fn review(git: &Git, branch: &str, words: &audit::Words) -> Result<Review> {
    let read = || WorkspaceError::git("compare the branches");
    let (tip, main) = (resolve(git, branch)?, resolve(git, &main_of(git))?);
    let (ahead, behind) = git.repo.graph_ahead_behind(tip, main).map_err(read())?;
    let base = git.repo.merge_base(tip, main).map_err(read())?;
    let paths: Vec<_> = differing(git, base, tip)?
        .into_iter()
        .filter(|path| path.class() != Class::Ledger)
        .map(|path| {
            let class = path.class();
            (path, class)
        })
        .collect();
    let commit = tip.to_string();
    let word = words.get(&commit).map(|line| Word {
        human: line.actor.clone(),
        is_approved: line.action == Action::Approve,
        message: line.message.clone(),
    });
    Ok(Review {
        branch: branch.to_owned(),
        commit,
        ahead,
        behind,
        needs_approval: paths
            .iter()
            .any(|(_, class)| matches!(class, Class::Prd | Class::Rules)),
        paths,
        word,
    })
}

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
            git.set_own(&full(&branch)?, tip, &mut stage)?;
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
            let hint = "`reprise workspace agent propose NAME` begins one";
            return Err(unknown("agent's branch", &name, hint));
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
            if let Some(first) = own.status()?.edited.first() {
                let what = "it is not committed on the agent's branch";
                return Err(edited(&directory, RepoPath::new(&first.path)?, what));
            }
        }
        let aside = format!("{ABANDONED}{name}/{tip}");
        if git.repo.find_reference(&aside).is_err() {
            let mut stage = Stage::new(self.root(), &self.new_id())?;
            git.set_own(&aside, tip, &mut stage)?;
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
