//! Plans a batch's statements about runs one after the other on a copy of the state, and drafts the
//! outcome records of judged runs.

use chrono::{DateTime, Utc};
use reprise_learn::{LearnError, LearningContext, OutcomeLearning};
use reprise_types::{LearningEvent, MemoryRecord, MemorySource, RecordId, Revision, WriteOutcome};

use super::{Draft, InferredUse, LinkEnd, NewLink, RunAction, RunWrite};
use crate::engine::Engine;
use crate::write::identity::RecordBatch;
use crate::write::outcome::is_quoted;

impl Engine {
    /// Plans the statements about runs, each on top of those before it; returns the state of
    /// learning after them.
    pub(super) fn plan_run_events(
        &self,
        learning: Vec<RunWrite>,
        draft: &mut Draft,
        results: &mut Vec<Result<(), LearnError>>,
    ) -> OutcomeLearning {
        let mut after = self.state.learning.clone();
        let mut sweeps = false;
        for one in learning {
            sweeps |= one.inferred_use.is_some();
            let result = self.plan_run_event(one, &mut after, draft);
            results.push(result);
        }
        if sweeps && let Some(latest) = after.last_event_at() {
            // A log may hold runs that nobody ended.
            for event in after.plan_abandonments(latest) {
                after.apply_event(&event, &|_| true);
                draft.events.push(event);
            }
        }
        after
    }

    fn plan_run_event(
        &self,
        one: RunWrite,
        after: &mut OutcomeLearning,
        draft: &mut Draft,
    ) -> Result<(), LearnError> {
        let (snapshot, batch) = (&self.snapshot, &draft.batch);
        let is_stored = |record| batch.get(record).is_some() || snapshot.is_stored_id(record);
        let vector = |record, out: &mut [f32]| match batch.get(record) {
            Some(new) if new.embedding.len() == out.len() => {
                out.copy_from_slice(&new.embedding);
                true
            }
            Some(_) => false,
            None => snapshot.read_vector(record, out),
        };
        let context = LearningContext {
            now: one.at,
            space: draft.space.as_ref(),
            is_live: &is_stored,
            write_vector: &vector,
        };
        let is_inferred = one.inferred_use.is_some();
        let infer_used = |run_id: &str| match &one.inferred_use {
            Some(inferred) => self.credited_records(inferred, after, run_id),
            None => Vec::new(),
        };
        let mut judged = None;
        let mut events = match one.action {
            RunAction::Begin(mut run) => {
                if let (true, Some(query)) = (is_inferred, &run.query) {
                    let recall = after.find_matching_receipt(query, one.at);
                    run.recall_id = recall.map(|receipt| receipt.recall_id);
                }
                after.plan_begin(&run, context)?
            }
            RunAction::Step { mut step, result } => {
                if is_inferred && after.is_use_inferred(&step.run_id) {
                    step.used = infer_used(&step.run_id);
                }
                step.result = result.and_then(|end| draft.resolve_end(end));
                match after.plan_late_step(&step, context) {
                    late if is_inferred && !late.is_empty() => late,
                    _ => after.plan_step(&step, context)?,
                }
            }
            // The host has ended it; the log tells what the outcome record lacks.
            RunAction::End(run) if is_inferred && after.find_ended_run(&run.run_id).is_some() => {
                judged = Some((run.run_id, None));
                Vec::new()
            }
            RunAction::End(mut run) => {
                run.used.extend(infer_used(&run.run_id));
                judged = Some((run.run_id.clone(), None));
                after.plan_end(&run, context)?
            }
            RunAction::Outcome {
                run,
                leaves_record,
                question,
            } => {
                judged = leaves_record.then(|| (run.begin.run_id.clone(), question));
                after.plan_outcome(&run, context)?
            }
            RunAction::Revise {
                run_id,
                revision,
                quality,
            } => {
                let events = after.plan_revision(&run_id, revision, quality, one.at)?;
                let judges = !events.is_empty() && revision != Revision::Withdrawn;
                judged = judges.then_some((run_id, None));
                events
            }
        };
        for event in &mut events {
            if let LearningEvent::Begun {
                use_is_inferred, ..
            } = event
            {
                *use_is_inferred = is_inferred;
            }
            after.apply_event(event, &is_stored);
        }
        draft.events.extend(events);
        draft.judged_runs.extend(judged);
        Ok(())
    }

    /// Returns the records that get credit for what was observed of a run.
    fn credited_records(
        &self,
        inferred: &InferredUse,
        after: &OutcomeLearning,
        run_id: &str,
    ) -> Vec<RecordId> {
        // Words that look like ids, and ids of other memories, are skipped.
        let cited = inferred
            .cited
            .iter()
            .filter(|id| self.snapshot.is_live(**id));
        let mut cited: Vec<RecordId> = cited.copied().collect();
        let receipt = after.receipt_of_open_run(run_id);
        if let Some(returned) = receipt.map(|receipt| &receipt.records) {
            cited.retain(|record| returned.contains(record));
            let others = returned.iter().filter(|id| !cited.contains(id)).copied();
            let quoted = others.filter(|id| is_quoted(&self.snapshot, *id, &inferred.text));
            let quoted: Vec<RecordId> = quoted.collect();
            cited.extend(quoted);
        }
        cited
    }

    /// Drafts the outcome records of judged runs, each with links to the records that it is made
    /// of.
    pub(super) fn draft_outcome_records(
        &mut self,
        after: &OutcomeLearning,
        now: DateTime<Utc>,
        draft: &mut Draft,
    ) {
        for (run_id, question) in std::mem::take(&mut draft.judged_runs) {
            let Some(run) = after.find_ended_run(&run_id) else {
                continue;
            };
            let own = self.records_of_run(&run_id, &draft.batch);
            let Some(record) =
                self.draft_outcome_record(&run, &own, question.as_deref(), &draft.batch)
            else {
                continue;
            };
            draft.known_at = self.advance_clock(now);
            let WriteOutcome::Inserted { id } = self.check_and_add_to_draft(record, draft) else {
                continue;
            };
            let outcome = LinkEnd::Stored(id);
            let sources = own.iter().map(|source| LinkEnd::Stored(source.id));
            let links = sources.map(|source| NewLink::distilled_from(outcome, source));
            draft.links.extend(links);
        }
    }

    /// Returns the records of a run, oldest first, without its outcome record.
    fn records_of_run(&self, run_id: &str, batch: &RecordBatch) -> Vec<MemoryRecord> {
        let places = self
            .snapshot
            .index
            .find_exact_term(&reprise_rank::run_term(run_id));
        let live = |ordinal: &u32| self.snapshot.live_doc(*ordinal).is_some();
        let stored = places.into_iter().filter(live);
        let stored = stored.filter_map(|ordinal| self.snapshot.record(ordinal, None).ok());
        let new = batch.records.iter().cloned();
        let own = stored.chain(new).filter(|record| {
            let of_it = record.provenance.run_id.as_deref() == Some(run_id);
            of_it && record.source != MemorySource::TrajectoryOutcome
        });
        own.collect()
    }
}
