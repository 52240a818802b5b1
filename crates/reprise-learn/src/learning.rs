//! The fold of the learning events of a log: the learner used by recalls, and the runs under way.
//!
//! Applies events. Requests are validated in `learning/plan` before anything is logged.

mod plan;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{Embedding, EmbeddingSpace, EndedRun, LearningEvent, Receipt, RecordId, dot};

use crate::code::Code;
use crate::learner::Learner;
use crate::settings::LearnSettings;
use crate::trajectories::{OpenRun, Trajectories};

pub use plan::Premises;

/// Cosine from which a run's query counts as that of a recall.
const SAME_QUESTION: f32 = 0.98;
/// Longest time from a recall to a run that works with it.
const RECALLED_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// The fold of every [`LearningEvent`] of one log.
#[derive(Debug, Clone)]
pub struct Learning {
    pub(crate) learner: Arc<Learner>,
    pub(crate) trajectories: Trajectories,
    /// The space of the questions that are compared; `None` compares them all.
    space: Option<EmbeddingSpace>,
}

impl Learning {
    /// An empty state for vectors of this length, with default settings.
    pub fn new(dimensions: usize) -> Self {
        Self::with_settings(dimensions, LearnSettings::default())
    }

    /// An empty state for vectors of this length.
    pub fn with_settings(dimensions: usize, settings: LearnSettings) -> Self {
        Self {
            learner: Learner::new(dimensions, settings).into(),
            trajectories: Trajectories::default(),
            space: None,
        }
    }

    /// Has it compare questions of this space alone, from now on: runs that asked in another one
    /// count, and are like none.
    pub fn keep_to(&mut self, space: Option<&EmbeddingSpace>) {
        self.space = space.cloned();
    }

    /// A question that can be compared here.
    fn own<'q>(&self, query: Option<&'q Embedding>) -> Option<&'q [f32]> {
        let own = |query: &&Embedding| self.space.as_ref().is_none_or(|own| *own == query.space);
        let query = query.filter(own)?.vector.as_slice();
        (query.len() == self.learner.dimensions).then_some(query)
    }

    /// Whether a fit of the adapter is due, and would be one of this space: the log says of which
    /// weights are by the run before them.
    pub fn needs_consolidation(&self) -> bool {
        !self.follows_a_foreign_run() && self.learner.needs_consolidation()
    }

    /// Whether the last run that had a question asked it in another space.
    fn follows_a_foreign_run(&self) -> bool {
        let mut runs = self.learner.journal.runs.iter().rev();
        let asked = runs.find(|run| run.query.scale() != 0.0);
        asked.is_some_and(|run| run.query.is_foreign())
    }

    /// An immutable snapshot of the learner. Cheap.
    pub fn learner(&self) -> Arc<Learner> {
        Arc::clone(&self.learner)
    }

    /// Applies an event. `live` says whether a record is held and not forgotten: on a replay
    /// records named by an event may be gone.
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
                overheard,
            } => {
                let run = OpenRun {
                    last: *at,
                    query: query.clone(),
                    recall_id: *recall_id,
                    steps: 0,
                    used: Vec::new(),
                    chain: Vec::new(),
                    overheard: *overheard,
                };
                self.trajectories.open.insert(run_id.clone(), run);
            }
            LearningEvent::Stepped {
                run_id,
                at,
                action,
                used,
                result,
            } => {
                if let Some(run) = self.trajectories.open.get_mut(run_id) {
                    run.last = run.last.max(*at);
                    run.steps += 1;
                    run.add(action, result.filter(|result| live(*result)));
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
            LearningEvent::Withdrawn { run_id, .. } => {
                if let Some(number) = self.trajectories.ended.get(run_id) {
                    Arc::make_mut(&mut self.learner).withdraw(*number);
                }
            }
            LearningEvent::Abandoned { run_id, .. } => {
                self.trajectories.open.remove(run_id);
            }
            // Weights speak of the vectors that they were fitted to.
            LearningEvent::Consolidated(done) if !self.follows_a_foreign_run() => {
                Arc::make_mut(&mut self.learner).adopt(done, live);
            }
            LearningEvent::Switched { on, .. } => Arc::make_mut(&mut self.learner).on = *on,
            LearningEvent::Reset { .. } => {
                let mut fresh = Learner::new(self.learner.dimensions, self.learner.settings);
                fresh.on = self.learner.on;
                self.learner = fresh.into();
                self.trajectories.ended.clear();
            }
            // Events of a later version are ignored, and weights of another space.
            _ => {}
        }
    }

    /// Removes a forgotten record.
    pub fn forget(&mut self, record: RecordId) {
        Arc::make_mut(&mut self.learner).forget(record);
        self.trajectories.strike(record);
    }

    /// Stores the receipt of a recall, in memory only.
    pub fn remember(&mut self, receipt: Receipt) {
        self.trajectories.remember(receipt);
    }

    /// The receipt of a recall, if still held.
    pub fn receipt(&self, recall_id: reprise_types::RecallId) -> Option<&Receipt> {
        self.trajectories.receipt(recall_id)
    }

    pub fn settings(&self) -> LearnSettings {
        self.learner.settings
    }

    /// The receipt of the recall that a run under way works with, if known.
    pub fn receipt_of(&self, run_id: &str) -> Option<&Receipt> {
        let run = self.trajectories.open.get(run_id)?;
        self.trajectories.receipt(run.recall_id?)
    }

    /// Whether a run under way was begun by what a relay heard.
    pub fn is_overheard(&self, run_id: &str) -> bool {
        let run = self.trajectories.open.get(run_id);
        run.is_some_and(|run| run.overheard)
    }

    /// The newest receipt of a recall with this query shortly before `at`, for hosts that do not
    /// name the recall of a run.
    pub fn recalled_for(&self, query: &Embedding, at: DateTime<Utc>) -> Option<&Receipt> {
        let receipts = self.trajectories.receipts.iter();
        receipts.rev().find(|receipt| {
            let age = at.signed_duration_since(receipt.at);
            let asked = receipt.query.as_ref();
            let same = asked.filter(|asked| asked.space == query.space);
            age.abs() <= RECALLED_WITHIN
                && same.is_some_and(|asked| dot(&asked.vector, &query.vector) >= SAME_QUESTION)
        })
    }

    /// Finished runs learned from since the last reset.
    pub fn runs(&self) -> u64 {
        self.learner.journal.runs.next()
    }

    /// The time of the last event of a run; `None` without any.
    pub fn latest_word(&self) -> Option<DateTime<Utc>> {
        let ended = self.learner.journal.runs.last(1).next();
        let ended = ended.and_then(|run| DateTime::from_timestamp_millis(run.at_ms));
        let open = self.trajectories.open.values().map(|run| run.last).max();
        ended.max(open)
    }

    pub fn open_runs(&self) -> usize {
        self.trajectories.open.len()
    }

    fn fold_end(&mut self, ended: &EndedRun, live: &dyn Fn(RecordId) -> bool) {
        let begun = self.trajectories.open.remove(&ended.run_id);
        let asked = ended.query.as_ref();
        let asked = asked.or(begun.as_ref().and_then(|run| run.query.as_ref()));
        let dimensions = self.learner.dimensions;
        let own = self.own(asked);
        let query = match (asked, own) {
            (_, Some(query)) => Code::of(query),
            (Some(_), None) => Code::foreign(dimensions),
            (None, None) => Code::of(&vec![0.0; dimensions]),
        };
        let own = own.map(<[f32]>::to_vec);
        let mut ended = ended.clone();
        ended.used.retain(|record| live(*record));
        let learner = Arc::make_mut(&mut self.learner);
        let chain = begun.map(|run| run.chain).unwrap_or_default();
        let number = learner.learn(&ended, query, own.as_deref(), chain);
        let first = learner.journal.runs.first();
        let ids = &mut self.trajectories.ended;
        ids.insert(ended.run_id, number);
        // Removes ids of dropped runs once they outnumber the held ones.
        if ids.len() as u64 > 2 * (number + 1 - first) {
            ids.retain(|_, number| *number >= first);
        }
    }
}

#[cfg(test)]
mod tests;
