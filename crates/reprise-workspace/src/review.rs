//! What waits for a person, and the word of one: branches that a merge needs an approval for (W20).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::actor::Actor;
use crate::audit::{self, Action};
use crate::error::{Result, WorkspaceError, refused};
use crate::git::index::holds;
use crate::git::{Git, main_of};
use crate::merge::{differing, resolve};
use crate::path::{Class, RepoPath};
use crate::rules;
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
