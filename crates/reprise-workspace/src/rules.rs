//! Which rules and schemas of the project are in force: those that a person brought to the shared
//! branch or approved there, on every branch.
//!
//! Every transaction on the shared branch names them in its commit's trailer. What plain git
//! changed since is not in force until a person approves it.

use std::collections::BTreeSet;

use git2::{BranchType, Commit, Oid};
use reprise_workspace_types::RepoPath;

use crate::audit;
use crate::error::{Result, WorkspaceError, refused_error};
use crate::git::{Git, shared_branch_name, trailer};
use crate::governor::{Governor, POLICIES};

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
pub(crate) struct ActiveRules {
    pub(crate) rules: Rules,
    /// What the shared branch holds is not in force, because no person approved it.
    pub(crate) is_pending: bool,
}

impl Rules {
    pub(crate) fn of_tree(git: &Git, tree: Option<Oid>) -> Result<Self> {
        let folder = |path: &str| -> Result<Option<Oid>> {
            Ok(git.entry_at(tree, path)?.map(|entry| entry.id()))
        };
        Ok(Self {
            policies: folder(POLICIES)?,
            schemas: folder(SCHEMAS)?,
        })
    }

    /// Returns the line that names them in a commit.
    pub(crate) fn trailer(&self) -> String {
        let name = |id: Option<Oid>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        format!("{TRAILER}{} {}", name(self.policies), name(self.schemas))
    }

    /// Reads the rules that a commit names in its trailer.
    fn from_trailer(commit: &Commit<'_>) -> Option<Self> {
        let named = trailer(commit, TRAILER)?;
        let (policies, schemas) = named.split_once(' ')?;
        let id = |text: &str| match text {
            "-" => Some(None),
            text => Oid::from_str(text).ok().map(Some),
        };
        Some(Self {
            policies: id(policies)?,
            schemas: id(schemas)?,
        })
    }

    /// Returns a governor with these rules.
    pub(crate) fn governor(&self, git: &Git) -> Result<Governor> {
        let files = git.list_in(self.policies, POLICIES, 1)?.into_iter();
        let policies = files.filter(|(path, _)| path.ends_with(".rego"));
        let policies = policies.map(|(path, blob)| (path, blob.id));
        Governor::for_policies(policies.collect(), |id| git.bytes(id))
    }

    /// Returns a schema of the project, by its path.
    pub(crate) fn schema(&self, git: &Git, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        match path.as_str().strip_prefix(SCHEMAS) {
            Some(name) => {
                let name = RepoPath::trusted(name.trim_start_matches('/'));
                git.content_at(self.schemas, &name)
            }
            None => Ok(None),
        }
    }
}

/// Finds the rules in force. `head` counts if the shared branch is missing here (a clone of another
/// branch).
pub(crate) fn find_active_rules(git: &Git, head: Option<Oid>) -> Result<ActiveRules> {
    let main = git
        .repo
        .find_branch(&shared_branch_name(git), BranchType::Local);
    let tip = main.ok().and_then(|branch| branch.get().target()).or(head);
    let Some(tip) = tip else {
        return Ok(ActiveRules::default());
    };
    let tree = Some(git.tree_of(tip)?);
    let there = Rules::of_tree(git, tree)?;
    let (named, first) = find_named_rules(git, tip)?;
    // Before the first transaction that names any, those that are there are the people's.
    let is_in_force = first.is_none() || named.contains(&there) || is_approved(git, tree, there)?;
    let rules = first.filter(|_| !is_in_force).unwrap_or(there);
    Ok(ActiveRules {
        rules,
        is_pending: !is_in_force,
    })
}

/// Finds the rules that the newest transactions name, along all parents and along first parents.
fn find_named_rules(git: &Git, tip: Oid) -> Result<(BTreeSet<Rules>, Option<Rules>)> {
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
        if let Some(rules) = Rules::from_trailer(&commit) {
            named.insert(rules);
            first = first.or(is_first.then_some(rules));
            continue;
        }
        let parents = commit.parent_ids().enumerate();
        ahead.extend(parents.map(|(index, parent)| (parent, is_first && index == 0)));
    }
    Ok((named, first))
}

/// Returns whether a person has approved a commit with exactly these rules.
fn is_approved(git: &Git, tree: Option<Oid>, there: Rules) -> Result<bool> {
    for commit in audit::list_approved_commits(git, tree)? {
        if let Ok(tree) = git.tree_of(commit)
            && Rules::of_tree(git, Some(tree))? == there
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the error for a change to the project's rules while others wait for approval.
pub(crate) fn pending_rules_error(actor: &crate::Actor, path: &RepoPath) -> WorkspaceError {
    let why = "plain git changed the project's rules and nobody has approved that; a person does \
               with `reprise workspace approve --human NAME BRANCH`";
    refused_error("project-rules", actor, "change", path.as_str(), why)
}
