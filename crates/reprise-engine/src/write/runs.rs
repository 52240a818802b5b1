//! What a batch says of runs: planned one after the other on a copy of the state, and the records
//! that judged runs leave.

use chrono::{DateTime, Utc};
use reprise_learn::{LearnError, Learning, Premises};
use reprise_types::{LearningEvent, MemoryRecord, MemorySource, RecordId, Revision, WriteOutcome};

use super::{Draft, LinkEnd, NewLink, Overheard, RunTurn, RunWrite};
use crate::engine::Engine;
use crate::naming::Batch;
use crate::outcome::is_quoted;

impl Engine {
    /// Plans what is said of runs, each thing after the ones before it; returns the state of
    /// learning then.
    pub(super) fn say(
        &self,
        learning: Vec<RunWrite>,
        draft: &mut Draft,
        fates: &mut Vec<Result<(), LearnError>>,
    ) -> Learning {
        let mut after = self.state.learning.clone();
        let mut sweeps = false;
        for one in learning {
            sweeps |= one.overheard.is_some();
            let fate = self.say_one(one, &mut after, draft);
            fates.push(fate);
        }
        if sweeps && let Some(latest) = after.latest_word() {
            // A log may hold runs that nobody ended.
            for event in after.sweep(latest) {
                after.fold(&event, &|_| true);
                draft.events.push(event);
            }
        }
        after
    }

    fn say_one(
        &self,
        one: RunWrite,
        after: &mut Learning,
        draft: &mut Draft,
    ) -> Result<(), LearnError> {
        let (snapshot, batch) = (&self.snapshot, &draft.batch);
        let is_there = |record| batch.get(record).is_some() || snapshot.is_there(record);
        let vector = |record, out: &mut [f32]| match batch.get(record) {
            Some(new) if new.embedding.len() == out.len() => {
                out.copy_from_slice(&new.embedding);
                true
            }
            Some(_) => false,
            None => snapshot.vector_of(record, out),
        };
        let premises = Premises {
            now: one.at,
            space: draft.space.as_ref(),
            live: &is_there,
            vector: &vector,
        };
        let overheard = one.overheard.is_some();
        let heard = |run_id: &str| match &one.overheard {
            Some(overheard) => self.credited(overheard, after, run_id),
            None => Vec::new(),
        };
        let mut judged = None;
        let mut events = match one.turn {
            RunTurn::Begin(mut run) => {
                if let (true, Some(asked)) = (overheard, &run.query) {
                    let recall = after.recalled_for(asked, one.at);
                    run.recall_id = recall.map(|receipt| receipt.recall_id);
                }
                after.begin(&run, premises)?
            }
            RunTurn::Step { mut step, result } => {
                if overheard && after.is_overheard(&step.run_id) {
                    step.used = heard(&step.run_id);
                }
                step.result = result.and_then(|end| draft.id(end));
                after.step(&step, premises)?
            }
            RunTurn::End(mut run) => {
                run.used.extend(heard(&run.run_id));
                judged = Some((run.run_id.clone(), None));
                after.end(&run, premises)?
            }
            RunTurn::Outcome {
                run,
                leaves,
                question,
            } => {
                judged = leaves.then(|| (run.begin.run_id.clone(), question));
                after.outcome(&run, premises)?
            }
            RunTurn::Revise {
                run_id,
                revision,
                quality,
            } => {
                let events = after.revise(&run_id, revision, quality, one.at)?;
                let judges = !events.is_empty() && revision != Revision::Withdrawn;
                judged = judges.then_some((run_id, None));
                events
            }
        };
        for event in &mut events {
            if let LearningEvent::Begun { overheard: of, .. } = event {
                *of = overheard;
            }
            after.fold(event, &is_there);
        }
        draft.events.extend(events);
        draft.judged.extend(judged);
        Ok(())
    }

    /// The records that get credit for what was overheard of a run.
    fn credited(&self, heard: &Overheard, after: &Learning, run_id: &str) -> Vec<RecordId> {
        // Words that look like ids, and ids of other memories, are passed over.
        let cited = heard.cited.iter().filter(|id| self.snapshot.is_live(**id));
        let mut cited: Vec<RecordId> = cited.copied().collect();
        let receipt = after.receipt_of(run_id);
        if let Some(returned) = receipt.map(|receipt| &receipt.records) {
            cited.retain(|record| returned.contains(record));
            let others = returned.iter().filter(|id| !cited.contains(id)).copied();
            let quoted = others.filter(|id| is_quoted(&self.snapshot, *id, &heard.said));
            let quoted: Vec<RecordId> = quoted.collect();
            cited.extend(quoted);
        }
        cited
    }

    /// Drafts the records that judged runs leave, each with links to what it tells of.
    pub(super) fn leave(&mut self, after: &Learning, now: DateTime<Utc>, draft: &mut Draft) {
        for (run_id, question) in std::mem::take(&mut draft.judged) {
            let Some(run) = after.ended_run(&run_id) else {
                continue;
            };
            let own = self.records_of(&run_id, &draft.batch);
            let Some(record) = self.outcome_of(&run, &own, question.as_deref(), &draft.batch)
            else {
                continue;
            };
            draft.known_at = self.advance_clock(now);
            let WriteOutcome::Inserted { id } = self.admit(record, draft) else {
                continue;
            };
            let made = LinkEnd::Kept(id);
            let sources = own.iter().map(|source| LinkEnd::Kept(source.id));
            let links = sources.map(|source| NewLink::distilled(made, source));
            draft.links.extend(links);
        }
    }

    /// The records of a run, oldest first, without what it left.
    fn records_of(&self, run_id: &str, batch: &Batch) -> Vec<MemoryRecord> {
        let places = self.snapshot.index.holding(&crate::names::of_run(run_id));
        let live = |ordinal: &u32| self.snapshot.live(*ordinal).is_some();
        let held = places.into_iter().filter(live);
        let held = held.filter_map(|ordinal| self.snapshot.record(ordinal, None).ok());
        let new = batch.kept.iter().cloned();
        let own = held.chain(new).filter(|record| {
            let of_it = record.provenance.run_id.as_deref() == Some(run_id);
            of_it && record.source != MemorySource::TrajectoryOutcome
        });
        own.collect()
    }
}
