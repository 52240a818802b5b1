//! The writer's task: the next version of a living document. The newest version is a file, and all
//! versions are stored in a hidden folder next to it.

use reprise_types::RetrievedMemory;

use super::events::WorkerEvents;
use super::experience::find_source;
use super::turn::TurnOutcome;
use super::workspace::WorkerDirectoryError;
use crate::prelude::*;

pub(super) const ROLE: &str = "You are the writer: you keep living documents, version by version, and relate them to prior \
     work.";

const VERSIONS_MAX: u64 = 10_000;

/// Writes the document's next version, with its text and related prior work.
pub(super) async fn write_revision(
    workspace: WorkerDirectory,
    path: &str,
    text: &str,
    related: &[RetrievedMemory],
) -> Result<DocumentRevision, WorkerDirectoryError> {
    // Prior work is cited by document and id only, because quoted texts would be found, reported
    // and stored again.
    let cited = related
        .iter()
        .map(|found| match find_source(&found.record) {
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
    let (path, error_path) = (path.to_owned(), path.to_owned());
    let written =
        tokio::task::spawn_blocking(move || write_next_version(&workspace, &path, &text)).await;
    written.unwrap_or_else(|error| {
        Err(WorkerDirectoryError::Io {
            path: error_path,
            message: error.to_string(),
        })
    })
}

/// Describes what the writer adds because of memory; `None` without prior work.
pub(super) fn describe_choice(related: &[RetrievedMemory]) -> Option<String> {
    let first = related.first()?;
    let what = find_source(&first.record).map_or_else(
        || format!("memory {}", first.record.id),
        |source| format!("`{source}`"),
    );
    Some(match related.len() {
        1 => format!("cites {what}"),
        several => format!("cites {what} and {} more", several - 1),
    })
}

pub(super) fn build_outcome(
    revised: &Result<DocumentRevision, WorkerDirectoryError>,
    path: &str,
    summary: &str,
    events: WorkerEvents<'_>,
    patch_id: &str,
) -> TurnOutcome {
    let version = revised.as_ref().map_or(0, |revision| revision.version);
    let events = events.document_events(path, version);
    let mut drafts = Vec::new();
    let (status, failure, what) = match revised {
        Ok(revision) => {
            if revision.has_changed() {
                let (ops, kinds) = revision.build_patch();
                drafts.push(events.patch_event(patch_id, &ops));
                drafts.push(events.changeset_event(patch_id, summary, &kinds));
            }
            drafts.push(events.status_event(WorkerStatus::Completed, summary));
            let what = format!("{path} is at version {version}: {summary}");
            (WorkerStatus::Completed, None, what)
        }
        Err(error) => {
            let why = error.to_string();
            drafts.push(events.status_event(WorkerStatus::Failed, &why));
            (WorkerStatus::Failed, Some(FailureKind::Unknown), why)
        }
    };
    TurnOutcome {
        status,
        failure,
        summary: what,
        progress: summary.to_owned(),
        findings: Vec::new(),
        command: None,
        choice: None,
        events: drafts,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentRevision {
    /// Number of the version, from 1.
    version: u64,
    before: String,
    after: String,
}

impl DocumentRevision {
    /// Returns whether the text changed; otherwise `version` is the existing one.
    fn has_changed(&self) -> bool {
        self.before != self.after
    }

    /// Builds the patch between the two texts, in characters and without their common prefix and
    /// suffix; returns it with the kinds of its operations.
    fn build_patch(&self) -> (Value, Vec<&'static str>) {
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
fn write_next_version(
    workspace: &WorkerDirectory,
    path: &str,
    text: &str,
) -> Result<DocumentRevision, WorkerDirectoryError> {
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
    Ok(DocumentRevision {
        version,
        before,
        after: text.to_owned(),
    })
}

/// Returns the path of a version, which is hidden, so that a search finds only the newest version.
fn version_path(path: &str, version: u64) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    format!("{folder}/.versions/{name}/{version:05}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_patch_between(before: &str, after: &str) -> Value {
        let revision = DocumentRevision {
            version: 1,
            before: before.to_owned(),
            after: after.to_owned(),
        };
        revision.build_patch().0
    }

    #[test]
    fn versions_are_counted_kept_and_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = WorkerDirectory::new(folder.path()).unwrap();
        let first = write_next_version(&workspace, "runs/draft.md", "one").unwrap();
        assert_eq!((first.version, first.has_changed()), (1, true));
        let same = write_next_version(&workspace, "runs/draft.md", "one").unwrap();
        assert_eq!((same.version, same.has_changed()), (1, false));
        let second = write_next_version(&workspace, "runs/draft.md", "one two").unwrap();
        assert_eq!(second.version, 2);
        assert_eq!(workspace.read("runs/draft.md").unwrap().unwrap(), "one two");
        let old = workspace.read("runs/.versions/draft.md/00001").unwrap();
        assert_eq!(old.unwrap(), "one");
    }

    #[test]
    fn a_patch_is_the_smallest_single_step_in_characters() {
        assert_eq!(
            build_patch_between("caf\u{e9} au lait", "caf\u{e9} noir"),
            json!([{ "op": "replace", "pos": 5, "len": 7, "text": "noir" }])
        );
        assert_eq!(
            build_patch_between("ab", "aXb"),
            json!([{ "op": "insert", "pos": 1, "text": "X" }])
        );
        assert_eq!(
            build_patch_between("aXb", "ab"),
            json!([{ "op": "delete", "pos": 1, "len": 1 }])
        );
        assert_eq!(
            build_patch_between("aa", "aaa"),
            json!([{ "op": "insert", "pos": 2, "text": "a" }])
        );
    }
}
