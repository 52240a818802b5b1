//! Candidates, single cosines and samples against the plain computation.

use std::sync::Arc;

use super::super::tests::{Random, everything, exact, index};
use super::*;
use crate::docs::Row;
use reprise_types::RecordId;

#[test]
fn candidates_are_the_best_by_code_and_admitted() {
    let mut random = Random(11);
    let mut vectors: Vec<Vec<f32>> = (0..3_000).map(|_| random.vector(96)).collect();
    vectors[5].clear();
    let index = index(&vectors, 96);
    let query = random.vector(96);
    let codes = index.encode(&query).unwrap();
    let mut scratch = VectorScratch::default();
    let view = everything(3_000);
    let expected = exact(&query, &vectors);
    let got = index.candidates(&codes, 40, &view, &mut scratch);
    assert_eq!(got.len(), 40);
    assert!(got.is_sorted_by(|a, b| (b.1, b.0) < (a.1, a.0)));
    let best: Vec<u32> = expected[..10].iter().map(|e| e.0).collect();
    assert!(best.iter().all(|o| got.iter().any(|g| g.0 == *o)));
    for (ordinal, cosine) in got {
        let exact = expected.iter().find(|e| e.0 == *ordinal).unwrap().1;
        assert!((exact - cosine).abs() < 0.02);
        assert_eq!(index.cosine(&codes, *ordinal), Some(*cosine));
    }
    // All there are, and nothing that has no vector.
    let all = index.candidates(&codes, usize::MAX, &view, &mut scratch);
    assert_eq!(all.len(), 2_999);
    assert_eq!(index.cosine(&codes, 5), None);
    assert_eq!(index.cosine(&codes, 3_000), None);
    assert!(index.candidates(&codes, 0, &view, &mut scratch).is_empty());
    assert!(index.encode(&[0.0; 96]).is_none());
    assert!(index.encode(&query[1..]).is_none());
}

#[test]
fn a_sample_is_even_and_over_the_living_alone() {
    let mut random = Random(12);
    let vectors: Vec<Vec<f32>> = (0..4_000).map(|_| random.vector(32)).collect();
    let mut index = index(&vectors, 32);
    let query = random.vector(32);
    let codes = index.encode(&query).unwrap();
    let row = |live: bool| Row {
        hole: false,
        forgotten_at: if live { crate::docs::NEVER } else { 7 },
        ..Row::hole(RecordId::from_u128(0))
    };
    let rows: Vec<Row> = (0..4_000).map(|at| row(at % 2 == 0)).collect();
    let world = Arc::new(World::now(rows.iter()));
    let all = index.sample(&codes, 9_999, &world);
    assert_eq!(all.count, 2_000);
    let some = index.sample(&codes, 500, &world);
    assert!((450..=550).contains(&some.count), "{some:?}");
    assert!((some.mean - all.mean).abs() < 0.03 && (some.deviation - all.deviation).abs() < 0.03);
    // Where nearly none has a vector, those that have one are found.
    for at in 0..3_990 {
        index.set(at, None);
    }
    assert_eq!(index.sample(&codes, 500, &world).count, 5);
    assert_eq!(index.sample(&codes, 0, &world).count, 0);
}
