//! Candidates: the records worth a closer look. All of a small store; of a large one those that
//! meaning or words speak for, their neighbours in the session, and those that the question names.

use reprise_index::{LexicalScratch, LexicalSignals, VectorScratch};
use reprise_types::SearchTier;

use super::plan::Plan;
use crate::snapshot::Snapshot;

/// A store of no more admitted records is looked at whole.
const WHOLE_MAX: u32 = 1024;
/// Candidates by meaning, and as many by words, in a larger one; more where more are asked for.
const EACH_MIN: usize = 128;
/// So many of the best of each bring their neighbours along.
const WITH_NEIGHBOURS: usize = 64;
/// Of what the moved question finds, so many of the best stay in, however low the question itself
/// ranks them: learning may lift them by no more than its cap.
const MOVED: usize = 16;

/// Buffers, lent again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    lexical: LexicalScratch,
    vectors: VectorScratch,
    ordinals: Vec<u32>,
    kept: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    /// Admitted records, ascending, each once.
    pub(super) ordinals: &'a [u32],
    /// Those of them that stay in however low they are ranked: what the moved question finds (M61),
    /// and what the question names. Ascending.
    pub(super) kept: &'a [u32],
    pub(super) lexical: LexicalSignals<'a>,
    pub(super) tier: SearchTier,
}

pub(super) fn run<'a>(
    snapshot: &Snapshot,
    plan: &Plan<'_>,
    named: &[u32],
    scratch: &'a mut Scratch,
) -> Found<'a> {
    let Scratch {
        lexical,
        vectors,
        ordinals,
        kept,
    } = scratch;
    kept.clear();
    let each = EACH_MIN.max(plan.ranked);
    let lexical = snapshot
        .index
        .lexical(&plan.query, &plan.view, each, lexical);
    ordinals.clear();
    let mut tier = if plan.asks_meaning() {
        SearchTier::Scan
    } else {
        SearchTier::None
    };
    if plan.ranked == 0 {
        return Found {
            ordinals,
            kept,
            lexical,
            tier,
        };
    }
    // The moved question is searched with first (M61); the question as it was asked comes after it,
    // so that nothing which it finds by itself is lost.
    if let Some(moved) = plan.correction.as_ref().map(|moved| &moved.question) {
        let found = snapshot.index.candidates(moved, each, &plan.view, vectors);
        kept.extend(found.iter().map(|best| best.0).take(MOVED));
        ordinals.extend(found.iter().map(|best| best.0));
    }
    kept.extend_from_slice(named);
    kept.sort_unstable();
    kept.dedup();
    if plan.view.considered() <= WHOLE_MAX {
        ordinals.clear();
        ordinals.extend(plan.view.ordinals());
        return Found {
            ordinals,
            kept,
            lexical,
            tier,
        };
    }
    let mut take = |found: &[(u32, f32)]| {
        ordinals.extend(found.iter().map(|best| best.0));
        for (ordinal, _) in found.iter().take(WITH_NEIGHBOURS) {
            let (previous, next) = plan.view.neighbours(*ordinal);
            let near = [previous, next].into_iter().flatten();
            ordinals.extend(near.filter(|near| plan.view.admits(*near)));
        }
    };
    take(lexical.best);
    if let Some(codes) = &plan.codes {
        take(snapshot.index.candidates(codes, each, &plan.view, vectors));
        tier = vectors.tier();
    }
    for other in &plan.others {
        take(
            other
                .vectors
                .candidates(&other.codes, each, &plan.view, vectors),
        );
    }
    ordinals.extend_from_slice(kept);
    ordinals.sort_unstable();
    ordinals.dedup();
    Found {
        ordinals,
        kept,
        lexical,
        tier,
    }
}
