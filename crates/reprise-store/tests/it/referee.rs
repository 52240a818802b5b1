//! Tests that stock rvf-runtime opens every closed file, and returns equal vectors and neighbours.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use reprise_simulation as testing;
use reprise_simulation::{LogModel, WorkloadStep};
use reprise_store::{Log, RealDisk, Verify};
use rvf_runtime::{QueryOptions, RvfStore};

use crate::record;

/// Opens a file in stock rvf-runtime, and compares the live vectors of the file's width and the
/// nearest ones of some queries.
fn check_with_rvf_runtime(path: &Path, model: &LogModel, dimensions: u16, place: &str) {
    let store = RvfStore::open_readonly(path).unwrap_or_else(|e| panic!("{place}: {e:?}"));
    let live: BTreeMap<u64, &[f32]> = model
        .records
        .iter()
        .enumerate()
        .filter(|(_, (record, gone))| !gone && record.embedding.len() == usize::from(dimensions))
        .map(|(ordinal, (record, _))| (ordinal as u64, record.embedding.as_slice()))
        .collect();
    let theirs: BTreeMap<u64, Vec<f32>> = store.read_all_vectors().into_iter().collect();
    let ours: BTreeMap<u64, Vec<f32>> = live.iter().map(|(id, v)| (*id, v.to_vec())).collect();
    assert_eq!(theirs, ours, "{place}");
    assert_eq!(store.dimension(), dimensions, "{place}");
    for seed in 0..10 {
        let query = testing::unit_vector(5000 + seed, dimensions);
        let dot = |v: &[f32]| v.iter().zip(&query).map(|(a, b)| a * b).sum::<f32>();
        let mut expected: Vec<(u64, f32)> = live.iter().map(|(id, v)| (*id, dot(v))).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let options = QueryOptions {
            force_exact: true,
            ..QueryOptions::default()
        };
        let found = store.query(&query, 5, &options).unwrap();
        let scores: Vec<f32> = found.iter().map(|hit| -hit.distance).collect();
        for (hit, (_, score)) in scores.iter().zip(&expected) {
            assert!(
                (hit - score).abs() < 1e-5,
                "{place}: {scores:?}, not {expected:?}"
            );
        }
        assert_eq!(found.len(), expected.len().min(5), "{place}");
        let nearest = found
            .iter()
            .zip(&expected)
            .all(|(hit, (id, _))| hit.id == *id);
        assert!(nearest, "{place}: {found:?}, not {expected:?}");
    }
}

#[test]
fn stock_rvf_runtime_sees_the_same_memory_after_every_close() {
    for seed in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.rvf");
        let mut model = LogModel::default();
        for (number, step) in testing::generate_workload(seed, 30).iter().enumerate() {
            let options = testing::open_options(Verify::Tail);
            let mut log = Log::open(Arc::new(RealDisk), &path, &options).unwrap().log;
            testing::apply_step(&mut log, step).unwrap();
            model.apply(step);
            if number % 3 == 0 {
                testing::write_checkpoint(&mut log).unwrap();
            } else {
                log.write_closing_index().unwrap();
            }
            let dimensions = log.dimensions();
            drop(log);
            check_with_rvf_runtime(
                &path,
                &model,
                dimensions,
                &format!("seed {seed}, step {number} {step:?}"),
            );
        }
        let options = testing::open_options(Verify::Everything);
        let opened = Log::open(Arc::new(RealDisk), &path, &options).unwrap();
        assert!(opened.report.is_whole() && opened.report.foreign_segments == 0);
        model.compare(&opened.log).unwrap();
    }
}

#[test]
fn a_text_that_forges_a_manifest_does_not_fool_it_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.rvf");
    let options = testing::open_options(Verify::Tail);
    let mut log = Log::open(Arc::new(RealDisk), &path, &options).unwrap().log;
    let mut model = LogModel::default();
    for shift in 0..64 {
        let forged = format!("{}{}", " ".repeat(shift), "SFVR\u{1}\u{5}\0\0".repeat(30));
        let step = WorkloadStep::Commit(vec![record(shift as u64, &forged)]);
        testing::apply_step(&mut log, &step).unwrap();
        model.apply(&step);
    }
    testing::write_checkpoint(&mut log).unwrap();
    drop(log);
    check_with_rvf_runtime(&path, &model, testing::DIMENSIONS, "forged");
}
