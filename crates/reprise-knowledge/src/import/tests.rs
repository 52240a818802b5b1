//! Each form read from a real tree, good lines and bad ones.

mod fuzz;
mod moving;

use std::path::Path;

use reprise_tests::{assert_contains, assert_fields};
use rusqlite::Connection;
use serde_json::{Value, json};

use reprise_types::NewRecord;

use super::testing::{ReadSource, fixture, read_all};
use crate::record_for_tests::record_from_new;
use crate::reference::TagRelation;

use super::*;

fn read_expected() -> Value {
    serde_json::from_str(include_str!("../../tests/fixtures/expected.json")).unwrap()
}

fn write_file(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let file = folder.join(name);
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(file, text).unwrap();
}

fn records_of_type<'a>(all: &'a ReadSource, name: &str) -> Vec<&'a NewRecord> {
    let typed = |record: &&NewRecord| record.details.as_ref().unwrap()["type"] == name;
    all.records.iter().filter(typed).collect()
}

#[test]
fn a_sunwell_tree_of_many_eras_comes_in_whole() {
    let tree = fixture("sunwell_legacy");
    assert_eq!(recognise(&tree).unwrap(), ImportKind::Sunwell);
    let found = read_all(&tree, ImportKind::Sunwell);
    let golden = &read_expected()["sunwell_import"];
    let learnings = records_of_type(&found, "learning");
    let tasks = learnings
        .iter()
        .filter(|one| one.text.starts_with("Completed: "))
        .count();
    assert_eq!(json!(tasks), golden["learnings_from_naaru"]);
    assert_eq!(
        json!(learnings.len() - tasks),
        golden["learnings_from_intel"]
    );
    assert_eq!(
        json!(records_of_type(&found, "decision").len()),
        golden["decisions"]
    );
    let dead = golden["dead_ends"].as_u64().unwrap() + golden["failures"].as_u64().unwrap();
    assert_eq!(json!(records_of_type(&found, "failure").len()), dead);
    let places: Vec<&str> = found
        .refused
        .iter()
        .map(|(place, _)| place.as_str())
        .collect();
    assert_eq!(
        places,
        [
            ".sunwell/intelligence/learnings.jsonl:2",
            ".sunwell/learnings/20260120_101112.json item 3",
            ".sunwell/learnings/20260120_101113.json",
        ]
    );
    assert!(found.refused[0].1.contains("cut"), "{:?}", found.refused);
    let dead_end = learnings
        .iter()
        .find(|one| one.text == "Sync DB does not work")
        .unwrap();
    let details = dead_end.details.as_ref().unwrap();
    assert_eq!(details["category"], "failure");
    assert_eq!(details["metadata"]["legacy_category"], "dead_end");
    assert_eq!(
        dead_end.confidence,
        Some(0.7),
        "as that folder's reader has it"
    );
    let of_a_file = learnings
        .iter()
        .find(|one| one.text == "User has fields: id, email");
    let details = of_a_file.unwrap().details.as_ref().unwrap();
    assert_eq!(
        (&details["source"], &details["created_at"]),
        (&json!("models.py:12"), &json!("2026-01-19T10:00:00")),
        "the time as it was written"
    );
    let chosen = records_of_type(&found, "decision")[0];
    assert_contains!(chosen.text, "Rejected: Redis caching (Too much");
    assert_eq!(
        chosen.details.as_ref().unwrap()["metadata"]["legacy_id"],
        "79d3299071e8c2cd"
    );
    assert_eq!(chosen.metadata["ts_assumed_tz"], "UTC");
    let failure = records_of_type(&found, "failure")[1];
    assert_eq!(
        failure.external_ids[0].id,
        read_expected()["ids"]["failure Unbounded cache/Memory leak under load"]
    );
}

#[test]
fn the_last_line_of_a_journal_counts_and_a_checkpoint_comes_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let journal = fixture("sunwell_legacy/.sunwell/memory_journal_variant/learnings.jsonl");
    let journal = fs_err::read_to_string(journal).unwrap();
    write_file(folder.path(), ".sunwell/memory/learnings.jsonl", journal);
    let old = r#"{"entries":[{"id":"a","fact":"old","category":"code"}]}"#;
    let new = r#"{"entries":[{"id":"b","fact":"new","category":"api"},7]}"#;
    write_file(
        folder.path(),
        ".sunwell/memory/checkpoints/2026-01-01_000000.checkpoint.json",
        old,
    );
    write_file(
        folder.path(),
        ".sunwell/memory/checkpoints/2026-01-02_000000.checkpoint.json",
        new,
    );
    let found = read_all(folder.path(), ImportKind::Sunwell);
    let texts: Vec<&str> = found
        .records
        .iter()
        .map(|record| record.text.as_str())
        .collect();
    assert_eq!(texts, ["new", "User model has email field"]);
    assert_eq!(found.records[1].confidence, Some(0.95));
    assert_eq!((found.repeated, found.refused.len()), (1, 1));
}

/// A tree on which the original's migration fails.
fn write_crashing_tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let decision = r#"{"id":"42d75ab7ca52a337","decision":"Use PostgreSQL for persistence"}
{"id":"x","question":"Which?","choice":"B","supersedes":"42d75ab7ca52a337"}
{"id":"y","question":"And?","choice":"C","supersedes":"y"}
{"id":"z","choice":"D","supersedes":"gone"}
{"id":"w","fact":"Use one writer","category":"decision","rationale":"Order"}
"#;
    write_file(folder.path(), ".sunwell/memory/decisions.jsonl", decision);
    let same = json!({
        "id": "42d75ab7ca52a337",
        "fact": "Use PostgreSQL for persistence",
        "category": "decision",
        "source": "decision:42d75ab7ca52a337",
    });
    let learnings = r#"
{"id":"1","fact":"sure","category":"heuristic","confidence":7}
{"id":"2","fact":"","category":"type"}
{"id":"3","fact":"f","category":"failure","source":"failure:de139ab9b1ff7971"}
"#;
    write_file(
        folder.path(),
        ".sunwell/memory/learnings.jsonl",
        same.to_string() + learnings,
    );
    write_file(
        folder.path(),
        ".sunwell/plans/abc.json",
        r#"{"goal":"Ship","tasks":[{"id":"t1","description":"Build"}]}"#,
    );
    write_file(
        folder.path(),
        ".sunwell/team/decisions.jsonl",
        r#"{"question":"Q","choice":"A","author":"Ada","tags":["db"]}"#,
    );
    let bare = r#"{"id":"b","approach":"Mock the clock"}"#;
    write_file(folder.path(), ".sunwell/memory/failures.jsonl", bare);
    write_file(folder.path(), ".sunwell/sessions/s.json", "not for us");
    folder
}

#[test]
fn what_crashed_the_originals_migration_is_read() {
    let folder = write_crashing_tree();
    let files = || -> Vec<Vec<u8>> {
        let names = [
            "memory/decisions.jsonl",
            "team/decisions.jsonl",
            "plans/abc.json",
        ];
        let file = |name: &str| fs_err::read(folder.path().join(".sunwell").join(name)).unwrap();
        names.map(file).into()
    };
    let before = files();
    let found = read_all(folder.path(), ImportKind::Sunwell);
    assert!(files() == before, "what is read is not touched (S3)");
    // The decision itself comes before its learning.
    let first = found
        .records
        .iter()
        .find(|one| one.external_ids[0].id == "42d75ab7ca52a337");
    assert_eq!(first.unwrap().details.as_ref().unwrap()["type"], "decision");
    let names: Vec<&str> = found
        .records
        .iter()
        .map(|record| record.external_ids[0].id.as_str())
        .collect();
    assert_eq!(
        names
            .iter()
            .filter(|name| **name == "42d75ab7ca52a337")
            .count(),
        2
    );
    assert!(names.contains(&"de139ab9b1ff7971"));
    let sure = found
        .records
        .iter()
        .find(|record| record.text == "sure")
        .unwrap();
    assert_eq!(sure.confidence, Some(1.0));
    let details = sure.details.as_ref().unwrap();
    assert_eq!(details["metadata"]["legacy_confidence"], 7.0);
    assert_eq!(details["metadata"]["legacy_category"], "heuristic");
    let by_fact = records_of_type(&found, "decision");
    let by_fact = by_fact
        .iter()
        .find(|one| one.text.starts_with("Use one writer"));
    let details = by_fact
        .expect("`fact` is what was decided")
        .details
        .as_ref()
        .unwrap();
    assert_fields!(details, "decision": "Use one writer", "rationale": "Order");
    let bare = records_of_type(&found, "failure")[0];
    assert_eq!(bare.details.as_ref().unwrap()["fact"], "Mock the clock");
    let plan = records_of_type(&found, "plan")[0];
    assert_eq!(plan.text, "Plan: Ship\n- Build");
    let team = found
        .records
        .iter()
        .find(|record| record.provenance.actor_id.is_some())
        .unwrap();
    assert_eq!(team.tags, ["db"]);
    assert_eq!(found.links.len(), 1);
    assert_eq!(found.links[0].relation, "supersedes");
    let whys: Vec<&str> = found.refused.iter().map(|(_, why)| why.as_str()).collect();
    assert!(
        whys.iter().any(|why| why.contains("supersedes itself")),
        "{whys:?}"
    );
    assert!(whys.iter().any(|why| why.contains("`gone`")), "{whys:?}");
    assert_eq!(whys.len(), 3, "{whys:?}");
}

#[test]
fn a_line_that_its_schema_refuses_is_told_and_costs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        (r#""category":"type""#, ""),
        (r#""category":"gossip""#, "unknown category `gossip`"),
        ("", "no `category`"),
        (
            r#""category":"type","source_type":"rumour""#,
            "unknown source type",
        ),
        (r#""category":"type","created_at":"soon""#, "ISO 8601"),
        (r#""category":"type","expires_at":"soon""#, "expires_at"),
    ];
    let written: Vec<String> = (0..)
        .zip(lines)
        .map(|(n, (more, _))| {
            let more = if more.is_empty() {
                String::new()
            } else {
                format!(",{more}")
            };
            format!(r#"{{"id":"{n}","fact":"fact {n}"{more}}}"#)
        })
        .collect();
    let written = written.join("\n") + "\n" + r#"{"fact":"no id","category":"type"}"# + "\n";
    let written = [b"\xff\n", written.as_bytes()].concat();
    write_file(folder.path(), ".sunwell/memory/learnings.jsonl", written);
    let scope = r#"{"id":"d","decision":"x","scope":"world"}"#;
    write_file(folder.path(), ".sunwell/memory/decisions.jsonl", scope);
    let found = read_all(folder.path(), ImportKind::Sunwell);
    let texts: Vec<&str> = found.records.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["fact 0"]);
    let told: Vec<&str> = found.refused.iter().map(|(_, why)| why.as_str()).collect();
    let expected = ["unknown scope", "not valid JSON"]
        .into_iter()
        .chain(lines[1..].iter().map(|(_, why)| *why))
        .chain(["no `id`"]);
    assert_eq!(told.len(), 8, "{told:?}");
    for (told, why) in told.iter().zip(expected) {
        assert!(told.contains(why), "{told}: {why}");
    }
}

#[test]
fn what_names_no_time_has_that_of_its_file_and_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let lines = r#"{"id":"a","fact":"undated","category":"type"}
{"id":"b","fact":"dated","category":"type","created_at":"2026-01-20T10:00:00Z","expires_at":"2026-03-01"}
"#;
    write_file(folder.path(), ".sunwell/memory/learnings.jsonl", lines);
    let file = folder.path().join(".sunwell/memory/learnings.jsonl");
    let changed = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let opened = fs_err::File::options().write(true).open(&file).unwrap();
    opened.file().set_modified(changed).unwrap();
    let found = read_all(folder.path(), ImportKind::Sunwell);
    let [undated, dated] = &found.records[..] else {
        panic!("{found:?}");
    };
    assert_eq!(undated.timestamp.unwrap().timestamp(), 1_700_000_000);
    assert_eq!(undated.metadata["ts_of_file"], true);
    assert!(dated.metadata.get("ts_of_file").is_none());
    assert_eq!(dated.metadata["expires_at"], "2026-03-01");
}

#[test]
fn files_of_old_beside_a_unified_store_are_kept_and_marked() {
    let folder = tempfile::tempdir().unwrap();
    let old = r#"{"id":"legacy-d1","decision":"Legacy 1","rationale":"Old"}"#;
    write_file(folder.path(), ".sunwell/intelligence/decisions.jsonl", old);
    let mark = |found: &ReadSource| {
        let old = found
            .records
            .iter()
            .find(|one| one.text.starts_with("Legacy"));
        old.unwrap()
            .details
            .as_ref()
            .unwrap()
            .get(crate::sunwell::LEGACY)
            .is_some()
    };
    assert!(!mark(&read_all(folder.path(), ImportKind::Sunwell)));
    // The journal of later versions has the unified path and took no file's place.
    let journal = r#"{"id":"j","fact":"x","category":"type","timestamp":"2026-01-30T00:00:00Z"}"#;
    write_file(folder.path(), ".sunwell/memory/learnings.jsonl", journal);
    assert!(!mark(&read_all(folder.path(), ImportKind::Sunwell)));
    let new = r#"{"id":"d","decision":"Unified","rationale":"New"}"#;
    write_file(folder.path(), ".sunwell/memory/decisions.jsonl", new);
    let found = read_all(folder.path(), ImportKind::Sunwell);
    assert!(mark(&found));
    assert_eq!(found.records.len(), 3);
}

#[test]
fn what_moves_in_is_copied_beside_the_memory_once() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let line = r#"{"id":"a","fact":"secret","category":"type"}"#;
    write_file(folder.path(), ".sunwell/memory/learnings.jsonl", line);
    write_file(
        folder.path(),
        ".sunwell/plans/abc.json",
        r#"{"goal":"Ship"}"#,
    );
    let clean = |text: String| text.replace("secret", "***");
    let copy = |kind| back_up(folder.path(), kind, home.path(), &clean).unwrap();
    let kept = copy(ImportKind::Sunwell).unwrap();
    let read = |name: &str| fs_err::read_to_string(kept.join(name)).unwrap();
    assert_eq!(
        read("memory/learnings.jsonl"),
        line.replace("secret", "***")
    );
    assert_eq!(read("plans/abc.json"), r#"{"goal":"Ship"}"#);
    assert_eq!(copy(ImportKind::Sunwell).as_ref(), Some(&kept));
    assert_eq!(fs_err::read_dir(kept.parent().unwrap()).unwrap().count(), 1);
    assert_eq!(copy(ImportKind::Frames), None);
}

#[test]
fn frames_keep_what_they_belong_with() {
    let file = fixture("ralph_memory.jsonl");
    assert_eq!(recognise(&file).unwrap(), ImportKind::Frames);
    let found = read_all(&file, ImportKind::Frames);
    assert_eq!((found.records.len(), found.refused.len()), (6, 0));
    let names: Vec<(&str, &str)> = found
        .links
        .iter()
        .map(|link| (link.from.id.as_str(), link.to.id.as_str()))
        .collect();
    assert_eq!(names, [("l-1", "e-1"), ("d-1", "e-1")]);
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<String> = (0..10_000).map(|number| format!("\"t{number}\"")).collect();
    let bad = [
        r#"{"id":"a","content":"x","frame_type":"gossip","metadata":null,"timestamp":7}"#
            .to_owned(),
        r#"{"id":"b","content":"x","metadata":[]}"#.to_owned(),
        r#"{"content":"x"}"#.to_owned(),
        format!(r#"{{"id":"c","content":"x","tags":[{}]}}"#, many.join(",")),
        r#"{"id":"d","content":"x","metadata":{"related_ids":["d",7]}}"#.to_owned(),
        r#"{"id":"e","content":"#.to_owned(),
    ];
    write_file(folder.path(), "bad.jsonl", bad.join("\n"));
    let found = read_all(&folder.path().join("bad.jsonl"), ImportKind::Frames);
    assert_eq!(
        (found.records.len(), found.refused.len(), found.links.len()),
        (3, 3, 0)
    );
    assert_eq!(found.records[1].tags.len(), 64);
}

#[test]
fn a_graph_of_the_memory_server_comes_in_and_a_cut_tail_costs_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let graph = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["tea","math"]}
{"type":"entity","name":"Acme","entityType":"company","observations":[]}
{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}
{"type":"relation","from":"Ada"}
{"type":"gossip"}
{"type":"entity","name":"Cut","entityTy"#;
    write_file(folder.path(), "memory.jsonl", graph);
    let file = folder.path().join("memory.jsonl");
    assert_eq!(recognise(&file).unwrap(), ImportKind::ServerMemory);
    let found = read_all(&file, ImportKind::ServerMemory);
    let texts: Vec<&str> = found
        .records
        .iter()
        .map(|record| record.text.as_str())
        .collect();
    assert_eq!(
        texts,
        ["Ada (person)", "Ada: tea", "Ada: math", "Acme (company)"]
    );
    let relations: Vec<&str> = found
        .links
        .iter()
        .map(|link| link.relation.as_str())
        .collect();
    assert_eq!(relations, ["observes", "observes", "works_at"]);
    assert_eq!(found.refused.len(), 3, "{:?}", found.refused);

    // As the server itself answers it.
    let whole = r#"{"entities": [
        {"name": "Ada", "entityType": "person", "observations": ["tea"]}, 7],
        "relations": [{"from": "Ada", "to": "Acme", "relationType": "works_at"}]}"#;
    write_file(folder.path(), "graph.json", whole);
    let file = folder.path().join("graph.json");
    assert_eq!(recognise(&file).unwrap(), ImportKind::ServerMemory);
    let found = read_all(&file, ImportKind::ServerMemory);
    let texts: Vec<&str> = found.records.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["Ada (person)", "Ada: tea"]);
    assert_eq!(found.links.len(), 2);
    assert_eq!(found.refused.len(), 1, "{:?}", found.refused);

    // As people make JSON of its lines.
    let list = r#"[{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["tea"]},
        {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"}, 7]"#;
    write_file(folder.path(), "list.json", list);
    let file = folder.path().join("list.json");
    assert_eq!(recognise(&file).unwrap(), ImportKind::ServerMemory);
    let found = read_all(&file, ImportKind::ServerMemory);
    assert_eq!((found.records.len(), found.links.len()), (2, 2));
    assert_eq!(found.refused.len(), 1, "{:?}", found.refused);
}

/// The schema of ai-lessons' plan (version 1) or of its last release (12), as far as it matters.
fn write_knowledge_db(file: &Path, last: bool) {
    let db = Connection::open(file).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
         CREATE TABLE confidence_levels(name TEXT PRIMARY KEY, ordinal INTEGER);
         CREATE TABLE source_types(name TEXT PRIMARY KEY, description TEXT);
         CREATE TABLE lessons(id TEXT PRIMARY KEY, title TEXT, content TEXT, confidence TEXT,
             source TEXT, source_notes TEXT, created_at TEXT, updated_at TEXT);
         CREATE TABLE lesson_tags(lesson_id TEXT, tag TEXT);
         CREATE TABLE lesson_contexts(lesson_id TEXT, context TEXT, applies BOOLEAN DEFAULT TRUE);
         INSERT INTO lessons VALUES('L1','Jira transitions','Ask for them first','very-high',
             'tested','twice','2026-01-02 03:04:05','2026-01-02 03:04:05');
         INSERT INTO lessons VALUES('L2','No content',NULL,'high','rumour',NULL,NULL,NULL);
         INSERT INTO lessons VALUES('L3',NULL,' ',NULL,NULL,NULL,NULL,NULL);
         INSERT INTO source_types VALUES('tested','Ran it'),('rumour','They say'),('bare','');
         INSERT INTO lesson_tags VALUES('L1','jira'),('L1','api');
         INSERT INTO lesson_contexts VALUES('L1','cloud',1),('L1','server',0);",
    )
    .unwrap();
    db.execute_batch(if last {
        "CREATE TABLE edges(id INTEGER PRIMARY KEY, from_id TEXT, from_type TEXT, to_id TEXT,
             to_type TEXT, relation TEXT, created_at TEXT);
         CREATE TABLE rules(id TEXT, title TEXT, content TEXT, rationale TEXT, approved INTEGER);
         INSERT INTO rules VALUES('RUL1','Always','Test first','it pays',1);
         INSERT INTO edges VALUES(1,'L1','lesson','RUL1','rule','derived_from',NULL),
             (2,'L1','lesson','L1','lesson','related_to',NULL),
             (3,'RUL1','rule','L1','lesson','derived_from',NULL);
         CREATE TABLE tag_relations(from_tag TEXT, to_tag TEXT, relation TEXT);
         INSERT INTO tag_relations VALUES('js','javascript','alias_of'),
             ('django','python','child_of'),('jira','confluence','related_to'),
             ('tabs','spaces','argues_with'),('jira','','related_to');"
    } else {
        "CREATE TABLE edges(from_id TEXT, to_id TEXT, relation TEXT, created_at TEXT);
         INSERT INTO edges VALUES('L1','L2','contradicts',NULL);"
    })
    .unwrap();
}

fn tag_relation_text(record: &NewRecord) -> Option<String> {
    let one = TagRelation::of(&record_from_new(record.clone(), 1))?;
    Some([one.from_tag, one.relation, one.to_tag].join(" "))
}

#[test]
fn lessons_of_the_first_and_the_last_schema_come_in_even_while_in_use() {
    let folder = tempfile::tempdir().unwrap();
    for (last, links) in [(false, 1), (true, 2)] {
        let file = folder.path().join(format!("{last}.db"));
        write_knowledge_db(&file, last);
        let writer = Connection::open(&file).unwrap();
        writer
            .execute_batch("BEGIN IMMEDIATE; DELETE FROM lessons")
            .unwrap();
        assert_eq!(recognise(&file).unwrap(), ImportKind::AiLessons);
        let found = read_all(&file, ImportKind::AiLessons);
        let lesson = &found.records[0];
        assert_eq!(lesson.tags, ["api", "jira"]);
        assert_eq!(lesson.confidence, Some(0.9));
        assert_eq!(lesson.evidence.map(Evidence::name), Some("tested"));
        let details = lesson.details.as_ref().unwrap();
        assert_eq!(
            (&details["contexts"][0], &details["anti_contexts"][0]),
            (&json!("cloud"), &json!("server"))
        );
        assert_eq!(found.records[1].metadata["evidence"], "rumour");
        assert_eq!(found.links.len(), links);
        assert_eq!(found.records.len(), if last { 8 } else { 3 });
        let related: Vec<String> = found.records.iter().filter_map(tag_relation_text).collect();
        let expected = [
            "js alias_of javascript",
            "django child_of python",
            "jira related_to confluence",
            "tabs argues_with spaces",
        ];
        assert_eq!(related, if last { &expected[..] } else { &[] });
        let defined = &found.records[if last { 3 } else { 2 }];
        assert_eq!(
            defined.text, "Evidence `rumour`: They say",
            "ours need none"
        );
        assert_eq!(
            found.refused.len(),
            if last { 3 } else { 1 },
            "{:?}",
            found.refused
        );
    }
}

#[test]
fn a_damaged_or_foreign_file_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("knowledge.db");
    write_knowledge_db(&file, true);
    drop(
        Connection::open(&file)
            .unwrap()
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"),
    );
    let whole = fs_err::read(&file).unwrap();
    write_file(folder.path(), "cut.db", &whole[..whole.len() / 2]);
    let mut ignore = |_: ImportItem| true;
    let zone = Zone::default();
    let cut = folder.path().join("cut.db");
    let error = read_source(&cut, ImportKind::AiLessons, zone, &mut ignore)
        .unwrap_err()
        .to_string();
    assert_contains!(error, "malformed", ".recover");
    write_file(folder.path(), "note.txt", "hello");
    let error = recognise(&folder.path().join("note.txt"))
        .unwrap_err()
        .to_string();
    assert_contains!(error, "--from KIND");
    let error = read_source(folder.path(), ImportKind::Sunwell, zone, &mut ignore).unwrap_err();
    assert!(error.to_string().contains(".sunwell"), "{error}");
    let error = recognise(&folder.path().join("gone"))
        .unwrap_err()
        .to_string();
    assert_contains!(error, "check that it is there");
}
