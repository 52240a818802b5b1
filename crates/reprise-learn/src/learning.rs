//! The state from the learning events of a log: the learner that recalls use, and the runs in
//! progress.
//!
//! This file applies events. `learning/plan` validates requests before anything is logged.

mod plan;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{
    Embedding, EmbeddingSpace, EndedRun, LearningEvent, RecallReceipt, RecordId, dot,
};

use crate::learner::Learner;
use crate::quantized::QuantizedVector;
use crate::run_tracker::{OpenRun, RunTracker, remove_from_chain};
use crate::settings::LearnSettings;

pub use plan::LearningContext;

/// Cosine from which on a run's query counts as that of a recall.
const SAME_QUESTION: f32 = 0.98;
/// Longest time between a recall and a run that works with it.
const RECALLED_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// The learning state of one log, from every [`LearningEvent`] in it.
#[derive(Debug, Clone)]
pub struct OutcomeLearning {
    pub(crate) learner: Arc<Learner>,
    pub(crate) run_tracker: RunTracker,
    /// The space whose queries are compared; `None` compares all queries.
    space: Option<EmbeddingSpace>,
}

impl OutcomeLearning {
    /// Creates an empty state for vectors of this length, with default settings.
    pub fn new(dimensions: usize) -> Self {
        Self::with_settings(dimensions, LearnSettings::default())
    }

    /// Creates an empty state for vectors of this length, with these settings.
    pub fn with_settings(dimensions: usize, settings: LearnSettings) -> Self {
        Self {
            learner: Learner::new(dimensions, settings).into(),
            run_tracker: RunTracker::default(),
            space: None,
        }
    }

    /// Compares only queries of this space from now on. Runs with a query of another space still
    /// count, but are similar to no other run.
    pub fn compare_only_in(&mut self, space: Option<&EmbeddingSpace>) {
        self.space = space.cloned();
    }

    /// Returns the vector of a query if it can be compared here.
    fn comparable_vector<'q>(&self, query: Option<&'q Embedding>) -> Option<&'q [f32]> {
        let own = |query: &&Embedding| self.space.as_ref().is_none_or(|own| *own == query.space);
        let query = query.filter(own)?.vector.as_slice();
        (query.len() == self.learner.dimensions).then_some(query)
    }

    /// Whether a fit of the adapter is due, and would be one of this space, because the log tells
    /// the space of weights only by the run before them.
    pub fn is_fit_due(&self) -> bool {
        !self.last_run_is_foreign() && self.learner.is_fit_due()
    }

    /// Whether the last run with a query had one of another space.
    fn last_run_is_foreign(&self) -> bool {
        let mut runs = self.learner.journal.runs.iter().rev();
        let last_asking = runs.find(|run| run.query.scale() != 0.0);
        last_asking.is_some_and(|run| run.query.is_foreign())
    }

    /// Returns an immutable snapshot of the learner. Cheap.
    pub fn learner(&self) -> Arc<Learner> {
        Arc::clone(&self.learner)
    }

    /// Applies an event. `live` tells whether a record exists and is not forgotten, because on a
    /// replay the records of an event may be forgotten.
    pub fn apply_event(&mut self, event: &LearningEvent, live: &dyn Fn(RecordId) -> bool) {
        match event {
            LearningEvent::Recalled(receipt) => {
                let mut receipt = receipt.clone();
                receipt.records.retain(|record| live(*record));
                self.run_tracker.store_receipt(receipt);
            }
            LearningEvent::Begun {
                run_id,
                at,
                query,
                recall_id,
                use_is_inferred,
            } => {
                let run = OpenRun {
                    last_event_at: *at,
                    query: query.clone(),
                    recall_id: *recall_id,
                    steps: 0,
                    used: Vec::new(),
                    chain: Vec::new(),
                    use_is_inferred: *use_is_inferred,
                };
                self.run_tracker.open.insert(run_id.clone(), run);
            }
            LearningEvent::Stepped { .. } => self.apply_step(event, live),
            LearningEvent::Ended(ended) => self.apply_end(ended, live),
            LearningEvent::Revised {
                run_id,
                revision,
                quality,
                ..
            } => {
                if let Some(number) = self.run_tracker.ended.get(run_id) {
                    Arc::make_mut(&mut self.learner).revise_run(*number, *revision, *quality);
                }
            }
            LearningEvent::Withdrawn { run_id, .. } => {
                if let Some(number) = self.run_tracker.ended.get(run_id) {
                    Arc::make_mut(&mut self.learner).withdraw_run(*number);
                }
            }
            LearningEvent::Abandoned { run_id, .. } => {
                self.run_tracker.open.remove(run_id);
            }
            // Weights only apply to vectors of the space to which they were fitted.
            LearningEvent::AdapterFitted(done) if !self.last_run_is_foreign() => {
                Arc::make_mut(&mut self.learner).apply_fit(done, live);
            }
            LearningEvent::Switched { on, .. } => Arc::make_mut(&mut self.learner).enabled = *on,
            LearningEvent::Reset { .. } => {
                let mut fresh = Learner::new(self.learner.dimensions, self.learner.settings);
                fresh.enabled = self.learner.enabled;
                self.learner = fresh.into();
                self.run_tracker.ended.clear();
            }
            // Events of a later version and weights of another space are ignored.
            _ => {}
        }
    }

    /// Adds a step to its run, which may have ended.
    fn apply_step(&mut self, event: &LearningEvent, live: &dyn Fn(RecordId) -> bool) {
        let LearningEvent::Stepped {
            run_id,
            at,
            action,
            used,
            result,
        } = event
        else {
            return;
        };
        // A forgotten result takes the place of the one before it, too, and then goes.
        let gone = result.filter(|result| !live(*result));
        if let Some(run) = self.run_tracker.open.get_mut(run_id) {
            run.last_event_at = run.last_event_at.max(*at);
            run.steps += 1;
            run.add_step(action, *result);
            if let Some(gone) = gone {
                remove_from_chain(&mut run.chain, gone);
            }
            for record in used {
                if live(*record) && !run.used.contains(record) {
                    run.used.push(*record);
                }
            }
        } else if let Some(number) = self.run_tracker.ended.get(run_id) {
            let learner = Arc::make_mut(&mut self.learner);
            learner.add_late_step(*number, action, *result);
            if let Some(gone) = gone {
                learner.journal.remove_result(gone);
            }
        }
    }

    /// Removes a forgotten record.
    pub fn forget_record(&mut self, record: RecordId) {
        Arc::make_mut(&mut self.learner).forget_record(record);
        self.run_tracker.remove_record(record);
    }

    /// Stores the receipt of a recall, in memory only.
    pub fn store_receipt(&mut self, receipt: RecallReceipt) {
        self.run_tracker.store_receipt(receipt);
    }

    /// Returns the receipt of a recall, if it is still stored.
    pub fn find_receipt(&self, recall_id: reprise_types::RecallId) -> Option<&RecallReceipt> {
        self.run_tracker.find_receipt(recall_id)
    }

    pub fn settings(&self) -> LearnSettings {
        self.learner.settings
    }

    /// Returns the receipt of the recall that a run in progress works with, if known.
    pub fn receipt_of_open_run(&self, run_id: &str) -> Option<&RecallReceipt> {
        let run = self.run_tracker.open.get(run_id)?;
        self.run_tracker.find_receipt(run.recall_id?)
    }

    /// Whether a relay inferred the beginning of a run in progress.
    pub fn is_use_inferred(&self, run_id: &str) -> bool {
        let run = self.run_tracker.open.get(run_id);
        run.is_some_and(|run| run.use_is_inferred)
    }

    /// Finds the newest receipt of a recall with this query shortly before `at`, for hosts that do
    /// not name the recall of a run.
    pub fn find_matching_receipt(
        &self,
        query: &Embedding,
        at: DateTime<Utc>,
    ) -> Option<&RecallReceipt> {
        let receipts = self.run_tracker.receipts.iter();
        receipts.rev().find(|receipt| {
            let age = at.signed_duration_since(receipt.at);
            let recalled = receipt.query.as_ref();
            let recalled = recalled.filter(|recalled| recalled.space == query.space);
            age.abs() <= RECALLED_WITHIN
                && recalled
                    .is_some_and(|recalled| dot(&recalled.vector, &query.vector) >= SAME_QUESTION)
        })
    }

    /// Returns the count of finished runs since the last reset.
    pub fn run_count(&self) -> u64 {
        self.learner.journal.runs.next_number()
    }

    /// Returns the time of the last event of a run; `None` without any.
    pub fn last_event_at(&self) -> Option<DateTime<Utc>> {
        let ended = self.learner.journal.runs.iter_last(1).next();
        let ended = ended.and_then(|run| DateTime::from_timestamp_millis(run.at_ms));
        let open = self
            .run_tracker
            .open
            .values()
            .map(|run| run.last_event_at)
            .max();
        ended.max(open)
    }

    pub fn open_run_count(&self) -> usize {
        self.run_tracker.open.len()
    }

    fn apply_end(&mut self, ended: &EndedRun, live: &dyn Fn(RecordId) -> bool) {
        let begun = self.run_tracker.open.remove(&ended.run_id);
        let run_query = ended.query.as_ref();
        let run_query = run_query.or(begun.as_ref().and_then(|run| run.query.as_ref()));
        let dimensions = self.learner.dimensions;
        let own = self.comparable_vector(run_query);
        let query = match (run_query, own) {
            (_, Some(query)) => QuantizedVector::from_vector(query),
            (Some(_), None) => QuantizedVector::new_foreign(dimensions),
            (None, None) => QuantizedVector::from_vector(&vec![0.0; dimensions]),
        };
        let own = own.map(<[f32]>::to_vec);
        let mut ended = ended.clone();
        ended.used.retain(|record| live(*record));
        let learner = Arc::make_mut(&mut self.learner);
        let chain = begun.map(|run| run.chain).unwrap_or_default();
        let number = learner.add_run(&ended, query, own.as_deref(), chain);
        let first = learner.journal.runs.first_number();
        let ids = &mut self.run_tracker.ended;
        ids.insert(ended.run_id, number);
        // Removes the ids of dropped runs once they outnumber the runs in the journal.
        if ids.len() as u64 > 2 * (number + 1 - first) {
            ids.retain(|_, number| *number >= first);
        }
    }
}

#[cfg(test)]
mod tests;
