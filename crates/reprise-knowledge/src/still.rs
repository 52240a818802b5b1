//! Checks whether a path, commit, flag or symbol that a quoted memory names still exists in the
//! checkout that an agent works in.
//!
//! A repository may be hostile: no link is followed, every search is limited, and nothing is
//! reported if a limit is reached. Only things that existed before are reported as gone.

mod words;

use std::path::Component;

use reprise_engine::{IdentifierShape, identifiers};
use reprise_types::QuotedMemory;

use words::ChangedFiles;

use crate::git_repository::{ChangedFile, GitCommit, GitObjects, GitRepository};
use crate::prelude::*;

/// Most names of one line that are checked.
const NAMES_MAX: usize = 6;
const NAME_CHARS: usize = 120;
/// HEAD and its first parents, the newest first.
const LINE_OF_HEAD: [&str; 3] = ["--first-parent", "--max-count=1000", "HEAD"];
/// Most files of one commit among which a renamed file is searched.
const RENAMED_MAX: usize = 64;
const RENAMED_BYTES_MAX: usize = 1024 * 1024;

/// Adds a line below each quoted memory of `context` that names what no longer exists in the
/// checkout of `folder`. Nothing more is checked once `is_late` returns true.
#[must_use]
pub fn annotate_missing_names(context: &str, folder: &Path, is_late: &dyn Fn() -> bool) -> String {
    let Some(mut checkout) = Checkout::open(folder, is_late) else {
        return context.to_owned();
    };
    let mut output = String::with_capacity(context.len());
    for line in context.split_inclusive('\n') {
        output.push_str(line);
        let Some((day, text)) = parse_quoted_line(line) else {
            continue;
        };
        let missing = checkout.describe_missing(text, day);
        if !missing.is_empty() {
            let mut below = QuotedMemory::new(0);
            below.add_line("  gone: ", &missing.join("; "));
            output.push_str(below.lines());
        }
    }
    output
}

/// Parses the day and text of a quoted memory: `- [2026-02-16, ID] (note, ..) text`.
fn parse_quoted_line(line: &str) -> Option<(NaiveDate, &str)> {
    let (head, text) = line.strip_prefix("- [")?.split_once("] ")?;
    let day = head.get(..10)?.parse().ok()?;
    Some((day, text))
}

/// A folder, and the repository that it belongs to.
struct Checkout<'a> {
    root: Folder,
    /// The folder, relative to the root.
    within: PathBuf,
    repository: Option<GitObjects>,
    is_late: &'a dyn Fn() -> bool,
    /// The files that changed since a day, as last computed.
    changed: Option<(NaiveDate, Option<ChangedFiles>)>,
}

impl<'a> Checkout<'a> {
    fn open(folder: &Path, is_late: &'a dyn Fn() -> bool) -> Option<Self> {
        let repository = GitRepository::discover(folder).map(GitObjects::new);
        let whole = fs_err::canonicalize(folder).ok()?;
        let root = repository
            .as_ref()
            .and_then(|found| found.repository.work_tree());
        let root = root.unwrap_or(&whole);
        let within = whole.strip_prefix(root).unwrap_or(Path::new(""));
        Some(Self {
            root: Folder::open(root).ok()?,
            within: within.to_owned(),
            repository,
            is_late,
            changed: None,
        })
    }

    /// Returns a sentence for each thing that a text of that day names and that no longer exists.
    fn describe_missing(&mut self, text: &str, day: NaiveDate) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let names = identifiers(text).filter(|(_, word)| seen.insert(*word));
        let names: Vec<(IdentifierShape, &str)> = names.take(NAMES_MAX).collect();
        let is_of_a_commit = text.to_lowercase().contains("commit");
        let mut missing = Vec::new();
        for (shape, word) in names {
            if (self.is_late)() || word.chars().count() > NAME_CHARS {
                continue;
            }
            missing.extend(match shape {
                IdentifierShape::Path => self.check_path(word),
                IdentifierShape::Hash if is_of_a_commit => self.check_commit(word),
                IdentifierShape::Flag | IdentifierShape::Symbol => self.check_word(word, day),
                _ => None,
            });
        }
        missing
    }

    fn check_path(&mut self, word: &str) -> Option<String> {
        let path = parse_code_path(word)?;
        let is_nowhere = |path: &Path| matches!(self.root.find_status(path), Ok(None));
        if !is_nowhere(&path) || !is_nowhere(&self.within.join(&path)) {
            return None;
        }
        let sentence = format!("`{}` no longer exists", path.display());
        let Some(objects) = &mut self.repository else {
            // Without a history, an existing top folder tells that the path was one of this folder.
            let first = path.components().next()?;
            let holds = self.root.find_status(first.as_os_str());
            return matches!(holds, Ok(Some(found)) if found.is_folder()).then_some(sentence);
        };
        let (before, after) = find_last_commit_with(objects, &path, self.is_late)?;
        // HEAD has it, but the working tree does not.
        let Some(after) = after else {
            return Some(sentence);
        };
        let id = after.id.get(..7).unwrap_or_default();
        Some(match find_new_name(objects, &path, &before, &after) {
            Some(to) => format!("{sentence}; renamed to `{to}` in {id}"),
            None => format!("{sentence}; removed in {id}"),
        })
    }

    fn check_commit(&mut self, word: &str) -> Option<String> {
        let objects = self.repository.as_mut()?;
        let found = objects.find(&format!("{word}^{{commit}}"))?;
        let missing = found.is_err_and(|why| why == "missing");
        let sentence = || format!("commit {word} is not in this repository");
        (missing && !objects.repository.is_shallow()).then(sentence)
    }

    fn check_word(&mut self, word: &str, day: NaiveDate) -> Option<String> {
        let word = word.split('=').next()?;
        let word = word.rsplit("::").next()?;
        if self.changed.as_ref().is_none_or(|(known, _)| *known != day) {
            let objects = self.repository.as_mut();
            let changed =
                objects.and_then(|objects| ChangedFiles::since(objects, day, self.is_late));
            self.changed = Some((day, changed));
        }
        let (_, changed) = self.changed.as_ref()?;
        let objects = self.repository.as_mut()?;
        let is_gone =
            changed.as_ref()?.has_lost(word) && words::is_nowhere(objects, word, self.is_late)?;
        is_gone.then(|| format!("`{word}` no longer occurs in the code"))
    }
}

/// Parses a word as a path of a file below a root; `None` for other paths, and words like `and/or`.
fn parse_code_path(word: &str) -> Option<PathBuf> {
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

/// Finds the last commit with a file, and the commit that removed it; `None` if no commit is known
/// to have had it.
fn find_last_commit_with(
    objects: &mut GitObjects,
    path: &Path,
    is_late: &dyn Fn() -> bool,
) -> Option<(GitCommit, Option<GitCommit>)> {
    let mut after = None;
    for commit in objects.repository.log(&LINE_OF_HEAD).ok()? {
        if is_late() {
            return None;
        }
        let name = format!("{}:{}", commit.tree, path.display());
        if objects.find(&name)?.is_ok() {
            return Some((commit, after));
        }
        after = Some(commit);
    }
    None
}

/// Finds the new name of a file that the commit `after` renamed: the name of an added file with the
/// same content, or with the most similar one.
fn find_new_name(
    objects: &mut GitObjects,
    path: &Path,
    before: &GitCommit,
    after: &GitCommit,
) -> Option<String> {
    let (before, after) = (before.tree.clone(), after.tree.clone());
    let changes = objects.list_changes(Some(before), Some(after))?;
    let path = path.as_os_str().as_encoded_bytes();
    let removed = changes.iter().find(|change| change.path == path)?;
    let removed = removed.before.clone()?;
    let is_added = |change: &&ChangedFile| change.before.is_none();
    let added: Vec<&ChangedFile> = changes.iter().filter(is_added).collect();
    let same = |change: &&&ChangedFile| change.after.as_ref() == Some(&removed);
    let new = match added.iter().find(same) {
        Some(same) => same,
        None => find_most_similar(objects, &removed, &added)?,
    };
    let new = String::from_utf8_lossy(&new.path);
    Some(new.chars().take(NAME_CHARS).collect())
}

/// Finds the added file that shares most with a removed one, if that is at least the half of both.
/// It is measured as git does, by lines or pieces of 64 bytes, but within limits.
fn find_most_similar<'c>(
    objects: &mut GitObjects,
    removed: &str,
    added: &[&'c ChangedFile],
) -> Option<&'c ChangedFile> {
    if added.len() > RENAMED_MAX {
        return None;
    }
    let old = objects.read(removed, "blob", RENAMED_BYTES_MAX)?;
    let known = count_pieces(&old);
    let mut best = (0, None);
    for change in added {
        let new = objects.read(change.after.as_ref()?, "blob", RENAMED_BYTES_MAX)?;
        let counted = count_pieces(&new);
        let shared = counted.iter().map(|(piece, bytes)| {
            let known = known.get(piece).copied().unwrap_or_default();
            known.min(*bytes)
        });
        let shared: usize = shared.sum();
        if shared > best.0 && shared * 2 >= old.len().max(new.len()) {
            best = (shared, Some(*change));
        }
    }
    best.1
}

/// Counts the bytes of each line of a text, and of each piece of a longer line.
fn count_pieces(text: &[u8]) -> BTreeMap<&[u8], usize> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let mut counted = BTreeMap::new();
    for piece in lines.flat_map(|line| line.chunks(64)) {
        *counted.entry(piece).or_default() += piece.len();
    }
    counted
}

#[cfg(test)]
mod tests;
