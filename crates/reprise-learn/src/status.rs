//! Status of learning, and explanations of adjustments.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_types::{
    LearnedAdjustment, LearningEngine as _, OutcomeSummary, RecordId, Revision, dot,
};
use serde::Serialize;

use crate::evidence::BASELINE_RUNS;
use crate::gate::PredictionGate;
use crate::journal::FinishedRun;
use crate::learner::{ADAPTER_WORTH, EVIDENCE_WORTH, Learner, adapter_sample, evidence_sample};
use crate::learning::OutcomeLearning;
use crate::quantized::{QuantizedVector, similarity_kernel};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearningStatus {
    pub on: bool,
    /// Finished runs that were learned from since the last reset, without ratings.
    pub runs: u64,
    pub open_runs: usize,
    /// Records used by any run.
    pub records: usize,
    /// Current largest adjustment, 0..1.
    pub cap: f32,
    /// The t value of the evidence learner's predictions; the gate opens from 1.8 to 2.2.
    pub evidence_t: f64,
    /// Gate of the evidence learner, 0..1.
    pub evidence_gate: f32,
    /// The t value of the adapter's predictions.
    pub adapter_t: f64,
    /// Gate of the adapter, 0..1.
    pub adapter_gate: f32,
    /// Finished runs at the time of the last fit.
    #[serde(rename = "consolidated_runs")]
    pub fitted_runs: u64,
}

/// Why one record is adjusted for one query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdjustmentExplanation {
    /// The parts that a recall adds to the record's score.
    pub learning: LearnedAdjustment,
    pub adjustment: f32,
    pub cap: f32,
    /// The evidence learner's estimate, -1..1.
    pub evidence: f32,
    /// Its gate, 0..1.
    pub evidence_gate: f32,
    /// Its part of the adjustment before the cap.
    pub evidence_part: f32,
    /// The adapter's estimate.
    pub adapter: f32,
    /// Its gate, 0..1.
    pub adapter_gate: f32,
    /// Its part of the adjustment before the cap.
    pub adapter_part: f32,
    /// The runs behind the evidence, heaviest first.
    pub runs: Vec<ExplainedRun>,
}

/// A run behind the evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainedRun {
    pub run_id: String,
    /// Cosine of its query with the given one.
    pub similarity: f32,
    /// Its quality, 0..1.
    pub quality: f32,
    /// Its expected quality, 0..1.
    pub expected: f32,
    /// Its weight in the evidence.
    pub weight: f32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunResult<'a> {
    pub run_id: &'a str,
    /// When it ended.
    pub at: DateTime<Utc>,
    pub used: &'a [RecordId],
    /// Its current quality, 0..1.
    pub quality: f32,
    /// Its expected quality, 0..1.
    pub expected: f32,
    /// The revision that set the quality, if any.
    pub revision: Option<Revision>,
    /// Whether it is a person's rating of one memory, and no run.
    pub is_rating: bool,
    /// Whether nobody reported it: its use and its end were inferred from a session.
    pub is_implied: bool,
}

impl OutcomeLearning {
    pub fn status(&self) -> LearningStatus {
        self.learner.status(self.open_run_count())
    }

    /// Finds an ended run; returns `None` if the journal no longer has it.
    pub fn find_ended_run(&self, run_id: &str) -> Option<RunResult<'_>> {
        let number = self.run_tracker.ended.get(run_id)?;
        let run = self.learner.journal.runs.get(*number)?;
        Some(RunResult::from_run(run))
    }
}

impl<'a> RunResult<'a> {
    fn from_run(run: &'a FinishedRun) -> Self {
        Self {
            run_id: &run.id,
            at: DateTime::from_timestamp_millis(run.at_ms).unwrap_or_default(),
            used: &run.used,
            quality: run.quality,
            expected: (run.baseline + run.evidence + run.adapter).clamp(0.0, 1.0),
            revision: run.revision,
            is_rating: run.is_rating(),
            is_implied: run.weight < 1.0,
        }
    }
}

impl Learner {
    /// Returns the status of learning, while this many runs are under way.
    pub fn status(&self, open_runs: usize) -> LearningStatus {
        LearningStatus {
            on: self.enabled,
            runs: u64::from(self.evidence_gate.runs).saturating_sub(self.count_ratings()),
            open_runs,
            records: self.evidence.iter_used().count(),
            cap: self.current_cap(),
            evidence_t: self.evidence_gate.t_value(),
            evidence_gate: self.evidence_gate.openness(),
            adapter_t: self.adapter_gate.t_value(),
            adapter_gate: self.adapter_gate.openness(),
            fitted_runs: self.adapter.weights().runs,
        }
    }

    /// Counts the ratings in the journal that were not taken back.
    fn count_ratings(&self) -> u64 {
        let runs = self.journal.runs.iter();
        let ratings = runs.filter(|run| run.is_rating() && !run.is_withdrawn());
        ratings.count() as u64
    }

    /// Explains why `record` is adjusted for `query`; `vector` is the record's. Both are unit
    /// vectors.
    pub fn explain_adjustment(
        &self,
        query: &[f32],
        record: RecordId,
        vector: Option<&[f32]>,
    ) -> AdjustmentExplanation {
        let (evidence_gate, adapter_gate) = self.learner_gates();
        let code = QuantizedVector::from_vector(query);
        let evidence = self.evidence.estimate(&self.journal, &code, record);
        let along = vector.map(|vector| self.adapter.project_onto_rows(vector));
        let adapter = self.adapter.estimate(query, along.unwrap_or_default());
        let by_evidence = self.adjust(Some(query), &[record]);
        let by_adapter = self.query_correction(query).zip(vector);
        let moved = LearnedAdjustment::from_capped_parts(
            self.adjustment_cap(),
            self.learner_gates(),
            by_evidence.first().copied().unwrap_or(0.0),
            by_adapter.map_or(0.0, |(by, vector)| dot(&by, vector)),
        );
        let runs = self.heaviest_runs(&code, record).into_iter();
        let runs = runs.map(|part| ExplainedRun {
            run_id: part.run.id.clone(),
            similarity: part.similarity,
            quality: part.run.quality,
            expected: part.run.baseline,
            weight: part.weight,
        });
        AdjustmentExplanation {
            learning: moved,
            adjustment: moved.adjustment,
            cap: self.current_cap(),
            evidence,
            evidence_gate,
            evidence_part: evidence_gate * EVIDENCE_WORTH * evidence,
            adapter,
            adapter_gate,
            adapter_part: adapter_gate * ADAPTER_WORTH * adapter,
            runs: runs.collect(),
        }
    }

    /// Iterates over the runs in the journal, newest first.
    pub fn runs_newest_first(&self) -> impl Iterator<Item = RunResult<'_>> {
        let runs = self.journal.runs.iter().rev();
        runs.map(|run| RunResult::from_run(run))
    }

    /// Counts the runs with a similar query, before an ended run, on which its expected quality
    /// rests; 0 if the journal no longer has it.
    pub fn count_similar_before(&self, run_id: &str) -> usize {
        let mut runs = self.journal.runs.iter().rev();
        let Some(own) = runs.find(|run| run.id == run_id) else {
            return 0;
        };
        let before = runs.take(BASELINE_RUNS);
        let is_similar = |run: &&Arc<FinishedRun>| {
            run.is_counted() && similarity_kernel(own.query.dot(&run.query)) > 0.0
        };
        before.filter(is_similar).count()
    }

    /// Returns the count and mean quality of the runs that used a record; `None` without any.
    pub fn record_outcomes(&self, record: RecordId) -> Option<OutcomeSummary> {
        let numbers = self.evidence.uses.get(record)?.iter();
        let runs = numbers.filter_map(|number| self.journal.runs.get(*number));
        let runs = runs.filter(|run| !run.is_rating());
        let (runs, sum) = runs.fold((0, 0.0), |(count, sum), run| (count + 1, sum + run.quality));
        (runs > 0).then(|| OutcomeSummary {
            runs,
            quality: sum / runs as f32,
        })
    }

    /// Iterates over quality and expected quality of the runs in the journal, oldest first, for
    /// `learn plot`.
    pub fn quality_curve(&self) -> impl Iterator<Item = (f32, f32)> {
        let runs = self.journal.runs.iter().filter(|run| run.is_counted());
        runs.map(|run| (run.quality, RunResult::from_run(run).expected))
    }

    /// Iterates over the t values of both gates (evidence, adapter) after each of these runs,
    /// computed with the current quality of each run.
    pub fn gate_curve(&self) -> impl Iterator<Item = (f64, f64)> {
        let shut = (PredictionGate::default(), PredictionGate::default());
        self.journal
            .runs
            .iter()
            .filter(|run| run.is_counted())
            .scan(shut, |(evidence, adapter), run| {
                evidence.add_run(evidence_sample(run));
                adapter.add_run(adapter_sample(run));
                Some((evidence.t_value(), adapter.t_value()))
            })
    }
}
