//! Agents' branches: `agent/NAME`, each in a working tree of its own; and reviews: branches that
//! wait for a person's approval or decline.
//!
//! What is abandoned is put aside, never lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::{BranchType, WorktreeAddOptions, WorktreePruneOptions};
use reprise_workspace_types::{
    Actor, AgentBranch, AuditAction, Class, Receipt, RepoPath, Review, ReviewVerdict,
};
use serde_json::json;

use crate::audit;
use crate::error::{Result, WorkspaceError, edited_error, refused_error, unknown_error};
use crate::files;
use crate::git::index::contains_commit;
use crate::git::{Git, shared_branch_name};
use crate::merge::{list_differing_paths, resolve_commit};
use crate::rules;
use crate::stage::{STAGES, StagingFolder};
use crate::trail;
use crate::transaction::Draft;
use crate::workspace::{Workspace, validate_message};

impl Workspace {
    /// Records that a person approves a branch or commit in its present state.
    pub fn approve(&self, human: &Actor, name: &str) -> Result<Receipt> {
        self.record_verdict(human, name, AuditAction::Approve, None)
    }

    /// Records that a person declines a branch or commit in its present state; an earlier approval
    /// of it ends.
    pub fn decline(&self, human: &Actor, name: &str, text: Option<&str>) -> Result<Receipt> {
        self.record_verdict(human, name, AuditAction::Decline, text)
    }

    fn record_verdict(
        &self,
        human: &Actor,
        name: &str,
        action: AuditAction,
        text: Option<&str>,
    ) -> Result<Receipt> {
        let (act, verb, topic) = match action {
            AuditAction::Approve => ("approve", "Approve", "Merge_Approved"),
            _ => ("decline", "Decline", "Merge_Declined"),
        };
        let text = validate_message(text)?;
        self.make_folders()?;
        if !human.is_human() {
            let why = "a review is a person's";
            return self.refuse(human, &|| {
                refused_error("human-review", human, act, name, why)
            });
        }
        self.transact_alone(human, &mut |view| {
            let tip = resolve_commit(view.git, name)?;
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
        let words = audit::collect_verdicts(&git, git.head()?.tree)?;
        review(&git, branch, &words)
    }

    /// Lists what waits for a person's verdict, and what has one and is not merged: branches that a
    /// merge needs an approval for, and the shared branch itself while its rules wait.
    pub fn reviews(&self) -> Result<Vec<Review>> {
        let git = Git::open(self.root())?;
        let (head, main) = (git.head()?, shared_branch_name(&git));
        let words = audit::collect_verdicts(&git, head.tree)?;
        let tip = resolve_commit(&git, &main)?;
        let names: BTreeSet<String> = git.branches()?.into_iter().collect();
        let mut found = Vec::new();
        for name in names.iter().filter(|name| **name != main) {
            let is_merged = contains_commit(&git, Some(tip), resolve_commit(&git, name)?)?;
            // One that shares no history cannot be merged either.
            if let (false, Ok(review)) = (is_merged, review(&git, name, &words))
                && review.needs_approval
            {
                found.push(review);
            }
        }
        if rules::find_active_rules(&git, head.commit)?.is_pending {
            let mut own = review(&git, &main, &words)?;
            own.needs_approval = true;
            found.push(own);
        }
        Ok(found)
    }
}

fn review(git: &Git, branch: &str, words: &audit::ReviewVerdictLines) -> Result<Review> {
    let read = || WorkspaceError::git("compare the branches");
    let (tip, main) = (
        resolve_commit(git, branch)?,
        resolve_commit(git, &shared_branch_name(git))?,
    );
    let (ahead, behind) = git.repo.graph_ahead_behind(tip, main).map_err(read())?;
    let base = git.repo.merge_base(tip, main).map_err(read())?;
    let paths: Vec<_> = list_differing_paths(git, base, tip)?
        .into_iter()
        .filter(|path| path.class() != Class::Ledger)
        .map(|path| {
            let class = path.class();
            (path, class)
        })
        .collect();
    let commit = tip.to_string();
    let word = words.get(&commit).map(|line| ReviewVerdict {
        human: line.actor.clone(),
        is_approved: line.action == AuditAction::Approve,
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

impl Workspace {
    fn agent_directory(&self, name: &str) -> PathBuf {
        self.root().join(STAGES).join("agents").join(name)
    }

    /// Returns whether an agent's tree was checked out to its end: git writes the index last.
    fn is_checked_out(&self, git: &Git, directory: &Path, git_name: &str) -> Result<bool> {
        let below = format!("{STAGES}/agents");
        files::refuse_detours_to(self.root(), &below, &below)?;
        let index = git
            .repo
            .commondir()
            .join("worktrees")
            .join(git_name)
            .join("index");
        let is_folder = files::find_metadata(directory)?.is_some_and(|found| found.is_dir());
        Ok(is_folder
            && files::find_metadata(&index)?.is_some()
            && files::find_metadata(&directory.join(".git"))?.is_some())
    }

    /// Begins a branch at the shared one, or opens it again where it was.
    pub fn propose(&self, name: &str) -> Result<AgentBranch> {
        let name = validate_branch_name(name)?;
        let branch = format!("{PREFIX}{name}");
        let _guard = self.lock()?;
        let git = Git::open(self.root())?;
        let failed = || WorkspaceError::git("make the agent's branch");
        if git.repo.find_branch(&branch, BranchType::Local).is_err() {
            let tip = resolve_commit(&git, &shared_branch_name(&git))?;
            let mut stage = StagingFolder::new(self.root(), &self.new_id())?;
            git.set_reference(&full_reference(&branch)?, tip, &mut stage)?;
            stage.unsynced.sync()?;
        }
        let directory = self.agent_directory(&name);
        let git_name = format!("agent-{name}");
        if !self.is_checked_out(&git, &directory, &git_name)? {
            // git's own folder of it goes too, or it would say that the branch is checked out.
            for left in [
                git.repo.commondir().join("worktrees").join(&git_name),
                directory.clone(),
            ] {
                if files::find_metadata(&left)?.is_some() {
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
        let commit = resolve_commit(&git, &branch)?.to_string();
        Ok(AgentBranch {
            branch,
            directory,
            commit,
        })
    }

    /// Opens the working tree of an agent's branch as a workspace of its own.
    pub fn open_agent_branch(&self, name: &str) -> Result<Self> {
        let name = validate_branch_name(name)?;
        let directory = self.agent_directory(&name);
        if files::find_metadata(&directory)?.is_none() {
            let hint = "`reprise workspace agent propose NAME` begins one";
            return Err(unknown_error("agent's branch", &name, hint));
        }
        let own = Self::open(&directory, self.clock())?;
        Ok(own.with_settings_of(self))
    }

    /// Puts an agent's branch aside: its commits stay under `refs/abandoned/`, its working tree
    /// goes if nothing in it is uncommitted.
    pub fn abandon(&self, name: &str) -> Result<String> {
        let name = validate_branch_name(name)?;
        let branch = format!("{PREFIX}{name}");
        let _guard = self.lock()?;
        let git = Git::open(self.root())?;
        let failed = || WorkspaceError::git("put the branch aside");
        let tip = resolve_commit(&git, &branch)?;
        let directory = self.agent_directory(&name);
        if files::find_metadata(&directory)?.is_some() {
            let own = Workspace::open(&directory, self.clock())?;
            if let Some(first) = own.status()?.edited.first() {
                let what = "it is not committed on the agent's branch";
                return Err(edited_error(&directory, RepoPath::new(&first.path)?, what));
            }
        }
        let aside = format!("{ABANDONED}{name}/{tip}");
        if git.repo.find_reference(&aside).is_err() {
            let mut stage = StagingFolder::new(self.root(), &self.new_id())?;
            git.set_reference(&aside, tip, &mut stage)?;
            stage.unsynced.sync()?;
        }
        if let Ok(worktree) = git.repo.find_worktree(&format!("agent-{name}")) {
            let mut options = WorktreePruneOptions::new();
            options.valid(true).working_tree(true);
            worktree.prune(Some(&mut options)).map_err(failed())?;
        }
        git.remove_reference(&full_reference(&branch)?)?;
        trail::remove_kept_trail(&git, &branch);
        Ok(aside)
    }
}

/// Returns the full reference of a branch.
fn full_reference(branch: &str) -> Result<String> {
    let name = format!("refs/heads/{branch}");
    if git2::Reference::is_valid_name(&name) {
        return Ok(name);
    }
    let why = git2::Error::from_str("git takes no branch of this name");
    Err(WorkspaceError::git("name the agent's branch")(why))
}

/// Checks that a name is one component of a branch and of a path.
fn validate_branch_name(name: &str) -> Result<String> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    Actor::new(name)?;
    RepoPath::new(name)?;
    Ok(name.to_owned())
}
