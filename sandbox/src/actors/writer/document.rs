//! A living document: the newest version as a file, every version beside it, and diffs.

use super::super::workspace::WorkspaceError;
use crate::prelude::*;

const VERSIONS_MAX: u64 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Revision {
    /// From 1.
    pub(super) version: u64,
    before: String,
    after: String,
}

impl Revision {
    /// Whether the text changed; otherwise `version` is the existing one.
    pub(super) fn changed(&self) -> bool {
        self.before != self.after
    }

    /// The patch between the two texts, in characters, without their common prefix and suffix, and
    /// the kinds of its operations.
    pub(super) fn ops(&self) -> (Value, Vec<&'static str>) {
        let before: Vec<char> = self.before.chars().collect();
        let after: Vec<char> = self.after.chars().collect();
        let same = |(a, b): &(&char, &char)| a == b;
        let head = before.iter().zip(&after).take_while(same).count();
        let (old, new) = (&before[head..], &after[head..]);
        let tail = old.iter().rev().zip(new.iter().rev());
        let tail = tail.take_while(same).count();
        let removed = old.len() - tail;
        let text: String = new[..new.len() - tail].iter().collect();
        let (op, kind) = match (removed, text.is_empty()) {
            (0, _) => (
                json!({ "op": "insert", "pos": head, "text": text }),
                "insert",
            ),
            (_, true) => (
                json!({ "op": "delete", "pos": head, "len": removed }),
                "delete",
            ),
            _ => (
                json!({ "op": "replace", "pos": head, "len": removed, "text": text }),
                "replace",
            ),
        };
        (json!([op]), vec![kind])
    }
}

/// Writes the next version, unless the text is unchanged.
pub(super) fn revise(
    workspace: &Workspace,
    path: &str,
    text: &str,
) -> Result<Revision, WorkspaceError> {
    let mut newest = 0;
    let mut before = String::new();
    while newest < VERSIONS_MAX {
        match workspace.read(&version_path(path, newest + 1))? {
            Some(text) => (newest, before) = (newest + 1, text),
            None => break,
        }
    }
    let changed = before != text;
    let version = newest + u64::from(changed);
    if changed {
        workspace.write(&version_path(path, version), text)?;
        workspace.write(path, text)?;
    }
    Ok(Revision {
        version,
        before,
        after: text.to_owned(),
    })
}

/// The path of a version; hidden, so that a search finds only the newest.
fn version_path(path: &str, version: u64) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    format!("{folder}/.versions/{name}/{version:05}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(before: &str, after: &str) -> Value {
        let revision = Revision {
            version: 1,
            before: before.to_owned(),
            after: after.to_owned(),
        };
        revision.ops().0
    }

    #[test]
    fn versions_are_counted_kept_and_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(folder.path()).unwrap();
        let first = revise(&workspace, "runs/draft.md", "one").unwrap();
        assert_eq!((first.version, first.changed()), (1, true));
        let same = revise(&workspace, "runs/draft.md", "one").unwrap();
        assert_eq!((same.version, same.changed()), (1, false));
        let second = revise(&workspace, "runs/draft.md", "one two").unwrap();
        assert_eq!(second.version, 2);
        assert_eq!(workspace.read("runs/draft.md").unwrap().unwrap(), "one two");
        let old = workspace.read("runs/.versions/draft.md/00001").unwrap();
        assert_eq!(old.unwrap(), "one");
    }

    #[test]
    fn a_patch_is_the_smallest_single_step_in_characters() {
        assert_eq!(
            step("caf\u{e9} au lait", "caf\u{e9} noir"),
            json!([{ "op": "replace", "pos": 5, "len": 7, "text": "noir" }])
        );
        assert_eq!(
            step("ab", "aXb"),
            json!([{ "op": "insert", "pos": 1, "text": "X" }])
        );
        assert_eq!(
            step("aXb", "ab"),
            json!([{ "op": "delete", "pos": 1, "len": 1 }])
        );
        assert_eq!(
            step("aa", "aaa"),
            json!([{ "op": "insert", "pos": 2, "text": "a" }])
        );
    }
}
