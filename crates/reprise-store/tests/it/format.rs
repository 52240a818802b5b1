//! Files of every format version stay readable: `tests/fixtures/format-v1` at the root of the
//! repository.
//!
//! A fixture is a file as a crash or a close left it, and beside it as JSON what it must serve. To
//! add one for a new version: `REPRISE_WRITE_FIXTURES=1 cargo test -p reprise-store --test it
//! format`, which never replaces a file that is there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reprise_simulation as testing;
use reprise_simulation::{Model, SimDisk, Step};
use reprise_store::Verify;
use reprise_types::MemoryRecord;
use serde_json::{Value, json};

use crate::{open, record, run};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/format-v1")
}

fn to_json(model: &Model) -> Value {
    let records: Vec<Value> = model
        .records
        .iter()
        .map(|(record, forgotten)| json!({ "record": record, "forgotten": forgotten }))
        .collect();
    json!({ "seq": model.seq, "cursors": model.cursors, "records": records })
}

fn from_json(value: &Value) -> Model {
    let records = value["records"].as_array().unwrap();
    let read = |entry: &Value| -> (MemoryRecord, bool) {
        let record = serde_json::from_value(entry["record"].clone()).unwrap();
        (record, entry["forgotten"].as_bool().unwrap())
    };
    let cursors: BTreeMap<String, u64> = serde_json::from_value(value["cursors"].clone()).unwrap();
    Model {
        learning: Vec::new(),
        annotations: Vec::new(),
        seq: value["seq"].as_u64().unwrap(),
        records: records.iter().map(read).collect(),
        cursors,
    }
}

/// A closed file with singles, a compacted one, and one with a torn tail.
fn fresh_fixtures() -> Vec<(&'static str, Vec<u8>, Model)> {
    let texts = |from: u64, count: u64| -> Vec<Step> {
        (from..from + count)
            .map(|i| Step::Commit(vec![record(i, &format!("a memory of thing {i}"))]))
            .collect()
    };
    let mut singles = testing::workload(42, 10);
    singles.extend(texts(0, 3));
    let mut compacted = singles.clone();
    compacted.push(Step::Compact(vec![record(50, "meanwhile")]));
    compacted.extend(texts(60, 3));
    let torn = compacted.clone();
    singles.push(Step::Checkpoint);
    compacted.push(Step::Checkpoint);
    [
        ("singles", singles, 0),
        ("compacted", compacted, 0),
        ("torn", torn, 250),
    ]
    .into_iter()
    .map(|(name, steps, torn)| {
        let disk = SimDisk::new();
        let (log, model, failed) = run(&disk, &steps);
        assert!(failed.is_none());
        let mut bytes = disk.bytes(&testing::path()).unwrap();
        drop(log);
        if torn > 0 {
            let mut log = open(&disk, Verify::Tail).log;
            log.append(&[record(99, "never acknowledged")]).unwrap();
            let more = disk.bytes(&testing::path()).unwrap();
            bytes.extend_from_slice(&more[bytes.len()..bytes.len() + torn]);
        }
        (name, bytes, model)
    })
    .collect()
}

#[test]
fn format_1_opens() {
    if std::env::var_os("REPRISE_WRITE_FIXTURES").is_some() {
        std::fs::create_dir_all(folder()).unwrap();
        for (name, bytes, model) in fresh_fixtures() {
            let file = folder().join(format!("{name}.rvf"));
            if !file.exists() {
                std::fs::write(file, bytes).unwrap();
                let expected = serde_json::to_string_pretty(&to_json(&model)).unwrap();
                std::fs::write(folder().join(format!("{name}.json")), expected + "\n").unwrap();
            }
        }
    }
    for name in ["singles", "compacted", "torn"] {
        let bytes = std::fs::read(folder().join(format!("{name}.rvf"))).unwrap();
        let expected = std::fs::read(folder().join(format!("{name}.json"))).unwrap();
        let model = from_json(&serde_json::from_slice(&expected).unwrap());
        for verify in [Verify::Tail, Verify::Everything] {
            let disk = SimDisk::new();
            disk.put(&testing::path(), bytes.clone());
            let opened = open(&disk, verify);
            assert!(opened.report.is_whole(), "{name}: {:?}", opened.report);
            assert_eq!(opened.report.torn_bytes > 0, name == "torn", "{name}");
            model
                .check(&opened.log)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn an_older_file_becomes_todays_by_what_is_written_to_it_and_by_its_compaction() {
    for name in ["singles", "compacted", "torn"] {
        let bytes = std::fs::read(folder().join(format!("{name}.rvf"))).unwrap();
        let expected = std::fs::read(folder().join(format!("{name}.json"))).unwrap();
        let mut model = from_json(&serde_json::from_slice(&expected).unwrap());
        let disk = SimDisk::new();
        disk.put(&testing::path(), bytes.clone());
        let mut log = open(&disk, Verify::Everything).log;
        let later = vec![record(200, "said today")];
        for step in [
            Step::Commit(later),
            Step::Compact(vec![record(201, "said meanwhile")]),
            Step::Checkpoint,
        ] {
            testing::apply(&mut log, &step).unwrap();
            model.step(&step);
            model
                .check(&log)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        drop(log);
        let again = open(&disk, Verify::Everything);
        assert!(again.report.is_whole(), "{name}: {:?}", again.report);
        model
            .check(&again.log)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(disk.bytes(&testing::path()).unwrap(), bytes, "{name}");
    }
}
