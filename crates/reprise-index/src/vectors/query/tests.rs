//! Compares candidates, single cosines and samples with the plain computation.

use std::sync::Arc;

use super::super::tests::{
    SeededRandom, build_index, exact_ranking, filtered_view, unfiltered_view,
};
use super::*;
use crate::docs::Doc;
use crate::spread::Spread;
use reprise_types::{RecordId, normalize};

#[test]
fn candidates_are_the_best_by_code_and_admitted() {
    let mut random = SeededRandom(11);
    let mut vectors: Vec<Vec<f32>> = (0..3_000).map(|_| random.vector(96)).collect();
    vectors[5].clear();
    let index = build_index(&vectors, 96);
    let query = random.vector(96);
    let codes = index.encode_query(&query).unwrap();
    let mut scratch = VectorScratch::default();
    let view = unfiltered_view(3_000);
    let expected = exact_ranking(&query, &vectors);
    let got = index.search(&codes, 40, &view, &SearchLayers::default(), &mut scratch);
    assert_eq!(got.len(), 40);
    assert!(got.is_sorted_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)).is_gt()));
    let best: Vec<u32> = expected[..10].iter().map(|e| e.0).collect();
    assert!(best.iter().all(|o| got.iter().any(|g| g.0 == *o)));
    for (ordinal, cosine) in got {
        let exact = expected.iter().find(|e| e.0 == *ordinal).unwrap().1;
        assert!((exact - cosine).abs() < 0.02);
        assert_eq!(
            index.cosine(&codes, *ordinal).map(f32::to_bits),
            Some(cosine.to_bits())
        );
    }
    // All documents with a vector, and no others.
    let all = index.search(
        &codes,
        usize::MAX,
        &view,
        &SearchLayers::default(),
        &mut scratch,
    );
    assert_eq!(all.len(), 2_999);
    assert_eq!(index.cosine(&codes, 5), None);
    assert_eq!(index.cosine(&codes, 3_000), None);
    assert!(
        index
            .search(&codes, 0, &view, &SearchLayers::default(), &mut scratch)
            .is_empty()
    );
    assert!(index.encode_query(&[0.0; 96]).is_none());
    assert!(index.encode_query(&query[1..]).is_none());
}

#[test]
fn the_close_are_those_that_a_full_sort_finds() {
    let mut random = SeededRandom(13);
    // Few dimensions: many documents at the same distance.
    let vectors: Vec<Vec<f32>> = (0..2_500).map(|_| random.vector(6)).collect();
    let index = build_index(&vectors, 6);
    let codes = index.encode_query(&random.vector(6)).unwrap();
    let mut sorted: Vec<(u32, u32)> = Vec::new();
    for number in 0..index.signs.len() {
        let mut distances = [[0; LANES]; GROUPS];
        let signs = index.signs(number).unwrap();
        codes.planes.compute_distances(signs, &mut distances);
        let first = number * CHUNK_DOCUMENTS;
        let known = distances.as_flattened().iter().zip(first as u32..2_500);
        sorted.extend(known.map(|(distance, ordinal)| (*distance, ordinal)));
    }
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    for wanted in [1, 7, 300, 2_500, 3_000] {
        let mut closest = ClosestDocs::default();
        closest.reset(wanted, codes.planes.distance_max());
        let all = unfiltered_view(2_500);
        index.scan_signs(&codes, &all, |_| u64::MAX, &mut closest);
        closest.trim();
        let got: Vec<u32> = closest.documents.iter().map(|found| found.0).collect();
        let mut expected: Vec<u32> = sorted.iter().take(wanted).map(|s| s.1).collect();
        expected.sort_unstable();
        assert_eq!(got, expected, "{wanted}");
    }
}

#[test]
fn a_sample_is_even_and_over_the_living_alone() {
    let mut random = SeededRandom(12);
    let vectors: Vec<Vec<f32>> = (0..4_000).map(|_| random.vector(32)).collect();
    let mut index = build_index(&vectors, 32);
    let query = random.vector(32);
    let codes = index.encode_query(&query).unwrap();
    let row = |live: bool| Doc {
        forgotten_at: if live { crate::docs::NEVER } else { 7 },
        ..Doc::new_hole(RecordId::from_u128(0))
    };
    let rows: Vec<Doc> = (0..4_000).map(|at| row(at % 2 == 0)).collect();
    let live_set = Arc::new(LiveSet::build_present(rows.iter()));
    let sample = |index: &QuantisedVectors, n| {
        let sampled = index.sample_cosines(&codes, n, &live_set, None).into_iter();
        Spread::from_values(sampled.map(|(_, cosine)| cosine))
    };
    let all = sample(&index, 9_999);
    assert_eq!(all.count, 2_000);
    let some = sample(&index, 500);
    assert!((450..=550).contains(&some.count), "{some:?}");
    assert!((some.mean - all.mean).abs() < 0.03 && (some.deviation - all.deviation).abs() < 0.03);
    // If few documents have a vector, those are found.
    for at in 0..3_990 {
        index.set(at, None);
    }
    assert_eq!(sample(&index, 500).count, 5);
    assert_eq!(sample(&index, 0).count, 0);
}

/// Generates clusters of 50 vectors, like the topics of one user's memory.
fn clusters(random: &mut SeededRandom, count: usize) -> Vec<Vec<f32>> {
    let mut fixed = SeededRandom(14);
    let centres: Vec<Vec<f32>> = (0..60).map(|_| fixed.vector(192)).collect();
    let near = |at: usize| {
        let noise = random.vector(192);
        let centre = &centres[at % 60];
        let mut vector: Vec<f32> = centre.iter().zip(noise).map(|(c, n)| c + 0.8 * n).collect();
        normalize(&mut vector);
        vector
    };
    (0..count).map(near).collect()
}

/// Returns the share of the exact ten that a route finds, among the live `rows` that `admits`
/// accepts, and the tier used.
fn recall(
    route: PlannedRoute,
    index: &QuantisedVectors,
    layers: &SearchLayers,
    rows: &[Doc],
    admits: impl Fn(&Doc) -> bool,
) -> (f64, SearchRoute) {
    let view = filtered_view(rows, admits);
    let mut scratch = VectorScratch::default();
    let mut hits = 0;
    for query in clusters(&mut SeededRandom(16), 60) {
        let query = index.encode_query(&query).unwrap();
        let mut exact: Vec<(u32, f32)> = view
            .ordinals()
            .filter_map(|o| index.score_document(&query, o))
            .collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        let got = index.search_by_route(route, &query, 10, &view, layers, &mut scratch);
        assert!(got.is_sorted_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)).is_gt()));
        assert!(got.iter().all(|(ordinal, _)| view.contains(*ordinal)));
        hits += exact[..10].iter().filter(|e| got.contains(e)).count();
    }
    (hits as f64 / 600.0, scratch.route())
}

#[test]
fn filtered_and_deleted_records_cost_no_recall_on_any_tier() {
    let vectors = clusters(&mut SeededRandom(15), 3_000);
    let index = build_index(&vectors, 192);
    let row = |at: u32| Doc {
        forgotten_at: crate::docs::NEVER,
        terms: at,
        ..Doc::new_hole(RecordId::from_u128(0))
    };
    let mut rows: Vec<Doc> = (0..3_000).map(row).collect();
    let mut layers = SearchLayers::default();
    let mut scratch = GraphScratch::default();
    for (budget, tier) in [
        (1_200, SearchRoute::NewestGraph),
        (9_999, SearchRoute::Graph),
    ] {
        layers
            .graph
            .grow(&index, |_| true, 3_000, budget, &mut scratch);
        for every in [1, 2, 100] {
            let admits = |row: &Doc| row.terms.is_multiple_of(every);
            for route in [
                PlannedRoute::Graph,
                PlannedRoute::Signs,
                PlannedRoute::EachDocument,
            ] {
                let (found, by) = recall(route, &index, &layers, &rows, admits);
                assert!(found >= 0.99, "{route:?} one in {every}, {by:?}: {found}");
                let scan = route != PlannedRoute::Graph;
                assert_eq!(by, if scan { SearchRoute::Scan } else { tier });
            }
        }
    }
    // Half of each cluster is deleted; the graph still finds paths through them.
    for row in rows
        .iter_mut()
        .filter(|row| (row.terms / 60).is_multiple_of(2))
    {
        row.forgotten_at = 7;
    }
    for route in [PlannedRoute::Graph, PlannedRoute::Signs] {
        let (found, _) = recall(route, &index, &layers, &rows, |_| true);
        assert!(found >= 0.99, "{route:?}, half deleted: {found}");
    }
}

#[test]
fn the_planner_asks_the_graph_where_it_is_quicker() {
    const GRAPH_FASTER_FROM: usize = 133_333;
    let all = 150_000;
    let route = |k, admitted, found| {
        let planned = RoutePlan {
            all,
            admitted,
            found,
        };
        planned.choose_route(k, GRAPH_FASTER_FROM)
    };
    assert_eq!(route(10, all, 0), PlannedRoute::Signs);
    assert_eq!(route(10, all, all), PlannedRoute::Graph);
    assert_eq!(route(500, all, all), PlannedRoute::Signs);
    assert_eq!(route(10, all, 100_000), PlannedRoute::Signs);
    assert_eq!(route(10, all / 5, all), PlannedRoute::Signs);
    assert_eq!(route(10, all / 1_000, all), PlannedRoute::EachDocument);
}

#[test]
fn what_was_measured_is_what_the_planner_goes_by() {
    let vectors = clusters(&mut SeededRandom(18), 3_000);
    let index = build_index(&vectors, 192);
    let view = unfiltered_view(3_000);
    let mut layers = SearchLayers {
        graph_faster_from: 9_000,
        ..SearchLayers::default()
    };
    // Each read of the clock is a second later, so both routes take equally long.
    let ticks = std::cell::Cell::new(0);
    let clock = || Duration::from_secs(ticks.replace(ticks.get() + 1));
    assert_eq!(index.measure_crossover(&view, &layers, &clock), None);
    let mut scratch = GraphScratch::default();
    layers
        .graph
        .grow(&index, |_| true, 3_000, 2_000, &mut scratch);
    assert_eq!(index.measure_crossover(&view, &layers, &clock), None);
    layers
        .graph
        .grow(&index, |_| true, 3_000, 1_000, &mut scratch);
    // Both take equally long at all 3,000 for 128 results, whose beam is 8/3 of the narrowest.
    assert_eq!(index.measure_crossover(&view, &layers, &clock), Some(1_125));
    let route = |graph_faster_from| {
        let layers = SearchLayers {
            graph_faster_from,
            ..layers.clone()
        };
        index.choose_route(10, &view, &layers)
    };
    assert_eq!(
        (route(2_250), route(3_001)),
        (PlannedRoute::Graph, PlannedRoute::Signs)
    );
}
