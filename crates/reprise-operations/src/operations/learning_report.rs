//! What was learned from runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::Memory;
use crate::problem::Problem;

/// Patterns of a report.
const PATTERNS_MAX: usize = 10;

/// None.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// What was learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
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
    /// The t value of its predictions; it opens from 1.8 to 2.8.
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
}

#[derive(Debug)]
pub struct LearningReport;

impl Operation for LearningReport {
    const SPEC: Spec = Spec::reads(
        "learning_report",
        "What was learned from runs, and how far it is believed.",
    );
    type Arguments = Arguments;
    type Answer = Report;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<Report, Problem> {
        let read = memory.with_engine(|engine| {
            let status = engine.learning().status();
            let learner = engine.learning().learner();
            let gate = |name: &str, believed, t| Gate {
                name: name.to_owned(),
                believed,
                t,
            };
            let patterns = learner.patterns().into_iter().take(PATTERNS_MAX);
            Report {
                on: status.on,
                runs: status.runs,
                open_runs: status.open_runs,
                records: status.records,
                cap: status.cap,
                gates: vec![
                    gate("evidence", status.evidence_gate, status.evidence_t),
                    gate("adapter", status.adapter_gate, status.adapter_t),
                ],
                curve: learner.curve().collect(),
                gate_curve: learner.gate_curve().collect(),
                patterns: patterns
                    .map(|it| Pattern {
                        runs: it.runs as u64,
                        quality: it.quality,
                        example_run: it.example_run.clone(),
                    })
                    .collect(),
            }
        });
        read.await
    }
}
