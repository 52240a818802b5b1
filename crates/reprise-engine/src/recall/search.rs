//! Search: one raw number per signal and record. No weights here, and no choice of results.

use reprise_index::{DocTraits, LexicalScratch, LexicalSignals};

use super::plan::Plan;
use crate::snapshot::Snapshot;

/// Buffers, lent again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// For the fusion.
    pub(super) fused: Vec<f32>,
    pub(super) columns: Columns,
}

/// The buffers behind [`Signals`].
#[derive(Debug, Default)]
pub(super) struct Columns {
    meaning: Vec<f32>,
    near_meaning: Vec<f32>,
    traits: Vec<DocTraits>,
    lexical: LexicalScratch,
}

/// One column per signal, one row per record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signals<'a> {
    /// Cosine of query and record; empty without a query vector.
    pub(super) meaning: &'a [f32],
    /// Cosine of query and record with its neighbours in the session; empty likewise.
    pub(super) near_meaning: &'a [f32],
    /// Alive, admitted, embedded, the user's own.
    pub(super) traits: &'a [DocTraits],
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
    columns: &'a mut Columns,
) -> Signals<'a> {
    let Columns {
        meaning,
        near_meaning,
        traits,
        lexical,
    } = columns;
    snapshot.index.traits(&plan.view, traits);
    if let Some(vector) = plan.vector {
        snapshot.index.scan(vector, meaning);
        add_neighbours(plan, meaning, near_meaning);
    } else {
        meaning.clear();
        near_meaning.clear();
    }
    let lexical = snapshot.index.lexical(&plan.query, &plan.view, lexical);
    Signals {
        meaning,
        near_meaning,
        traits,
        lexical,
    }
}

/// `(d + s (d_previous + d_next)) / sqrt(1 + c n)`: the cosine with the sum of a record's vector
/// and its neighbours', under the expected length of that sum.
fn add_neighbours(plan: &Plan<'_>, meaning: &[f32], out: &mut Vec<f32>) {
    let shares = [
        1.0,
        1.0 + NEIGHBOUR_LENGTH,
        NEIGHBOUR_LENGTH.mul_add(2.0, 1.0),
    ]
    .map(|square: f32| square.sqrt().recip());
    out.clear();
    out.extend(
        meaning
            .iter()
            .zip(plan.view.links())
            .map(|(own, (previous, next))| {
                let (previous, next) = (meaning.get(previous as usize), meaning.get(next as usize));
                let count = usize::from(previous.is_some()) + usize::from(next.is_some());
                let around = previous.unwrap_or(&0.0) + next.unwrap_or(&0.0);
                NEIGHBOUR_SHARE.mul_add(around, *own) * shares.get(count).copied().unwrap_or(1.0)
            }),
    );
}
