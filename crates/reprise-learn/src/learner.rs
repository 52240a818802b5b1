//! The learner: journal, evidence, adapter, their gates and the cap, as one value.
//!
//! A fold of the log: the same events give the same learner, bit for bit. Clones share what did not
//! change, so one is published with every snapshot.

use std::sync::Arc;

use reprise_types::{
    AdapterWeights, ChainStep, Consolidation, Credit, EndedRun, Expected, LearningEngine, RecordId,
    Revision, RunPattern, TaughtBy,
};

use crate::adapter::Adapter;
use crate::adapter::fit::{self, Row};
use crate::code::{Code, kernel};
use crate::evidence::{Evidence, Part, baseline};
use crate::gate::{Gate, Sample};
use crate::journal::{Journal, Run};
use crate::settings::LearnSettings;
use crate::trajectories::strike;

/// Factor from the evidence learner's estimate to the score: it is shrunk, a record's own part of a
/// run is more (chosen on seeds 1 to 8 of `eval learning`).
pub(crate) const EVIDENCE_WORTH: f32 = 1.2;
/// Factor from the adapter's estimate to the score.
pub(crate) const ADAPTER_WORTH: f32 = 0.6;
/// The initial cap.
pub(crate) const CAP_MIN: f32 = 0.05;
/// The cap after a gate was fully open for [`SUSTAINED_RUNS`].
pub(crate) const CAP_MAX: f32 = 0.15;
/// Consecutive runs with an open gate that raise the cap to its maximum.
const SUSTAINED_RUNS: u32 = 60;
/// Runs before the first fit of the adapter: fewer would fit the records of single runs.
const FIT_RUNS_MIN: u64 = 8;
/// Runs between two fits: an eighth of those before the last, at most so many.
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
    pub(crate) on: bool,
    pub(crate) journal: Journal,
    pub(crate) evidence: Evidence,
    pub(crate) adapter: Adapter,
    pub(crate) evidence_gate: Gate,
    pub(crate) adapter_gate: Gate,
    /// Consecutive runs that ended with a gate fully open, up to [`SUSTAINED_RUNS`].
    pub(crate) sustained: u32,
    /// The reasoning bank, as the last fit left it.
    pub(crate) bank: Arc<[RunPattern]>,
}

impl Learner {
    /// An empty learner for vectors of this length.
    pub fn new(dimensions: usize, settings: LearnSettings) -> Self {
        Self {
            dimensions,
            settings,
            on: true,
            journal: Journal::default(),
            evidence: Evidence::default(),
            adapter: Adapter::new(dimensions, AdapterWeights::default()),
            evidence_gate: Gate::default(),
            adapter_gate: Gate::default(),
            sustained: 0,
            bank: Arc::default(),
        }
    }

    /// The predictions for a run with this query and these records, whose vectors `vector` writes.
    pub fn expect(
        &self,
        query: Option<&[f32]>,
        used: &[RecordId],
        vector: &dyn Fn(RecordId, &mut [f32]) -> bool,
    ) -> Expected {
        let query = query.filter(|query| query.len() == self.dimensions);
        let code = query.map(Code::of);
        let mut expected = Expected {
            baseline: baseline(&self.journal, code.as_ref()),
            ..Expected::default()
        };
        if let (Some(query), Some(code), false) = (query, code, used.is_empty()) {
            let share = 1.0 / used.len() as f32;
            let mut buffer = vec![0.0; self.dimensions];
            for record in used {
                expected.evidence += share * self.evidence.estimate(&self.journal, &code, *record);
                if vector(*record, &mut buffer) {
                    let along = self.adapter.along(&buffer);
                    fit::add(&mut expected.along, share, &along);
                }
            }
            expected.adapter = self.adapter.worth(query, expected.along);
        }
        expected
    }

    /// Takes a finished run in, with its question as it can be compared here, and has the adapter
    /// take its step; answers the run's number.
    pub(crate) fn learn(
        &mut self,
        ended: &EndedRun,
        query: Code,
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
        let mut run = Run {
            id: ended.run_id.clone(),
            at_ms: ended.at.timestamp_millis(),
            query,
            used: ended.used.clone(),
            chain,
            quality: ended.quality,
            scored: ended.scored,
            revised: None,
            weight: credit * outside,
            baseline: ended.expected.baseline,
            evidence: ended.expected.evidence,
            adapter: ended.expected.adapter,
            turned: None,
        };
        self.evidence_gate.add(evidence_sample(&run));
        self.adapter_gate.add(adapter_sample(&run));
        let open = self.evidence_gate.open().max(self.adapter_gate.open());
        self.sustained = if open >= 1.0 {
            (self.sustained + 1).min(SUSTAINED_RUNS)
        } else {
            self.sustained.saturating_sub(2)
        };
        if let Some(query) = own {
            let error = run.weight * (run.advantage() - run.adapter);
            run.turned = self.adapter.step(query, ended.expected.along, error);
        }
        let used = run.used.clone();
        let number = self.journal.push(run);
        for record in used {
            self.evidence.add(record, number);
        }
        number
    }

    /// Revises the quality of a run; no effect on a run that is no longer held or was taken back:
    /// of two memories that were joined one may go on with it.
    pub fn revise(&mut self, number: u64, revision: Revision, quality: f32) {
        self.change(number, |run| {
            run.quality = quality;
            run.revised = Some(revision);
        });
    }

    /// Changes a run that is held and was not taken back, and both gates with it.
    fn change<T>(&mut self, number: u64, change: impl FnOnce(&mut Run) -> T) -> Option<T> {
        let age = self.journal.runs.next().saturating_sub(number + 1);
        let run = self.journal.change(number);
        let run = run.filter(|run| !run.is_withdrawn())?;
        let old = (evidence_sample(run), adapter_sample(run));
        let changed = change(run);
        let new = (evidence_sample(run), adapter_sample(run));
        self.evidence_gate.replace(old.0, new.0, age);
        self.adapter_gate.replace(old.1, new.1, age);
        Some(changed)
    }

    /// Takes back what a run taught: its evidence, its part of both gates, and its step of the
    /// adapter, where no fit came after it. The next fit leaves it out.
    pub fn withdraw(&mut self, number: u64) {
        let taken_back = self.change(number, |run| {
            run.weight = 0.0;
            run.revised = Some(Revision::Withdrawn);
            (run.turned.take(), run.used.clone(), run.query.clone())
        });
        let Some((turned, used, code)) = taken_back else {
            return;
        };
        for gate in [&mut self.evidence_gate, &mut self.adapter_gate] {
            gate.runs = gate.runs.saturating_sub(1);
        }
        for record in used {
            self.evidence.withdraw(record, number);
        }
        if let Some(by) = turned {
            self.adapter.turn(&code.decode(), by.map(|by| -by));
        }
    }

    /// Refits the adapter to the last runs and takes the reasoning bank from them. `vector` writes
    /// a record's vector and returns whether it has one. Slow: run it on a clone, off the writer's
    /// thread.
    pub fn consolidate(&self, vector: &dyn Fn(RecordId, &mut [f32]) -> bool) -> Consolidation {
        let rows = self.rows(vector);
        let runs = self.journal.runs.next();
        Consolidation {
            weights: fit::fit(&rows, self.adapter.weights(), self.dimensions, runs),
            patterns: self.find_patterns(),
        }
    }

    /// Whether enough runs ended since the last fit.
    pub fn needs_consolidation(&self) -> bool {
        let (now, then) = (self.journal.runs.next(), self.adapter.weights().runs);
        let wait = (then / 8).clamp(1, FIT_WAIT_MAX);
        now >= (then + wait).max(FIT_RUNS_MIN)
    }

    /// Puts a fit in force, as far as its records are there.
    pub(crate) fn adopt(&mut self, done: &Consolidation, live: &dyn Fn(RecordId) -> bool) {
        self.adapter = Adapter::new(self.dimensions, done.weights.clone());
        // What ended while it was fitted is not in it, and the steps before it are gone.
        for number in self.journal.runs.first()..self.journal.runs.next() {
            let held = self.journal.runs.get(number);
            if held.is_some_and(|run| run.turned.is_some())
                && let Some(run) = self.journal.change(number)
            {
                run.turned = None;
            }
        }
        let mut bank = done.patterns.clone();
        for pattern in &mut bank {
            pattern.records.retain(|record| live(*record));
            for step in &mut pattern.chain {
                step.result = step.result.filter(|result| live(*result));
            }
        }
        self.bank = bank.into();
    }

    /// Removes a forgotten record.
    pub fn forget(&mut self, record: RecordId) {
        // Every record of a run has evidence; without any it is in no run.
        if self.evidence.forget(record) {
            self.journal.strike(record);
        }
        self.journal.strike_result(record);
        let names = |pattern: &RunPattern| {
            let result = |step: &ChainStep| step.result == Some(record);
            pattern.records.contains(&record) || pattern.chain.iter().any(result)
        };
        if self.bank.iter().any(names) {
            for pattern in Arc::make_mut(&mut self.bank) {
                pattern.records.retain(|used| *used != record);
                strike(&mut pattern.chain, record);
            }
        }
    }

    /// The runs behind a record's evidence, the heaviest first, of equals the newer.
    pub(crate) fn heaviest<'a>(&'a self, query: &'a Code, record: RecordId) -> Vec<Part<'a>> {
        let mut parts: Vec<_> = self.evidence.parts(&self.journal, query, record).collect();
        parts.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        parts
    }

    pub fn cap_in_force(&self) -> f32 {
        let share = self.sustained as f32 / SUSTAINED_RUNS as f32;
        CAP_MIN + (CAP_MAX - CAP_MIN) * share
    }

    /// The last runs as input of the fit: the records' vectors minus those of similar runs.
    fn rows(&self, vector: &dyn Fn(RecordId, &mut [f32]) -> bool) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut codes = Vec::new();
        let mut buffer = vec![0.0; self.dimensions];
        for run in self.journal.runs.last(FIT_RUNS) {
            if run.is_withdrawn() {
                continue;
            }
            let mut used = vec![0.0; self.dimensions];
            let mut count = 0.0_f32;
            for record in &run.used {
                if self.evidence.uses.get(*record).is_some() && vector(*record, &mut buffer) {
                    fit::add(&mut used, 1.0, &buffer);
                    count += 1.0;
                }
            }
            if count > 0.0 && run.query.scale() > 0.0 {
                for x in &mut used {
                    *x /= count;
                }
                rows.push(Row {
                    query: run.query.decode(),
                    used,
                    advantage: run.quality,
                    weight: run.weight,
                });
                codes.push(run.query.clone());
            }
        }
        centre(&mut rows, &codes);
        rows
    }
}

impl LearningEngine for Learner {
    fn evidence(&self, query_vector: Option<&[f32]>, records: &[RecordId]) -> Vec<f32> {
        let gate = self.evidence_gate.open();
        let query = query_vector.filter(|query| query.len() == self.dimensions);
        let Some(query) = query.filter(|_| self.on && gate > 0.0) else {
            return vec![0.0; records.len()];
        };
        let query = Code::of(query);
        let mut parts = self.evidence.estimates(&self.journal, &query, records);
        for part in &mut parts {
            *part *= gate * EVIDENCE_WORTH;
        }
        parts
    }

    fn correction(&self, query_vector: &[f32]) -> Option<Vec<f32>> {
        let gate = self.adapter_gate.open();
        if !self.on || gate <= 0.0 {
            return None;
        }
        let mut correction = self.adapter.correction(query_vector)?;
        for number in &mut correction {
            *number *= gate * ADAPTER_WORTH;
        }
        Some(correction)
    }

    fn cap(&self) -> f32 {
        if self.on { self.cap_in_force() } else { 0.0 }
    }

    fn gates(&self) -> (f32, f32) {
        (self.evidence_gate.open(), self.adapter_gate.open())
    }

    /// The runs with most weight, heaviest first. None while the evidence learner's gate is closed.
    fn taught_by(&self, query_vector: Option<&[f32]>, record: RecordId) -> Vec<TaughtBy> {
        let query = query_vector.filter(|query| query.len() == self.dimensions);
        let Some(query) = query.filter(|_| self.on && self.evidence_gate.open() > 0.0) else {
            return Vec::new();
        };
        let code = Code::of(query);
        let parts = self.heaviest(&code, record).into_iter();
        let taught = parts.take(TAUGHT_BY_MAX).map(|part| TaughtBy {
            run_id: part.run.id.clone(),
            similarity: part.similarity,
            quality: part.run.quality,
        });
        taught.collect()
    }
}

/// Subtracts from every row the mean of its neighbourhood, in records used and in quality.
fn centre(rows: &mut [Row], codes: &[Code]) {
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
            let alike = kernel(codes[index].dot(code));
            if other != index && alike > 0.0 {
                fit::add(&mut near, alike, &raw[other].0);
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

pub(crate) fn evidence_sample(run: &Run) -> Sample {
    Sample {
        baseline: run.baseline,
        expected: run.evidence,
        quality: run.quality,
        weight: run.weight,
    }
}

pub(crate) fn adapter_sample(run: &Run) -> Sample {
    Sample {
        expected: run.adapter,
        ..evidence_sample(run)
    }
}
