//! The finished runs that teach, as the learner holds them.

use std::sync::Arc;

use reprise_types::{RecordId, Revision};

use crate::code::Code;
use crate::cow::CowRow;

/// Runs held. Older ones are in the log alone: they weigh nothing any more.
const RUNS_MAX: usize = 20_000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) id: String,
    /// When it ended, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// Its question; all zeros where it has none.
    pub(crate) query: Code,
    pub(crate) used: Vec<RecordId>,
    /// In force now, 0..1.
    pub(crate) quality: f32,
    /// Whether the caller gave the quality.
    pub(crate) scored: bool,
    /// What the quality in force rests on, where it was revised.
    pub(crate) revised: Option<Revision>,
    /// How much it teaches: 1, less for implicit credit and for failures from outside.
    pub(crate) weight: f32,
    /// What was expected of it whatever it used, 0..1.
    pub(crate) baseline: f32,
    /// What each learner expected beyond that.
    pub(crate) evidence: f32,
    pub(crate) adapter: f32,
}

impl Run {
    /// How much better than expected it went, -1..1.
    pub(crate) fn advantage(&self) -> f32 {
        self.quality - self.baseline
    }
}

/// The runs by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    pub(crate) runs: CowRow<Arc<Run>>,
}

impl Journal {
    /// Takes a run in; answers its number.
    pub(crate) fn push(&mut self, run: Run) -> u64 {
        let number = self.runs.next();
        self.runs.push(Arc::new(run));
        self.runs.shrink_to(RUNS_MAX);
        number
    }

    /// The run, to be changed; `None` for one no longer held.
    pub(crate) fn change(&mut self, number: u64) -> Option<&mut Run> {
        self.runs.get_mut(number).map(Arc::make_mut)
    }

    /// Takes a record out of every run that used it.
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
