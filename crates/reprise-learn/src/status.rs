//! Status of learning, and explanations of adjustments.

use chrono::{DateTime, Utc};
use reprise_types::{LearnedMove, LearningEngine as _, RecordId, Revision, Worked, dot};
use serde::Serialize;

use crate::code::Code;
use crate::gate::Gate;
use crate::journal::Run;
use crate::learner::{ADAPTER_WORTH, EVIDENCE_WORTH, Learner, adapter_sample, evidence_sample};
use crate::learning::Learning;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearningStatus {
    pub on: bool,
    /// Finished runs ever learned from since the last reset.
    pub runs: u64,
    pub open_runs: usize,
    /// Records used by any run.
    pub records: usize,
    /// The largest adjustment in force, 0..1.
    pub cap: f32,
    /// t value of the evidence learner's predictions; the gate opens from 1.8 to 2.2.
    pub evidence_t: f64,
    /// Gate of the evidence learner, 0..1.
    pub evidence_gate: f32,
    /// t value of the adapter's predictions.
    pub adapter_t: f64,
    /// Gate of the adapter, 0..1.
    pub adapter_gate: f32,
    /// Finished runs at the time of the last consolidation.
    pub consolidated_runs: u64,
    /// SHA-256 of the learned state, in hex.
    pub digest: String,
}

/// Why one record is adjusted for one query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// What a recall adds to the record's score, part by part.
    pub learning: LearnedMove,
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

/// One run behind the evidence.
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
pub struct RunWent<'a> {
    pub run_id: &'a str,
    /// When it ended.
    pub at: DateTime<Utc>,
    pub used: &'a [RecordId],
    /// Its quality in force, 0..1.
    pub quality: f32,
    /// Its expected quality, 0..1.
    pub expected: f32,
    /// The revision behind that quality, if any.
    pub revised: Option<Revision>,
}

impl Learning {
    pub fn status(&self) -> LearningStatus {
        let learner = &self.learner;
        LearningStatus {
            on: learner.on,
            runs: learner.evidence_gate.runs.into(),
            open_runs: self.open_runs(),
            records: learner.evidence.uses.len(),
            cap: learner.cap_in_force(),
            evidence_t: learner.evidence_gate.t(),
            evidence_gate: learner.evidence_gate.open(),
            adapter_t: learner.adapter_gate.t(),
            adapter_gate: learner.adapter_gate.open(),
            consolidated_runs: learner.adapter.weights().runs,
            digest: self.digest(),
        }
    }

    /// An ended run; `None` for one no longer held.
    pub fn ended_run(&self, run_id: &str) -> Option<RunWent<'_>> {
        let number = self.trajectories.ended.get(run_id)?;
        let run = self.learner.journal.runs.get(*number)?;
        Some(RunWent::of(run))
    }
}

impl<'a> RunWent<'a> {
    fn of(run: &'a Run) -> Self {
        Self {
            run_id: &run.id,
            at: DateTime::from_timestamp_millis(run.at_ms).unwrap_or_default(),
            used: &run.used,
            quality: run.quality,
            expected: (run.baseline + run.evidence + run.adapter).clamp(0.0, 1.0),
            revised: run.revised,
        }
    }
}

impl Learner {
    /// Why `record`, with this vector, is adjusted for `query`: unit vectors.
    pub fn explain(&self, query: &[f32], record: RecordId, vector: Option<&[f32]>) -> Explained {
        let (evidence_gate, adapter_gate) = self.gates();
        let code = Code::of(query);
        let evidence = self.evidence.estimate(&self.journal, &code, record);
        let along = vector.map(|vector| self.adapter.along(vector));
        let adapter = self.adapter.worth(query, along.unwrap_or_default());
        let by_evidence = self.evidence(Some(query), &[record]);
        let by_adapter = self.correction(query).zip(vector);
        let moved = LearnedMove::within(
            self.cap(),
            self.gates(),
            by_evidence.first().copied().unwrap_or(0.0),
            by_adapter.map_or(0.0, |(by, vector)| dot(&by, vector)),
        );
        let runs = self.heaviest(&code, record).into_iter();
        let runs = runs.map(|part| ExplainedRun {
            run_id: part.run.id.clone(),
            similarity: part.similarity,
            quality: part.run.quality,
            expected: part.run.baseline,
            weight: part.weight,
        });
        Explained {
            learning: moved,
            adjustment: moved.adjustment,
            cap: self.cap_in_force(),
            evidence,
            evidence_gate,
            evidence_part: evidence_gate * EVIDENCE_WORTH * evidence,
            adapter,
            adapter_gate,
            adapter_part: adapter_gate * ADAPTER_WORTH * adapter,
            runs: runs.collect(),
        }
    }

    /// The runs held, newest first.
    pub fn ended_runs(&self) -> impl Iterator<Item = RunWent<'_>> {
        let runs = self.journal.runs.iter().rev();
        runs.map(|run| RunWent::of(run))
    }

    /// Outcomes of the runs that used a record; `None` without any.
    pub fn worked(&self, record: RecordId) -> Option<Worked> {
        let numbers = self.evidence.uses.get(record)?.iter();
        let runs = numbers.filter_map(|number| self.journal.runs.get(*number));
        let (runs, sum) = runs.fold((0, 0.0), |(count, sum), run| (count + 1, sum + run.quality));
        (runs > 0).then(|| Worked {
            runs,
            quality: sum / runs as f32,
        })
    }

    /// Quality and expected quality of the runs held, oldest first, for `learn plot`.
    pub fn curve(&self) -> impl Iterator<Item = (f32, f32)> {
        let runs = self.journal.runs.iter().filter(|run| !run.is_withdrawn());
        runs.map(|run| (run.quality, RunWent::of(run).expected))
    }

    /// The t values of both gates (evidence, adapter) after each of these runs, each taken with the
    /// quality that is in force for it now.
    pub fn gate_curve(&self) -> impl Iterator<Item = (f64, f64)> {
        let shut = (Gate::default(), Gate::default());
        self.journal
            .runs
            .iter()
            .filter(|run| !run.is_withdrawn())
            .scan(shut, |(evidence, adapter), run| {
                evidence.add(evidence_sample(run));
                adapter.add(adapter_sample(run));
                Some((evidence.t(), adapter.t()))
            })
    }
}
