//! How a kind of task is done: the steps that runs which went well have in common.

use super::distil::{self, Distillate};
use super::facts::Facts;
use crate::prelude::*;

/// Quality from which on a run went well.
const WELL: f32 = 0.6;
/// Runs that have a way in common, from which on it is one.
const RUNS_MIN: usize = 3;
/// Share of the words of two tasks that are the same where the tasks are.
const ALIKE: f64 = 0.6;
/// The latest runs that are looked at: each is compared with every kind of task among them.
pub(super) const RUNS_MAX: usize = 300;

/// What a run left that went well.
#[derive(Debug, Clone)]
pub(super) struct WellDone {
    pub(super) id: RecordId,
    question: String,
    words: BTreeSet<String>,
    steps: Vec<String>,
    tags: BTreeSet<String>,
    quality: f32,
    at: DateTime<Utc>,
}

impl WellDone {
    /// What stands in a run's record; `None` where it is none, went badly or did nothing.
    pub(super) fn of(record: &MemoryRecord) -> Option<Self> {
        let details = typed(record, "outcome")?;
        let quality = record.quality_score.filter(|quality| *quality >= WELL)?;
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
        common as f64 >= ALIKE * all as f64 && project(self) == project(other)
    }
}

/// A record for each kind of task that went well often enough and was not told yet.
pub(super) fn recurring(memory: &Snapshot, mut runs: Vec<WellDone>) -> Vec<Distillate> {
    runs.sort_by_key(|run| (run.at, run.id));
    let mut kinds: Vec<Vec<WellDone>> = Vec::new();
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
    let cited = distil::cited(memory);
    kinds.retain(|kind| !kind.iter().any(|run| cited.contains(&run.id)));
    kinds.iter().filter_map(|kind| told(kind)).collect()
}

/// The steps that most of them took, in the order of the best run, in its words.
fn told(kind: &[WellDone]) -> Option<Distillate> {
    let best = kind
        .iter()
        .max_by(|a, b| a.quality.total_cmp(&b.quality).then(a.at.cmp(&b.at)))?;
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for run in kind {
        let own: BTreeSet<String> = run.steps.iter().map(|step| plain(step)).collect();
        for step in own {
            *taken.entry(step).or_default() += 1;
        }
    }
    let is_common = |step: &&String| {
        taken
            .get(&plain(step))
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
    let went = format!("\n(done so in {runs} runs, quality {quality:.2})");
    text.push_str(&went);
    let sources = kind.iter().map(|run| run.id);
    Some(Distillate::of(text, sources, &tags, at))
}

/// A step as far as it is compared.
fn plain(step: &str) -> String {
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

    use crate::consolidate::{carry_out, plan, undo};

    fn left(question: &str, steps: &[&str], quality: f32, tags: &[&str]) -> NewRecord {
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
            let plan = plan(&engine.snapshot(), now);
            carry_out(engine, plan, now).unwrap()
        };
        let (dump, restore, check) = ("Dump the ledger", "Restore the ledger", "Check the sums");
        let ask = "Move the ledger to the new database";
        let first = vec![
            left(ask, &[dump, restore, check], 0.8, &["project:shop", "ops"]),
            left(
                "Move the ledger to a new database",
                &["dump the ledger.", check],
                0.9,
                &["project:shop"],
            ),
            // One that went badly, one of another project, and one of another kind.
            left(ask, &["Delete the ledger", check], 0.2, &["project:shop"]),
            left(ask, &[dump, check], 0.9, &["project:other"]),
            left("Paint the shed green", &[check], 0.9, &["project:shop"]),
        ];
        assert!(
            tend(&mut engine, 1, first).distilled.is_empty(),
            "two are no habit"
        );
        let third = left(
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
        let again = || vec![left(ask, &[dump, check], 0.8, &["project:shop"])];
        assert!(tend(&mut engine, 3, again()).distilled.is_empty());
        let undone = undo(
            &mut engine,
            &done.action.unwrap(),
            now + TimeDelta::seconds(1),
        )
        .unwrap();
        assert_eq!(undone.withdrawn, [made]);
        assert!(tend(&mut engine, 5, again()).distilled.is_empty());
    }
}
