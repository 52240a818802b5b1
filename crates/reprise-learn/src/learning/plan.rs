//! Validates requests about runs and turns them into events.
//!
//! Changes no state: the caller logs the events, then folds them.

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::limits::{IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX};
use reprise_types::{
    Embedding, EmbeddingSpace, EndedRun, LearningEvent, RecallId, RecordId, Revision, RunBeginning,
    RunEnding, RunOutcome, RunStep, VectorError, check_unit_vector,
};

use super::OutcomeLearning;
use crate::error::{LearnError, LearnResult};
use crate::journal::FinishedRun;
use crate::quantized::QuantizedVector;
use crate::run_tracker::{OpenRun, RECEIPTS_MAX, STEPS_MAX};

/// Quality of a completed run without other information.
const COMPLETED_QUALITY: f32 = 0.8;
/// Quality of a run that failed.
const FAILED_QUALITY: f32 = 0.0;
/// Quality of a result that a person approved.
const APPROVED_QUALITY: f32 = 1.0;
/// Quality of a run whose request was repeated in other words.
const RETRIED_QUALITY: f32 = 0.4;
/// Quality of a run after which a related one succeeded.
const RELATED_QUALITY: f32 = 0.9;
/// Cosine from which two queries count as the same request.
const SAME_REQUEST: f32 = 0.75;
/// A run with the same request within this time after another's end is a retry.
const RETRY_WITHIN: TimeDelta = TimeDelta::minutes(10);
/// A success within this time raises earlier runs with the same request.
const RELATED_WITHIN: TimeDelta = TimeDelta::days(7);
/// Ended runs examined for both.
const RELATED_RUNS_MAX: usize = 256;
/// Longest action that a step keeps, in bytes.
const ACTION_BYTES_MAX: usize = 4_096;

/// State of the memory for which events are planned.
#[derive(Clone, Copy)]
pub struct LearningContext<'a> {
    /// The time of the events.
    pub now: DateTime<Utc>,
    /// The space of the memory's vectors; `None` before the first.
    pub space: Option<&'a EmbeddingSpace>,
    /// Whether a record exists and is not forgotten.
    pub is_live: &'a dyn Fn(RecordId) -> bool,
    /// Writes a record's vector; returns `false` if it has none.
    pub write_vector: &'a dyn Fn(RecordId, &mut [f32]) -> bool,
}

reprise_types::show_fields!(LearningContext<'_> { now, space });

impl OutcomeLearning {
    /// Plans the events of the beginning of a run.
    pub fn plan_begin(
        &self,
        beginning: &RunBeginning,
        context: LearningContext<'_>,
    ) -> LearnResult<Vec<LearningEvent>> {
        self.check_new_run_id(&beginning.run_id)?;
        let query = self.resolve_query(beginning, context)?;
        // Runs that never end must not block new ones, so the longest idle run is abandoned.
        let mut events = abandon_events(self.run_tracker.run_to_abandon(), context.now);
        events.extend(self.receipt_events(beginning.recall_id));
        if let Some(query) = &query {
            events.extend(self.revise_retried_runs(&query.vector, context.now));
        }
        events.push(LearningEvent::Begun {
            run_id: beginning.run_id.clone(),
            at: context.now,
            query,
            recall_id: beginning.recall_id,
            use_is_inferred: false,
        });
        Ok(events)
    }

    /// Plans the events of a step of a run.
    pub fn plan_step(
        &self,
        step: &RunStep,
        context: LearningContext<'_>,
    ) -> LearnResult<Vec<LearningEvent>> {
        let RunStep {
            run_id,
            action,
            used,
            result,
        } = step;
        let run = self.require_open_run(run_id)?;
        if run.steps >= STEPS_MAX {
            return Err(LearnError::TooManySteps {
                run_id: run_id.clone(),
                limit: STEPS_MAX,
            });
        }
        self.check_used(run_id, run.recall_id, used, context)?;
        let action = &action[..action.floor_char_boundary(ACTION_BYTES_MAX)];
        if let Some(record) = result.filter(|result| !(context.is_live)(*result)) {
            return Err(LearnError::UnknownRecord { record });
        }
        Ok(vec![LearningEvent::Stepped {
            run_id: run_id.clone(),
            at: context.now,
            action: action.to_owned(),
            used: used.clone(),
            result: *result,
        }])
    }

    /// Plans the events of a step that a log tells after the host ended the run: it belongs to the
    /// run's chain and gives no credit. A step without a new result is a repetition.
    pub fn plan_late_step(
        &self,
        step: &RunStep,
        context: LearningContext<'_>,
    ) -> Vec<LearningEvent> {
        let result = step.result.filter(|result| (context.is_live)(*result));
        if result.is_none() || !self.run_tracker.ended.contains_key(&step.run_id) {
            return Vec::new();
        }
        let action = &step.action[..step.action.floor_char_boundary(ACTION_BYTES_MAX)];
        vec![LearningEvent::Stepped {
            run_id: step.run_id.clone(),
            at: context.now,
            action: action.to_owned(),
            used: Vec::new(),
            result,
        }]
    }

    /// Plans the events of the end of a run.
    pub fn plan_end(
        &self,
        ending: &RunEnding,
        context: LearningContext<'_>,
    ) -> LearnResult<Vec<LearningEvent>> {
        let run = self.require_open_run(&ending.run_id)?;
        let mut used = run.used.clone();
        used.extend(&ending.used);
        let beginning = RunBeginning {
            run_id: ending.run_id.clone(),
            query: run.query.clone(),
            recall_id: run.recall_id,
        };
        let (mut ended, events) = self.build_ended_run(&beginning, ending, used, context)?;
        // The event of the beginning already has the query.
        ended.query = None;
        Ok([vec![LearningEvent::Ended(ended.into())], events].concat())
    }

    /// Plans the events of a run that is reported after its end.
    pub fn plan_outcome(
        &self,
        outcome: &RunOutcome,
        context: LearningContext<'_>,
    ) -> LearnResult<Vec<LearningEvent>> {
        self.check_new_run_id(&outcome.begin.run_id)?;
        let beginning = RunBeginning {
            query: self.resolve_query(&outcome.begin, context)?,
            ..outcome.begin.clone()
        };
        let used = outcome.end.used.clone();
        let (ended, events) = self.build_ended_run(&beginning, &outcome.end, used, context)?;
        let mut all = self.receipt_events(beginning.recall_id);
        all.push(LearningEvent::Ended(ended.into()));
        all.extend(events);
        Ok(all)
    }

    /// Plans the event of a revision; none if a stronger one was applied before. Only
    /// [`Revision::Scored`] uses `quality`.
    pub fn plan_revision(
        &self,
        run_id: &str,
        revision: Revision,
        quality: Option<f32>,
        now: DateTime<Utc>,
    ) -> LearnResult<Vec<LearningEvent>> {
        let quality = match revision {
            Revision::Approved => APPROVED_QUALITY,
            Revision::Retried => RETRIED_QUALITY,
            Revision::RelatedSucceeded => RELATED_QUALITY,
            Revision::Scored => quality.unwrap_or(f32::NAN),
            Revision::Withdrawn => FAILED_QUALITY,
        };
        check_quality(run_id, quality)?;
        if self.run_tracker.open.contains_key(run_id) {
            let run_id = run_id.to_owned();
            return Err(LearnError::StillOpen { run_id });
        }
        let number = self.run_tracker.ended.get(run_id);
        let Some(run) = number.and_then(|number| self.learner.journal.runs.get(*number)) else {
            let run_id = run_id.to_owned();
            return Err(LearnError::NotBegun { run_id });
        };
        if revision == Revision::Withdrawn && !run.is_withdrawn() {
            return Ok(vec![LearningEvent::Withdrawn {
                run_id: run.id.clone(),
                at: now,
            }]);
        }
        let known = if run.scored && !run.is_withdrawn() {
            revision_rank(Some(Revision::Scored))
        } else {
            revision_rank(run.revision)
        };
        // The revision was applied before, as happens when the host's log is replayed.
        let again = run.revision == Some(revision)
            && (run.is_withdrawn() || run.quality.to_bits() == quality.to_bits());
        Ok(if again || revision_rank(Some(revision)) < known {
            Vec::new()
        } else {
            vec![revision_event(run, now, revision, quality)]
        })
    }

    /// Plans the events that abandon every run idle for a day.
    pub fn plan_abandonments(&self, now: DateTime<Utc>) -> Vec<LearningEvent> {
        abandon_events(self.run_tracker.idle_runs(now), now)
    }

    fn build_ended_run(
        &self,
        beginning: &RunBeginning,
        ending: &RunEnding,
        mut used: Vec<RecordId>,
        context: LearningContext<'_>,
    ) -> LearnResult<(EndedRun, Vec<LearningEvent>)> {
        let run_id = &beginning.run_id;
        let natural = if ending.fail_kind.is_some() {
            FAILED_QUALITY
        } else {
            COMPLETED_QUALITY
        };
        let quality = ending.quality.unwrap_or(natural);
        check_quality(run_id, quality)?;
        let mut seen = Vec::new();
        used.retain(|record| {
            let new = !seen.contains(record);
            seen.push(*record);
            new
        });
        self.check_used(run_id, beginning.recall_id, &used, context)?;
        // A run that began with another model has a query of that model's space.
        let query = self.comparable_vector(beginning.query.as_ref());
        let related = match query {
            Some(query) if ending.fail_kind.is_none() && quality >= COMPLETED_QUALITY => {
                self.plan_revisions_of_similar_runs(query, context.now)
            }
            _ => Vec::new(),
        };
        let ended = EndedRun {
            run_id: run_id.clone(),
            at: context.now,
            recall_id: beginning.recall_id,
            query: beginning.query.clone(),
            expected: self.learner.predict(query, &used, context.write_vector),
            used,
            credit: ending.credit,
            quality,
            scored: ending.quality.is_some(),
            fail_kind: ending.fail_kind,
        };
        Ok((ended, related))
    }

    /// Builds the events that revise recently ended runs with an equal request, which this run
    /// retries.
    fn revise_retried_runs(&self, query: &[f32], now: DateTime<Utc>) -> Vec<LearningEvent> {
        let asks_again = |run: &FinishedRun| {
            let stronger = revision_rank(run.revision) >= revision_rank(Some(Revision::Retried));
            !run.scored && !stronger && run.quality > RETRIED_QUALITY
        };
        self.find_similar_runs(query, now, RETRY_WITHIN, asks_again)
            .map(|run| revision_event(run, now, Revision::Retried, RETRIED_QUALITY))
            .collect()
    }

    /// Builds the events that revise earlier runs with an equal request, after this success.
    fn plan_revisions_of_similar_runs(
        &self,
        query: &[f32],
        now: DateTime<Utc>,
    ) -> Vec<LearningEvent> {
        let waits = |run: &FinishedRun| {
            !run.scored && run.revision.is_none() && run.quality >= COMPLETED_QUALITY
        };
        self.find_similar_runs(query, now, RELATED_WITHIN, waits)
            .map(|run| revision_event(run, now, Revision::RelatedSucceeded, RELATED_QUALITY))
            .collect()
    }

    fn find_similar_runs(
        &self,
        query: &[f32],
        now: DateTime<Utc>,
        within: TimeDelta,
        wanted: impl Fn(&FinishedRun) -> bool,
    ) -> impl Iterator<Item = &FinishedRun> {
        let code = QuantizedVector::from_vector(query);
        let since = now.timestamp_millis() - within.num_milliseconds();
        let last = self.learner.journal.runs.iter_last(RELATED_RUNS_MAX);
        last.map(AsRef::as_ref).filter(move |run: &&FinishedRun| {
            run.at_ms >= since && wanted(run) && code.dot(&run.query) >= SAME_REQUEST
        })
    }

    /// Builds the event of a recall's receipt, which is logged with the first run that refers to
    /// it.
    fn receipt_events(&self, recall_id: Option<RecallId>) -> Vec<LearningEvent> {
        let receipt = recall_id.and_then(|id| self.run_tracker.find_receipt(id));
        receipt
            .map(|receipt| LearningEvent::Recalled(receipt.clone()))
            .into_iter()
            .collect()
    }

    /// Returns the run's validated query: its own, or that of its recall.
    fn resolve_query(
        &self,
        beginning: &RunBeginning,
        context: LearningContext<'_>,
    ) -> LearnResult<Option<Embedding>> {
        let run_id = &beginning.run_id;
        let receipt = match beginning.recall_id {
            Some(recall_id) => Some(self.run_tracker.find_receipt(recall_id).ok_or(
                LearnError::UnknownRecall {
                    recall_id,
                    limit: RECEIPTS_MAX,
                },
            )?),
            None => None,
        };
        let query = beginning
            .query
            .as_ref()
            .or(receipt.and_then(|receipt| receipt.query.as_ref()))
            .filter(|query| {
                beginning.query.is_some() || self.comparable_vector(Some(*query)).is_some()
            });
        let Some(query) = query else {
            return Ok(None);
        };
        check_unit_vector(&query.vector, self.learner.dimensions).map_err(
            |error: VectorError| LearnError::Query {
                run_id: run_id.clone(),
                error,
            },
        )?;
        match context.space {
            Some(space) if *space != query.space => Err(LearnError::OtherSpace {
                run_id: run_id.clone(),
                got: format!("{} {}", query.space.model, query.space.version),
                expected: format!("{} {}", space.model, space.version),
            }),
            _ => Ok(Some(query.clone())),
        }
    }

    fn require_open_run(&self, run_id: &str) -> LearnResult<&OpenRun> {
        let ended = self.run_tracker.ended.contains_key(run_id);
        self.run_tracker.open.get(run_id).ok_or_else(|| {
            let run_id = run_id.to_owned();
            if ended {
                LearnError::AlreadyEnded { run_id }
            } else {
                LearnError::NotBegun { run_id }
            }
        })
    }

    fn check_new_run_id(&self, run_id: &str) -> LearnResult<()> {
        if run_id.is_empty() || run_id.len() > IDENTIFIER_BYTES_MAX {
            return Err(LearnError::RunId {
                got: run_id.len(),
                limit: IDENTIFIER_BYTES_MAX,
            });
        }
        let run_id = run_id.to_owned();
        if self.run_tracker.open.contains_key(&run_id) {
            Err(LearnError::AlreadyBegun { run_id })
        } else if self.run_tracker.ended.contains_key(&run_id) {
            Err(LearnError::AlreadyEnded { run_id })
        } else {
            Ok(())
        }
    }

    fn check_used(
        &self,
        run_id: &str,
        recall_id: Option<RecallId>,
        used: &[RecordId],
        context: LearningContext<'_>,
    ) -> LearnResult<()> {
        if used.len() > LIST_ITEMS_MAX {
            return Err(LearnError::TooManyUsed {
                run_id: run_id.to_owned(),
                got: used.len(),
                limit: LIST_ITEMS_MAX,
            });
        }
        let receipt = recall_id.and_then(|id| self.run_tracker.find_receipt(id));
        for record in used {
            let record = *record;
            if !(context.is_live)(record) {
                return Err(LearnError::UnknownRecord { record });
            }
            if let Some(receipt) = receipt
                && !receipt.records.contains(&record)
            {
                let recall_id = receipt.recall_id;
                return Err(LearnError::NotRecalled { recall_id, record });
            }
        }
        Ok(())
    }
}

/// Returns the precedence of a revision: the stronger one wins, of equal ones the later.
fn revision_rank(revision: Option<Revision>) -> u8 {
    match revision {
        None => 0,
        Some(Revision::RelatedSucceeded) => 1,
        Some(Revision::Retried) => 2,
        Some(Revision::Approved | Revision::Scored) => 3,
        Some(Revision::Withdrawn) => 4,
    }
}

fn revision_event(
    run: &FinishedRun,
    at: DateTime<Utc>,
    revision: Revision,
    quality: f32,
) -> LearningEvent {
    LearningEvent::Revised {
        run_id: run.id.clone(),
        at,
        revision,
        quality,
    }
}

/// Builds the events that abandon these runs.
fn abandon_events<'a>(
    runs: impl IntoIterator<Item = &'a String>,
    at: DateTime<Utc>,
) -> Vec<LearningEvent> {
    let run_ids = runs.into_iter().cloned();
    run_ids
        .map(|run_id| LearningEvent::Abandoned { run_id, at })
        .collect()
}

fn check_quality(run_id: &str, quality: f32) -> LearnResult<()> {
    if (0.0..=1.0).contains(&quality) {
        return Ok(());
    }
    Err(LearnError::Quality {
        run_id: run_id.to_owned(),
        got: quality,
    })
}
