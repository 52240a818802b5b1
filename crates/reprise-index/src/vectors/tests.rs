//! Compares codes with full precision, and the selection of the best with a full sort.

use std::sync::Arc;

use proptest::prelude::*;
use reprise_types::{next_splitmix64, normalize};

use super::*;

use crate::docs::Doc;
use crate::graph_state::SearchLayers;
use crate::live_set::LiveSet;
use crate::view::IndexView;
use reprise_types::RecordId;

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Finds the best `k` of `vectors` (an empty one means none): candidates by code, scored in full
/// precision.
fn find_nearest(
    index: &QuantisedVectors,
    query: &[f32],
    (k, candidates): (usize, usize),
    view: &IndexView,
    vectors: &[Vec<f32>],
) -> Vec<(u32, f32)> {
    let (codes, mut scratch) = (index.encode_query(query).unwrap(), VectorScratch::default());
    let layers = SearchLayers::default();
    let found = index.search(&codes, candidates, view, &layers, &mut scratch);
    let exact = |(ordinal, _): &(u32, f32)| (*ordinal, dot(query, &vectors[*ordinal as usize]));
    let mut best: Vec<(u32, f32)> = found.iter().map(exact).collect();
    best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    best.truncate(k);
    best
}

/// Seeded random numbers by `SplitMix64`.
pub(super) struct SeededRandom(pub(super) u64);

impl SeededRandom {
    fn next(&mut self) -> u64 {
        next_splitmix64(&mut self.0)
    }

    /// Returns an approximately normal deviate: the sum of four uniform ones.
    fn normal(&mut self) -> f32 {
        let uniform = |r: &mut Self| (r.next() >> 40) as f32 / (1_u64 << 24) as f32 - 0.5;
        (0..4).map(|_| uniform(self)).sum::<f32>() * 1.732
    }

    pub(super) fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        let mut vector: Vec<f32> = (0..dimensions).map(|_| self.normal()).collect();
        normalize(&mut vector);
        vector
    }
}

pub(super) fn build_index(vectors: &[Vec<f32>], dimensions: usize) -> QuantisedVectors {
    let mut index = QuantisedVectors::new(dimensions);
    for vector in vectors {
        index.push((!vector.is_empty()).then_some(vector));
    }
    index
}

pub(super) fn unfiltered_view(count: usize) -> IndexView {
    let row = Doc {
        forgotten_at: crate::docs::NEVER,
        ..Doc::new_hole(RecordId::from_u128(0))
    };
    let rows = vec![row; count];
    IndexView::unfiltered(Arc::new(LiveSet::build_present(rows.iter())))
}

/// Creates a view of the live documents of `rows` that `admits` accepts.
pub(super) fn filtered_view(rows: &[Doc], admits: impl Fn(&Doc) -> bool) -> IndexView {
    let live_set = LiveSet::build_present(rows.iter());
    let mut admitted = live_set.live_bits.clone();
    for (at, _) in rows.iter().enumerate().filter(|(_, row)| !admits(row)) {
        admitted[at / 64] &= !(1 << (at % 64));
    }
    IndexView::from_bits(Arc::new(live_set), admitted)
}

pub(super) fn exact_ranking(query: &[f32], vectors: &[Vec<f32>]) -> Vec<(u32, f32)> {
    let mut all: Vec<(u32, f32)> = (0..)
        .zip(vectors)
        .filter(|(_, v)| !v.is_empty())
        .map(|(ordinal, v)| (ordinal, dot(query, v)))
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    all
}

fn compute_cosines(index: &QuantisedVectors, query: &[f32], out: &mut Vec<f32>) {
    let query = index.encode_query(query).unwrap();
    let all = 0..index.len() as u32;
    out.clear();
    out.extend(all.map(|ordinal| index.cosine(&query, ordinal).unwrap_or(0.0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn codes_are_close_and_the_rescored_are_exact(
        seed in any::<u64>(), count in 0_usize..600, dimensions in 1_usize..100, k in 0_usize..20,
    ) {
        let mut random = SeededRandom(seed);
        let mut vectors: Vec<Vec<f32>> = (0..count).map(|_| random.vector(dimensions)).collect();
        for gap in vectors.iter_mut().skip(3).step_by(7) {
            gap.clear();
        }
        let query = random.vector(dimensions);
        let index = build_index(&vectors, dimensions);
        let mut scores = vec![9.0; 3];
        compute_cosines(&index, &query, &mut scores);
        prop_assert_eq!(scores.len(), count);
        for (score, vector) in scores.iter().zip(&vectors) {
            let expected = if vector.is_empty() { 0.0 } else { dot(&query, vector) };
            prop_assert!((score - expected).abs() < 0.02, "{} {}", score, expected);
        }
        let mut expected = exact_ranking(&query, &vectors);
        // With every document rescored, the result is exact, including order and ties.
        let got = find_nearest(&index, &query, (k, count), &unfiltered_view(count), &vectors);
        expected.truncate(k);
        prop_assert_eq!(got, expected);
    }
}

/// Returns the share of the exact ten that [`find_nearest`] finds.
fn recall_at_10(vectors: &[Vec<f32>], queries: &[Vec<f32>]) -> f64 {
    let index = build_index(vectors, 384);
    let view = unfiltered_view(vectors.len());
    let mut found = 0;
    for query in queries {
        let expected = exact_ranking(query, vectors);
        let got = find_nearest(&index, query, (10, 50), &view, vectors);
        found += expected[..10].iter().filter(|e| got.contains(e)).count();
    }
    found as f64 / (10 * queries.len()) as f64
}

#[test]
fn recall_is_exact_in_practice_on_clusters() {
    let mut random = SeededRandom(1);
    let centres: Vec<Vec<f32>> = (0..100).map(|_| random.vector(384)).collect();
    let mut near = |centre: usize| {
        let mut v: Vec<f32> = random
            .vector(384)
            .iter()
            .zip(&centres[centre % 100])
            .map(|(n, c)| 0.8 * n + c)
            .collect();
        normalize(&mut v);
        v
    };
    let vectors: Vec<Vec<f32>> = (0..5_000).map(&mut near).collect();
    let queries: Vec<Vec<f32>> = (0..100).map(&mut near).collect();
    assert!(recall_at_10(&vectors, &queries) >= 0.999);
}

#[test]
fn recall_is_exact_in_practice_on_latent_data() {
    let mut random = SeededRandom(2);
    // Text embeddings are close to a space of few dimensions.
    let basis: Vec<Vec<f32>> = (0..24).map(|_| random.vector(384)).collect();
    let mut latent = |_| {
        let mut v = random
            .vector(384)
            .iter()
            .map(|x| 0.3 * x)
            .collect::<Vec<f32>>();
        for direction in &basis {
            let weight = random.normal() / 5.0;
            for (x, d) in v.iter_mut().zip(direction) {
                *x += weight * d;
            }
        }
        normalize(&mut v);
        v
    };
    let vectors: Vec<Vec<f32>> = (0..5_000).map(&mut latent).collect();
    let queries: Vec<Vec<f32>> = (0..100).map(&mut latent).collect();
    assert!(recall_at_10(&vectors, &queries) >= 0.999);
}

#[test]
fn only_the_admitted_are_near() {
    let mut random = SeededRandom(3);
    let mut vectors: Vec<Vec<f32>> = (0..4_000).map(|_| random.vector(48)).collect();
    vectors[9].clear();
    let index = build_index(&vectors, 48);
    let row = Doc {
        forgotten_at: crate::docs::NEVER,
        ..Doc::new_hole(RecordId::from_u128(0))
    };
    let rows: Vec<Doc> = (0..4_000_u32).map(|terms| Doc { terms, ..row }).collect();
    let query = random.vector(48);
    // Enough documents for the pass over the signs, and few enough to skip it.
    for every in [2, 100] {
        let view = filtered_view(&rows, |row| row.terms % every == 1);
        let mut expected = exact_ranking(&query, &vectors);
        expected.retain(|(ordinal, _)| ordinal % every == 1);
        expected.truncate(20);
        assert_eq!(
            find_nearest(&index, &query, (20, 160), &view, &vectors),
            expected
        );
    }
}

#[test]
fn signs_follow_the_codes_they_are_made_from() {
    let mut random = SeededRandom(4);
    let mut vectors: Vec<Vec<f32>> = (0..3_000).map(|_| random.vector(64)).collect();
    let mut live = build_index(&vectors, 64);
    let before = live.clone();
    let query = random.vector(64);
    let near = |index: &QuantisedVectors, vectors: &[Vec<f32>]| {
        find_nearest(
            index,
            &query,
            (5, 40),
            &unfiltered_view(index.len()),
            vectors,
        )
    };
    let first = near(&before, &vectors);
    // The query itself replaces one vector and is appended as another.
    live.set(1_234, Some(&query));
    live.push(Some(&query));
    let old = std::mem::replace(&mut vectors[1_234], query.clone());
    vectors.push(query.clone());
    let after: Vec<u32> = near(&live, &vectors).iter().map(|best| best.0).collect();
    assert_eq!(after[..2], [3_000, 1_234]);
    vectors[1_234].clone_from(&old);
    assert_eq!(near(&before, &vectors), first);
    // The same with an unshared chunk, which is changed in place.
    drop(before);
    live.set(1_234, Some(&old));
    live.set(77, Some(&query));
    vectors[77].clone_from(&query);
    let after: Vec<u32> = near(&live, &vectors).iter().map(|best| best.0).collect();
    assert_eq!(after[..2], [3_000, 77]);
}

#[test]
fn codes_round_half_to_even() {
    let mut codes = [0; 5];
    let scale = quantise(&[127.0, 0.5, 1.5, -2.5, -127.0], &mut codes);
    assert!((scale - 1.0).abs() < f32::EPSILON);
    assert_eq!(codes, [127, 0, 2, -2, -127]);
}

#[test]
fn what_cannot_be_coded_counts_as_no_vector() {
    let mut index = QuantisedVectors::new(2);
    for bad in [
        &[f32::NAN, 1.0][..],
        &[f32::INFINITY, 0.0],
        &[1.0],
        &[0.0, 0.0],
        &[1e-45, 0.0],
    ] {
        index.push(Some(bad));
    }
    index.push(Some(&[0.6, 0.8]));
    assert_eq!(
        (0..7).map(|o| index.has(o)).collect::<Vec<_>>(),
        [false, false, false, false, false, true, false]
    );
    let mut scores = Vec::new();
    assert!(index.encode_query(&[f32::NAN, 0.0]).is_none());
    compute_cosines(&index, &[0.6, 0.8], &mut scores);
    assert!((scores[5] - 1.0).abs() < 0.02 && scores[..5].iter().all(|s| *s == 0.0));
    index.set(5, Some(&[f32::NAN, 0.0]));
    assert!(!index.has(5));
    index.set(0, Some(&[1.0, 0.0]));
    assert!(index.has(0));
    index.set(99, Some(&[1.0, 0.0]));
    assert!(index.encode_query(&[1.0]).is_none());
    let view = unfiltered_view(6);
    let near = |k| find_nearest(&index, &[1.0, 0.0], k, &view, &[vec![1.0, 0.0]]);
    assert_eq!(near((0, 0)), []);
    index.set(5, None);
    let near = |k| find_nearest(&index, &[1.0, 0.0], k, &view, &[vec![1.0, 0.0]]);
    assert_eq!(near((9, usize::MAX)), [(0, 1.0)]);
}
