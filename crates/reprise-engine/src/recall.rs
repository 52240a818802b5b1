//! The read flow: plan, search, fuse, (learned) adjustment, explain.
//!
//! A pure function of snapshot, question, query vector and learner: the same arguments give the
//! same answer, bit for bit. Must never live here: a clock, a model, a lock.

mod explain;
mod fuse;
mod plan;
mod search;
pub(crate) mod weights;

#[cfg(test)]
mod tests;

use std::cell::RefCell;

use reprise_types::{
    Degraded, EmbeddingSpace, LearningEngine, Recall, RecallId, RecallRequest, SearchTier,
};

use crate::snapshot::Snapshot;
use plan::Plan;
use search::Scratch;

thread_local! {
    /// Column buffers, reused by every recall of a thread: a recall allocates nothing per document.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

impl Snapshot {
    /// Answers one question. `query_vector` is the question's unit vector with its space; without
    /// one, or with one of another space, words and context answer and `degraded` says so.
    #[must_use]
    pub fn recall(
        &self,
        request: &RecallRequest,
        query_vector: Option<(&EmbeddingSpace, &[f32])>,
        recall_id: RecallId,
        learning: &dyn LearningEngine,
    ) -> Recall {
        let plan = Plan::new(self, request, query_vector);
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch { fused, columns } = scratch;
            let signals = search::run(self, &plan, columns);
            let ranked = fuse::run(&plan, &signals, fused);
            let considered = ranked.considered;
            let (results, damaged) = explain::run(self, &plan, &signals, ranked.best, learning);
            let mut degraded = plan.degraded.clone();
            if ranked.unembedded {
                degraded.push(Degraded::UnembeddedRecords);
            }
            if damaged {
                degraded.push(Degraded::DamagedRecords);
            }
            let tier = if plan.vector.is_some() {
                SearchTier::Scan
            } else {
                SearchTier::None
            };
            Recall {
                recall_id,
                results,
                degraded,
                tier,
                considered,
            }
        })
    }
}
