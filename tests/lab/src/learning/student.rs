//! The learners under evaluation: ours, by the same calls as the engine makes, and `ruvector-sona`
//! with its defaults.

use chrono::{DateTime, TimeDelta};
use reprise_learn::{LearningContext, OutcomeLearning};
use reprise_types::{
    Credit, Embedding, LearnedAdjustment, LearningEngine, LearningEvent, RecordId, RunBeginning,
    RunEnding, RunOutcome, dot,
};

use super::sona_baseline::SonaBaseline;
use super::world::{LearningWorld, to_memory, to_record_id};

pub(super) struct Student<'a> {
    world: &'a LearningWorld,
    learning: OutcomeLearning,
    shipped: SonaBaseline,
}

impl<'a> Student<'a> {
    pub(super) fn new(world: &'a LearningWorld) -> Self {
        let dimensions = usize::from(world.space.dimensions);
        Self {
            world,
            learning: OutcomeLearning::new(dimensions),
            shipped: SonaBaseline::new(dimensions),
        }
    }

    pub(super) fn learn(&mut self, run: usize, question: usize, used: &[usize], quality: f32) {
        let world = self.world;
        let run_id = format!("run-{run}");
        let outcome = RunOutcome {
            begin: RunBeginning {
                run_id: run_id.clone(),
                query: Some(Embedding {
                    space: world.space.clone(),
                    vector: world.questions[question].clone(),
                }),
                recall_id: None,
            },
            end: RunEnding {
                run_id,
                used: used.iter().map(|memory| to_record_id(*memory)).collect(),
                credit: Credit::Explicit,
                quality: Some(quality),
                fail_kind: None,
            },
        };
        let live = |record: RecordId| to_memory(record) < world.memories.len();
        let vector = |record: RecordId, out: &mut [f32]| {
            out.copy_from_slice(&world.memories[to_memory(record)]);
            true
        };
        let premises = LearningContext {
            now: DateTime::UNIX_EPOCH + TimeDelta::minutes(i64::from(run as u32)),
            space: Some(&world.space),
            is_live: &live,
            write_vector: &vector,
        };
        for event in self
            .learning
            .plan_outcome(&outcome, premises)
            .unwrap_or_default()
        {
            self.learning.apply_event(&event, &live);
        }
        if self.learning.learner().is_fit_due() {
            self.consolidate();
        }
        let mut mean = vec![0.0; world.questions[question].len()];
        for memory in used {
            for (mean, x) in mean.iter_mut().zip(&world.memories[*memory]) {
                *mean += x / used.len() as f32;
            }
        }
        let question = &world.questions[question];
        self.shipped.add_run(question, &mean, quality);
    }

    pub(super) fn apply_pending(&mut self) {
        self.consolidate();
        self.shipped.flush();
    }

    fn consolidate(&mut self) {
        let world = self.world;
        let vector = |record: RecordId, out: &mut [f32]| {
            out.copy_from_slice(&world.memories[to_memory(record)]);
            true
        };
        let weights = self.learning.learner().fit_adapter(&vector);
        let fitted = LearningEvent::AdapterFitted(weights.into());
        self.learning.apply_event(&fitted, &|_| true);
    }

    /// The candidates ranked by cosine plus adjustment, and the largest adjustment.
    pub(super) fn rank_adjusted(&self, question: usize) -> (Vec<usize>, f32) {
        let found = &self.world.found[question];
        let ids: Vec<RecordId> = found
            .iter()
            .map(|(memory, _)| to_record_id(*memory))
            .collect();
        let learner = self.learning.learner();
        let query = &self.world.questions[question];
        let (cap, gates) = (learner.adjustment_cap(), learner.learner_gates());
        let correction = learner.query_correction(query);
        let evidence = learner.adjust(Some(query), &ids);
        let moved = evidence
            .into_iter()
            .zip(found)
            .map(|(evidence, (memory, _))| {
                let record = &self.world.memories[*memory];
                let adapter = correction.as_ref().map_or(0.0, |by| dot(by, record));
                LearnedAdjustment::from_capped_parts(cap, gates, evidence, adapter).adjustment
            });
        let moved: Vec<f32> = moved.collect();
        let largest = moved
            .iter()
            .fold(0.0_f32, |most, moved| most.max(moved.abs()));
        let scored = found.iter().zip(moved);
        let scored = scored.map(|((memory, cosine), moved)| (*memory, cosine + moved));
        (sort_by_score(scored.collect()), largest)
    }

    /// The candidates ranked by cosine with the query as `ruvector-sona` adjusts it.
    pub(super) fn rank_by_sona(&self, question: usize) -> Vec<usize> {
        let moved = self.shipped.correct_query(&self.world.questions[question]);
        let cosine = |memory: usize| {
            let vector = &self.world.memories[memory];
            vector.iter().zip(&moved).map(|(a, b)| a * b).sum::<f32>()
        };
        let found = &self.world.found[question];
        sort_by_score(found.iter().map(|(m, _)| (*m, cosine(*m))).collect())
    }

    pub(super) fn cap(&self) -> f32 {
        self.learning.learner().adjustment_cap()
    }

    pub(super) fn gates(&self) -> (f32, f32) {
        self.learning.learner().learner_gates()
    }
}

/// Sorts by score, best first, stably; returns the memories.
fn sort_by_score(mut scored: Vec<(usize, f32)>) -> Vec<usize> {
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    scored.into_iter().map(|(memory, _)| memory).collect()
}
