//! The writer's task: the next version of a living document, whose newest version is a file with
//! every version beside it.

use reprise_types::RetrievedMemory;

use super::events::WorkerEvents;
use super::experience::source_of;
use super::turn::Outcome;
use super::workspace::WorkspaceError;
use crate::prelude::*;

pub(super) const ROLE: &str = "You are the writer: you keep living documents, version by version, and relate them to prior \
     work.";

const VERSIONS_MAX: u64 = 10_000;

/// Writes the document's next version, with its text and related prior work.
pub(super) async fn revise(
    workspace: Workspace,
    path: &str,
    text: &str,
    related: &[RetrievedMemory],
) -> Result<Revision, WorkspaceError> {
    // By document and id only: quoted texts would be found, reported and stored again.
    let cited = related.iter().map(|found| match source_of(&found.record) {
        Some(source) => format!("`{source}` ({})", found.record.id),
        None => found.record.id.to_string(),
    });
    let ids: Vec<String> = cited.collect();
    let text = match ids.as_slice() {
        [] => text.to_owned(),
        ids => format!(
            "{}\n\nRelated prior work: {}\n",
            text.trim_end(),
            ids.join(", ")
        ),
    };
    let (path, named) = (path.to_owned(), path.to_owned());
    let written = tokio::task::spawn_blocking(move || next_version(&workspace, &path, &text)).await;
    written.unwrap_or_else(|error| {
        Err(WorkspaceError::Io {
            path: named,
            message: error.to_string(),
        })
    })
}

pub(super) fn outcome(
    revised: &Result<Revision, WorkspaceError>,
    path: &str,
    summary: &str,
    events: WorkerEvents<'_>,
    patch_id: &str,
) -> Outcome {
    let version = revised.as_ref().map_or(0, |revision| revision.version);
    let events = events.document(path, version);
    let mut done = Vec::new();
    let (status, failure, what) = match revised {
        Ok(revision) => {
            if revision.changed() {
                let (ops, kinds) = revision.ops();
                done.push(events.patch(patch_id, &ops));
                done.push(events.changeset(patch_id, summary, &kinds));
            }
            done.push(events.status(WorkerStatus::Completed, summary));
            let what = format!("{path} is at version {version}: {summary}");
            (WorkerStatus::Completed, None, what)
        }
        Err(error) => {
            let why = error.to_string();
            done.push(events.status(WorkerStatus::Failed, &why));
            (WorkerStatus::Failed, Some(FailureKind::Unknown), why)
        }
    };
    Outcome {
        status,
        failure,
        summary: what,
        progress: summary.to_owned(),
        findings: Vec::new(),
        command: None,
        events: done,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    /// From 1.
    version: u64,
    before: String,
    after: String,
}

impl Revision {
    /// Whether the text changed; otherwise `version` is the existing one.
    fn changed(&self) -> bool {
        self.before != self.after
    }

    /// The patch between the two texts, in characters, without their common prefix and suffix, and
    /// the kinds of its operations.
    fn ops(&self) -> (Value, Vec<&'static str>) {
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
fn next_version(workspace: &Workspace, path: &str, text: &str) -> Result<Revision, WorkspaceError> {
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
        let first = next_version(&workspace, "runs/draft.md", "one").unwrap();
        assert_eq!((first.version, first.changed()), (1, true));
        let same = next_version(&workspace, "runs/draft.md", "one").unwrap();
        assert_eq!((same.version, same.changed()), (1, false));
        let second = next_version(&workspace, "runs/draft.md", "one two").unwrap();
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
