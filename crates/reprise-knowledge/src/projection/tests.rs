//! Each projection written, changed, compared, and left alone where it is another program's.

use reprise_types::{MemoryKind, MemorySource, NewRecord};
use serde_json::{Value, json};

use super::*;
use crate::observation::{Observation, ObservationType};
use crate::record_for_tests::kept;
use crate::sunwell::{Category, Decision, Failure, SCHEMAS};

fn told(more: &[&str]) -> Vec<Telling> {
    let at = chrono::DateTime::from_timestamp(1_768_000_000, 0).unwrap();
    let lesson = |title: &str| {
        let lesson = Lesson {
            title: title.to_owned(),
            content: "Ask first".to_owned(),
            contexts: vec!["cloud".to_owned()],
            anti_contexts: vec!["cloud".to_owned(), "server".to_owned()],
            ..Lesson::default()
        };
        let mut record =
            NewRecord::new(lesson.text(), MemorySource::UserInput, MemoryKind::Finding);
        record.details = Some(lesson.details());
        record
            .metadata
            .insert("evidence".to_owned(), json!("trial-and-error"));
        record.confidence = Some(0.7);
        record
    };
    let mut secret = lesson("A secret");
    secret.tags = vec!["sensitive".to_owned()];
    let mut records = vec![
        lesson("Jira transitions"),
        secret,
        Decision::new("Use SQLite", "One file", at).record(),
        Failure::new("Leaks", "Unbounded cache", at).record(),
        Learning::new("User has email", Category::Type, at).record(),
        Observation::new("API timeout", ObservationType::Error).record("s"),
        NewRecord::new("Just said", MemorySource::UserInput, MemoryKind::Episode),
    ];
    records.extend(more.iter().map(|title| lesson(title)));
    let told = (1..).zip(records).map(|(number, new)| {
        let record = kept(new, number);
        Telling {
            line: json!({"id": record.id, "text": record.text}),
            links: Vec::new(),
            vector: (number == 1).then(|| vec![0.6, 0.8]),
            record,
        }
    });
    told.collect()
}

#[test]
fn every_projection_is_written_once_and_again_only_where_memory_changed() {
    for kind in ProjectionKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(kind.place());
        assert!(
            !compare(*kind, &place, &told(&[])).unwrap().is_empty(),
            "{kind} is missing"
        );
        let first = rebuild(*kind, &place, &told(&[]), false).unwrap();
        assert!(first.written > 0, "{kind}");
        assert_eq!(
            compare(*kind, &place, &told(&[])).unwrap(),
            Vec::<String>::new()
        );
        let again = rebuild(*kind, &place, &told(&[]), false).unwrap();
        assert_eq!(
            (again.written, again.unchanged, again.removed),
            (0, first.written, 0),
            "{kind}"
        );
        let left = fs_err::read_dir(folder.path()).unwrap();
        let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.into_iter().all(|name| !name.ends_with("unfinished")));
    }
}

#[test]
fn notes_of_what_is_gone_are_removed_and_those_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("notes");
    let all = told(&["Another"]);
    rebuild(ProjectionKind::Markdown, &place, &all, false).unwrap();
    fs_err::write(place.join("own.md"), "mine").unwrap();
    let fewer = &all[..all.len() - 1];
    assert_eq!(
        compare(ProjectionKind::Markdown, &place, fewer)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        rebuild(ProjectionKind::Markdown, &place, fewer, false)
            .unwrap()
            .removed,
        1
    );
    assert!(place.join("own.md").exists());
}

#[test]
fn what_another_program_wrote_is_left_alone_until_it_is_adopted() {
    let folder = tempfile::tempdir().unwrap();
    let memory = folder.path().join(".sunwell/memory");
    fs_err::create_dir_all(&memory).unwrap();
    // A line of Sunwell's own journal, which has the path of RFC-065 and another schema (C12).
    let journal = r#"{"id":"a4c5d23dff13","fact":"x","category":"type","timestamp":"2026-01-30"}"#;
    fs_err::write(memory.join("learnings.jsonl"), journal).unwrap();
    let refused = rebuild(ProjectionKind::Sunwell, folder.path(), &told(&[]), false);
    assert!(refused.unwrap_err().to_string().contains("another program"));
    assert_eq!(
        fs_err::read_to_string(memory.join("learnings.jsonl")).unwrap(),
        journal
    );
    rebuild(ProjectionKind::Sunwell, folder.path(), &told(&[]), true).unwrap();
    assert!(
        compare(ProjectionKind::Sunwell, folder.path(), &told(&[]))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn every_line_for_sunwell_keeps_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    rebuild(ProjectionKind::Sunwell, folder.path(), &told(&[]), false).unwrap();
    let memory = folder.path().join(".sunwell/memory");
    let mut counts = Vec::new();
    for ((_, schema), file) in SCHEMAS.iter().zip(["learnings", "decisions", "failures"]) {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let validator = jsonschema::draft7::new(&schema).unwrap();
        let lines = fs_err::read_to_string(memory.join(format!("{file}.jsonl"))).unwrap();
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert!(validator.is_valid(&line), "{file}: {line}");
        }
        counts.push(lines.lines().count());
        assert!(
            !validator.is_valid(&json!({"id": "x"})),
            "the schema asks for something"
        );
    }
    assert_eq!(counts, [3, 1, 1]);
    let index: Value =
        serde_json::from_slice(&fs_err::read(memory.join("index.json")).unwrap()).unwrap();
    assert_eq!(index["version"], "1.0");
    assert_eq!(index["stats"]["total"], 3);
    assert_eq!(index["categories"][0], "TASK_COMPLETION");
    assert_eq!(
        (&index["totalLearnings"], &index["byCategory"]["type"]),
        (&json!(3), &json!(1))
    );
}

#[test]
fn the_database_has_its_reference_tables_vectors_and_both_sides_of_a_context() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("knowledge.db");
    rebuild(ProjectionKind::AiLessons, &place, &told(&[]), false).unwrap();
    let database = rusqlite::Connection::open(&place).unwrap();
    let one = |query: &str| -> String { database.query_row(query, [], |row| row.get(0)).unwrap() };
    assert_eq!(one("SELECT count(*) || '' FROM lessons"), "1");
    assert_eq!(one("SELECT count(*) || '' FROM lesson_contexts"), "3");
    assert_eq!(one("SELECT confidence FROM lessons"), "high");
    assert_eq!(one("SELECT source FROM lessons"), "trial-and-error");
    assert_eq!(
        one("SELECT description || typical_confidence FROM source_types WHERE name = 'inferred'"),
        "Reasoned from evidencelow-medium"
    );
    assert_eq!(
        one("SELECT value FROM meta WHERE key = 'embedding_dimensions'"),
        "2"
    );
    assert_eq!(
        one("SELECT length(embedding) || '' FROM lesson_embeddings"),
        "8"
    );
    assert_eq!(one("PRAGMA integrity_check"), "ok");
    assert_eq!(
        database
            .query_row("PRAGMA foreign_key_check", [], |_| Ok(()))
            .ok(),
        None
    );
}
