//! The learner: journal, evidence, adapter, their gates and the cap, as one value.
//!
//! It is built from the log: equal events give an equal learner, bit for bit. Clones share
//! unchanged parts, so that each snapshot has one.

use std::sync::Arc;

use reprise_types::{
    AdapterFit, AdapterWeights, ChainStep, ContributingRun, Credit, EndedRun, LearningEngine,
    OutcomePrediction, RecordId, Revision, RunPattern,
};

use crate::adapter::Adapter;
use crate::adapter::fit::{self, FitRow};
use crate::evidence::{EvidenceLearner, RunContribution, baseline};
use crate::gate::{GateSample, PredictionGate};
use crate::journal::{FinishedRun, Journal};
use crate::quantized::{QuantizedVector, similarity_kernel};
use crate::run_tracker::{add_to_chain, remove_from_chain};
use crate::settings::LearnSettings;

/// Factor from the evidence learner's estimate to the score, which makes up for the shrinkage of
/// the estimate (chosen on seeds 1 to 8 of `eval learning`).
pub(crate) const EVIDENCE_WORTH: f32 = 1.2;
/// Factor from the adapter's estimate to the score.
pub(crate) const ADAPTER_WORTH: f32 = 0.6;
/// Successes, and as many failures, that count as seen before the first outcome of a run: one good
/// outcome moves its record by a fifth of what certainty would.
const OUTCOME_PRIOR: f32 = 1.0;
/// Cosine of query and outcome record from which on the outcome says something about the query.
const OUTCOME_COSINE: f32 = 0.2;
/// The initial cap.
pub(crate) const CAP_MIN: f32 = 0.05;
/// The cap after a gate was fully open for [`SUSTAINED_RUNS`] runs.
pub(crate) const CAP_MAX: f32 = 0.15;
/// Consecutive runs with an open gate that raise the cap to its maximum.
const SUSTAINED_RUNS: u32 = 60;
/// Runs before the first fit of the adapter, because fewer would fit the records of single runs.
const FIT_RUNS_MIN: u64 = 8;
/// Most runs between two fits, which are otherwise an eighth of those before the last fit.
const FIT_WAIT_MAX: u64 = 256;
/// Runs that a fit covers.
const FIT_RUNS: usize = 1_024;
/// Most runs named for one adjustment.
const TAUGHT_BY_MAX: usize = 5;

/// The learned state.
#[derive(Debug, Clone)]
pub struct Learner {
    pub(crate) dimensions: usize,
    pub(crate) settings: LearnSettings,
    pub(crate) enabled: bool,
    pub(crate) journal: Journal,
    pub(crate) evidence: EvidenceLearner,
    pub(crate) adapter: Adapter,
    pub(crate) evidence_gate: PredictionGate,
    pub(crate) adapter_gate: PredictionGate,
    /// Consecutive runs that ended with a gate fully open, up to [`SUSTAINED_RUNS`].
    pub(crate) open_streak: u32,
    /// The reasoning bank of the last fit.
    pub(crate) pattern_bank: Arc<[RunPattern]>,
}

impl Learner {
    /// Creates an empty learner for vectors of this length.
    pub fn new(dimensions: usize, settings: LearnSettings) -> Self {
        Self {
            dimensions,
            settings,
            enabled: true,
            journal: Journal::default(),
            evidence: EvidenceLearner::default(),
            adapter: Adapter::new(dimensions, AdapterWeights::default()),
            evidence_gate: PredictionGate::default(),
            adapter_gate: PredictionGate::default(),
            open_streak: 0,
            pattern_bank: Arc::default(),
        }
    }

    /// Predicts the outcome of a run with this query and these records. `vector` writes a record's
    /// vector and returns whether it has one.
    pub fn predict(
        &self,
        query: Option<&[f32]>,
        used: &[RecordId],
        vector: &dyn Fn(RecordId, &mut [f32]) -> bool,
    ) -> OutcomePrediction {
        let query = query.filter(|query| query.len() == self.dimensions);
        let code = query.map(QuantizedVector::from_vector);
        let mut expected = OutcomePrediction {
            baseline: baseline(&self.journal, code.as_ref()),
            ..OutcomePrediction::default()
        };
        if let (Some(query), Some(code), false) = (query, code, used.is_empty()) {
            let share = 1.0 / used.len() as f32;
            let mut buffer = vec![0.0; self.dimensions];
            for record in used {
                expected.evidence += share * self.evidence.estimate(&self.journal, &code, *record);
                if vector(*record, &mut buffer) {
                    let along = self.adapter.project_onto_rows(&buffer);
                    fit::add_scaled(&mut expected.adapter_projections, share, &along);
                }
            }
            expected.adapter = self.adapter.estimate(query, expected.adapter_projections);
        }
        expected
    }

    /// Adds a finished run, updates both gates, and lets the adapter take its step if `own`, the
    /// query's vector, can be compared here. Returns the run's number.
    pub(crate) fn add_run(
        &mut self,
        ended: &EndedRun,
        query: QuantizedVector,
        own: Option<&[f32]>,
        chain: Vec<ChainStep>,
    ) -> u64 {
        let credit = match ended.credit {
            Credit::Explicit => 1.0,
            Credit::Implicit => self.settings.implicit_weight(),
        };
        let outside = match ended.fail_kind {
            Some(kind) if kind.is_exogenous() => self.settings.exogenous_weight(),
            _ => 1.0,
        };
        let mut run = FinishedRun {
            id: ended.run_id.clone(),
            at_ms: ended.at.timestamp_millis(),
            query,
            used: ended.used.clone(),
            chain,
            quality: ended.quality,
            scored: ended.scored,
            revision: None,
            weight: credit * outside,
            baseline: ended.expected.baseline,
            evidence: ended.expected.evidence,
            adapter: ended.expected.adapter,
            adapter_step: None,
        };
        self.evidence_gate.add_run(evidence_sample(&run));
        self.adapter_gate.add_run(adapter_sample(&run));
        let open = self
            .evidence_gate
            .openness()
            .max(self.adapter_gate.openness());
        self.open_streak = if open >= 1.0 {
            (self.open_streak + 1).min(SUSTAINED_RUNS)
        } else {
            self.open_streak.saturating_sub(2)
        };
        if let Some(query) = own {
            let error = run.weight * (run.advantage() - run.adapter);
            run.adapter_step =
                self.adapter
                    .apply_step(query, ended.expected.adapter_projections, error);
        }
        let used = run.used.clone();
        let number = self.journal.push(run);
        for record in used {
            self.evidence.add_use(record, number);
        }
        number
    }

    /// Revises the quality of a run. Has no effect on a run that was withdrawn or is no longer in
    /// the journal, because one of two merged memories may still refer to it.
    pub fn revise_run(&mut self, number: u64, revision: Revision, quality: f32) {
        self.change_run(number, |run| {
            run.quality = quality;
            run.revision = Some(revision);
        });
    }

    /// Adds a step that became known after the run's end to its chain.
    pub(crate) fn add_late_step(&mut self, number: u64, action: &str, result: Option<RecordId>) {
        self.journal
            .change_chain(number, |chain| add_to_chain(chain, action, result));
    }

    /// Changes a run in the journal, and both gates with it; returns `None` if the run was
    /// withdrawn or is no longer there.
    fn change_run<T>(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut FinishedRun) -> T,
    ) -> Option<T> {
        let age = self.journal.runs.next_number().saturating_sub(number + 1);
        let run = self.journal.run_mut(number);
        let run = run.filter(|run| !run.is_withdrawn())?;
        let old = (evidence_sample(run), adapter_sample(run));
        let changed = change(run);
        let new = (evidence_sample(run), adapter_sample(run));
        self.evidence_gate.replace_run(old.0, new.0, age);
        self.adapter_gate.replace_run(old.1, new.1, age);
        Some(changed)
    }

    /// Removes the effects of a run: its evidence, its part of both gates, and its step of the
    /// adapter if no fit came after it. The next fit ignores it.
    pub fn withdraw_run(&mut self, number: u64) {
        let taken_back = self.change_run(number, |run| {
            run.weight = 0.0;
            run.revision = Some(Revision::Withdrawn);
            (run.adapter_step.take(), run.used.clone(), run.query.clone())
        });
        let Some((adapter_step, used, code)) = taken_back else {
            return;
        };
        for gate in [&mut self.evidence_gate, &mut self.adapter_gate] {
            gate.runs = gate.runs.saturating_sub(1);
        }
        for record in used {
            self.evidence.remove_use(record, number);
        }
        if let Some(by) = adapter_step {
            self.adapter.shift_rows(&code.to_vector(), by.map(|by| -by));
        }
    }

    /// Fits the adapter to the last runs and computes their reasoning bank. `vector` writes a
    /// record's vector and returns whether it has one. Slow: run it on a clone, off the writer's
    /// thread.
    pub fn fit_adapter(&self, vector: &dyn Fn(RecordId, &mut [f32]) -> bool) -> AdapterFit {
        let rows = self.collect_fit_rows(vector);
        let runs = self.journal.runs.next_number();
        AdapterFit {
            weights: fit::fit(&rows, self.adapter.weights(), self.dimensions, runs),
            patterns: self.cluster_runs(vector),
        }
    }

    /// Whether enough runs ended since the last fit.
    pub fn is_fit_due(&self) -> bool {
        let (now, then) = (self.journal.runs.next_number(), self.adapter.weights().runs);
        let wait = (then / 8).clamp(1, FIT_WAIT_MAX);
        now >= (then + wait).max(FIT_RUNS_MIN)
    }

    /// Applies a fit, without the records that are no longer live.
    pub(crate) fn apply_fit(&mut self, done: &AdapterFit, live: &dyn Fn(RecordId) -> bool) {
        self.adapter = Adapter::new(self.dimensions, done.weights.clone());
        // Runs that ended during the fit are not part of it, and it replaces the earlier steps of
        // the adapter.
        for number in self.journal.runs.first_number()..self.journal.runs.next_number() {
            let held = self.journal.runs.get(number);
            if held.is_some_and(|run| run.adapter_step.is_some())
                && let Some(run) = self.journal.run_mut(number)
            {
                run.adapter_step = None;
            }
        }
        let mut pattern_bank = done.patterns.clone();
        for pattern in &mut pattern_bank {
            pattern.records.retain(|record| live(*record));
            for step in &mut pattern.chain {
                step.result = step.result.filter(|result| live(*result));
            }
        }
        self.pattern_bank = pattern_bank.into();
    }

    /// Removes a forgotten record.
    pub fn forget_record(&mut self, record: RecordId) {
        // Every record of a run is known there, so one that is not is in no run.
        if self.evidence.remove_record(record) {
            self.journal.remove_used_record(record);
        }
        self.journal.remove_result(record);
        let names = |pattern: &RunPattern| {
            let result = |step: &ChainStep| step.result == Some(record);
            pattern.records.contains(&record) || pattern.chain.iter().any(result)
        };
        if self.pattern_bank.iter().any(names) {
            for pattern in Arc::make_mut(&mut self.pattern_bank) {
                pattern.records.retain(|used| *used != record);
                remove_from_chain(&mut pattern.chain, record);
            }
        }
    }

    /// Returns the runs behind a record's evidence, heaviest first; of equally heavy ones the newer
    /// first.
    pub(crate) fn heaviest_runs<'a>(
        &'a self,
        query: &'a QuantizedVector,
        record: RecordId,
    ) -> Vec<RunContribution<'a>> {
        let mut parts: Vec<_> = self
            .evidence
            .contributions(&self.journal, query, record)
            .collect();
        parts.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        parts
    }

    pub fn current_cap(&self) -> f32 {
        let share = self.open_streak as f32 / SUSTAINED_RUNS as f32;
        CAP_MIN + (CAP_MAX - CAP_MIN) * share
    }

    /// Collects the last runs as input of the fit: the records' vectors minus those of similar
    /// runs.
    fn collect_fit_rows(&self, vector: &dyn Fn(RecordId, &mut [f32]) -> bool) -> Vec<FitRow> {
        let mut rows = Vec::new();
        let mut codes = Vec::new();
        let mut buffer = vec![0.0; self.dimensions];
        for run in self.journal.runs.iter_last(FIT_RUNS) {
            if run.is_withdrawn() {
                continue;
            }
            let mut used = vec![0.0; self.dimensions];
            let mut count = 0.0_f32;
            for record in &run.used {
                if vector(*record, &mut buffer) {
                    fit::add_scaled(&mut used, 1.0, &buffer);
                    count += 1.0;
                }
            }
            if count > 0.0 && run.query.scale() > 0.0 {
                for x in &mut used {
                    *x /= count;
                }
                rows.push(FitRow {
                    query: run.query.to_vector(),
                    used,
                    advantage: run.quality,
                    weight: run.weight,
                });
                codes.push(run.query.clone());
            }
        }
        subtract_neighbourhood_means(&mut rows, &codes);
        rows
    }
}

impl LearningEngine for Learner {
    fn adjust(&self, query_vector: Option<&[f32]>, records: &[RecordId]) -> Vec<f32> {
        let gate = self.evidence_gate.openness();
        let query = query_vector.filter(|query| query.len() == self.dimensions);
        let Some(query) = query.filter(|_| self.enabled && gate > 0.0) else {
            return vec![0.0; records.len()];
        };
        let query = QuantizedVector::from_vector(query);
        let mut parts = self.evidence.estimate_all(&self.journal, &query, records);
        for part in &mut parts {
            *part *= gate * EVIDENCE_WORTH;
        }
        parts
    }

    fn query_correction(&self, query_vector: &[f32]) -> Option<Vec<f32>> {
        let gate = self.adapter_gate.openness();
        if !self.enabled || gate <= 0.0 {
            return None;
        }
        let mut correction = self.adapter.query_correction(query_vector)?;
        for number in &mut correction {
            *number *= gate * ADAPTER_WORTH;
        }
        Some(correction)
    }

    fn outcome_step(&self, quality: f32, cosine: f32) -> f32 {
        if !self.enabled || cosine < OUTCOME_COSINE {
            return 0.0;
        }
        // An outcome counts from the first on; how alike the query is decides how far.
        let nearness = ((cosine - OUTCOME_COSINE) / (1.0 - OUTCOME_COSINE)).min(1.0);
        let expected = (OUTCOME_PRIOR + quality) / (2.0 * OUTCOME_PRIOR + 1.0);
        (expected - 0.5) * 0.5 * (1.0 + nearness)
    }

    fn describe_chain(&self, query_vector: &[f32], runs: &[&str]) -> Option<String> {
        let is_own = self.enabled && query_vector.len() == self.dimensions;
        is_own
            .then(|| self.render_chain(query_vector, runs))
            .flatten()
    }

    fn adjustment_cap(&self) -> f32 {
        if self.enabled {
            self.current_cap()
        } else {
            0.0
        }
    }

    fn learner_gates(&self) -> (f32, f32) {
        (self.evidence_gate.openness(), self.adapter_gate.openness())
    }

    /// Returns the runs with most weight, heaviest first; none while the evidence learner's gate is
    /// closed.
    fn contributing_runs(
        &self,
        query_vector: Option<&[f32]>,
        record: RecordId,
    ) -> Vec<ContributingRun> {
        let query = query_vector.filter(|query| query.len() == self.dimensions);
        let Some(query) = query.filter(|_| self.enabled && self.evidence_gate.openness() > 0.0)
        else {
            return Vec::new();
        };
        let code = QuantizedVector::from_vector(query);
        let parts = self.heaviest_runs(&code, record).into_iter();
        let taught = parts.take(TAUGHT_BY_MAX).map(|part| ContributingRun {
            run_id: part.run.id.clone(),
            similarity: part.similarity,
            quality: part.run.quality,
        });
        taught.collect()
    }
}

/// Subtracts from every row the mean of its neighbourhood, in records used and in quality.
fn subtract_neighbourhood_means(rows: &mut [FitRow], codes: &[QuantizedVector]) {
    /// Weight of the overall mean in the mean of a neighbourhood.
    const SHRINK: f32 = 1.0;
    let Some(dimensions) = rows.first().map(|row| row.used.len()) else {
        return;
    };
    let count: f32 = rows.iter().map(|row| row.weight).sum::<f32>().max(1e-6);
    let mut mean = vec![0.0; dimensions];
    let mut quality = 0.0;
    for row in rows.iter() {
        quality += row.weight * row.advantage / count;
        for (mean, x) in mean.iter_mut().zip(&row.used) {
            *mean += row.weight * x / count;
        }
    }
    let raw: Vec<(Vec<f32>, f32)> = rows
        .iter()
        .map(|row| (row.used.clone(), row.advantage))
        .collect();
    for (index, row) in rows.iter_mut().enumerate() {
        let mut near: Vec<f32> = mean.iter().map(|x| SHRINK * x).collect();
        let (mut near_quality, mut total) = (SHRINK * quality, SHRINK);
        for (other, code) in codes.iter().enumerate() {
            let alike = similarity_kernel(codes[index].dot(code));
            if other != index && alike > 0.0 {
                fit::add_scaled(&mut near, alike, &raw[other].0);
                near_quality += alike * raw[other].1;
                total += alike;
            }
        }
        for (x, near) in row.used.iter_mut().zip(&near) {
            *x -= near / total;
        }
        row.advantage -= near_quality / total;
    }
}

pub(crate) fn evidence_sample(run: &FinishedRun) -> GateSample {
    GateSample {
        baseline: run.baseline,
        expected: run.evidence,
        quality: run.quality,
        weight: run.weight,
    }
}

pub(crate) fn adapter_sample(run: &FinishedRun) -> GateSample {
    GateSample {
        expected: run.adapter,
        ..evidence_sample(run)
    }
}
