//! Learning's part of the log, folded: the learner that recalls use, and the runs that teach it.
//!
//! What each event means. What a caller may say is decided in `learning/plan`, before anything is
//! written.

mod plan;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{Embedding, EndedRun, LearningEvent, Receipt, RecordId};

use crate::adapter::dot;
use crate::learner::Learner;
use crate::settings::LearnSettings;
use crate::trajectories::{OpenRun, Trajectories};

pub use plan::Premises;

/// Cosine from which on a run's question is a recall's.
const SAME_QUESTION: f32 = 0.98;
/// A recall this near to a run's beginning may be the one it works with.
const RECALLED_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// The fold of every [`LearningEvent`] of one log.
#[derive(Debug, Clone)]
pub struct Learning {
    pub(crate) learner: Arc<Learner>,
    pub(crate) trajectories: Trajectories,
}

impl Learning {
    /// Nothing learned yet, for vectors of this length, by the default settings.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self::with_settings(dimensions, LearnSettings::default())
    }

    /// Nothing learned yet, for vectors of this length.
    #[must_use]
    pub fn with_settings(dimensions: usize, settings: LearnSettings) -> Self {
        Self {
            learner: Learner::new(dimensions, settings).into(),
            trajectories: Trajectories::default(),
        }
    }

    /// The learner as of now, for readers: cheap to take, never changes.
    #[must_use]
    pub fn learner(&self) -> Arc<Learner> {
        Arc::clone(&self.learner)
    }

    /// Applies an event. `live` says whether a record is held and not forgotten: on a replay
    /// records may be gone that an event names.
    pub fn fold(&mut self, event: &LearningEvent, live: &dyn Fn(RecordId) -> bool) {
        match event {
            LearningEvent::Recalled(receipt) => {
                let mut receipt = receipt.clone();
                receipt.records.retain(|record| live(*record));
                self.trajectories.remember(receipt);
            }
            LearningEvent::Begun {
                run_id,
                at,
                query,
                recall_id,
            } => {
                let run = OpenRun {
                    last: *at,
                    query: query.clone(),
                    recall_id: *recall_id,
                    steps: 0,
                    used: Vec::new(),
                };
                self.trajectories.open.insert(run_id.clone(), run);
            }
            LearningEvent::Stepped {
                run_id, at, used, ..
            } => {
                if let Some(run) = self.trajectories.open.get_mut(run_id) {
                    run.last = run.last.max(*at);
                    run.steps += 1;
                    for record in used {
                        if live(*record) && !run.used.contains(record) {
                            run.used.push(*record);
                        }
                    }
                }
            }
            LearningEvent::Ended(ended) => self.fold_end(ended, live),
            LearningEvent::Revised {
                run_id,
                revision,
                quality,
                ..
            } => {
                if let Some(number) = self.trajectories.ended.get(run_id) {
                    Arc::make_mut(&mut self.learner).revise(*number, *revision, *quality);
                }
            }
            LearningEvent::Abandoned { run_id, .. } => {
                self.trajectories.open.remove(run_id);
            }
            LearningEvent::Consolidated(weights) => {
                Arc::make_mut(&mut self.learner).adopt(weights.as_ref().clone());
            }
            LearningEvent::Switched { on, .. } => Arc::make_mut(&mut self.learner).on = *on,
            LearningEvent::Reset { .. } => {
                let mut fresh = Learner::new(self.learner.dimensions, self.learner.settings);
                fresh.on = self.learner.on;
                self.learner = fresh.into();
                self.trajectories.ended.clear();
            }
            // Events of a later version mean nothing to this learner.
            _ => {}
        }
    }

    /// Drops what is known of a forgotten record.
    pub fn forget(&mut self, record: RecordId) {
        Arc::make_mut(&mut self.learner).forget(record);
        self.trajectories.strike(record);
    }

    /// Notes a record's vector.
    pub fn place(&mut self, record: RecordId, vector: &[f32]) {
        if !self.learner.adapter.is_empty() {
            Arc::make_mut(&mut self.learner).place(record, vector);
        }
    }

    /// Whether there are weights along which records are placed.
    #[must_use]
    pub fn has_weights(&self) -> bool {
        !self.learner.adapter.is_empty()
    }

    /// Puts in force, with its records placed, the adapter of a learner that was consolidated
    /// beside the writer.
    pub fn take_adapter(&mut self, consolidated: &Learner) {
        Arc::make_mut(&mut self.learner).adapter = Arc::clone(&consolidated.adapter);
    }

    /// Remembers what a recall returned, for as long as this process runs.
    pub fn remember(&mut self, receipt: Receipt) {
        self.trajectories.remember(receipt);
    }

    /// The receipt of a recall, where it is remembered.
    #[must_use]
    pub fn receipt(&self, recall_id: reprise_types::RecallId) -> Option<&Receipt> {
        self.trajectories.receipt(recall_id)
    }

    /// The settings it was made with.
    #[must_use]
    pub fn settings(&self) -> LearnSettings {
        self.learner.settings
    }

    /// The receipt of the recall that a run under way works with, where that is known.
    #[must_use]
    pub fn receipt_of(&self, run_id: &str) -> Option<&Receipt> {
        let run = self.trajectories.open.get(run_id)?;
        self.trajectories.receipt(run.recall_id?)
    }

    /// The newest receipt of a recall that asked just this, not long before `at`: for hosts that do
    /// not say which recall a run works with.
    #[must_use]
    pub fn recalled_for(&self, query: &Embedding, at: DateTime<Utc>) -> Option<&Receipt> {
        let receipts = self.trajectories.receipts();
        receipts.rev().find(|receipt| {
            let age = at.signed_duration_since(receipt.at);
            let asked = receipt.query.as_ref();
            let same = asked.filter(|asked| asked.space == query.space);
            age.abs() <= RECALLED_WITHIN
                && same.is_some_and(|asked| dot(&asked.vector, &query.vector) >= SAME_QUESTION)
        })
    }

    /// Finished runs learned from since the last reset.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.learner.journal.runs.next()
    }

    /// When a run last said something; `None` where none ever did.
    #[must_use]
    pub fn latest_word(&self) -> Option<DateTime<Utc>> {
        let ended = self.learner.journal.runs.last(1).next();
        let ended = ended.and_then(|run| DateTime::from_timestamp_millis(run.at_ms));
        let open = self.trajectories.open.values().map(|run| run.last).max();
        ended.max(open)
    }

    #[must_use]
    pub fn open_runs(&self) -> usize {
        self.trajectories.open.len()
    }

    fn fold_end(&mut self, ended: &EndedRun, live: &dyn Fn(RecordId) -> bool) {
        let begun = self.trajectories.open.remove(&ended.run_id);
        let query = ended
            .query
            .as_ref()
            .or(begun.as_ref().and_then(|run| run.query.as_ref()))
            .map(|query: &Embedding| query.vector.as_slice())
            .filter(|query| query.len() == self.learner.dimensions);
        let mut ended = ended.clone();
        ended.used.retain(|record| live(*record));
        let learner = Arc::make_mut(&mut self.learner);
        let number = learner.learn(&ended, query);
        let first = learner.journal.runs.first();
        let ids = &mut self.trajectories.ended;
        ids.insert(ended.run_id, number);
        // Ids of runs that made room are free again, once they are many.
        if ids.len() as u64 > 2 * (number + 1 - first) {
            ids.retain(|_, number| *number >= first);
        }
    }
}

#[cfg(test)]
mod tests;
