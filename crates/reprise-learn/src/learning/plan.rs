//! Validates requests about runs and turns them into events.
//!
//! Changes no state: the caller logs the events, then folds them.

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::limits::{IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX};
use reprise_types::{
    Embedding, EmbeddingSpace, EndedRun, LearningEvent, RecallId, RecordId, Revision, RunBeginning,
    RunEnding, RunOutcome, RunStep, VectorError, check_unit_vector,
};

use super::Learning;
use crate::code::Code;
use crate::error::{LearnError, Result};
use crate::journal::Run;
use crate::trajectories::{OpenRun, RECEIPTS_MAX, STEPS_MAX};

/// Quality of a completed run without other information (M65).
const COMPLETED: f32 = 0.8;
/// Quality of a run that failed.
const FAILED: f32 = 0.0;
/// Quality of a result that a person approved.
const APPROVED: f32 = 1.0;
/// Quality of a run whose request was repeated in other words.
const RETRIED: f32 = 0.4;
/// Quality of a run after which a related one succeeded.
const RELATED: f32 = 0.9;
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

/// State of the memory that the events are for.
#[derive(Clone, Copy)]
pub struct Premises<'a> {
    /// The time of the events.
    pub now: DateTime<Utc>,
    /// The space of the memory's vectors; `None` before the first.
    pub space: Option<&'a EmbeddingSpace>,
    /// Whether a record is held and not forgotten.
    pub live: &'a dyn Fn(RecordId) -> bool,
    /// Writes a record's vector; `false` where it has none.
    pub vector: &'a dyn Fn(RecordId, &mut [f32]) -> bool,
}

reprise_types::show_fields!(Premises<'_> { now, space });

impl Learning {
    pub fn begin(
        &self,
        beginning: &RunBeginning,
        premises: Premises<'_>,
    ) -> Result<Vec<LearningEvent>> {
        self.check_new(&beginning.run_id)?;
        let query = self.question(beginning, premises)?;
        // Runs that are never ended must not block new ones: the one idle for longest is abandoned.
        let mut events = abandoned(self.trajectories.crowded_out(), premises.now);
        events.extend(self.receipt_event(beginning.recall_id));
        if let Some(query) = &query {
            events.extend(self.retries(&query.vector, premises.now));
        }
        events.push(LearningEvent::Begun {
            run_id: beginning.run_id.clone(),
            at: premises.now,
            query,
            recall_id: beginning.recall_id,
            overheard: false,
        });
        Ok(events)
    }

    pub fn step(&self, step: &RunStep, premises: Premises<'_>) -> Result<Vec<LearningEvent>> {
        let RunStep {
            run_id,
            action,
            used,
            result,
        } = step;
        let run = self.open_run(run_id)?;
        if run.steps >= STEPS_MAX {
            return Err(LearnError::TooManySteps {
                run_id: run_id.clone(),
                limit: STEPS_MAX,
            });
        }
        self.check_used(run_id, run.recall_id, used, premises)?;
        let action = &action[..action.floor_char_boundary(ACTION_BYTES_MAX)];
        if let Some(record) = result.filter(|result| !(premises.live)(*result)) {
            return Err(LearnError::UnknownRecord { record });
        }
        Ok(vec![LearningEvent::Stepped {
            run_id: run_id.clone(),
            at: premises.now,
            action: action.to_owned(),
            used: used.clone(),
            result: *result,
        }])
    }

    pub fn end(&self, ending: &RunEnding, premises: Premises<'_>) -> Result<Vec<LearningEvent>> {
        let run = self.open_run(&ending.run_id)?;
        let mut used = run.used.clone();
        used.extend(&ending.used);
        let beginning = RunBeginning {
            run_id: ending.run_id.clone(),
            query: run.query.clone(),
            recall_id: run.recall_id,
        };
        let (mut ended, events) = self.ended(&beginning, ending, used, premises)?;
        // The beginning already has it.
        ended.query = None;
        Ok([vec![LearningEvent::Ended(ended.into())], events].concat())
    }

    /// The events of a run that is reported after its end.
    pub fn outcome(
        &self,
        outcome: &RunOutcome,
        premises: Premises<'_>,
    ) -> Result<Vec<LearningEvent>> {
        self.check_new(&outcome.begin.run_id)?;
        let beginning = RunBeginning {
            query: self.question(&outcome.begin, premises)?,
            ..outcome.begin.clone()
        };
        let used = outcome.end.used.clone();
        let (ended, events) = self.ended(&beginning, &outcome.end, used, premises)?;
        let mut all = self.receipt_event(beginning.recall_id);
        all.push(LearningEvent::Ended(ended.into()));
        all.extend(events);
        Ok(all)
    }

    /// The event of a revision; none where a stronger one is in force. `quality` is used by
    /// [`Revision::Scored`] only.
    pub fn revise(
        &self,
        run_id: &str,
        revision: Revision,
        quality: Option<f32>,
        now: DateTime<Utc>,
    ) -> Result<Vec<LearningEvent>> {
        let quality = match revision {
            Revision::Approved => APPROVED,
            Revision::Retried => RETRIED,
            Revision::RelatedSucceeded => RELATED,
            Revision::Scored => quality.unwrap_or(f32::NAN),
            Revision::Withdrawn => FAILED,
        };
        check_quality(run_id, quality)?;
        if self.trajectories.open.contains_key(run_id) {
            let run_id = run_id.to_owned();
            return Err(LearnError::StillOpen { run_id });
        }
        let number = self.trajectories.ended.get(run_id);
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
            strength(Some(Revision::Scored))
        } else {
            strength(run.revised)
        };
        // The same revision again, as on a replay of the host's log.
        let again = run.revised == Some(revision)
            && (run.is_withdrawn() || run.quality.to_bits() == quality.to_bits());
        Ok(if again || strength(Some(revision)) < known {
            Vec::new()
        } else {
            vec![revised(run, now, revision, quality)]
        })
    }

    /// The events that abandon every run idle for a day.
    pub fn sweep(&self, now: DateTime<Utc>) -> Vec<LearningEvent> {
        abandoned(self.trajectories.stale(now), now)
    }

    fn ended(
        &self,
        beginning: &RunBeginning,
        ending: &RunEnding,
        mut used: Vec<RecordId>,
        premises: Premises<'_>,
    ) -> Result<(EndedRun, Vec<LearningEvent>)> {
        let run_id = &beginning.run_id;
        let natural = if ending.fail.is_some() {
            FAILED
        } else {
            COMPLETED
        };
        let quality = ending.quality.unwrap_or(natural);
        check_quality(run_id, quality)?;
        let mut seen = Vec::new();
        used.retain(|record| {
            let new = !seen.contains(record);
            seen.push(*record);
            new
        });
        self.check_used(run_id, beginning.recall_id, &used, premises)?;
        // What was begun under another model asked in its space.
        let query = self.own(beginning.query.as_ref());
        let related = match query {
            Some(query) if ending.fail.is_none() && quality >= COMPLETED => {
                self.related(query, premises.now)
            }
            _ => Vec::new(),
        };
        let ended = EndedRun {
            run_id: run_id.clone(),
            at: premises.now,
            recall_id: beginning.recall_id,
            query: beginning.query.clone(),
            expected: self.learner.expect(query, &used, premises.vector),
            used,
            credit: ending.credit,
            quality,
            scored: ending.quality.is_some(),
            fail_kind: ending.fail,
        };
        Ok((ended, related))
    }

    /// Revises recently ended runs with the same request, which this run retries.
    fn retries(&self, query: &[f32], now: DateTime<Utc>) -> Vec<LearningEvent> {
        let asks_again = |run: &Run| {
            let stronger = strength(run.revised) >= strength(Some(Revision::Retried));
            !run.scored && !stronger && run.quality > RETRIED
        };
        self.alike(query, now, RETRY_WITHIN, asks_again)
            .map(|run| revised(run, now, Revision::Retried, RETRIED))
            .collect()
    }

    /// Revises earlier runs with the same request, after this success.
    fn related(&self, query: &[f32], now: DateTime<Utc>) -> Vec<LearningEvent> {
        let waits = |run: &Run| !run.scored && run.revised.is_none() && run.quality >= COMPLETED;
        self.alike(query, now, RELATED_WITHIN, waits)
            .map(|run| revised(run, now, Revision::RelatedSucceeded, RELATED))
            .collect()
    }

    fn alike(
        &self,
        query: &[f32],
        now: DateTime<Utc>,
        within: TimeDelta,
        wanted: impl Fn(&Run) -> bool,
    ) -> impl Iterator<Item = &Run> {
        let code = Code::of(query);
        let since = now.timestamp_millis() - within.num_milliseconds();
        let last = self.learner.journal.runs.last(RELATED_RUNS_MAX);
        last.map(AsRef::as_ref).filter(move |run: &&Run| {
            run.at_ms >= since && wanted(run) && code.dot(&run.query) >= SAME_REQUEST
        })
    }

    /// The receipt is logged with the first run that refers to it.
    fn receipt_event(&self, recall_id: Option<RecallId>) -> Vec<LearningEvent> {
        let receipt = recall_id.and_then(|id| self.trajectories.receipt(id));
        receipt
            .map(|receipt| LearningEvent::Recalled(receipt.clone()))
            .into_iter()
            .collect()
    }

    /// The run's validated query: its own, or that of its recall.
    fn question(
        &self,
        beginning: &RunBeginning,
        premises: Premises<'_>,
    ) -> Result<Option<Embedding>> {
        let run_id = &beginning.run_id;
        let receipt = match beginning.recall_id {
            Some(recall_id) => Some(self.trajectories.receipt(recall_id).ok_or(
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
            .filter(|query| beginning.query.is_some() || self.own(Some(*query)).is_some());
        let Some(query) = query else {
            return Ok(None);
        };
        check_unit_vector(&query.vector, self.learner.dimensions).map_err(
            |error: VectorError| LearnError::Query {
                run_id: run_id.clone(),
                error,
            },
        )?;
        match premises.space {
            Some(space) if *space != query.space => Err(LearnError::OtherSpace {
                run_id: run_id.clone(),
                got: format!("{} {}", query.space.model, query.space.version),
                expected: format!("{} {}", space.model, space.version),
            }),
            _ => Ok(Some(query.clone())),
        }
    }

    fn open_run(&self, run_id: &str) -> Result<&OpenRun> {
        let ended = self.trajectories.ended.contains_key(run_id);
        self.trajectories.open.get(run_id).ok_or_else(|| {
            let run_id = run_id.to_owned();
            if ended {
                LearnError::AlreadyEnded { run_id }
            } else {
                LearnError::NotBegun { run_id }
            }
        })
    }

    fn check_new(&self, run_id: &str) -> Result<()> {
        if run_id.is_empty() || run_id.len() > IDENTIFIER_BYTES_MAX {
            return Err(LearnError::RunId {
                got: run_id.len(),
                limit: IDENTIFIER_BYTES_MAX,
            });
        }
        let run_id = run_id.to_owned();
        if self.trajectories.open.contains_key(&run_id) {
            Err(LearnError::AlreadyBegun { run_id })
        } else if self.trajectories.ended.contains_key(&run_id) {
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
        premises: Premises<'_>,
    ) -> Result<()> {
        if used.len() > LIST_ITEMS_MAX {
            return Err(LearnError::TooManyUsed {
                run_id: run_id.to_owned(),
                got: used.len(),
                limit: LIST_ITEMS_MAX,
            });
        }
        let receipt = recall_id.and_then(|id| self.trajectories.receipt(id));
        for record in used {
            let record = *record;
            if !(premises.live)(record) {
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

/// Precedence of revisions: the stronger holds, of equals the later.
fn strength(revision: Option<Revision>) -> u8 {
    match revision {
        None => 0,
        Some(Revision::RelatedSucceeded) => 1,
        Some(Revision::Retried) => 2,
        Some(Revision::Approved | Revision::Scored) => 3,
        Some(Revision::Withdrawn) => 4,
    }
}

fn revised(run: &Run, at: DateTime<Utc>, revision: Revision, quality: f32) -> LearningEvent {
    LearningEvent::Revised {
        run_id: run.id.clone(),
        at,
        revision,
        quality,
    }
}

/// Events that abandon these runs.
fn abandoned<'a>(
    runs: impl IntoIterator<Item = &'a String>,
    at: DateTime<Utc>,
) -> Vec<LearningEvent> {
    let gone = runs.into_iter().cloned();
    gone.map(|run_id| LearningEvent::Abandoned { run_id, at })
        .collect()
}

fn check_quality(run_id: &str, quality: f32) -> Result<()> {
    if (0.0..=1.0).contains(&quality) {
        return Ok(());
    }
    Err(LearnError::Quality {
        run_id: run_id.to_owned(),
        got: quality,
    })
}
