//! How well consolidation tells duplicates, near misses and contradictions apart: on records made
//! by rules that label them, without a model.
//!
//! A fifth are duplicates in other clothes, a quarter near misses that differ in one number, name,
//! version, tense or negation, a tenth contradict, and the rest stand alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use reprise_engine::{Engine, EngineOptions, Snapshot};
use reprise_knowledge::{Plan, carry_out, plan};
use reprise_store::RealDisk;
use reprise_types::{
    Clock, ExternalId, MemoryKind, MemorySource, NewRecord, RecallId, RecallRequest, RecordId,
    SystemClock,
};
use serde::Serialize;
use serde_json::json;

use crate::cli::Context;
use crate::cli::store::DIMENSIONS;
use crate::exit::Exit;

/// Records of one commit.
const BATCH: usize = 2_000;
/// Records that are asked for before and after.
const QUESTIONS: usize = 500;
const TOP: usize = 10;
const EXAMPLES: usize = 12;

const FIRST: [&str; 40] = [
    "amber", "brisk", "copper", "dapper", "eager", "fallow", "gentle", "hollow", "ivory", "jolly",
    "keen", "lunar", "mellow", "nimble", "opal", "proud", "quiet", "rapid", "silver", "tidal",
    "umber", "vivid", "woven", "young", "zesty", "arctic", "barren", "coral", "dusty", "ember",
    "frosty", "golden", "humid", "inner", "jaded", "kindly", "lively", "modest", "narrow", "oaken",
];
const SECOND: [&str; 40] = [
    "anchor", "basket", "candle", "dragon", "engine", "falcon", "garden", "harbor", "island",
    "jacket", "kettle", "ladder", "mirror", "needle", "orchid", "pencil", "quarry", "ribbon",
    "saddle", "temple", "urchin", "velvet", "walnut", "yonder", "zipper", "acorn", "badger",
    "cactus", "dahlia", "eclair", "ferret", "goblet", "hammer", "indigo", "jungle", "kernel",
    "locket", "magnet", "nectar", "oyster",
];
const KINDS: [&str; 25] = [
    "service",
    "worker",
    "importer",
    "parser",
    "gateway",
    "scheduler",
    "exporter",
    "indexer",
    "mailer",
    "resizer",
    "checker",
    "router",
    "reporter",
    "crawler",
    "balancer",
    "recorder",
    "planner",
    "renderer",
    "uploader",
    "linter",
    "cleaner",
    "watcher",
    "proxy",
    "buffer",
    "ledger",
];

/// Pairs that say the same; `T` is a thing, `O` another one, `N` a number.
const SAME: [(&str, &str); 8] = [
    (
        "The T reads the O when it starts.",
        "the T reads the O when it starts",
    ),
    (
        "The T reads the O when it starts.",
        "When it starts, the T reads the O",
    ),
    (
        "The T writes to the O at night.",
        "Note: the T just writes to the O at night!",
    ),
    (
        "The config of the T requires N retries.",
        "The configuration of the T needs N retries",
    ),
    (
        "Remove the O folder before deploying the T.",
        "Before deploying the T, delete the O directory.",
    ),
    (
        "Run make check if the T shows errors in the O",
        "If the T shows errors in the O, run make check.",
    ),
    (
        "The T lives in ops/deploy.sh beside the O",
        "The T is located in ops/deploy.sh, beside the O.",
    ),
    (
        "We use the T to fix the O",
        "We utilize the T to repair the O.",
    ),
];

/// Pairs of which each holds for itself; `M` is another number.
const APART: [(&str, &str); 12] = [
    (
        "Merged PR N into the T for the O",
        "Merged PR M into the T for the O",
    ),
    (
        "The T failed N times in the O",
        "The T failed M times in the O",
    ),
    (
        "The T was built with v1.N.0 for the O",
        "The T was built with v1.N.1 for the O",
    ),
    (
        "Yesterday Ada repaired the T in the O",
        "Yesterday Bob repaired the T in the O",
    ),
    (
        "The T calls load_user from auth.rs in the O",
        "The T calls load_users from auth.rs in the O",
    ),
    (
        "The T uses the O for its uploads",
        "The T used the O for its uploads",
    ),
    (
        "The T depends on the O for logins",
        "The T will depend on the O for logins",
    ),
    (
        "Deploy the T with the O on Fridays",
        "Deploy the T with the O on Mondays",
    ),
    (
        "The T must read the O on Mondays",
        "The T may read the O on Mondays",
    ),
    ("The T calls the O", "The O calls the T"),
    (
        "The T reads the O in tests",
        "The T reads the O in tests on Linux",
    ),
    ("Step N of the T locks the O", "Step M of the T locks the O"),
];

/// Pairs that cannot both hold.
const CONTRARY: [(&str, &str); 10] = [
    (
        "The timeout of the T is N seconds",
        "The timeout of the T is M seconds",
    ),
    ("The T listens on port 8N", "The T listens on port 8M"),
    ("The T requires Node N", "The T requires Node M"),
    ("The owner of the T is Ada", "The owner of the T is Bob"),
    (
        "The default branch of the T is main",
        "The default branch of the T is trunk",
    ),
    ("The T supports the O", "The T does not support the O"),
    (
        "Caching is enabled for the T",
        "Caching is disabled for the T",
    ),
    (
        "Always restart the T after the O",
        "Never restart the T after the O",
    ),
    ("The T is written in Rust", "The T is written in Go"),
    ("The T is hosted on the O", "The T is hosted on premises"),
];

/// What two records are to each other, by how they were made.
#[derive(Debug, Default)]
struct Labels {
    same: BTreeSet<(usize, usize)>,
    contrary: BTreeSet<(usize, usize)>,
}

/// The figures.
#[derive(Debug, Serialize)]
struct Figures {
    records: usize,
    /// Share of the labelled duplicates that were merged.
    merged: f64,
    /// Merged pairs that are none, among all merged.
    false_merges: usize,
    merges: usize,
    /// Share of the labelled contradictions that were flagged.
    flagged: f64,
    /// Share of the flagged pairs that are labelled.
    precision: f64,
    recall_before: f64,
    recall_after: f64,
    plan_s: f64,
    carry_out_s: f64,
    /// Some of the pairs that were flagged and are no contradictions.
    alarms: Vec<[String; 2]>,
    /// Some of the contradictions that were not.
    missed: Vec<[String; 2]>,
}

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let figures = measured(records)?;
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(out, "{}", json!(figures))?;
        return Ok(Exit::Success);
    }
    writeln!(out, "{} records", figures.records)?;
    writeln!(out, "  duplicates merged        {:8.4}", figures.merged)?;
    let false_merges = figures.false_merges as f64 / figures.merges.max(1) as f64;
    writeln!(out, "  false merges             {false_merges:8.4}")?;
    writeln!(out, "  contradictions flagged   {:8.4}", figures.flagged)?;
    writeln!(out, "  of the flagged, true     {:8.4}", figures.precision)?;
    writeln!(
        out,
        "  R@10 before              {:8.4}",
        figures.recall_before
    )?;
    writeln!(
        out,
        "  R@10 after               {:8.4}",
        figures.recall_after
    )?;
    writeln!(out, "  planned in               {:8.2} s", figures.plan_s)?;
    writeln!(
        out,
        "  carried out in           {:8.2} s",
        figures.carry_out_s
    )?;
    Ok(Exit::Success)
}

/// Number `place` of the things that no other pair is about.
fn thing(place: usize) -> String {
    let (first, rest) = (place % FIRST.len(), place / FIRST.len());
    let (second, rest) = (rest % SECOND.len(), rest / SECOND.len());
    let number = rest / KINDS.len();
    let name = [FIRST[first], SECOND[second], KINDS[rest % KINDS.len()]].join(" ");
    if number == 0 {
        name
    } else {
        format!("{name} k{number}")
    }
}

fn filled(template: &str, pair: usize) -> String {
    let (one, other) = (thing(2 * pair), thing(2 * pair + 1));
    let words = template
        .split(' ')
        .map(|word| match word.trim_end_matches(['.', '!', ',']) {
            "T" => word.replace('T', &one),
            "O" => word.replace('O', &other),
            _ => word
                .replace("8N", &format!("8{}", pair % 90 + 10))
                .replace("8M", &format!("8{}", (pair + 37) % 90 + 10))
                .replace("1.N", &format!("1.{}", pair % 90 + 10)),
        });
    let words: Vec<String> = words.collect();
    let text = words.join(" ");
    let exact = text
        .split(' ')
        .map(|word| match word.trim_end_matches('.') {
            "N" => word.replace('N', &(pair % 90 + 10).to_string()),
            "M" => word.replace('M', &((pair + 37) % 90 + 10).to_string()),
            _ => word.to_owned(),
        });
    exact.collect::<Vec<_>>().join(" ")
}

/// The texts in the order in which they are kept, and what they are to each other.
fn corpus(records: usize) -> (Vec<String>, Labels) {
    let (mut texts, mut labels) = (Vec::with_capacity(records), Labels::default());
    let mut pair = 0;
    while texts.len() + 2 <= records {
        let at = texts.len();
        let (one, other) = match pair % 20 {
            0..4 => {
                labels.same.insert((at, at + 1));
                SAME[pair / 20 % SAME.len()]
            }
            4..9 => APART[(pair / 20 * 5 + pair % 20) % APART.len()],
            9..11 => {
                labels.contrary.insert((at, at + 1));
                CONTRARY[(pair / 20 * 2 + pair % 20) % CONTRARY.len()]
            }
            _ => ("The T asks the O for its daily total", ""),
        };
        texts.push(filled(one, pair));
        if !other.is_empty() {
            texts.push(filled(other, pair));
        }
        pair += 1;
    }
    (texts, labels)
}

fn measured(records: usize) -> anyhow::Result<Figures> {
    let folder = tempfile::tempdir()?;
    let (texts, labels) = corpus(records);
    let now = SystemClock.now();
    let mut options = EngineOptions::new(DIMENSIONS, 7, now);
    options.create = true;
    let path = folder.path().join("memory.rvf");
    let (mut engine, _) = Engine::open(Arc::new(RealDisk), &path, &options)?;
    for (batch, texts) in texts.chunks(BATCH).enumerate() {
        let named = texts.iter().enumerate().map(|(place, text)| {
            let mut record =
                NewRecord::new(text.clone(), MemorySource::UserInput, MemoryKind::Finding);
            let name = (batch * BATCH + place).to_string();
            record.external_ids = vec![ExternalId::new(ExternalId::BATCH, name)];
            record
        });
        engine.observe(named.collect(), None, now)?;
    }
    let memory = engine.snapshot();
    let places: BTreeMap<RecordId, usize> = memory
        .records()
        .flatten()
        .filter_map(|record| {
            let name = record.external_id(ExternalId::BATCH)?.parse().ok()?;
            Some((record.id, name))
        })
        .collect();
    let recall_before = found(&memory, &texts, &labels);
    let begun = Instant::now();
    let plan = plan(&memory, now);
    let plan_s = begun.elapsed().as_secs_f64();
    let (merged, contrary) = judged(&plan, &places);
    let begun = Instant::now();
    carry_out(&mut engine, plan, now)?;
    let carry_out_s = begun.elapsed().as_secs_f64();
    let recall_after = found(&engine.snapshot(), &texts, &labels);
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let right = merged.intersection(&labels.same).count();
    let flagged = contrary.intersection(&labels.contrary).count();
    Ok(Figures {
        records: texts.len(),
        merged: share(right, labels.same.len()),
        false_merges: merged.len() - right,
        merges: merged.len(),
        flagged: share(flagged, labels.contrary.len()),
        precision: share(flagged, contrary.len()),
        recall_before,
        recall_after,
        plan_s,
        carry_out_s,
        alarms: told(&texts, contrary.difference(&labels.contrary)),
        missed: told(&texts, labels.contrary.difference(&contrary)),
    })
}

/// What some pairs say.
fn told<'a>(texts: &[String], pairs: impl Iterator<Item = &'a (usize, usize)>) -> Vec<[String; 2]> {
    let text = |place: usize| texts.get(place).cloned().unwrap_or_default();
    let told = pairs.map(|(one, other)| [text(*one), text(*other)]);
    told.take(EXAMPLES).collect()
}

type Pairs = BTreeSet<(usize, usize)>;

/// What a plan merges and flags, by the places of the records.
fn judged(plan: &Plan, places: &BTreeMap<RecordId, usize>) -> (Pairs, Pairs) {
    let pair = |one: RecordId, other: RecordId| {
        let (one, other) = (places.get(&one)?, places.get(&other)?);
        Some((*one.min(other), *one.max(other)))
    };
    let merged = plan.merged.iter().flat_map(|merge| {
        let gone = merge.gone.iter();
        gone.filter_map(|gone| pair(*gone, merge.kept))
    });
    let contrary = plan.contradictions.iter();
    let contrary = contrary.filter_map(|doubt| pair(doubt.pair[0], doubt.pair[1]));
    (merged.collect(), contrary.collect())
}

/// Share of questions of which an answer is among the first ten: the record asked for, or the one
/// that says the same.
fn found(memory: &Snapshot, texts: &[String], labels: &Labels) -> f64 {
    let same: BTreeMap<usize, usize> = labels
        .same
        .iter()
        .flat_map(|(one, other)| [(*one, *other), (*other, *one)])
        .collect();
    let step = texts.len().div_ceil(QUESTIONS).max(1);
    let (mut asked, mut hit) = (0_usize, 0_usize);
    for (place, text) in texts.iter().enumerate().step_by(step) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let half = words.get(..words.len() / 2 + 2).unwrap_or(&words).join(" ");
        let mut request = RecallRequest::new(half);
        request.top_k = TOP;
        let learner = memory.learner();
        let answer = memory.recall(&request, None, RecallId::from_u128(1), learner.as_ref());
        let wanted = [Some(place), same.get(&place).copied()];
        let is_wanted = |record: &reprise_types::MemoryRecord| {
            let name = record.external_id(ExternalId::BATCH);
            let name = name.and_then(|name| name.parse::<usize>().ok());
            name.is_some() && wanted.contains(&name)
        };
        asked += 1;
        hit += usize::from(answer.results.iter().any(|one| is_wanted(&one.record)));
    }
    hit as f64 / asked.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_merged_near_misses_are_not_and_contradictions_are_named() {
        let figures = measured(2_000).unwrap();
        assert!(figures.merged >= 0.95, "{figures:?}");
        assert!(
            figures.false_merges * 1_000 <= figures.merges,
            "{figures:?}"
        );
        assert!(
            figures.flagged >= 0.8 && figures.precision >= 0.9,
            "{figures:?}"
        );
        assert!(figures.recall_after >= figures.recall_before, "{figures:?}");
    }
}
