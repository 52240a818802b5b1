//! Setting back a commit by a new one (W19): history is never rewritten.

use std::collections::BTreeMap;
use std::path::Path;

use git2::MergeOptions;
use serde_json::json;

use crate::actor::Actor;
use crate::audit::Action;
use crate::error::{Result, WorkspaceError, invalid};
use crate::git::index::holds;
use crate::governor::Act;
use crate::merge::{differing, resolve};
use crate::path::MergeRule;
use crate::transaction::{Changes, Draft, Receipt, View};
use crate::workspace::{Workspace, message};

impl Workspace {
    /// Takes back what a commit of this branch did. Logs only ever grow: their lines stay.
    pub fn rollback(&self, actor: &Actor, name: &str, text: Option<&str>) -> Result<Receipt> {
        let text = message(text)?;
        self.make_folders()?;
        self.transact_anew(actor, &mut |view| draft(view, actor, name, &text))
    }
}

fn draft(view: &View<'_>, actor: &Actor, name: &str, text: &str) -> Result<Draft> {
    let git = view.git;
    let id = resolve(git, name)?;
    if !holds(git, view.head.commit, id)? {
        return Err(WorkspaceError::Unknown {
            what: "commit of this branch",
            name: name.to_owned(),
            hint: "`reprise workspace log` lists them",
        });
    }
    let read = || WorkspaceError::git("revert a commit");
    let commit = git.repo.find_commit(id).map_err(read())?;
    let Ok(parent) = commit.parent(0) else {
        let why = "it is the first commit; there is nothing before it";
        return Err(invalid("rollback", name, why));
    };
    let tree = |id| {
        git.tree_of(id)
            .and_then(|id| git.repo.find_tree(id).map_err(read()))
    };
    let head = view.head.commit.unwrap_or(id);
    let mut options = MergeOptions::new();
    options.find_renames(false);
    let index = git
        .repo
        .merge_trees(
            &tree(id)?,
            &tree(head)?,
            &tree(parent.id())?,
            Some(&options),
        )
        .map_err(read())?;
    let (mut changes, mut modes) = (Changes::new(), BTreeMap::new());
    for path in differing(git, parent.id(), id)? {
        if path.merge_rule() == MergeRule::Lines {
            continue;
        }
        let at = Path::new(path.as_str());
        if (1..=3).any(|stage| index.get_path(at, stage).is_some()) {
            let why = "it has changed since, in the same place; write what it should hold instead";
            return Err(invalid("rollback-conflict", path.as_str(), why));
        }
        let entry = index.get_path(at, 0);
        modes.extend(
            entry
                .iter()
                .map(|entry| (path.clone(), entry.mode.cast_signed())),
        );
        let content = entry.map(|entry| git.bytes(entry.id)).transpose()?;
        changes.insert(path, content);
    }
    if changes.is_empty() {
        let why = "it changed logs alone, and logs only ever grow";
        return Err(invalid("rollback", name, why));
    }
    let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
    let reason = format!("This reverts commit {id}.");
    Ok(Draft {
        act: Some(Act::Rollback),
        changes,
        modes,
        title: format!("Revert \"{subject}\""),
        message: if text.is_empty() {
            reason
        } else {
            format!("{text}\n\n{reason}")
        },
        topic: Some("Artifact_Rolled_Back"),
        details: json!({ "commit": id.to_string() }),
        ..Draft::new(actor, Action::Rollback)
    })
}
