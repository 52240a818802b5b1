//! What outcomes taught: a switch, a report, and the runs that it rests on.

use reprise_types::ChainStep;

use crate::prelude::*;

/// A switch of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LearningAction {
    /// Adjustments are made.
    On,
    /// No adjustment is made; outcomes are learned from all the same.
    Off,
    /// What was learned is thrown away; the log keeps what happened.
    Reset,
}

/// It is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LearningSwitched")]
pub struct LearningSwitched {
    /// Always.
    pub done: bool,
}

operation! {
    Spec::for_destroying(
        "learning",
        "Switch learning on or off, or throw away what was learned.",
    );
    /// What is to be done with learning.
    #[derive(Copy)]
    Learning(memory, asked: LearningArguments {
        /// Which switch.
        pub action: LearningAction,
    }) -> LearningSwitched {
        let now = memory.now();
        let done = memory.run_on_engine(move |engine| match asked.action {
            LearningAction::On => engine.switch_learning(true, now),
            LearningAction::Off => engine.switch_learning(false, now),
            LearningAction::Reset => engine.reset_learning(now),
        });
        done.await??;
        Ok(LearningSwitched { done: true })
    }
}

/// Patterns of a report.
const PATTERNS_MAX: usize = 10;

/// What was learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OutcomeLearningReport")]
pub struct OutcomeLearningReport {
    /// Whether adjustments are made.
    pub on: bool,
    /// Runs learned from.
    pub runs: u64,
    /// Runs under way.
    pub open_runs: usize,
    /// Records that some run has used.
    pub records: usize,
    /// The largest adjustment in force, 0..1.
    pub cap: f32,
    /// How far each part of learning is believed.
    pub gates: Vec<Gate>,
    /// Quality of each run and what was expected of it, 0..1, oldest first.
    #[schemars(with = "Vec<[f32; 2]>")]
    pub curve: Vec<(f32, f32)>,
    /// The t values of the gates after each of these runs: evidence, adapter.
    #[serde(default)]
    #[schemars(with = "Vec<[f64; 2]>")]
    pub gate_curve: Vec<(f64, f64)>,
    /// What runs have in common.
    pub patterns: Vec<Pattern>,
}

/// A gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// `evidence` or `adapter`.
    pub name: String,
    /// 0..1.
    pub believed: f32,
    /// The t value of its predictions; it opens from 1.8 to 2.2.
    pub t: f64,
}

/// Runs that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pattern {
    /// How many.
    pub runs: u64,
    /// Their mean quality, 0..1.
    pub quality: f32,
    /// One of them.
    pub example_run: String,
    /// The steps of the best of them, with what came of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<String>,
}

operation! {
    Spec::for_reading(
        "learning_report",
        "What was learned from runs, and how far it is believed.",
    );
    LearningReport(memory, _: NoArguments) -> OutcomeLearningReport {
        let read = memory.run_on_snapshot(|memory| {
            let (status, learner) = (memory.learning_status(), memory.learner());
            let gate = |name: &str, believed, t| Gate {
                name: name.to_owned(),
                believed,
                t,
            };
            let patterns = learner.patterns().into_iter().take(PATTERNS_MAX);
            let step = |step: &ChainStep| {
                let result = step.result.and_then(|id| memory.get(id)?.ok());
                let line = result.and_then(|record| Some(record.text.lines().next()?.to_owned()));
                match line {
                    // A report repeats what was to be done.
                    Some(line) if line.starts_with(step.action.as_str()) => line,
                    Some(line) => format!("{}: {line}", step.action),
                    None => step.action.clone(),
                }
            };
            OutcomeLearningReport {
                on: status.on,
                runs: status.runs,
                open_runs: status.open_runs,
                records: status.records,
                cap: status.cap,
                gates: vec![
                    gate("evidence", status.evidence_gate, status.evidence_t),
                    gate("adapter", status.adapter_gate, status.adapter_t),
                ],
                curve: learner.quality_curve().collect(),
                gate_curve: learner.gate_curve().collect(),
                patterns: patterns
                    .map(|it| Pattern {
                        runs: it.runs as u64,
                        quality: it.quality,
                        chain: it.chain.iter().map(step).collect(),
                        example_run: it.example_run,
                    })
                    .collect(),
            }
        });
        read.await
    }
}

/// Runs of an answer where the caller does not say, and at most.
const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 1_000;
/// Records that runs say most about.
const MOVED_MAX: usize = 20;
/// Records of a run that are named.
const NAMED_MAX: usize = 3;

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct LearnedRun {
    /// Its host's name for it.
    pub run_id: String,
    /// When it ended.
    pub at: DateTime<Utc>,
    /// How it went, 0..1.
    pub quality: f32,
    /// How it was expected to go, 0..1.
    pub expected: f32,
    /// How many runs of similar questions, before it, that rests on.
    #[serde(default)]
    pub similar: usize,
    /// What the quality rests on, where it was revised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub revised: Option<Revision>,
    /// What it used: of what was corrected since the present version.
    pub used: Vec<RecordId>,
}

/// What runs say of one record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Moved")]
pub struct RecordEffect {
    /// Which.
    pub id: RecordId,
    /// The line that names it.
    pub title: String,
    /// Runs that used it.
    pub runs: usize,
    /// Their mean quality, 0..1.
    #[serde(default)]
    pub quality: f32,
    /// How much better they went than expected, on average, -1..1.
    pub better: f32,
}

/// Runs, and what they say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunsFound {
    /// How many there are of those asked for.
    pub all: usize,
    /// Newest first.
    pub runs: Vec<LearnedRun>,
    /// The line that names each of the first records that they used.
    #[serde(default)]
    pub titles: BTreeMap<RecordId, String>,
    /// The records that runs say most about, for better or worse; empty where one was asked for.
    pub moved: Vec<RecordEffect>,
}

operation! {
    Spec::for_reading(
        "runs",
        "Finished runs: how each went, what was expected, what it used.",
    );
    /// Which runs.
    #[derive(Default)]
    Runs(memory, arguments: RunsArguments {
        /// Only those that used this record, or an earlier version of it.
        pub record: Option<String> as RecordKey,
        /// Maximum number of runs [default: 20; at most 1000].
        pub limit: Option<usize> as LimitCount,
        /// List a person's ratings of memories, and no runs.
        pub ratings: bool,
    }) -> RunsFound {
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
        let record = match &arguments.record {
            Some(name) => Some(memory.get_record(name).await?.id),
            None => None,
        };
        let ratings = arguments.ratings;
        let found = memory.run_on_snapshot(move |snapshot| {
            let of = record.map_or_else(Vec::new, |id| list_versions(snapshot, id));
            let moved = match record {
                Some(_) => Vec::new(),
                None => list_record_effects(snapshot),
            };
            let selection = RunSelection { limit, of: &of, ratings };
            RunsFound { moved, ..list_runs(snapshot, &selection) }
        });
        found.await
    }
}

/// A record's id and those of the versions before it.
fn list_versions(snapshot: &Snapshot, id: RecordId) -> Vec<RecordId> {
    let versions = snapshot.version_history(id).into_iter();
    versions.map(|one| one.id).chain([id]).collect()
}

/// Which runs are listed.
struct RunSelection<'a> {
    limit: usize,
    /// Those that used one of these; all if there is none.
    of: &'a [RecordId],
    /// Ratings, and no runs.
    ratings: bool,
}

fn list_runs(snapshot: &Snapshot, selection: &RunSelection<'_>) -> RunsFound {
    let RunSelection { limit, of, ratings } = *selection;
    let mut found = RunsFound::default();
    let learner = snapshot.learner();
    for run in learner
        .runs_newest_first()
        .filter(|run| run.is_rating == ratings)
    {
        if !of.is_empty() && !run.used.iter().any(|used| of.contains(used)) {
            continue;
        }
        found.all += 1;
        if found.runs.len() < limit {
            let used = run.used.iter();
            let used: Vec<RecordId> = used
                .map(|id| snapshot.current_version(*id).unwrap_or(*id))
                .collect();
            for used in used.iter().take(NAMED_MAX) {
                if !found.titles.contains_key(used)
                    && let Some(Ok(record)) = snapshot.get(*used)
                {
                    found.titles.insert(*used, title_or_beginning(&record));
                }
            }
            found.runs.push(LearnedRun {
                run_id: run.run_id.to_owned(),
                at: run.at,
                quality: run.quality,
                expected: run.expected,
                similar: learner.count_similar_before(run.run_id),
                revised: run.revision,
                used,
            });
        }
    }
    found
}

fn list_record_effects(snapshot: &Snapshot) -> Vec<RecordEffect> {
    let mut sums: HashMap<RecordId, (usize, f32, f32)> = HashMap::new();
    for (run, used) in snapshot.valid_runs() {
        for record in used {
            let sum = sums.entry(record).or_default();
            sum.0 += 1;
            sum.1 += run.quality - run.expected;
            sum.2 += run.quality;
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    let far = |sum: &(usize, f32, f32)| sum.1.abs();
    sums.sort_by(|a, b| far(&b.1).total_cmp(&far(&a.1)).then(a.0.cmp(&b.0)));
    let shown = sums.into_iter().filter_map(|(id, (runs, sum, quality))| {
        let record = snapshot.get(id)?.ok()?;
        Some(RecordEffect {
            id,
            title: title_or_beginning(&record),
            runs,
            quality: quality / runs as f32,
            better: sum / runs as f32,
        })
    });
    shown.take(MOVED_MAX).collect()
}
