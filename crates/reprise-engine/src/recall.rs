//! The read flow: plan, look-ups, candidates, signals, fuse, (learned) adjustment, diversity,
//! explain, answer. What only asks is no candidate: it leads to what followed it.
//!
//! A pure function of snapshot, question, query vector and learner: the same arguments give the
//! same answer, bit for bit.

mod ablation;
mod answer;
mod candidates;
mod contrary;
mod diversify;
mod elsewhere;
mod explain;
mod fuse;
mod kinds;
mod languages;
mod leads;
mod lookup;
mod notes;
mod plan;
mod question;
mod reason;
mod scale;
mod scene;
mod second;
mod signals;
mod wanted;
mod weights;
mod when;

#[cfg(test)]
mod tests;

use std::sync::Mutex;

use reprise_types::{
    Degraded, EmbeddingSpace, LearningEngine, Recall, RecallId, RecallRequest, lock,
};

pub use ablation::{Ablation, UnknownSignal};
pub use answer::{decide, without_sensitive};
pub use elsewhere::{Elsewhere, Spread, Testimony, Weighed};
pub use question::{question_vector, subject};
pub use second::{judged, with_wordings};

use crate::snapshot::Snapshot;
use contrary::Contrary;
use explain::Raised;
use fuse::Fusion;
use leads::Leads;
use lookup::Lookup;
use plan::Plan;
pub(crate) use reason::NOTHING_SPEAKS;
use scene::Scene;
pub(crate) use scene::dialogue;

/// Buffers, lent again and again: a recall allocates nothing per candidate.
#[derive(Debug, Default)]
struct Scratch {
    search: candidates::Scratch,
    looked_at: Vec<scene::Candidate>,
    ranked: Vec<fuse::Scored>,
}

/// Buffers that no recall uses now: as many as ran at once, however many threads they ran on.
static IDLE: Mutex<Vec<Scratch>> = Mutex::new(Vec::new());
/// Beyond these they are given back.
const IDLE_MAX: usize = 8;

/// Runs `work` with buffers of its own.
fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let idle = || lock(&IDLE);
    let mut scratch = idle().pop().unwrap_or_default();
    let answer = work(&mut scratch);
    let mut idle = idle();
    if idle.len() < IDLE_MAX {
        idle.push(scratch);
    }
    answer
}

impl Snapshot {
    /// Answers one question. `query_vector` is the unit vector of the question's [`subject`] with
    /// its space; without one, or with one of another space, words and context answer and
    /// `degraded` says so.
    #[must_use]
    pub fn recall(
        &self,
        request: &RecallRequest,
        query_vector: Option<(&EmbeddingSpace, &[f32])>,
        recall_id: RecallId,
        learning: &dyn LearningEngine,
    ) -> Recall {
        let all = Ablation::default();
        self.recall_with(request, query_vector, recall_id, learning, &all)
    }

    /// The same with the question's vector in several spaces: while vectors are made anew, what
    /// still has one of [`Self::other_spaces`] is compared there, and nowhere else.
    #[must_use]
    pub fn recall_in(
        &self,
        request: &RecallRequest,
        query_vectors: &[(&EmbeddingSpace, &[f32])],
        recall_id: RecallId,
        learning: &dyn LearningEngine,
    ) -> Recall {
        let all = Ablation::default();
        self.answer(request, query_vectors, recall_id, learning, &all)
    }

    /// As [`Self::recall`], with some signals left out.
    #[must_use]
    pub fn recall_with(
        &self,
        request: &RecallRequest,
        query_vector: Option<(&EmbeddingSpace, &[f32])>,
        recall_id: RecallId,
        learning: &dyn LearningEngine,
        ablation: &Ablation,
    ) -> Recall {
        let vectors = query_vector.as_slice();
        self.answer(request, vectors, recall_id, learning, ablation)
    }

    fn answer(
        &self,
        request: &RecallRequest,
        query_vectors: &[(&EmbeddingSpace, &[f32])],
        recall_id: RecallId,
        learning: &dyn LearningEngine,
        ablation: &Ablation,
    ) -> Recall {
        let plan = Plan::new(self, request, query_vectors).moved(self, learning);
        with_scratch(|scratch| {
            let Scratch {
                search,
                looked_at,
                ranked,
            } = scratch;
            let look_up = || Lookup::read(self, &plan, request);
            let (found, mut lookup) = candidates::run(self, &plan, look_up, search);
            let mut scene = Scene::new(self, &plan, &found);
            scene.look(found.ordinals, looked_at);
            let leads = Leads::taken_from(&scene, looked_at);
            let mut fusion = Fusion::new(ablation);
            fuse::run(
                &scene,
                looked_at,
                &leads,
                &mut fusion,
                (plan.ranked, found.kept),
                ranked,
            );
            lookup.raise(ranked);
            let mut contrary = Contrary::among(self, &plan, ranked);
            contrary.raise(ranked);
            let raised = Raised {
                lookup: &lookup,
                contrary: &contrary,
                leads: &leads,
            };
            let (results, damaged) = explain::run(&scene, &fusion, ranked, raised, learning);
            let mut degraded = plan.degraded.clone();
            let unembedded = plan.asks_meaning() && looked_at.iter().any(|c| !c.compared);
            if unembedded {
                degraded.push(Degraded::UnembeddedRecords);
            }
            if damaged || self.index.is_damaged() {
                degraded.push(Degraded::DamagedRecords);
            }
            let mut recall = Recall {
                results,
                degraded,
                tier: found.tier,
                considered: plan.view.considered(),
                ..Recall::nothing(recall_id)
            };
            decide(&mut recall);
            recall.notes = notes::of(self, request, &plan, lookup);
            recall.notes.extend(leads.note(self));
            recall
        })
    }
}
