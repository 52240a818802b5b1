//! The finished runs that the learner learns from.

use std::sync::Arc;

use reprise_types::{ChainStep, OutcomeSummary, RecordId, Revision};

use crate::adapter::RANK;
use crate::cow::{CowMap, CowQueue};
use crate::quantized::QuantizedVector;
use crate::run_tracker;

/// Most runs in the journal. Older ones are only in the log because they have no weight left.
const RUNS_MAX: usize = 20_000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FinishedRun {
    pub(crate) id: String,
    /// When it ended, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// Its query; all zeros if it has none.
    pub(crate) query: QuantizedVector,
    pub(crate) used: Vec<RecordId>,
    /// Its steps, if it reported any.
    pub(crate) chain: Vec<ChainStep>,
    /// Its current quality, 0..1.
    pub(crate) quality: f32,
    /// Whether the caller gave the quality.
    pub(crate) scored: bool,
    /// The revision that set the current quality, if any.
    pub(crate) revision: Option<Revision>,
    /// Its weight: 1, or less for implicit credit and for exogenous failures.
    pub(crate) weight: f32,
    /// Its expected quality, whatever records it used, 0..1.
    pub(crate) baseline: f32,
    /// The evidence learner's prediction, relative to the baseline.
    pub(crate) evidence: f32,
    /// The adapter's prediction, relative to the baseline.
    pub(crate) adapter: f32,
    /// The step of the adapter that its end caused, per row; `None` after a later fit.
    pub(crate) adapter_step: Option<[f32; RANK]>,
}

reprise_types::impl_binary_codec! {
    FinishedRun {
        id, at_ms, query, used, chain, quality, scored, revision, weight, baseline, evidence,
        adapter, adapter_step
    }
}

impl FinishedRun {
    /// Whether its outcome was withdrawn.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.revision == Some(Revision::Withdrawn)
    }

    /// Whether it is a person's rating of one memory, and no run.
    pub(crate) fn is_rating(&self) -> bool {
        self.id.starts_with(OutcomeSummary::RATING_PREFIX)
    }

    /// Whether it counts as a run, with what came of it.
    pub(crate) fn is_counted(&self) -> bool {
        !self.is_withdrawn() && !self.is_rating()
    }

    /// Returns its quality minus the baseline, -1..1.
    pub(crate) fn advantage(&self) -> f32 {
        self.quality - self.baseline
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    pub(crate) runs: CowQueue<Arc<FinishedRun>>,
    /// The run that produced each record as the result of a step.
    results: CowMap<u64>,
}

impl Journal {
    /// Adds a run and returns its number.
    pub(crate) fn push(&mut self, run: FinishedRun) -> u64 {
        let number = self.restore(run);
        self.runs.shrink_to(RUNS_MAX);
        number
    }

    /// Adds a run without dropping older ones, as a restored journal needs it; returns its number.
    pub(crate) fn restore(&mut self, mut run: FinishedRun) -> u64 {
        let number = self.runs.next_number();
        self.claim_results(&mut run.chain, number);
        self.runs.push(Arc::new(run));
        number
    }

    /// Changes the chain of a run, if the journal still has it.
    pub(crate) fn change_chain(&mut self, number: u64, change: impl FnOnce(&mut Vec<ChainStep>)) {
        let Some(run) = self.run_mut(number) else {
            return;
        };
        let mut chain = std::mem::take(&mut run.chain);
        for result in chain.iter().filter_map(|step| step.result) {
            self.results.remove(result);
        }
        change(&mut chain);
        self.claim_results(&mut chain, number);
        if let Some(run) = self.run_mut(number) {
            run.chain = chain;
        }
    }

    /// Notes of which run the results of a chain are, without those of another run: a record is the
    /// result of one.
    fn claim_results(&mut self, chain: &mut [ChainStep], number: u64) {
        let first = self.runs.first_number();
        for step in &mut *chain {
            let of = |result: &RecordId| self.results.get(*result);
            step.result = step
                .result
                .filter(|result| of(result).is_none_or(|of| *of < first));
        }
        for result in chain.iter().filter_map(|step| step.result) {
            self.results.insert(result, number);
        }
    }

    /// Returns the run for writing; `None` if the journal no longer has it.
    pub(crate) fn run_mut(&mut self, number: u64) -> Option<&mut FinishedRun> {
        self.runs.get_mut(number).map(Arc::make_mut)
    }

    /// Removes a record from the run of which it is a result.
    pub(crate) fn remove_result(&mut self, record: RecordId) {
        let Some(number) = self.results.get(record).copied() else {
            return;
        };
        self.results.remove(record);
        if let Some(run) = self.run_mut(number) {
            run_tracker::remove_from_chain(&mut run.chain, record);
        }
    }

    /// Removes a record from every run that used it.
    pub(crate) fn remove_used_record(&mut self, record: RecordId) {
        let first = self.runs.first_number();
        let naming: Vec<u64> = self
            .runs
            .iter()
            .zip(first..)
            .filter(|(run, _)| run.used.contains(&record))
            .map(|(_, number)| number)
            .collect();
        for number in naming {
            if let Some(run) = self.run_mut(number) {
                run.used.retain(|used| *used != record);
            }
        }
    }
}
