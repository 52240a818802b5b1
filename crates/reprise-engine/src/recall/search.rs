//! Search: one raw number per signal and record. No weights here, and no choice of results.

use reprise_index::{LexicalScratch, LexicalSignals};

use super::plan::Plan;
use crate::snapshot::Snapshot;

/// Buffers, lent again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    meaning: Vec<f32>,
    near_meaning: Vec<f32>,
    lexical: LexicalScratch,
}

/// One column per signal, one row per record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signals<'a> {
    /// Cosine of query and record; empty without a query vector.
    pub(super) meaning: &'a [f32],
    /// Cosine of query and record with its neighbours in the session; empty likewise.
    pub(super) near_meaning: &'a [f32],
    /// BM25 over the record's first words, its neighbourhood and its session.
    pub(super) lexical: LexicalSignals<'a>,
}

/// What a neighbour's vector adds to a record's own.
const NEIGHBOUR_SHARE: f32 = 0.5;

/// What each neighbour adds to the squared length of that sum: with the mean cosine of
/// neighbouring turns on the development conversations the sum of three has length `sqrt(1.91)`.
/// A constant keeps the second pass over the vectors away.
const NEIGHBOUR_LENGTH: f32 = 0.45;

pub(super) fn run<'a>(
    snapshot: &Snapshot,
    plan: &Plan<'_>,
    scratch: &'a mut Scratch,
) -> Signals<'a> {
    let Scratch {
        meaning,
        near_meaning,
        lexical,
    } = scratch;
    match plan.vector {
        Some(vector) => {
            snapshot.index.scan(vector, meaning);
            add_neighbours(plan, meaning, near_meaning);
        }
        None => {
            meaning.clear();
            near_meaning.clear();
        }
    }
    let lexical = snapshot.index.lexical(&plan.query, &plan.view, lexical);
    Signals {
        meaning,
        near_meaning,
        lexical,
    }
}

/// `(d + s (d_previous + d_next)) / sqrt(1 + c n)`: the cosine with the sum of a record's vector
/// and its neighbours', under the expected length of that sum.
fn add_neighbours(plan: &Plan<'_>, meaning: &[f32], out: &mut Vec<f32>) {
    let lengths = [
        1.0,
        1.0 + NEIGHBOUR_LENGTH,
        NEIGHBOUR_LENGTH.mul_add(2.0, 1.0),
    ]
    .map(f32::sqrt);
    out.clear();
    out.extend(meaning.iter().zip(0_u32..).map(|(own, ordinal)| {
        let (previous, next) = plan.view.neighbours(ordinal);
        let at = |neighbour: Option<u32>| neighbour.and_then(|n| meaning.get(n as usize)).copied();
        let (previous, next) = (at(previous), at(next));
        let count = usize::from(previous.is_some()) + usize::from(next.is_some());
        let around = previous.unwrap_or(0.0) + next.unwrap_or(0.0);
        NEIGHBOUR_SHARE.mul_add(around, *own) / lengths.get(count).copied().unwrap_or(1.0)
    }));
}
