//! Each projection written, changed, compared, and left alone where it is another program's.

use reprise_types::{MemoryKind, MemorySource, NewRecord};
use serde_json::{Value, json};

use super::*;
use crate::observation::{Observation, ObservationType};
use crate::record_for_tests::kept;
use crate::sunwell::{Category, Decision, Failure, SCHEMAS};

fn telling(new: NewRecord, number: u32) -> Telling {
    let record = kept(new, number);
    Telling {
        line: json!({"id": record.id, "text": record.text}),
        links: Vec::new(),
        vector: (number == 1).then(|| vec![0.6, 0.8]),
        record,
    }
}

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
    let told = (1..).zip(records);
    let told = told.map(|(number, new)| telling(new, number));
    told.collect()
}

#[test]
fn every_projection_is_written_once_and_again_only_where_memory_changed() {
    for kind in ProjectionKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(kind.place());
        assert!(
            !compare(*kind, &place, told(&[])[..].into())
                .unwrap()
                .is_empty(),
            "{kind} is missing"
        );
        let first = rebuild(*kind, &place, told(&[])[..].into(), false).unwrap();
        assert!(first.written > 0, "{kind}");
        assert_eq!(
            compare(*kind, &place, told(&[])[..].into()).unwrap(),
            Vec::<String>::new()
        );
        let again = rebuild(*kind, &place, told(&[])[..].into(), false).unwrap();
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
    rebuild(ProjectionKind::Markdown, &place, all[..].into(), false).unwrap();
    fs_err::write(place.join("own.md"), "mine").unwrap();
    let fewer = &all[..all.len() - 1];
    assert_eq!(
        compare(ProjectionKind::Markdown, &place, fewer.into())
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        rebuild(ProjectionKind::Markdown, &place, fewer.into(), false)
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
    let refused = rebuild(
        ProjectionKind::Sunwell,
        folder.path(),
        told(&[])[..].into(),
        false,
    );
    assert!(refused.unwrap_err().to_string().contains("another program"));
    assert_eq!(
        fs_err::read_to_string(memory.join("learnings.jsonl")).unwrap(),
        journal
    );
    rebuild(
        ProjectionKind::Sunwell,
        folder.path(),
        told(&[])[..].into(),
        true,
    )
    .unwrap();
    assert!(
        compare(ProjectionKind::Sunwell, folder.path(), told(&[])[..].into())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn every_line_for_sunwell_keeps_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    rebuild(
        ProjectionKind::Sunwell,
        folder.path(),
        told(&[])[..].into(),
        false,
    )
    .unwrap();
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
fn aliases_of_tags_are_relations_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("knowledge.db");
    let aliases = BTreeMap::from([("rs".to_owned(), "rust".to_owned())]);
    let records = told(&[]);
    let all = Outgoing {
        records: &records,
        aliases: &aliases,
    };
    rebuild(ProjectionKind::AiLessons, &place, all, false).unwrap();
    let database = rusqlite::Connection::open(&place).unwrap();
    let query = "SELECT from_tag || ' ' || relation || ' ' || to_tag FROM tag_relations";
    let told: String = database.query_row(query, [], |row| row.get(0)).unwrap();
    assert_eq!(told, "rs alias_of rust");
    drop(database);
    let kind = ProjectionKind::AiLessons;
    assert!(compare(kind, &place, all).unwrap().is_empty());
    assert!(
        !compare(kind, &place, records[..].into())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn the_database_has_its_reference_tables_vectors_and_both_sides_of_a_context() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("knowledge.db");
    rebuild(
        ProjectionKind::AiLessons,
        &place,
        told(&[])[..].into(),
        false,
    )
    .unwrap();
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

#[test]
fn each_goal_has_a_file_of_what_is_done_and_what_is_left() {
    let at = chrono::DateTime::from_timestamp(1_768_000_000, 0).unwrap();
    let task = |id: &str, said: &str| {
        Learning::of_task(id, said, Some("Build a forum".to_owned()), at).record()
    };
    let mut plan = NewRecord::new("Plan", MemorySource::ConductorPlan, MemoryKind::Strategy);
    plan.details = Some(json!({"type": "plan", "plan": {
        "goal": "Build a forum",
        "goal_hash": "../../elsewhere",
        "tasks": ["Create model", {"id": "t2", "description": "Add routes"},
            {"id": "t3", "description": "Write tests"}],
        "artifacts": ["models.py"],
    }}));
    let mut secret = Learning::of_task("s", "Buy a gift", Some("Surprise".to_owned()), at).record();
    secret.tags = vec!["sensitive".to_owned()];
    let records = [
        plan,
        task("t1", "Create model"),
        task("t2", "Routes"),
        secret,
    ];
    let told: Vec<Telling> = (1..).zip(records).map(|(n, new)| telling(new, n)).collect();
    let folder = tempfile::tempdir().unwrap();
    // What Sunwell keeps beside it is nobody's to touch (S5, S7).
    let others = [
        "plans/a.json",
        "sessions/s.json",
        "codebase/graph.pickle",
        "memory/nodes.json",
    ];
    for name in others {
        let path = folder.path().join(".sunwell").join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, name).unwrap();
    }
    rebuild(
        ProjectionKind::Sunwell,
        folder.path(),
        told[..].into(),
        false,
    )
    .unwrap();
    let artifacts = folder.path().join(".sunwell/memory/artifacts");
    let files: Vec<_> = fs_err::read_dir(&artifacts)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let [file] = &files[..] else {
        panic!("{files:?}");
    };
    let goal: Value = serde_json::from_slice(&fs_err::read(file.path()).unwrap()).unwrap();
    assert_eq!(goal["goal"], "Build a forum");
    let hash = goal["goal_hash"].as_str().unwrap();
    assert_eq!(file.file_name().to_str(), Some(&*format!("{hash}.json")));
    let done = goal["completed"].as_array().unwrap().iter();
    let done: Vec<&Value> = done.map(|one| &one["description"]).collect();
    assert_eq!(done, ["Create model", "Routes"]);
    assert_eq!(
        goal["pending"],
        json!([{"id": "t3", "description": "Write tests"}])
    );
    assert_eq!(goal["artifacts"], json!(["models.py"]));
    for name in others {
        let path = folder.path().join(".sunwell").join(name);
        assert_eq!(fs_err::read_to_string(path).unwrap(), name);
    }
    // A goal that nothing names any more has no file.
    let again = rebuild(
        ProjectionKind::Sunwell,
        folder.path(),
        told[3..].into(),
        false,
    )
    .unwrap();
    assert_eq!(
        (again.removed, artifacts.join(file.file_name()).exists()),
        (1, false)
    );
    let moved = crate::import::recognise(folder.path()).unwrap();
    assert_eq!(moved, crate::import::ImportKind::Sunwell);
}
