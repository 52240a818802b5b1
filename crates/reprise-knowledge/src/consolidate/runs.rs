//! Learns how a task is done: the steps that its successful runs have in common.

use super::distil::{self, Distillate};
use super::facts::Facts;
use crate::prelude::*;

/// Least quality of a successful run.
const QUALITY_MIN: f32 = 0.6;
/// Fewest runs whose common steps are summarised.
const RUNS_MIN: usize = 3;
/// Least share of common words of two runs of one task.
const ALIKE_MIN: f64 = 0.6;
/// Most runs that are compared, the latest first: each is compared with every task.
pub(super) const RUNS_MAX: usize = 300;

/// A run that succeeded.
#[derive(Debug, Clone)]
pub(super) struct SuccessfulRun {
    pub(super) id: RecordId,
    question: String,
    words: BTreeSet<String>,
    steps: Vec<String>,
    tags: BTreeSet<String>,
    quality: f32,
    at: DateTime<Utc>,
}

impl SuccessfulRun {
    /// Reads a run from its record; `None` if it is no run, failed or has no steps.
    pub(super) fn of(record: &MemoryRecord) -> Option<Self> {
        let details = details_of_type(record, "outcome")?;
        let quality = record
            .quality_score
            .filter(|quality| *quality >= QUALITY_MIN)?;
        let question = details.get("question")?.as_str()?;
        let steps = details.get("steps")?.as_array()?.iter();
        let steps: Vec<String> = steps.filter_map(Value::as_str).map(str::to_owned).collect();
        let facts = Facts::of(question);
        let words: BTreeSet<String> = facts.words().map(|word| word.stem.clone()).collect();
        let holds = !steps.is_empty() && !words.is_empty();
        holds.then(|| Self {
            id: record.id,
            question: question.to_owned(),
            words,
            steps,
            tags: record.tags.iter().cloned().collect(),
            quality,
            at: record.timestamp,
        })
    }

    fn is_like(&self, other: &Self) -> bool {
        let common = self.words.intersection(&other.words).count();
        let all = self.words.union(&other.words).count();
        let project = |run: &Self| -> BTreeSet<String> {
            let tags = run.tags.iter();
            tags.filter(|tag| tag.starts_with("project:"))
                .cloned()
                .collect()
        };
        common as f64 >= ALIKE_MIN * all as f64 && project(self) == project(other)
    }
}

/// Builds a summary for each task that succeeded often enough and has no summary yet.
pub(super) fn distil_successful_runs(
    memory: &Snapshot,
    mut runs: Vec<SuccessfulRun>,
) -> Vec<Distillate> {
    runs.sort_by_key(|run| (run.at, run.id));
    let mut kinds: Vec<Vec<SuccessfulRun>> = Vec::new();
    for run in runs {
        let own = kinds
            .iter_mut()
            .find(|kind| kind.first().is_some_and(|first| first.is_like(&run)));
        match own {
            Some(kind) => kind.push(run),
            None => kinds.push(vec![run]),
        }
    }
    kinds.retain(|kind| kind.len() >= RUNS_MIN);
    if kinds.is_empty() {
        return Vec::new();
    }
    let cited = distil::collect_cited_records(memory);
    kinds.retain(|kind| !kind.iter().any(|run| cited.contains(&run.id)));
    kinds.iter().filter_map(|kind| distil_task(kind)).collect()
}

/// Builds the summary of one task: the steps that most runs took, in the words and order of the
/// best run.
fn distil_task(kind: &[SuccessfulRun]) -> Option<Distillate> {
    let best = kind
        .iter()
        .max_by(|a, b| a.quality.total_cmp(&b.quality).then(a.at.cmp(&b.at)))?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for run in kind {
        let own: BTreeSet<String> = run.steps.iter().map(|step| normalize_step(step)).collect();
        for step in own {
            *counts.entry(step).or_default() += 1;
        }
    }
    let is_common = |step: &&String| {
        counts
            .get(&normalize_step(step))
            .is_some_and(|runs| 2 * runs > kind.len())
    };
    let steps: Vec<&String> = best.steps.iter().filter(is_common).collect();
    if steps.is_empty() {
        return None;
    }
    let mut text = best.question.clone();
    for (number, step) in steps.into_iter().enumerate() {
        let step = format!("\n{}. {step}", number + 1);
        text.push_str(&step);
    }
    let quality = kind.iter().map(|run| run.quality).sum::<f32>() / kind.len() as f32;
    let shared = kind.iter().map(|run| run.tags.clone());
    let tags = shared.reduce(|all, own| &all & &own).unwrap_or_default();
    let at = kind.iter().map(|run| run.at).max()?;
    let runs = kind.len();
    let note = format!("\n(done so in {runs} runs, quality {quality:.2})");
    text.push_str(&note);
    let sources = kind.iter().map(|run| run.id);
    Some(Distillate::new(text, sources, &tags, at))
}

/// Returns a step in the form in which steps are compared.
fn normalize_step(step: &str) -> String {
    let words = step.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::TimeDelta;
    use reprise_engine::{Engine, EngineOptions};
    use reprise_store::RealDisk;
    use reprise_types::{MemoryKind, MemorySource, NewRecord, parse_timestamp};
    use serde_json::json;

    use crate::consolidate::{execute_plan, plan_consolidation, undo_action};

    fn outcome_record(question: &str, steps: &[&str], quality: f32, tags: &[&str]) -> NewRecord {
        let mut record = NewRecord::new(
            format!("{question} {quality}"),
            MemorySource::TrajectoryOutcome,
            MemoryKind::Strategy,
        );
        record.quality_score = Some(quality);
        record.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        record.details = Some(json!({"type": "outcome", "question": question, "steps": steps}));
        record
    }

    #[test]
    fn what_runs_that_went_well_have_in_common_is_told_once_and_cites_them() {
        let folder = tempfile::tempdir().unwrap();
        let now = parse_timestamp("2026-03-01T09:00:00Z").unwrap();
        let mut options = EngineOptions::new(8, 42, now);
        options.create = true;
        let path = folder.path().join("memory.rvf");
        let mut engine = Engine::open(Arc::new(RealDisk), &path, &options).unwrap().0;
        let tend = |engine: &mut Engine, at: i64, records: Vec<NewRecord>| {
            let now = now + TimeDelta::seconds(at);
            engine.observe(records, None, now).unwrap();
            let plan = plan_consolidation(&engine.snapshot(), now);
            execute_plan(engine, plan, now).unwrap()
        };
        let (dump, restore, check) = ("Dump the ledger", "Restore the ledger", "Check the sums");
        let ask = "Move the ledger to the new database";
        let first = vec![
            outcome_record(ask, &[dump, restore, check], 0.8, &["project:shop", "ops"]),
            outcome_record(
                "Move the ledger to a new database",
                &["dump the ledger.", check],
                0.9,
                &["project:shop"],
            ),
            // One that went badly, one of another project, and one of another kind.
            outcome_record(ask, &["Delete the ledger", check], 0.2, &["project:shop"]),
            outcome_record(ask, &[dump, check], 0.9, &["project:other"]),
            outcome_record("Paint the shed green", &[check], 0.9, &["project:shop"]),
        ];
        assert!(
            tend(&mut engine, 1, first).distilled.is_empty(),
            "two are no habit"
        );
        let third = outcome_record(
            "Move the ledger into the new database",
            &[dump, "Write to Ada", check],
            0.7,
            &["project:shop"],
        );
        let done = tend(&mut engine, 2, vec![third]);
        let [made] = done.distilled[..] else {
            panic!("{:?}", done.plan.distilled);
        };
        let record = engine.snapshot().get(made).unwrap().unwrap();
        assert_eq!(
            record.text,
            "Move the ledger to a new database\n1. dump the ledger.\n2. Check the sums\n(done so in 3 \
             runs, quality 0.80)"
        );
        assert_eq!(
            (record.kind, &record.tags),
            (MemoryKind::Pattern, &vec!["project:shop".to_owned()])
        );
        assert_eq!(engine.snapshot().sources(made).len(), 3);
        // A fourth run of the kind makes no second one, nor does it where the first was undone.
        let again = || vec![outcome_record(ask, &[dump, check], 0.8, &["project:shop"])];
        assert!(tend(&mut engine, 3, again()).distilled.is_empty());
        let undone = undo_action(
            &mut engine,
            &done.action.unwrap(),
            now + TimeDelta::seconds(1),
        )
        .unwrap();
        assert_eq!(undone.withdrawn, [made]);
        assert!(tend(&mut engine, 5, again()).distilled.is_empty());
    }
}
