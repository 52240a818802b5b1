//! Candidates: the records worth a closer look. All of a small store; of a large one those that
//! meaning or words speak for, their neighbours in the session, and those that the question names.

use std::sync::Mutex;

use reprise_index::{LexicalScratch, LexicalSignals, VectorScratch, View};
use reprise_types::{SearchTier, lock};

use super::lookup::Lookup;
use super::plan::Plan;
use crate::snapshot::Snapshot;

/// A store of no more admitted records is looked at whole.
const WHOLE_MAX: u32 = 1024;
/// From so many on words, names and vectors are searched side by side: a thread takes 20 us to
/// begin, the search for words .3 ms.
const BESIDE_MIN: u32 = if cfg!(test) { 2 } else { 50_000 };
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
    look_up: impl FnOnce() -> Lookup + Send,
    scratch: &'a mut Scratch,
) -> (Found<'a>, Lookup) {
    let Scratch {
        lexical,
        vectors,
        ordinals,
        kept,
    } = scratch;
    kept.clear();
    ordinals.clear();
    let each = EACH_MIN.max(plan.ranked);
    let (index, view) = (&snapshot.index, &plan.view);
    let by_words = move || {
        let buffers = lexical;
        index.lexical(&plan.query, view, each, buffers)
    };
    let asks_meaning = plan.asks_meaning();
    let mut tier = if asks_meaning {
        SearchTier::Scan
    } else {
        SearchTier::None
    };
    if plan.ranked == 0 {
        let lexical = by_words();
        let found = Found {
            ordinals,
            kept,
            lexical,
            tier,
        };
        return (found, look_up());
    }
    let is_small = view.considered() <= WHOLE_MAX;
    let mut by_meaning = || {
        // The moved question is searched with as well (M61): what the question finds by itself is
        // not lost.
        if let Some(moved) = plan.correction.as_ref().map(|moved| &moved.question) {
            let found = index.candidates(moved, each, view, vectors);
            kept.extend(found.iter().map(|best| best.0).take(MOVED));
            ordinals.extend(found.iter().map(|best| best.0));
        }
        if is_small {
            return;
        }
        if let Some(codes) = &plan.codes {
            take(index.candidates(codes, each, view, vectors), view, ordinals);
            tier = vectors.tier();
        }
        for other in &plan.others {
            let found = other.vectors.candidates(&other.codes, each, view, vectors);
            take(found, view, ordinals);
        }
    };
    let (lexical, lookup) = if asks_meaning && view.considered() >= BESIDE_MIN {
        beside(by_words, || beside(look_up, by_meaning).0)
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
        take(lexical.best, view, ordinals);
        ordinals.extend_from_slice(kept);
        ordinals.sort_unstable();
        ordinals.dedup();
    }
    let found = Found {
        ordinals,
        kept,
        lexical,
        tier,
    };
    (found, lookup)
}

/// Takes what a search found, and the neighbours of its best.
fn take(found: &[(u32, f32)], view: &View, ordinals: &mut Vec<u32>) {
    ordinals.extend(found.iter().map(|best| best.0));
    for (ordinal, _) in found.iter().take(WITH_NEIGHBOURS) {
        let (previous, next) = view.neighbours(*ordinal);
        let near = [previous, next].into_iter().flatten();
        ordinals.extend(near.filter(|near| view.admits(*near)));
    }
}

/// Runs `one` on a thread of its own beside `other`; after it where the system refuses a thread.
fn beside<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
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
        let (one, other) = beside(
            || std::thread::current().id(),
            || std::thread::current().id(),
        );
        assert_eq!(other, own);
        assert_ne!(one, own);
    }
}
