//! Whether what a quoted memory names is still there: a path, a commit, a flag or a symbol, against
//! the checkout that an agent works in.
//!
//! A repository is hostile: no link is followed, every look has a bound, and where one is reached
//! nothing is said. Only what once was there is called gone.

mod words;

use std::path::Component;

use git2::{Commit, Delta, Diff, DiffFindOptions, ErrorCode, Repository, Tree};
use reprise_engine::{Shape, identifiers};
use reprise_types::QuotedMemory;

use words::Changed;

use crate::prelude::*;

/// Names of one line that are looked for, and characters of one.
const NAMES_MAX: usize = 6;
const NAME_CHARS: usize = 120;
/// Commits that are walked back over, first parents alone.
const COMMITS_MAX: usize = 1_000;
/// Files that one commit removed and added, and bytes of each, among which a renamed one is sought.
const RENAMED_MAX: usize = 64;
const RENAMED_BYTES_MAX: usize = 1024 * 1024;

/// What a prompt is given, with a line below each memory that names what is gone from the checkout
/// of `folder`. `is_late` says that nothing more is to be looked at.
#[must_use]
pub fn with_gone(context: &str, folder: &Path, is_late: &dyn Fn() -> bool) -> String {
    let Some(mut checkout) = Checkout::open(folder, is_late) else {
        return context.to_owned();
    };
    let mut told = String::with_capacity(context.len());
    for line in context.split_inclusive('\n') {
        told.push_str(line);
        let Some((day, text)) = quoted(line) else {
            continue;
        };
        let gone = checkout.gone(text, day);
        if !gone.is_empty() {
            let mut below = QuotedMemory::new(0);
            below.line("  gone: ", &gone.join("; "));
            told.push_str(below.lines());
        }
    }
    told
}

/// The day of a quoted memory and what stands behind its id: `- [2026-02-16, ID] (note, ..) text`.
fn quoted(line: &str) -> Option<(NaiveDate, &str)> {
    let (head, text) = line.strip_prefix("- [")?.split_once("] ")?;
    let day = head.get(..10)?.parse().ok()?;
    Some((day, text))
}

/// A folder, and the repository that it belongs to.
struct Checkout<'a> {
    root: Folder,
    /// The folder, from the root on.
    within: PathBuf,
    repository: Option<Repository>,
    is_late: &'a dyn Fn() -> bool,
    /// What has changed since a day, where it was looked at.
    changed: Option<(NaiveDate, Option<Changed>)>,
}

impl<'a> Checkout<'a> {
    fn open(folder: &Path, is_late: &'a dyn Fn() -> bool) -> Option<Self> {
        let repository = Repository::discover(folder).ok();
        let root = repository.as_ref().and_then(Repository::workdir);
        let root = root.unwrap_or(folder);
        let within = folder.strip_prefix(root).unwrap_or(Path::new(""));
        Some(Self {
            root: Folder::open(root).ok()?,
            within: within.to_owned(),
            repository,
            is_late,
            changed: None,
        })
    }

    /// A sentence for each thing that a text of that day names and that is gone.
    fn gone(&mut self, text: &str, day: NaiveDate) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let names = identifiers(text).filter(|(_, word)| seen.insert(*word));
        let names: Vec<(Shape, &str)> = names.take(NAMES_MAX).collect();
        let is_of_a_commit = text.to_lowercase().contains("commit");
        let mut gone = Vec::new();
        for (shape, word) in names {
            if (self.is_late)() || word.chars().count() > NAME_CHARS {
                continue;
            }
            gone.extend(match shape {
                Shape::Path => self.path(word),
                Shape::Hash if is_of_a_commit => self.commit(word),
                Shape::Flag | Shape::Symbol => self.word(word, day),
                _ => None,
            });
        }
        gone
    }

    fn path(&self, word: &str) -> Option<String> {
        let path = file_of(word)?;
        let is_nowhere = |path: &Path| matches!(self.root.look(path), Ok(None));
        if !is_nowhere(&path) || !is_nowhere(&self.within.join(&path)) {
            return None;
        }
        let said = format!("`{}` no longer exists", path.display());
        let Some(repository) = &self.repository else {
            // Without a history its folder says that it was meant here.
            let first = path.components().next()?;
            let holds = self.root.look(first.as_os_str());
            return matches!(holds, Ok(Some(found)) if found.is_folder()).then_some(said);
        };
        let (before, after) = self.last_with(repository, &path)?;
        // It stands at HEAD.
        let Some(after) = after else {
            return Some(said);
        };
        let id = after.id().to_string();
        let id = id.get(..7).unwrap_or_default();
        Some(match renamed(repository, &path, &before, &after) {
            Some(to) => format!("{said}; renamed to `{to}` in {id}"),
            None => format!("{said}; removed in {id}"),
        })
    }

    /// The last tree with a file in it, and the commit that took it away; `None` where it is not
    /// known to have been here.
    fn last_with<'r>(
        &self,
        repository: &'r Repository,
        path: &Path,
    ) -> Option<(Tree<'r>, Option<Commit<'r>>)> {
        let mut after = None;
        for commit in self.line_of(repository) {
            let tree = commit.tree().ok()?;
            if tree.get_path(path).is_ok() {
                return Some((tree, after));
            }
            after = Some(commit);
        }
        None
    }

    /// HEAD and its first parents, the newest first, until it is late.
    fn line_of<'r>(&self, repository: &'r Repository) -> impl Iterator<Item = Commit<'r>> {
        let head = repository.head().and_then(|head| head.peel_to_commit());
        let commits = std::iter::successors(head.ok(), |commit| commit.parent(0).ok());
        let is_late = self.is_late;
        commits.take(COMMITS_MAX).take_while(move |_| !is_late())
    }

    fn commit(&self, word: &str) -> Option<String> {
        let repository = self.repository.as_ref()?;
        let found = repository.find_commit_by_prefix(word);
        let missing = found.is_err_and(|error| error.code() == ErrorCode::NotFound);
        let said = || format!("commit {word} is not in this repository");
        (missing && !repository.is_shallow()).then(said)
    }

    fn word(&mut self, word: &str, day: NaiveDate) -> Option<String> {
        let word = word.split('=').next()?;
        let word = word.rsplit("::").next()?;
        if self.changed.as_ref().is_none_or(|(known, _)| *known != day) {
            let changed = self.repository.as_ref().and_then(|repository| {
                let line = self.line_of(repository);
                Changed::since(repository, line, day, self.is_late)
            });
            self.changed = Some((day, changed));
        }
        let (_, changed) = self.changed.as_ref()?;
        let is_gone = changed.as_ref()?.lost(word)
            && words::is_nowhere(self.repository.as_ref()?, word, self.is_late)?;
        is_gone.then(|| format!("`{word}` no longer occurs in the code"))
    }
}

/// A word as a file below a root; `None` for what is elsewhere, or a word like `and/or`.
fn file_of(word: &str) -> Option<PathBuf> {
    let word = word.replace('\\', "/");
    let digit = |c: char| c.is_ascii_digit() || c == ':';
    let bare = word.trim_end_matches(digit);
    let word = if bare.len() < word.len() && word[bare.len()..].starts_with(':') {
        bare
    } else {
        word.as_str()
    };
    let word = word.strip_prefix("./").unwrap_or(word);
    let path = Path::new(word);
    let ending = path.extension()?.to_str()?;
    let is_ending = ending.len() <= 10 && ending.chars().all(|c| c.is_ascii_alphanumeric());
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_below = path.components().all(plain) && path.components().count() > 1;
    (is_ending && is_below && !word.contains("://")).then(|| path.to_owned())
}

/// What a file is called since the commit that took it away, and that had a tree `before` it.
fn renamed(
    repository: &Repository,
    path: &Path,
    before: &Tree<'_>,
    after: &Commit<'_>,
) -> Option<String> {
    let after = after.tree().ok()?;
    let mut diff = repository
        .diff_tree_to_tree(Some(before), Some(&after), None)
        .ok()?;
    if is_small(repository, &diff) {
        let mut options = DiffFindOptions::new();
        options.renames(true).rename_limit(RENAMED_MAX);
        diff.find_similar(Some(&mut options)).ok()?;
    }
    let id = before.get_path(path).ok()?.id();
    let mut deltas = diff.deltas();
    let new = deltas.find_map(|delta| {
        let (old, new) = (delta.old_file(), delta.new_file());
        let renamed = delta.status() == Delta::Renamed && old.path() == Some(path);
        let same = delta.status() == Delta::Added && new.id() == id;
        (renamed || same).then(|| new.path().map(Path::to_owned))?
    })?;
    let new = new.to_string_lossy();
    Some(new.chars().take(NAME_CHARS).collect())
}

/// Whether what a diff removed and added is little enough to be compared.
fn is_small(repository: &Repository, diff: &Diff<'_>) -> bool {
    let Ok(objects) = repository.odb() else {
        return false;
    };
    let moved = |status| matches!(status, Delta::Added | Delta::Deleted);
    let is_short = |id| {
        let header = objects.read_header(id);
        header.is_ok_and(|(bytes, _)| bytes <= RENAMED_BYTES_MAX)
    };
    let mut moved = diff.deltas().filter(|delta| moved(delta.status()));
    let mut count = 0;
    moved.all(|delta| {
        count += 1;
        let files = [delta.old_file(), delta.new_file()];
        let mut held = files.iter().filter(|file| !file.id().is_zero());
        count <= RENAMED_MAX && held.all(|file| is_short(file.id()))
    })
}

#[cfg(test)]
mod tests;
