//! Each verb against a plain list of vectors, with restarts, crashes and damage in between.

use std::path::Path;

use reprise_types::{next_splitmix64, normalize};

use super::*;

const WIDTH: usize = 16;

fn vector(seed: u32) -> Vec<f32> {
    let mut state = u64::from(seed) * 7919 + 1;
    let number = |_| (next_splitmix64(&mut state) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0;
    let mut vector: Vec<f32> = (0..WIDTH).map(number).collect();
    normalize(&mut vector);
    vector
}

fn open(path: &Path, batch: usize) -> RvfVectors {
    let mut store = RvfVectors::open(path, WIDTH as u16, false).unwrap();
    store.set_batch(batch);
    store
}

/// Compares everything that a store can be asked with what it should hold.
fn check(store: &RvfVectors, model: &BTreeMap<u32, Vec<f32>>, place: &str) {
    let mut out = vec![0.0; WIDTH];
    for ordinal in 0..500 {
        let has = store.copy_vector(ordinal, &mut out);
        assert_eq!(has, model.contains_key(&ordinal), "{ordinal} {place}");
        assert!(!has || out == model[&ordinal], "{ordinal} {place}");
    }
    for (seed, k, rest) in [(900, 1, 0), (901, 7, 0), (902, 100, 1), (903, 1_000, 2)] {
        let question = vector(seed);
        let admits = |ordinal: u32| rest == 0 || ordinal % 3 == rest;
        let mut best: Vec<(u32, f32)> = model
            .iter()
            .filter(|(ordinal, _)| admits(**ordinal))
            .map(|(ordinal, vector)| (*ordinal, dot(vector, &question)))
            .collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        best.truncate(k);
        let found = store.query(&question, k, &admits).unwrap();
        let ids = |list: &[(u32, f32)]| list.iter().map(|one| one.0).collect::<Vec<_>>();
        assert_eq!(ids(&found), ids(&best), "{place}");
        let far = |pair: (&(u32, f32), &(u32, f32))| (pair.0.1 - pair.1.1).abs() > 1e-5;
        assert!(!found.iter().zip(&best).any(far), "{place}");
    }
}

/// Tells a store what happened to some records, and the model too.
fn ingest(store: &RvfVectors, model: &mut BTreeMap<u32, Vec<f32>>, records: &[(u32, u32)]) {
    let made: Vec<(u32, Vec<f32>)> = records
        .iter()
        .map(|(at, seed)| (*at, vector(*seed)))
        .collect();
    let told: Vec<(u32, &[f32])> = made.iter().map(|(at, one)| (*at, one.as_slice())).collect();
    store.ingest(&told).unwrap();
    model.extend(made);
}

#[test]
fn each_verb_does_what_it_says_whatever_the_batch() {
    for batch in [1, 3, 64, 1_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.vectors.rvf");
        let (store, mut model) = (open(&path, batch), BTreeMap::new());
        for ordinal in 0..200 {
            ingest(&store, &mut model, &[(ordinal, ordinal)]);
        }
        check(&store, &model, "ingested");
        ingest(&store, &mut model, &[(5, 305), (190, 390), (199, 399)]);
        check(&store, &model, "replaced");
        let gone = [0, 7, 190, 198, 450];
        store.delete(&gone).unwrap();
        model.retain(|ordinal, _| !gone.contains(ordinal));
        check(&store, &model, "deleted");
        store.compact().unwrap();
        check(&store, &model, "compacted");
        ingest(&store, &mut model, &[(7, 307), (200, 200)]);
        check(&store, &model, "ingested again");
        store.flush().unwrap();
        check(&store, &model, "flushed");
        drop(store);
        let stock = RvfStore::open_readonly(&path).unwrap();
        let theirs: BTreeMap<u32, Vec<f32>> = stock
            .iter_vectors()
            .map(|(id, vector)| (id as u32, vector.to_vec()))
            .collect();
        assert_eq!(
            theirs, model,
            "what is flushed is in the package's own file"
        );
        drop(stock);
        check(&open(&path, batch), &model, "opened again");
    }
}

#[test]
fn what_was_deleted_is_in_no_byte_after_a_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.vectors.rvf");
    let (store, mut model) = (open(&path, 1), BTreeMap::new());
    ingest(&store, &mut model, &[(0, 0), (1, 1), (2, 2)]);
    let bytes: Vec<u8> = vector(1).iter().flat_map(|x| x.to_le_bytes()).collect();
    let holds = || {
        let file = std::fs::read(&path).unwrap();
        file.windows(bytes.len()).any(|part| part == bytes)
    };
    store.delete(&[1]).unwrap();
    assert!(holds(), "the package deletes by a mark");
    store.compact().unwrap();
    assert!(!holds());
}

#[test]
fn it_takes_over_what_the_log_has_after_a_crash_and_after_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.vectors.rvf");
    let (store, mut model) = (open(&path, 10), BTreeMap::new());
    for ordinal in 0..95 {
        ingest(&store, &mut model, &[(ordinal, ordinal)]);
    }
    store.delete(&[3]).unwrap();
    model.remove(&3);
    // A crash: what waits is lost, and the package's lock stays.
    drop(store);
    std::fs::write(lock_path(&path), b"of a process that is gone").unwrap();
    model.insert(4, vector(404));
    model.remove(&50);
    let adopt = |store: &RvfVectors, model: &BTreeMap<u32, Vec<f32>>| {
        let read = |ordinal: u32, out: &mut [f32]| {
            let found = model.get(&ordinal);
            found.map(|vector| out.copy_from_slice(vector)).is_some()
        };
        store.adopt(95, &read).unwrap();
    };
    let store = open(&path, 10);
    adopt(&store, &model);
    check(&store, &model, "after a crash");
    store.flush().unwrap();
    let reader = RvfVectors::open(&path, WIDTH as u16, true).unwrap();
    drop(store);
    let size = || std::fs::metadata(&path).unwrap().len();
    let before = size();
    model.insert(60, vector(460));
    adopt(&reader, &model);
    check(&reader, &model, "a reader sees what it adopts");
    assert_eq!(size(), before, "and writes nothing");
    let mut file = std::fs::read(&path).unwrap();
    file[100] ^= 1;
    std::fs::write(&path, file).unwrap();
    for damaged in [true, false] {
        let store = open(&path, 10);
        adopt(&store, &model);
        check(&store, &model, &format!("damaged: {damaged}"));
    }
    let wider = RvfVectors::open(&path, 24, false).unwrap();
    assert!(
        !wider.copy_vector(1, &mut [0.0; 24]),
        "another width begins anew"
    );
    let refused = wider.ingest(&[(0, &[0.0; 16])]).unwrap_err();
    assert!(
        refused.message.contains("16 numbers and not 24"),
        "{refused}"
    );
}
