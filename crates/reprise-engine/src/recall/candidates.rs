//! Finds the candidates, which are the records worth a closer look: all of a small store; of a
//! large one those found by meaning or words, their neighbours in the session, and those that the
//! question names.

use std::sync::Mutex;

use reprise_index::{IndexView, LexicalScratch, LexicalSignals, VectorScratch};
use reprise_rank::NamesInQuestion;
use reprise_types::{HelperError, SearchRoute, VectorStore, lock};

use super::plan::RecallPlan;
use crate::snapshot::Snapshot;

/// Most admitted records of a store that is looked at as a whole.
const WHOLE_MAX: u32 = 1024;
/// Fewest records for which words, names and vectors are searched in parallel: a thread takes 20 us
/// to begin, the search for words .3 ms.
const PARALLEL_RECORDS_MIN: u32 = if cfg!(test) { 2 } else { 50_000 };
/// Fewest candidates by meaning, and by words, in a large store; more if more results are asked
/// for.
const EACH_MIN: usize = 128;
/// Number of the best of each search whose neighbours become candidates too.
const WITH_NEIGHBOURS: usize = 64;
/// Number of the best results of the corrected question that stay candidates however low the
/// question itself ranks them: learning may lift them by no more than its cap.
const MOVED: usize = 16;

/// Buffers, reused between recalls.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    lexical: LexicalScratch,
    vectors: VectorScratch,
    ordinals: Vec<u32>,
    always_ranked: Vec<u32>,
}

/// The candidates of a question.
#[derive(Debug, Clone, Copy)]
pub(super) struct CandidateSet<'a> {
    /// Ordinals of the candidates, ascending, each once.
    pub(super) ordinals: &'a [u32],
    /// Candidates that are ranked however low they score: those found by the corrected question and
    /// those that the question names. Ascending.
    pub(super) always_ranked: &'a [u32],
    pub(super) lexical: LexicalSignals<'a>,
    pub(super) route: SearchRoute,
}

/// Adds the `each` records of every space whose meaning is nearest, and their neighbours. Returns
/// the route that the index took, if it was asked.
fn add_by_meaning(
    snapshot: &Snapshot,
    plan: &RecallPlan<'_>,
    each: usize,
    vectors: &mut VectorScratch,
    ordinals: &mut Vec<u32>,
) -> Option<SearchRoute> {
    let view = &plan.view;
    let mut route = None;
    let asked = snapshot.second_store.as_deref().zip(plan.vector);
    let found = asked.and_then(|(store, vector)| ask_store(store, vector, each, view));
    if let Some(found) = found {
        add_with_neighbours(&found, view, ordinals);
    } else if let Some(codes) = &plan.codes {
        let found = snapshot.index.search_vectors(codes, each, view, vectors);
        add_with_neighbours(found, view, ordinals);
        route = Some(vectors.route());
    }
    for other in &plan.other_spaces {
        let found = other
            .vectors
            .search_vectors(&other.codes, each, view, vectors);
        add_with_neighbours(found, view, ordinals);
    }
    route
}

/// Finds the candidates of a question, and runs its look-ups.
pub(super) fn find_candidates<'a>(
    snapshot: &Snapshot,
    plan: &RecallPlan<'_>,
    look_up: impl FnOnce() -> NamesInQuestion + Send,
    scratch: &'a mut Scratch,
) -> (CandidateSet<'a>, NamesInQuestion) {
    let Scratch {
        lexical,
        vectors,
        ordinals,
        always_ranked: kept,
    } = scratch;
    kept.clear();
    ordinals.clear();
    let each = EACH_MIN.max(plan.ranked);
    let (index, view) = (&snapshot.index, &plan.view);
    let by_words = move || {
        let buffers = lexical;
        index.score_lexical(&plan.query, view, each, buffers)
    };
    let asks_meaning = plan.can_compare_meaning();
    let mut route = if asks_meaning {
        SearchRoute::Scan
    } else {
        SearchRoute::None
    };
    if plan.ranked == 0 {
        let lexical = by_words();
        let found = CandidateSet {
            ordinals,
            always_ranked: kept,
            lexical,
            route,
        };
        return (found, look_up());
    }
    let asks_second = snapshot.second_store.is_some() && plan.vector.is_some();
    let is_small = view.considered_count() <= WHOLE_MAX && !asks_second;
    let mut by_meaning = || {
        // The corrected question is searched in addition, so that what the question finds by itself
        // is not lost.
        if let Some(moved) = plan.correction.as_ref().map(|moved| &moved.question) {
            let found = index.search_vectors(moved, each, view, vectors);
            kept.extend(found.iter().map(|best| best.0).take(MOVED));
            ordinals.extend(found.iter().map(|best| best.0));
        }
        if is_small {
            return;
        }
        if let Some(taken) = add_by_meaning(snapshot, plan, each, vectors, ordinals) {
            route = taken;
        }
    };
    let (lexical, lookup) = if asks_meaning && view.considered_count() >= PARALLEL_RECORDS_MIN {
        run_in_parallel(by_words, || run_in_parallel(look_up, by_meaning).0)
    } else {
        by_meaning();
        (by_words(), look_up())
    };
    kept.extend(lookup.holders());
    kept.sort_unstable();
    kept.dedup();
    if is_small {
        ordinals.clear();
        ordinals.extend(view.ordinals());
    } else {
        add_with_neighbours(lexical.best, view, ordinals);
        ordinals.extend_from_slice(kept);
        ordinals.sort_unstable();
        ordinals.dedup();
    }
    let found = CandidateSet {
        ordinals,
        always_ranked: kept,
        lexical,
        route,
    };
    (found, lookup)
}

/// Asks the second store; `None` if it fails, so that the index answers.
fn ask_store(
    store: &dyn VectorStore,
    vector: &[f32],
    k: usize,
    view: &IndexView,
) -> Option<Vec<(u32, f32)>> {
    let found = store.query(vector, k, &|ordinal| view.contains(ordinal));
    let failed = |error: &HelperError| tracing::warn!(%error, "the index answers for the second store of vectors");
    found.inspect_err(failed).ok()
}

/// Adds the results of a search, and the neighbours of its best.
fn add_with_neighbours(found: &[(u32, f32)], view: &IndexView, ordinals: &mut Vec<u32>) {
    ordinals.extend(found.iter().map(|best| best.0));
    for (ordinal, _) in found.iter().take(WITH_NEIGHBOURS) {
        let (previous, next) = view.neighbours(*ordinal);
        let near = [previous, next].into_iter().flatten();
        ordinals.extend(near.filter(|near| view.contains(*near)));
    }
}

/// Runs `one` on a thread of its own and `other` on this one; runs both here if the system refuses
/// a thread.
fn run_in_parallel<A: Send, B>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B,
) -> (A, B) {
    let waiting = Mutex::new(Some(one));
    let run = || lock(&waiting).take().map(|one| one());
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, run).ok();
        let done = other();
        let one = match thread.map(std::thread::ScopedJoinHandle::join) {
            Some(Ok(one)) => one,
            Some(Err(panicked)) => std::panic::resume_unwind(panicked),
            None => run(),
        };
        let Some(one) = one else {
            unreachable!("one of the two threads runs it")
        };
        (one, done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_searches_side_by_side_both_answers_come() {
        let own = std::thread::current().id();
        let (one, other) = run_in_parallel(
            || std::thread::current().id(),
            || std::thread::current().id(),
        );
        assert_eq!(other, own);
        assert_ne!(one, own);
    }
}
