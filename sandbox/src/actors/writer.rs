//! The writer's task: the next version of a living document.

mod document;

use reprise_types::RetrievedMemory;

use super::events::DocumentEvents;
use super::experience::source_of;
use super::turn::Outcome;
use super::workspace::WorkspaceError;
use crate::prelude::*;

use document::Revision;

pub(super) const ROLE: &str = "You are the writer: you keep living documents, version by version, and relate them to prior \
     work.";

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
    let written =
        tokio::task::spawn_blocking(move || document::revise(&workspace, &path, &text)).await;
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
    turn: &TurnContext,
    now: &str,
    patch_id: &str,
) -> Outcome {
    let version = revised.as_ref().map_or(0, |revision| revision.version);
    let events = DocumentEvents {
        turn,
        now,
        path,
        version,
    };
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
