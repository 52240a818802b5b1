//! Which rules and schemas of the project are in force: those that a person brought to the shared
//! branch or approved there, on every branch.
//!
//! Every transaction on the shared branch names them in its commit's trailer. What plain git
//! changed since is not in force until a person approves it.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{BranchType, Oid};

use crate::audit;
use crate::error::{Result, WorkspaceError, found, refused};
use crate::git::{Git, main_of};
use crate::governor::{Governor, POLICIES};
use crate::path::RepoPath;

/// Where the project's own schemas are.
const SCHEMAS: &str = "extensions/schemas";
/// The trailer of a commit that names the rules in force.
const TRAILER: &str = "Reprise-Rules: ";
/// Most commits of plain git that are passed over in search of a transaction.
const COMMITS_MAX: usize = 100_000;

/// A state of the project's rules, as git's trees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rules {
    policies: Option<Oid>,
    schemas: Option<Oid>,
}

/// The rules in force, and whether the shared branch holds others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InForce {
    pub(crate) rules: Rules,
    /// What the shared branch holds is not in force, because no person approved it.
    pub(crate) is_pending: bool,
}

impl Rules {
    pub(crate) fn of_tree(git: &Git, tree: Option<Oid>) -> Result<Self> {
        let Some(tree) = tree else {
            return Ok(Self::default());
        };
        let tree = git.repo.find_tree(tree);
        let tree = tree.map_err(WorkspaceError::git("read a tree"))?;
        let folder = |path: &str| -> Result<Option<Oid>> {
            let entry = found(tree.get_path(Path::new(path)), "read a tree")?;
            Ok(entry.map(|entry| entry.id()))
        };
        Ok(Self {
            policies: folder(POLICIES)?,
            schemas: folder(SCHEMAS)?,
        })
    }

    /// The line that names them in a commit.
    pub(crate) fn trailer(&self) -> String {
        let name = |id: Option<Oid>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        format!("{TRAILER}{} {}", name(self.policies), name(self.schemas))
    }

    fn parse(message: &str) -> Option<Self> {
        let trailers = message.trim_end().rsplit("\n\n").next()?;
        let named = trailers
            .lines()
            .find_map(|line| line.strip_prefix(TRAILER))?;
        let (policies, schemas) = named.trim().split_once(' ')?;
        let id = |text: &str| match text {
            "-" => Some(None),
            text => Oid::from_str(text).ok().map(Some),
        };
        Some(Self {
            policies: id(policies)?,
            schemas: id(schemas)?,
        })
    }

    /// What the rules say, ready to be asked.
    pub(crate) fn governor(&self, git: &Git) -> Result<Governor> {
        let policies = git.entries(self.policies)?;
        let policies = policies.into_iter().filter_map(|(name, blob)| {
            let path = RepoPath::known(format!("{POLICIES}/{name}"));
            path.ends_with(".rego").then_some((path, blob.id))
        });
        Governor::ready(policies.collect(), |id| git.bytes(id))
    }

    /// A schema of the project, by its path.
    pub(crate) fn schema(&self, git: &Git, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        match path.as_str().strip_prefix(SCHEMAS) {
            Some(name) => {
                let name = RepoPath::known(name.trim_start_matches('/'));
                git.content_at(self.schemas, &name)
            }
            None => Ok(None),
        }
    }
}

/// The rules in force. `head` counts where the shared branch is not here (a clone of another one).
pub(crate) fn in_force(git: &Git, head: Option<Oid>) -> Result<InForce> {
    let main = git.repo.find_branch(&main_of(git), BranchType::Local);
    let tip = main.ok().and_then(|branch| branch.get().target()).or(head);
    let Some(tip) = tip else {
        return Ok(InForce::default());
    };
    let tree = Some(git.tree_of(tip)?);
    let there = Rules::of_tree(git, tree)?;
    let (named, first) = named(git, tip)?;
    // Before the first transaction that names any, those that are there are the people's.
    let is_in_force = first.is_none() || named.contains(&there) || is_approved(git, tree, there)?;
    let rules = first.filter(|_| !is_in_force).unwrap_or(there);
    Ok(InForce {
        rules,
        is_pending: !is_in_force,
    })
}

/// What the newest transactions name, by every way back; and by the way of first parents.
fn named(git: &Git, tip: Oid) -> Result<(BTreeSet<Rules>, Option<Rules>)> {
    let (mut ahead, mut seen) = (vec![(tip, true)], BTreeSet::new());
    let (mut named, mut first) = (BTreeSet::new(), None);
    while let Some((id, is_first)) = ahead.pop() {
        if !seen.insert(id) {
            continue;
        }
        if seen.len() > COMMITS_MAX {
            return Err(WorkspaceError::repository(format!(
                "more than {COMMITS_MAX} commits of plain git follow the last transaction; have a \
                 person run `reprise workspace init` in a fresh repository"
            )));
        }
        // In a shallow clone the history ends somewhere.
        let Ok(commit) = git.repo.find_commit(id) else {
            continue;
        };
        let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
        if let Some(rules) = Rules::parse(&message) {
            named.insert(rules);
            first = first.or(is_first.then_some(rules));
            continue;
        }
        let parents = commit.parent_ids().enumerate();
        ahead.extend(parents.map(|(index, parent)| (parent, is_first && index == 0)));
    }
    Ok((named, first))
}

/// Whether a person has approved a commit that holds exactly these.
fn is_approved(git: &Git, tree: Option<Oid>, there: Rules) -> Result<bool> {
    for commit in audit::approved(git, tree)? {
        if let Ok(tree) = git.tree_of(commit)
            && Rules::of_tree(git, Some(tree))? == there
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Why a change to the project's rules is refused while others wait for approval.
pub(crate) fn refuse_while_pending(actor: &crate::Actor, path: &RepoPath) -> WorkspaceError {
    let why = "plain git changed the project's rules and nobody has approved that; a person does \
               with `reprise workspace approve --human NAME BRANCH`";
    refused("project-rules", actor, "change", path.as_str(), why)
}
