//! Which names can stand in one tree: a name is a file or a folder, and differs from every other in
//! more than case.

use std::collections::BTreeMap;

use git2::Oid;

use crate::error::{Result, WorkspaceError};
use crate::git::Git;
use crate::git::index::refuse_name;
use crate::path::RepoPath;
use crate::transaction::Changes;
use crate::workspace::invalid;

/// Refuses written paths of which one is the folder of another, or of something that is there: git
/// would keep one of the two, and the working tree could not hold both.
pub(crate) fn refuse_collisions(git: &Git, tree: Option<Oid>, changes: &Changes) -> Result<()> {
    let mut names: BTreeMap<&str, bool> = BTreeMap::new();
    for path in written(changes) {
        for (name, is_file) in names_of(path) {
            let there = *names.entry(name).or_insert(is_file);
            if there != is_file {
                return Err(one_name(path, name));
            }
        }
        refuse_name(path)?;
    }
    for (name, is_file) in names {
        let is_other = git
            .is_file_at(tree, name)?
            .is_some_and(|there| there != is_file);
        if is_other {
            let path = written(changes).find(|path| names_of(path).any(|(own, _)| own == name));
            return Err(path.map_or_else(
                || invalid("one-name", name, ""),
                |path| one_name(path, name),
            ));
        }
    }
    Ok(())
}

fn one_name(path: &RepoPath, name: &str) -> WorkspaceError {
    let why = format!(
        "`{name}` would be a file and a folder; take the one away in a transaction of its own, or \
         use another name"
    );
    invalid("one-name", path.as_str(), &why)
}

/// Refuses a name that differs from another in case only: on some file systems they are one.
pub(crate) fn refuse_twins(git: &Git, tree: Option<Oid>, changes: &Changes) -> Result<()> {
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for path in written(changes) {
        let beside = names_of(path).find_map(|(name, _)| {
            let there = *names.entry(name.to_lowercase()).or_insert(name);
            (there != name).then(|| there.to_owned())
        });
        if let Some(twin) = beside.or(git.twin(tree, path)?) {
            let why = format!(
                "`{twin}` is there and differs in case only, so on some disks the two are one; use \
                 that name or another"
            );
            return Err(invalid("case-twin", path.as_str(), &why));
        }
    }
    Ok(())
}

fn written(changes: &Changes) -> impl Iterator<Item = &RepoPath> {
    changes
        .iter()
        .filter(|(_, content)| content.is_some())
        .map(|(path, _)| path)
}

/// Each folder of a path, then the path itself; with each whether it is a file.
fn names_of(path: &RepoPath) -> impl Iterator<Item = (&str, bool)> {
    let text = path.as_str();
    let folders = text
        .match_indices('/')
        .map(|(end, _)| (&text[..end], false));
    folders.chain(std::iter::once((text, true)))
}
