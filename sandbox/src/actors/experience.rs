//! Votes of recalled memories for and against a choice: a plan, a command, a source.

use reprise_types::{MemoryRecord, MemorySource, RetrievedMemory};

use super::SystemContext;
use super::task::Capability;
use crate::prelude::*;

/// The words of a terminal's report of a command.
pub(super) const WORKED: &str = "worked";
pub(super) const FAILED: &str = "failed";

/// The vote of recalled outcomes on one choice.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Vote {
    /// Sum of the scores of memories of its success, minus those of its failure.
    pub(super) sum: f32,
    pub(super) records: Vec<RecordId>,
}

impl Vote {
    /// Counts the votes of memories. `find_outcome` returns whether the choice went well; `None` if
    /// the memory is not about it.
    pub(super) fn from_memories(
        memory: &MemoryAnswer,
        find_outcome: impl Fn(&RetrievedMemory) -> Option<bool>,
    ) -> Self {
        let mut vote = Self::default();
        for found in memory.results() {
            if let Some(well) = find_outcome(found) {
                let sign = if well { 1.0 } else { -1.0 };
                vote.sum += sign * found.sona_score.max(f32::MIN_POSITIVE);
                vote.records.push(found.record.id);
            }
        }
        vote
    }

    /// Counts the votes on a plan: reports of its work, and earlier runs that tried it.
    pub(super) fn for_plan(history: &MemoryAnswer, plan: &str) -> Self {
        let name = format!("`{plan}`");
        let tried = format!("by {name}: ");
        Self::from_memories(history, |found| {
            let record = &found.record;
            if record.source == MemorySource::TrajectoryOutcome {
                return find_step_outcome(record, &tried);
            }
            let is_about = record.text.contains(&name);
            is_about.then(|| has_worked(record)).flatten()
        })
    }

    /// Counts the votes on a command that the terminal ran.
    pub(super) fn for_command(context: &SystemContext, command: &str) -> Self {
        let ran = format!("with `{command}`, ");
        Self::from_memories(context.memory(), |found| {
            let record = &found.record;
            if record.source == MemorySource::TrajectoryOutcome {
                return find_command_outcome(record, &ran);
            }
            let is_about = metadata_text(record, "command") == Some(command);
            is_about.then(|| has_worked(record)).flatten()
        })
    }

    /// Counts the votes on a file as a source: memories refer to it, and the runs that used them
    /// went well or not.
    pub(super) fn for_source(context: &SystemContext, path: &str) -> Self {
        let place = format!("{path}:");
        Self::from_memories(context.memory(), |found| {
            if found.record.source == MemorySource::TrajectoryOutcome {
                let is_about = iter_steps(&found.record).any(|step| step.contains(&place));
                let quality = found.record.quality_score.filter(|_| is_about);
                return quality.map(|quality| quality >= 0.5);
            }
            let is_about = find_source(&found.record) == Some(path)
                || found
                    .record
                    .provenance
                    .source_refs
                    .iter()
                    .any(|one| one == path);
            let quality = found.why.worked.map(|worked| worked.quality);
            let failed = metadata_text(&found.record, "status") == Some("failed");
            is_about.then(|| quality.map_or(!failed, |quality| quality >= 0.5))
        })
    }
}

/// Returns the document or file that a record is about.
pub(super) fn find_source(record: &MemoryRecord) -> Option<&str> {
    let own = metadata_text(record, "document_path").or_else(|| metadata_text(record, "path"));
    own.or_else(|| record.provenance.source_refs.first().map(String::as_str))
}

/// Returns whether a command that a record reports has worked, by the status of the worker that ran
/// it; `None` if the record is no such report. Texts and other workers' quotes do not count.
pub(super) fn has_worked(record: &MemoryRecord) -> Option<bool> {
    if metadata_text(record, "worker_role") != Some(Capability::Terminal.name()) {
        return None;
    }
    match metadata_text(record, "status") {
        Some("completed") => Some(true),
        Some("failed") => Some(false),
        _ => None,
    }
}

/// Returns how the last step of a run that has `marker` ended, by the words of the terminal's
/// report behind it; `None` without such a step.
fn find_step_outcome(run: &MemoryRecord, marker: &str) -> Option<bool> {
    iter_steps(run).rev().find_map(|step| {
        let (_, report) = step.split_once(marker)?;
        if report.starts_with(WORKED) {
            return Some(true);
        }
        report.starts_with(FAILED).then_some(false)
    })
}

/// Returns how the last command of a run that `marker` names ended; `None` without such a command.
fn find_command_outcome(run: &MemoryRecord, marker: &str) -> Option<bool> {
    iter_steps(run).rev().find_map(|step| {
        let (before, _) = step.split_once(marker)?;
        if before.ends_with(&format!(": {WORKED} ")) {
            return Some(true);
        }
        before.ends_with(&format!(": {FAILED} ")).then_some(false)
    })
}

/// Iterates over the steps of a run, as its outcome record has them.
fn iter_steps(run: &MemoryRecord) -> impl DoubleEndedIterator<Item = &str> {
    let steps = run
        .details
        .as_ref()
        .and_then(|details| details["steps"].as_array());
    steps
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(Value::as_str)
}

fn metadata_text<'a>(record: &'a MemoryRecord, name: &str) -> Option<&'a str> {
    record.metadata.get(name).and_then(Value::as_str)
}
