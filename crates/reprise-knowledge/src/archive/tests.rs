//! A memory through its lines and back, whole and cut.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use reprise_engine::{EngineOptions, ForgetSelector};
use reprise_store::RealDisk;
use reprise_tests::assert_lacks;
use reprise_types::{MemoryKind, MemorySource, NewRecord, WriteOutcome};

use super::*;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_768_000_000, 123_456_000).unwrap()
}

fn open_empty_engine(folder: &tempfile::TempDir, name: &str) -> Engine {
    let mut options = EngineOptions::new(8, 7, now());
    options.create = true;
    Engine::open(Arc::new(RealDisk), &folder.path().join(name), &options)
        .unwrap()
        .0
}

/// The visible part as a face prints it, in short.
fn visible_line(record: &MemoryRecord) -> Value {
    let mut value = json!(record);
    for name in ["embedding", "embedding_space", "content_hash", "visibility"] {
        value.as_object_mut().unwrap().remove(name);
    }
    value
}

fn archive_line(record: &MemoryRecord, section: &ArchiveSection) -> Value {
    let mut line = visible_line(record);
    line[ARCHIVE] = json!(section);
    line
}

fn export_lines(engine: &Engine) -> Vec<Value> {
    let mut lines = Vec::new();
    let stays = |record: &MemoryRecord| record.tags.iter().any(|tag| tag == "sensitive");
    let held_back =
        export_archive::<EngineError>(engine, &visible_line, &stays, &mut |record, section| {
            lines.push(archive_line(record, section));
            Ok(())
        });
    assert_eq!(held_back.unwrap(), 1);
    lines
}

fn engine_with_history(folder: &tempfile::TempDir) -> (Engine, Vec<RecordId>) {
    let mut engine = open_empty_engine(folder, "a.rvf");
    let record = |text: &str, name: &str| {
        let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
        record.external_ids = vec![ExternalId::new(ExternalId::BATCH, name)];
        record.confidence = Some(0.9);
        record
    };
    let mut published = record("c", "c");
    published.visibility = Visibility::Shared;
    let mut secret = record("nobody else's", "s");
    secret.tags = vec!["sensitive".to_owned()];
    let records = vec![
        record("a", "a"),
        record("b", "b"),
        published,
        secret,
        record("gone", "g"),
    ];
    let outcomes = engine.observe(records, None, now()).unwrap();
    let ids: Vec<RecordId> = outcomes
        .iter()
        .map(|outcome| match outcome {
            WriteOutcome::Inserted { id } => *id,
            other => panic!("{other:?}"),
        })
        .collect();
    let mut later = record("a, corrected", "a2");
    later.supersedes = Some(ids[0]);
    let at = now() + Duration::seconds(1);
    engine.observe(vec![later], None, at).unwrap();
    engine.set_tags(ids[1], &["new".to_owned()], at).unwrap();
    engine.link(ids[1], ids[2], "because_of", at).unwrap();
    engine.link(ids[1], ids[3], "because_of", at).unwrap();
    engine
        .forget(&ForgetSelector::Id(ids[4]), "asked", at)
        .unwrap();
    (engine, ids)
}

#[test]
fn what_is_read_back_is_what_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, ids) = engine_with_history(&folder);
    let first = export_lines(&engine);
    assert_eq!(first.len(), 3, "a line for each live record that may leave");
    let text = serde_json::to_string(&first).unwrap();
    assert_lacks!(text, "nobody else's", "gone");
    assert_eq!(
        first[0]["tags"],
        json!(["new"]),
        "a line says what is so now"
    );
    let archive = Archive::from_lines(serde_json::from_str::<Vec<Value>>(&text).unwrap()).unwrap();
    assert_eq!(archive.list_live_links().len(), 1);
    let mut made = open_empty_engine(&folder, "b.rvf");
    made.import_log(archive.log).unwrap();
    let (own, other) = (made.snapshot(), engine.snapshot());
    assert_eq!(own.links(ids[1])[0].relation, "because_of");
    assert_eq!(
        own.version_history(own.current_version(ids[0]).unwrap())
            .len(),
        2
    );
    assert_eq!(
        own.get(ids[2]).unwrap().unwrap(),
        other.get(ids[2]).unwrap().unwrap()
    );
    let mut second = Vec::new();
    let stayed =
        export_archive::<EngineError>(&made, &visible_line, &|_| false, &mut |record, section| {
            second.push(archive_line(record, section));
            Ok(())
        });
    assert_eq!((stayed.unwrap(), second), (0, first));
}

#[test]
fn what_a_withheld_correction_replaced_is_not_current_in_an_export() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = open_empty_engine(&folder, "a.rvf");
    let record = |text| NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
    let records = vec![record("the port is 8080"), record("lunch is at noon")];
    let outcomes = engine.observe(records, None, now()).unwrap();
    let old = outcomes[0].inserted_id().unwrap();
    let mut secret = record("the port is 9090");
    secret.tags = vec!["sensitive".to_owned()];
    secret.supersedes = Some(old);
    let at = now() + Duration::seconds(1);
    engine.observe(vec![secret], None, at).unwrap();
    let lines = export_lines(&engine);
    assert_lacks!(serde_json::to_string(&lines).unwrap(), "9090");
    let mut made = open_empty_engine(&folder, "b.rvf");
    made.import_log(Archive::from_lines(lines).unwrap().log)
        .unwrap();
    let kept = made.snapshot().get_stored(old);
    assert!(kept.is_some(), "it is in its history");
    assert_eq!(made.snapshot().current_version(old), None);
    assert_eq!(made.stats().live, 1);
}

#[test]
fn an_export_that_was_cut_or_joined_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, _) = engine_with_history(&folder);
    let lines = export_lines(&engine);
    let refused = |lines: Vec<Value>| Archive::from_lines(lines).unwrap_err();
    assert!(refused(lines[..2].to_vec()).contains("cut"));
    assert!(refused(lines[1..].to_vec()).contains("says to have 3 lines and has 2"));
    assert!(refused([lines.clone(), lines.clone()].concat()).contains("goes on after line 3"));
    let mut bad = lines.clone();
    bad[1]["kind"] = json!("gossip");
    assert!(refused(bad).contains("line 2"));
    assert!(refused(Vec::new()).contains("cut"));
}
