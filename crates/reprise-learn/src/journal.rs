//! The finished runs that the learner learns from.

use std::sync::Arc;

use reprise_types::{ChainStep, RecordId, Revision};

use crate::adapter::RANK;
use crate::code::Code;
use crate::cow::{CowMap, CowRow};
use crate::trajectories;

/// Runs held. Older ones are only in the log: they have no weight left.
const RUNS_MAX: usize = 20_000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) id: String,
    /// When it ended, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// Its query; all zeros where it has none.
    pub(crate) query: Code,
    pub(crate) used: Vec<RecordId>,
    /// What it did, where it said so.
    pub(crate) chain: Vec<ChainStep>,
    /// Its quality in force, 0..1.
    pub(crate) quality: f32,
    /// Whether the caller gave the quality.
    pub(crate) scored: bool,
    /// The revision behind the quality in force, if any.
    pub(crate) revised: Option<Revision>,
    /// Its weight: 1, less for implicit credit and for exogenous failures.
    pub(crate) weight: f32,
    /// Its expected quality whatever it used, 0..1.
    pub(crate) baseline: f32,
    /// Each learner's prediction, relative to the baseline.
    pub(crate) evidence: f32,
    pub(crate) adapter: f32,
    /// By how much its end turned the adapter's rows, as long as no fit came after it.
    pub(crate) turned: Option<[f32; RANK]>,
}

impl Run {
    /// Whether its outcome was taken back.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.revised == Some(Revision::Withdrawn)
    }

    /// Its quality minus the baseline, -1..1.
    pub(crate) fn advantage(&self) -> f32 {
        self.quality - self.baseline
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    pub(crate) runs: CowRow<Arc<Run>>,
    /// By record: the run of which it is a step's result.
    results: CowMap<u64>,
}

impl Journal {
    /// Adds a run and returns its number.
    pub(crate) fn push(&mut self, run: Run) -> u64 {
        let number = self.restore(run);
        self.runs.shrink_to(RUNS_MAX);
        number
    }

    /// Adds a run that was held before.
    pub(crate) fn restore(&mut self, mut run: Run) -> u64 {
        let (number, first) = (self.runs.next(), self.runs.first());
        for step in &mut run.chain {
            // A record is the result of one run.
            let of = |result: &RecordId| self.results.get(*result);
            step.result = step
                .result
                .filter(|result| of(result).is_none_or(|of| *of < first));
        }
        for result in run.chain.iter().filter_map(|step| step.result) {
            self.results.insert(result, number);
        }
        self.runs.push(Arc::new(run));
        number
    }

    /// The run for writing; `None` for one no longer held.
    pub(crate) fn change(&mut self, number: u64) -> Option<&mut Run> {
        self.runs.get_mut(number).map(Arc::make_mut)
    }

    /// Removes a record from the run of which it is a result.
    pub(crate) fn strike_result(&mut self, record: RecordId) {
        let Some(number) = self.results.get(record).copied() else {
            return;
        };
        self.results.remove(record);
        if let Some(run) = self.change(number) {
            trajectories::strike(&mut run.chain, record);
        }
    }

    /// Removes a record from every run that used it.
    pub(crate) fn strike(&mut self, record: RecordId) {
        let first = self.runs.first();
        let naming: Vec<u64> = self
            .runs
            .iter()
            .zip(first..)
            .filter(|(run, _)| run.used.contains(&record))
            .map(|(_, number)| number)
            .collect();
        for number in naming {
            if let Some(run) = self.change(number) {
                run.used.retain(|used| *used != record);
            }
        }
    }
}
