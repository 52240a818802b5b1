//! The evidence learner: the quality of past runs with similar queries that used a record.
//!
//! `est(q, m) = sum K(q, qi) wi ai / (sum K(q, qi) wi + 0.3)` over the runs i that used m, where ai
//! is the run's quality minus the baseline of similar runs, and wi decays with every later use of
//! m, so that newer outcomes outweigh older ones and unused records keep their estimate.

use reprise_types::RecordId;

use crate::cow::CowMap;
use crate::journal::{FinishedRun, Journal};
use crate::quantized::{QuantizedVector, similarity_kernel};

/// Shrinkage: the estimate is halved at this amount of evidence.
const SHRINK: f32 = 0.3;
/// Decay of a use's weight with every later use of the same record.
const DECAY: f32 = 0.8;
/// Most uses stored per record; older ones have no weight left.
const USES_MAX: usize = 64;
/// Runs that the baseline covers.
pub(crate) const BASELINE_RUNS: usize = 768;
/// Weight of the overall mean in a baseline.
const BASELINE_SHRINK: f32 = 1.0;

#[derive(Debug, Clone, Default)]
pub(crate) struct EvidenceLearner {
    /// Numbers of the runs that used each record, oldest first. A record that any run in the
    /// journal names is there, also if all that count of its runs were withdrawn.
    pub(crate) uses: CowMap<Vec<u64>>,
}

/// Contribution of a run to an estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunContribution<'a> {
    pub(crate) run: &'a FinishedRun,
    /// Cosine of its query with the given one.
    pub(crate) similarity: f32,
    pub(crate) weight: f32,
}

impl EvidenceLearner {
    pub(crate) fn add_use(&mut self, record: RecordId, run: u64) {
        let uses = self.uses.entry_or_default(record);
        if uses.last() == Some(&run) {
            return;
        }
        if uses.len() == USES_MAX {
            uses.remove(0);
        }
        uses.push(run);
    }

    /// Removes a run from the uses of a record.
    pub(crate) fn remove_use(&mut self, record: RecordId, run: u64) {
        let uses = self.uses.entry_or_default(record);
        uses.retain(|number| *number != run);
    }

    /// Iterates over the records with evidence.
    pub(crate) fn iter_used(&self) -> impl Iterator<Item = (&RecordId, &Vec<u64>)> {
        self.uses.iter().filter(|(_, runs)| !runs.is_empty())
    }

    /// Removes a record, and returns whether any run may name it.
    pub(crate) fn remove_record(&mut self, record: RecordId) -> bool {
        let known = self.uses.get(record).is_some();
        self.uses.remove(record);
        known
    }

    /// Returns the estimated advantage of runs with a query like `query` that used `record`, -1..1;
    /// exactly 0 without evidence.
    pub(crate) fn estimate(
        &self,
        journal: &Journal,
        query: &QuantizedVector,
        record: RecordId,
    ) -> f32 {
        weighted_advantage(self.contributions(journal, query, record))
    }

    /// Returns the estimates of many records; the similarity of each run is computed once.
    pub(crate) fn estimate_all(
        &self,
        journal: &Journal,
        query: &QuantizedVector,
        records: &[RecordId],
    ) -> Vec<f32> {
        let first = journal.runs.first_number();
        let mut known = vec![f32::NAN; journal.runs.len()];
        let one = |record: &RecordId| {
            weighted_advantage(self.weigh_runs(journal, *record, |number, run| {
                let Some(known) = known.get_mut((number - first) as usize) else {
                    return query.dot(&run.query);
                };
                if known.is_nan() {
                    *known = query.dot(&run.query);
                }
                *known
            }))
        };
        records.iter().map(one).collect()
    }

    /// Iterates over the runs that contribute to an estimate, newest first.
    pub(crate) fn contributions<'a>(
        &'a self,
        journal: &'a Journal,
        query: &'a QuantizedVector,
        record: RecordId,
    ) -> impl Iterator<Item = RunContribution<'a>> {
        self.weigh_runs(journal, record, move |_, run| query.dot(&run.query))
    }

    /// Weighs the runs that used a record, newest first. `cosine` returns the similarity of a run's
    /// query with the given one, from the run's number and the run.
    fn weigh_runs<'a>(
        &'a self,
        journal: &'a Journal,
        record: RecordId,
        mut cosine: impl FnMut(u64, &FinishedRun) -> f32,
    ) -> impl Iterator<Item = RunContribution<'a>> {
        let uses = self.uses.get(record).map_or(&[][..], Vec::as_slice);
        let mut fresh = 1.0 / DECAY;
        uses.iter().rev().filter_map(move |number| {
            fresh *= DECAY;
            let run = journal.runs.get(*number)?;
            let similarity = cosine(*number, run);
            let weight = similarity_kernel(similarity) * run.weight * fresh;
            (weight > 0.0).then_some(RunContribution {
                run,
                similarity,
                weight,
            })
        })
    }
}

fn weighted_advantage<'a>(parts: impl Iterator<Item = RunContribution<'a>>) -> f32 {
    let (mut above, mut below) = (0.0_f32, SHRINK);
    for part in parts {
        above += part.weight * part.run.advantage();
        below += part.weight;
    }
    above / below
}

/// Returns the expected quality of a run with this query, whatever records it uses, 0..1.
pub(crate) fn baseline(journal: &Journal, query: Option<&QuantizedVector>) -> f32 {
    let (mut sum, mut count, mut near, mut weight) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
    for run in journal.runs.iter_last(BASELINE_RUNS) {
        sum += run.quality * run.weight;
        count += run.weight;
        if let Some(query) = query {
            let alike = similarity_kernel(query.dot(&run.query)) * run.weight;
            near += alike * run.quality;
            weight += alike;
        }
    }
    let overall = if count > 0.0 { sum / count } else { 0.5 };
    (near + BASELINE_SHRINK * overall) / (weight + BASELINE_SHRINK)
}
