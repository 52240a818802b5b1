//! Each projection written, changed, compared, and left alone where it is another program's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reprise_types::{MemoryKind, MemorySource, NewRecord};
use serde_json::{Value, json};

use super::*;
use crate::export::OutgoingRecord;
use crate::lesson::LessonDetails;
use crate::observation::{Observation, ObservationType};
use crate::record_for_tests::record_from_new;
use crate::reference::TagRelation;
use crate::sunwell::tests::typescript::SCHEMAS;
use crate::sunwell::{LearningCategory, SunwellDecision, SunwellFailure, SunwellLearning};

fn outgoing(new: NewRecord, number: u32) -> OutgoingRecord {
    let record = record_from_new(new, number);
    OutgoingRecord {
        line: json!({"id": record.id, "text": record.text}),
        links: Vec::new(),
        first: None,
        vector: (number == 1).then(|| vec![0.6, 0.8]),
        record,
    }
}

fn sample_records(more: &[&str]) -> Vec<OutgoingRecord> {
    let at = DateTime::from_timestamp(1_768_000_000, 0).unwrap();
    let lesson = |title: &str| {
        let lesson = LessonDetails {
            title: title.to_owned(),
            content: "Ask first".to_owned(),
            contexts: vec!["cloud".to_owned()],
            anti_contexts: vec!["cloud".to_owned(), "server".to_owned()],
            ..LessonDetails::default()
        };
        let mut record = NewRecord::new(
            lesson.to_text(),
            MemorySource::UserInput,
            MemoryKind::Finding,
        );
        record.details = Some(lesson.to_details());
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
        SunwellDecision::new("Use SQLite", "One file", at).to_record(),
        SunwellFailure::new("Leaks", "Unbounded cache", at).to_record(),
        SunwellLearning::new("User has email", LearningCategory::Type, at).to_record(),
        Observation::new("API timeout", ObservationType::Error).to_record("s"),
        NewRecord::new("Just said", MemorySource::UserInput, MemoryKind::Episode),
    ];
    records.extend(more.iter().map(|title| lesson(title)));
    let told = (1..).zip(records);
    let told = told.map(|(number, new)| outgoing(new, number));
    told.collect()
}

/// Where it is remembered what was written: the memory's folder.
fn home_of(folder: &Path) -> PathBuf {
    folder.join("home")
}

type RebuildResult = Result<ProjectionUpdateReport, ExportError>;

fn rebuild_sunwell(folder: &Path, all: &[OutgoingRecord], adopt: bool) -> RebuildResult {
    let kind = ProjectionKind::Sunwell;
    update_projection(kind, folder, &home_of(folder), all.into(), adopt)
}

fn rebuild_notes(folder: &Path, all: &[OutgoingRecord], adopt: bool) -> RebuildResult {
    let (kind, place) = (ProjectionKind::Markdown, folder.join("notes"));
    update_projection(kind, &place, &home_of(folder), all.into(), adopt)
}

/// What a projection in this folder has not as memory has it.
fn list_differences(
    kind: ProjectionKind,
    folder: &Path,
    place: &Path,
    all: ExportInput<'_>,
) -> Vec<String> {
    compare_projection(kind, place, &home_of(folder), all).unwrap()
}

#[test]
fn every_projection_is_written_once_and_again_only_where_memory_changed() {
    for kind in ProjectionKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let (place, all) = (folder.path().join(kind.default_name()), sample_records(&[]));
        let missing = list_differences(*kind, folder.path(), &place, all[..].into());
        assert!(!missing.is_empty(), "{kind} is missing");
        let write = || {
            update_projection(
                *kind,
                &place,
                &home_of(folder.path()),
                all[..].into(),
                false,
            )
            .unwrap()
        };
        let first = write();
        assert!(first.written > 0, "{kind}");
        let left = list_differences(*kind, folder.path(), &place, all[..].into());
        assert_eq!(left, Vec::<String>::new());
        let again = write();
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
    let all = sample_records(&["Another"]);
    rebuild_notes(folder.path(), &all, false).unwrap();
    fs_err::write(place.join("own.md"), "mine").unwrap();
    let fewer = &all[..all.len() - 1];
    let kind = ProjectionKind::Markdown;
    let differing = list_differences(kind, folder.path(), &place, fewer.into()).len();
    assert_eq!(differing, 2, "the note, and the list that names it");
    assert_eq!(
        rebuild_notes(folder.path(), fewer, false).unwrap().removed,
        1
    );
    assert!(place.join("own.md").exists());
}

#[test]
fn what_another_program_wrote_is_left_alone_until_it_is_adopted() {
    let folder = tempfile::tempdir().unwrap();
    let memory = folder.path().join(".sunwell/memory");
    fs_err::create_dir_all(&memory).unwrap();
    // A line of Sunwell's own journal, which has the path of RFC-065 and another schema.
    let journal = r#"{"id":"a4c5d23dff13","fact":"x","category":"type","timestamp":"2026-01-30"}"#;
    fs_err::write(memory.join("learnings.jsonl"), journal).unwrap();
    let refused = rebuild_sunwell(folder.path(), &sample_records(&[])[..], false);
    assert!(refused.unwrap_err().to_string().contains("another program"));
    assert_eq!(
        fs_err::read_to_string(memory.join("learnings.jsonl")).unwrap(),
        journal
    );
    let done = rebuild_sunwell(folder.path(), &sample_records(&[])[..], true).unwrap();
    let backup = done.backup.expect("what is adopted is copied first (S40)");
    assert!(
        backup.starts_with(home_of(folder.path())),
        "{}",
        backup.display()
    );
    let copy = fs_err::read_to_string(backup.join("learnings.jsonl")).unwrap();
    assert_eq!(copy, journal);
    let again = rebuild_sunwell(folder.path(), &sample_records(&["Another"])[..], true).unwrap();
    assert_eq!(again.backup, None, "our own files need none");
    let (kind, place) = (ProjectionKind::Sunwell, folder.path());
    assert!(list_differences(kind, place, place, sample_records(&[])[..].into()).is_empty());
}

#[test]
fn every_line_for_sunwell_keeps_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let at = DateTime::from_timestamp(1_768_000_000, 0).unwrap();
    let mut all = sample_records(&[]);
    for (number, category) in (100..).zip(LearningCategory::ALL) {
        let learned = SunwellLearning::new(format!("Of {}", category.name()), *category, at);
        all.push(outgoing(learned.to_record(), number));
    }
    rebuild_sunwell(folder.path(), &all[..], false).unwrap();
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
    assert_eq!(counts, [10, 1, 1]);
    let index: Value =
        serde_json::from_slice(&fs_err::read(memory.join("index.json")).unwrap()).unwrap();
    assert_eq!(index["version"], "1.0");
    assert_eq!(index["stats"]["total"], 10);
    assert_eq!(index["categories"][0], "TASK_COMPLETION");
    assert_eq!(
        (&index["totalLearnings"], &index["byCategory"]["type"]),
        (&json!(10), &json!(2))
    );
}

#[test]
fn aliases_of_tags_are_relations_of_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("knowledge.db");
    let aliases = [("js", "javascript"), ("rs", "rust")];
    let aliases = aliases.map(|(from, to)| (from.to_owned(), to.to_owned()));
    let aliases = BTreeMap::from(aliases);
    let mut records = sample_records(&[]);
    let rows = [
        ("rs", "alias_of", "rust"),
        ("django", "child_of", "python"),
        ("jira", "related_to", "confluence"),
        ("tabs", "argues_with", "spaces"),
    ];
    for (number, (from, relation, to)) in (70..).zip(rows) {
        let relation = TagRelation {
            from_tag: from.to_owned(),
            to_tag: to.to_owned(),
            relation: relation.to_owned(),
        };
        records.push(outgoing(relation.to_record(), number));
    }
    let all = ExportInput {
        records: &records,
        aliases: &aliases,
    };
    let kind = ProjectionKind::AiLessons;
    update_projection(kind, &place, &home_of(folder.path()), all, false).unwrap();
    let database = rusqlite::Connection::open(&place).unwrap();
    let query = "SELECT from_tag, relation, to_tag FROM tag_relations ORDER BY rowid";
    let mut query = database.prepare(query).unwrap();
    let told = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let told: Vec<(String, String, String)> = told.unwrap().map(Result::unwrap).collect();
    let configured = ("js", "alias_of", "javascript");
    let expected = rows.into_iter().chain([configured]);
    let expected = expected.map(|(from, relation, to)| (from.into(), relation.into(), to.into()));
    let expected: Vec<(String, String, String)> = expected.collect();
    assert_eq!(
        told, expected,
        "a relation that is both stored and configured is written once"
    );
    drop(query);
    // The database itself keeps tags, contexts, edges and vectors to lessons that are there.
    for (table, keys) in [
        ("lessons", 2),
        ("lesson_tags", 1),
        ("lesson_contexts", 1),
        ("edges", 2),
        ("lesson_embeddings", 1),
    ] {
        let query = format!("SELECT count(*) FROM pragma_foreign_key_list('{table}')");
        let found: i64 = database.query_row(&query, [], |row| row.get(0)).unwrap();
        assert_eq!(found, keys, "{table}");
    }
    let orphan = database.execute("INSERT INTO lesson_tags VALUES('nobody', 'x')", []);
    assert!(orphan.unwrap_err().to_string().contains("FOREIGN KEY"));
    drop(database);
    assert!(list_differences(kind, folder.path(), &place, all).is_empty());
    assert!(!list_differences(kind, folder.path(), &place, records[..].into()).is_empty());
}

#[test]
fn the_database_has_its_reference_tables_vectors_and_both_sides_of_a_context() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("knowledge.db");
    let (kind, all) = (ProjectionKind::AiLessons, sample_records(&[]));
    update_projection(kind, &place, &home_of(folder.path()), all[..].into(), false).unwrap();
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
    let at = DateTime::from_timestamp(1_768_000_000, 0).unwrap();
    let task = |id: &str, said: &str| {
        SunwellLearning::from_task(id, said, Some("Build a forum".to_owned()), at).to_record()
    };
    let mut plan = NewRecord::new("Plan", MemorySource::ConductorPlan, MemoryKind::Strategy);
    plan.details = Some(json!({"type": "plan", "plan": {
        "goal": "Build a forum",
        "goal_hash": "../../elsewhere",
        "tasks": ["Create model", {"id": "t2", "description": "Add routes"},
            {"id": "t3", "description": "Write tests"}],
        "artifacts": ["models.py"],
    }}));
    let mut secret =
        SunwellLearning::from_task("s", "Buy a gift", Some("Surprise".to_owned()), at).to_record();
    secret.tags = vec!["sensitive".to_owned()];
    let records = [
        plan,
        task("t1", "Create model"),
        task("t2", "Routes"),
        secret,
    ];
    let told: Vec<OutgoingRecord> = (1..)
        .zip(records)
        .map(|(n, new)| outgoing(new, n))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    // Sunwell's other files in that folder are never touched.
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
    rebuild_sunwell(folder.path(), &told[..], false).unwrap();
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
    let again = rebuild_sunwell(folder.path(), &told[3..], false).unwrap();
    assert_eq!(
        (again.removed, artifacts.join(file.file_name()).exists()),
        (1, false)
    );
    let moved = crate::import::recognise(folder.path()).unwrap();
    assert_eq!(moved, crate::import::ImportKind::Sunwell);
}

/// Returns the records of [`sample_records`] and one more learning.
fn more_records() -> Vec<OutgoingRecord> {
    let at = DateTime::from_timestamp(1_768_000_000, 0).unwrap();
    let mut more = sample_records(&[]);
    let learned = SunwellLearning::new("User has phone", LearningCategory::Type, at).to_record();
    more.push(outgoing(learned, 99));
    more
}

/// Returns the files below a folder, with the content of each.
fn read_files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(read_files_below(&path));
        } else {
            found.insert(path.clone(), fs_err::read(path).unwrap());
        }
    }
    found
}

#[test]
fn what_a_repository_brings_with_it_removes_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let key = elsewhere.path().join("id_ed25519");
    fs_err::write(&key, "the only copy").unwrap();
    let memory = folder.path().join(".sunwell/memory");
    let notes = folder.path().join("notes");
    for place in [&memory, &notes] {
        fs_err::create_dir_all(place).unwrap();
        fs_err::write(place.join("kept.md"), "a person's").unwrap();
        let names = json!(["kept.md", key, format!("../../..{}", key.display())]);
        let sidecar = json!({"projection": "sunwell", "files": names});
        fs_err::write(place.join(".reprise"), sidecar.to_string()).unwrap();
    }
    rebuild_sunwell(folder.path(), &sample_records(&[]), false).unwrap();
    rebuild_notes(folder.path(), &sample_records(&[]), false).unwrap();
    rebuild_sunwell(folder.path(), &more_records(), false).unwrap();
    rebuild_notes(folder.path(), &sample_records(&["More"]), false).unwrap();
    assert_eq!(fs_err::read_to_string(&key).unwrap(), "the only copy");
    for place in [memory, notes] {
        assert!(place.join("kept.md").exists());
    }
}

#[test]
fn what_somebody_changed_is_left_until_it_is_adopted_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let decisions = folder.path().join(".sunwell/memory/decisions.jsonl");
    rebuild_sunwell(folder.path(), &sample_records(&[]), false).unwrap();
    fs_err::write(&decisions, "{}\n").unwrap();
    let error = rebuild_sunwell(folder.path(), &more_records(), false).unwrap_err();
    assert!(
        matches!(error, ExportError::Changed { more: 0, .. }),
        "{error}"
    );
    assert_eq!(fs_err::read_to_string(&decisions).unwrap(), "{}\n");
    let learnings = decisions.with_file_name("learnings.jsonl");
    let learned = || fs_err::read_to_string(&learnings).unwrap().lines().count();
    assert_eq!(learned(), 4, "the others are up to date");
    let again = rebuild_sunwell(folder.path(), &sample_records(&[]), false);
    assert!(again.is_err() && learned() == 3);
    rebuild_sunwell(folder.path(), &sample_records(&[]), true).unwrap();
    assert_eq!(
        fs_err::read_to_string(&decisions).unwrap().lines().count(),
        1
    );
    assert_eq!(
        rebuild_sunwell(folder.path(), &sample_records(&[]), false)
            .unwrap()
            .written,
        0
    );

    // A note of what is gone that somebody has written in is theirs.
    rebuild_notes(folder.path(), &sample_records(&["Gone"]), false).unwrap();
    let notes = read_files_below(&folder.path().join("notes")).into_keys();
    let gone: Vec<PathBuf> = notes
        .filter(|note| note.to_string_lossy().contains("gone-"))
        .collect();
    fs_err::write(&gone[0], "mine now").unwrap();
    assert_eq!(
        rebuild_notes(folder.path(), &sample_records(&[]), false)
            .unwrap()
            .removed,
        0
    );
    assert_eq!(fs_err::read_to_string(&gone[0]).unwrap(), "mine now");
}

#[test]
fn files_that_say_what_would_be_written_are_known_again() {
    let folder = tempfile::tempdir().unwrap();
    rebuild_sunwell(folder.path(), &sample_records(&[]), false).unwrap();
    fs_err::remove_dir_all(home_of(folder.path())).unwrap();
    let again = rebuild_sunwell(folder.path(), &sample_records(&[]), false).unwrap();
    assert_eq!((again.written, again.unchanged), (0, 4));
    assert_eq!(
        rebuild_sunwell(folder.path(), &more_records(), false)
            .unwrap()
            .written,
        2
    );
}

#[test]
fn a_link_or_a_pipe_in_the_place_of_a_file_or_folder_is_said_and_nothing_is_written_through_it() {
    let victim = tempfile::tempdir().unwrap();
    fs_err::write(victim.path().join("file"), "theirs").unwrap();
    let before = read_files_below(victim.path());
    let links = [
        victim.path().to_owned(),
        victim.path().join("file"),
        "/dev/zero".into(),
    ];
    for kind in ProjectionKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let place = home_of(folder.path())
            .join("projections")
            .join(kind.default_name());
        let all = sample_records(&[]);
        update_projection(
            *kind,
            &place,
            &home_of(folder.path()),
            all[..].into(),
            false,
        )
        .unwrap();
        let mut files: Vec<PathBuf> = read_files_below(folder.path()).into_keys().collect();
        files.push(kind.files_folder(&place));
        files.push(place.parent().unwrap().to_owned());
        files.dedup();
        for file in files
            .iter()
            .filter(|file| file.extension().is_none_or(|end| end != "lock"))
        {
            let aside = folder.path().join("aside");
            fs_err::rename(file, &aside).unwrap();
            for link in &links {
                std::os::unix::fs::symlink(link, file).unwrap();
                let more = sample_records(&["More"]);
                let written = update_projection(
                    *kind,
                    &place,
                    &home_of(folder.path()),
                    more[..].into(),
                    false,
                );
                let error = written.unwrap_err().to_string();
                assert!(
                    error.contains(file.to_str().unwrap()),
                    "{}: {error}",
                    file.display()
                );
                let told =
                    compare_projection(*kind, &place, &home_of(folder.path()), more[..].into());
                let told = told.map_or_else(|error| error.to_string(), |told| told.join("\n"));
                assert!(told.contains("link"), "{}: {told}", file.display());
                assert_eq!(
                    read_files_below(victim.path()),
                    before,
                    "{}",
                    file.display()
                );
                fs_err::remove_file(file).unwrap();
            }
            fs_err::rename(&aside, file).unwrap();
        }
    }
}

#[test]
fn a_folder_that_became_a_link_is_not_written_to_until_that_is_said() {
    let victim = tempfile::tempdir().unwrap();
    for kind in ProjectionKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        let place = project.join("docs").join(kind.default_name());
        let write = |more: &[&str], adopt| {
            let all = sample_records(more);
            let home = home_of(folder.path());
            update_projection(*kind, &place, &home, all[..].into(), adopt)
        };
        write(&[], false).unwrap();
        fs_err::rename(project.join("docs"), folder.path().join("aside")).unwrap();
        std::os::unix::fs::symlink(victim.path(), project.join("docs")).unwrap();
        let before = read_files_below(victim.path());
        let error = write(&["More"], false).unwrap_err().to_string();
        assert!(error.contains("leads elsewhere"), "{kind}: {error}");
        let said = find_write_obstacle(*kind, &place, &home_of(folder.path()));
        assert!(said.is_some_and(|said| said.contains("leads elsewhere")));
        assert_eq!(read_files_below(victim.path()), before, "{kind}");
        write(&["More"], true).unwrap();
        write(&["More", "And more"], false).unwrap();
    }
}
