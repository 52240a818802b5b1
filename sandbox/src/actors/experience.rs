//! What recalled memories say for and against a choice: a plan, a command, a source.

use reprise_types::{MemoryRecord, RetrievedMemory};

use super::task::Capability;
use crate::prelude::*;

/// The recalled outcomes of one choice.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Vote {
    /// Sum of the scores of memories of its success, minus those of its failure.
    pub(super) sum: f32,
    pub(super) records: Vec<RecordId>,
}

impl Vote {
    /// `went` says whether a memory is about the choice, and whether it went well.
    pub(super) fn of(
        memory: &MemoryAnswer,
        went: impl Fn(&RetrievedMemory) -> Option<bool>,
    ) -> Self {
        let mut vote = Self::default();
        for found in memory.results() {
            if let Some(well) = went(found) {
                let sign = if well { 1.0 } else { -1.0 };
                vote.sum += sign * found.sona_score.max(f32::MIN_POSITIVE);
                vote.records.push(found.record.id);
            }
        }
        vote
    }

    /// Of a command that the terminal ran.
    pub(super) fn of_command(memory: &MemoryAnswer, command: &str) -> Self {
        Self::of(memory, |found| {
            let ran = text(&found.record, "command") == Some(command);
            ran.then(|| worked(&found.record)).flatten()
        })
    }

    /// Of a file as a source: memories refer to it, and the runs that used them went well or not.
    pub(super) fn of_source(memory: &MemoryAnswer, path: &str) -> Self {
        Self::of(memory, |found| {
            let names = source_of(&found.record) == Some(path)
                || found
                    .record
                    .provenance
                    .source_refs
                    .iter()
                    .any(|one| one == path);
            let quality = found.why.worked.map(|worked| worked.quality);
            let failed = text(&found.record, "status") == Some("failed");
            names.then(|| quality.map_or(!failed, |quality| quality >= 0.5))
        })
    }
}

/// The document or file that a record is about.
pub(super) fn source_of(record: &MemoryRecord) -> Option<&str> {
    let own = text(record, "document_path").or_else(|| text(record, "path"));
    own.or_else(|| record.provenance.source_refs.first().map(String::as_str))
}

/// Whether a record reports a command that worked or failed, by the contract's status of the worker
/// that ran it, not by its text, and not by another worker's quote.
pub(super) fn worked(record: &MemoryRecord) -> Option<bool> {
    if text(record, "worker_role") != Some(Capability::Terminal.name()) {
        return None;
    }
    match text(record, "status") {
        Some("completed") => Some(true),
        Some("failed") => Some(false),
        _ => None,
    }
}

fn text<'a>(record: &'a MemoryRecord, name: &str) -> Option<&'a str> {
    record.metadata.get(name).and_then(Value::as_str)
}
