//! The evidence learner: the quality of past runs with similar queries that used a record.
//!
//! `est(q, m) = sum K(q, qi) wi ai / (sum K(q, qi) wi + 0.3)` over the runs i that used m, where ai
//! is the run's quality minus the baseline of similar runs, and wi decays with every later use of
//! m, so that newer outcomes outweigh older ones and unused records keep their estimate.

use reprise_types::RecordId;

use crate::code::{Code, kernel};
use crate::cow::CowMap;
use crate::journal::{Journal, Run};

/// Shrinkage: the estimate is halved at this amount of evidence.
const SHRINK: f32 = 0.3;
/// Decay of a use's weight with every later use of the same record.
const DECAY: f32 = 0.8;
/// Uses kept per record; older ones have no weight left.
const USES_MAX: usize = 64;
/// Runs that the baseline covers.
const BASELINE_RUNS: usize = 768;
/// Weight of the overall mean in a baseline.
const BASELINE_SHRINK: f32 = 1.0;

#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// By record: numbers of the runs that used it, oldest first.
    pub(crate) uses: CowMap<Vec<u64>>,
}

/// One run's contribution to an estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) run: &'a Run,
    /// Cosine of its query with the given one.
    pub(crate) similarity: f32,
    pub(crate) weight: f32,
}

impl Evidence {
    pub(crate) fn add(&mut self, record: RecordId, run: u64) {
        let uses = self.uses.entry(record);
        if uses.last() == Some(&run) {
            return;
        }
        if uses.len() == USES_MAX {
            uses.remove(0);
        }
        uses.push(run);
    }

    /// Takes back that a run used a record.
    pub(crate) fn withdraw(&mut self, record: RecordId, run: u64) {
        let uses = self.uses.entry(record);
        uses.retain(|number| *number != run);
        if uses.is_empty() {
            self.uses.remove(record);
        }
    }

    /// Whether the record had any uses.
    pub(crate) fn forget(&mut self, record: RecordId) -> bool {
        let known = self.uses.get(record).is_some();
        self.uses.remove(record);
        known
    }

    /// The estimated advantage of runs with a query like `query` that used `record`, -1..1; exactly
    /// 0 without evidence.
    pub(crate) fn estimate(&self, journal: &Journal, query: &Code, record: RecordId) -> f32 {
        estimate(self.parts(journal, query, record))
    }

    /// The estimates of many records; each run's similarity is computed once.
    pub(crate) fn estimates(
        &self,
        journal: &Journal,
        query: &Code,
        records: &[RecordId],
    ) -> Vec<f32> {
        let first = journal.runs.first();
        let mut known = vec![f32::NAN; journal.runs.len()];
        let one = |record: &RecordId| {
            estimate(self.weighed(journal, *record, |number, run| {
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

    /// The runs behind an estimate, newest first.
    pub(crate) fn parts<'a>(
        &'a self,
        journal: &'a Journal,
        query: &'a Code,
        record: RecordId,
    ) -> impl Iterator<Item = Part<'a>> {
        self.weighed(journal, record, move |_, run| query.dot(&run.query))
    }

    /// The same, where `cosine` tells how like the given query that of a run is.
    fn weighed<'a>(
        &'a self,
        journal: &'a Journal,
        record: RecordId,
        mut cosine: impl FnMut(u64, &Run) -> f32,
    ) -> impl Iterator<Item = Part<'a>> {
        let uses = self.uses.get(record).map_or(&[][..], Vec::as_slice);
        let mut fresh = 1.0 / DECAY;
        uses.iter().rev().filter_map(move |number| {
            fresh *= DECAY;
            let run = journal.runs.get(*number)?;
            let similarity = cosine(*number, run);
            let weight = kernel(similarity) * run.weight * fresh;
            (weight > 0.0).then_some(Part {
                run,
                similarity,
                weight,
            })
        })
    }
}

fn estimate<'a>(parts: impl Iterator<Item = Part<'a>>) -> f32 {
    let (mut above, mut below) = (0.0_f32, SHRINK);
    for part in parts {
        above += part.weight * part.run.advantage();
        below += part.weight;
    }
    above / below
}

/// The expected quality of a run with this query, whatever it uses, 0..1.
pub(crate) fn baseline(journal: &Journal, query: Option<&Code>) -> f32 {
    let (mut sum, mut count, mut near, mut weight) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
    for run in journal.runs.last(BASELINE_RUNS) {
        sum += run.quality * run.weight;
        count += run.weight;
        if let Some(query) = query {
            let alike = kernel(query.dot(&run.query)) * run.weight;
            near += alike * run.quality;
            weight += alike;
        }
    }
    let overall = if count > 0.0 { sum / count } else { 0.5 };
    (near + BASELINE_SHRINK * overall) / (weight + BASELINE_SHRINK)
}
