//! Tests that files of this format stay readable, and that older ones are refused:
//! `tests/fixtures/format-v3` and those before, at the root of the repository.
//!
//! A fixture is a file as a crash or a close left it, next to a JSON file with the content that it
//! must return. To add one for a new version: `REPRISE_WRITE_FIXTURES=1 cargo test -p reprise-store
//! --test it format`, which never replaces a file that is there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reprise_simulation as testing;
use reprise_simulation::{LogModel, SimDisk, WorkloadStep};
use reprise_store::{StoreError, Verify};
use reprise_types::MemoryRecord;
use serde_json::{Value, json};

use crate::{open, record, run_steps};

fn fixture_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/format-v3")
}

fn model_to_json(model: &LogModel) -> Value {
    let records: Vec<Value> = model
        .records
        .iter()
        .map(|(record, forgotten)| json!({ "record": record, "forgotten": forgotten }))
        .collect();
    json!({ "seq": model.seq, "cursors": model.cursors, "records": records })
}

fn model_from_json(value: &Value) -> LogModel {
    let records = value["records"].as_array().unwrap();
    let read = |entry: &Value| -> (MemoryRecord, bool) {
        let record = serde_json::from_value(entry["record"].clone()).unwrap();
        (record, entry["forgotten"].as_bool().unwrap())
    };
    let cursors: BTreeMap<String, u64> = serde_json::from_value(value["cursors"].clone()).unwrap();
    LogModel {
        learning: Vec::new(),
        annotations: Vec::new(),
        seq: value["seq"].as_u64().unwrap(),
        records: records.iter().map(read).collect(),
        cursors,
    }
}

/// Builds a closed file with single commits, a compacted one, and one with a torn tail.
fn fresh_fixtures() -> Vec<(&'static str, Vec<u8>, LogModel)> {
    let texts = |from: u64, count: u64| -> Vec<WorkloadStep> {
        (from..from + count)
            .map(|i| WorkloadStep::Commit(vec![record(i, &format!("a memory of thing {i}"))]))
            .collect()
    };
    let mut singles = testing::generate_workload(42, 10);
    singles.extend(texts(0, 3));
    let mut compacted = singles.clone();
    compacted.push(WorkloadStep::Compact(vec![record(50, "meanwhile")]));
    compacted.extend(texts(60, 3));
    let torn = compacted.clone();
    singles.push(WorkloadStep::Checkpoint);
    compacted.push(WorkloadStep::Checkpoint);
    [
        ("singles", singles, 0),
        ("compacted", compacted, 0),
        ("torn", torn, 250),
    ]
    .into_iter()
    .map(|(name, steps, torn)| {
        let disk = SimDisk::new();
        let (log, model, failed) = run_steps(&disk, &steps);
        assert!(failed.is_none());
        let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
        drop(log);
        if torn > 0 {
            let mut log = open(&disk, Verify::Tail).log;
            log.append(&[record(99, "never acknowledged")]).unwrap();
            let more = disk.file_bytes(&testing::log_path()).unwrap();
            bytes.extend_from_slice(&more[bytes.len()..bytes.len() + torn]);
        }
        (name, bytes, model)
    })
    .collect()
}

#[test]
fn format_3_opens() {
    if std::env::var_os("REPRISE_WRITE_FIXTURES").is_some() {
        std::fs::create_dir_all(fixture_folder()).unwrap();
        for (name, bytes, model) in fresh_fixtures() {
            let file = fixture_folder().join(format!("{name}.rvf"));
            if !file.exists() {
                std::fs::write(file, bytes).unwrap();
                let expected = serde_json::to_string_pretty(&model_to_json(&model)).unwrap();
                std::fs::write(
                    fixture_folder().join(format!("{name}.json")),
                    expected + "\n",
                )
                .unwrap();
            }
        }
    }
    for name in ["singles", "compacted", "torn"] {
        let bytes = std::fs::read(fixture_folder().join(format!("{name}.rvf"))).unwrap();
        let expected = std::fs::read(fixture_folder().join(format!("{name}.json"))).unwrap();
        let model = model_from_json(&serde_json::from_slice(&expected).unwrap());
        for verify in [Verify::Tail, Verify::Everything] {
            let disk = SimDisk::new();
            disk.create_file(&testing::log_path(), bytes.clone());
            let opened = open(&disk, verify);
            assert!(opened.report.is_whole(), "{name}: {:?}", opened.report);
            assert_eq!(opened.report.torn_bytes > 0, name == "torn", "{name}");
            model
                .compare(&opened.log)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn what_is_written_has_the_bytes_of_the_fixtures() {
    for (name, bytes, _) in fresh_fixtures() {
        let fixture = std::fs::read(fixture_folder().join(format!("{name}.rvf"))).unwrap();
        let differs = bytes.iter().zip(&fixture).position(|(new, old)| new != old);
        let sizes = (bytes.len(), fixture.len());
        assert!(
            sizes.0 == sizes.1 && differs.is_none(),
            "{name}: {sizes:?}, {differs:?}"
        );
    }
}

#[test]
fn older_formats_are_refused_with_the_way_over() {
    let names = ["singles", "compacted", "torn"].into_iter();
    for (version, name) in names.flat_map(|name| [(1, name), (2, name)]) {
        let path = format!("../../tests/fixtures/format-v{version}/{name}.rvf");
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
        let disk = SimDisk::new();
        let bytes = std::fs::read(path).unwrap();
        disk.create_file(&testing::log_path(), bytes.clone());
        let error = testing::open_log(&disk, Verify::Tail).unwrap_err();
        assert!(
            matches!(error, StoreError::OlderFormat { found, .. } if found == version),
            "{error}"
        );
        assert!(error.to_string().contains("`reprise export`"), "{error}");
        assert_eq!(disk.file_bytes(&testing::log_path()), Some(bytes));
    }
}
