//! What moves in badly: one sentence each, nothing half done, and the rest comes in.

use std::path::{Path, PathBuf};

use reprise_tests::{RunOutput, assert_contains, assert_lacks, run_to_end};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::home::Home;

fn lines(lines: &[Value]) -> String {
    let written = lines.iter().map(Value::to_string);
    written.collect::<Vec<_>>().join("\n") + "\n"
}

fn command(home: &Home, arguments: &[&str]) -> RunOutput {
    home.run(&[arguments, &["--user", "ada", "--json"]].concat())
}

/// The answer of a command; its code says whether some of its input was refused.
fn run(home: &Home, arguments: &[&str]) -> Value {
    let done = command(home, arguments);
    let said: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let refused = said["rejected"].as_u64().unwrap_or_default() > 0;
    assert_eq!(
        done.code,
        Some(i32::from(refused)),
        "{arguments:?}: {}",
        done.stderr
    );
    said
}

/// What is said where nothing could be kept: a sentence on stderr, or one in the report.
fn refused(home: &Home, arguments: &[&str]) -> String {
    let done = command(home, arguments);
    assert!(matches!(done.code, Some(1..=9)), "{arguments:?}: {done:?}");
    let report: Value = serde_json::from_str(&done.stdout).unwrap_or_default();
    let told = report["lines"].as_array().into_iter().flatten();
    let told = told.filter_map(|line| line["why"].as_str());
    let said: Vec<&str> = told.chain(done.stderr.lines()).collect();
    assert!(
        !said.is_empty() && said.len() <= 2,
        "{arguments:?}: {said:?}"
    );
    let said = said.join("\n");
    assert_lacks!(said, "panicked");
    said
}

/// Inserted, known, and the places of what was refused.
fn fate(report: &Value) -> (u64, u64, Vec<&str>) {
    let count = |name: &str| report[name].as_u64().expect("a report has counts");
    let told = report["lines"].as_array().expect("a report has lines");
    assert_eq!(count("rejected"), told.len() as u64);
    for line in told {
        let why = line["why"].as_str().expect("a reason");
        assert!(!why.is_empty() && !why.contains('\n'), "{why}");
    }
    let places = told
        .iter()
        .map(|line| line["where"].as_str().expect("a place"));
    (count("inserted"), count("duplicate"), places.collect())
}

fn records(home: &Home) -> usize {
    let done = command(home, &["export"]);
    done.stdout.lines().count()
}

/// A database of ai-lessons with these statements in it.
fn database(home: &Home, statements: &str) -> PathBuf {
    let file = home.folder().join("knowledge.db");
    let connection = Connection::open(&file).expect("a database");
    let tables = "CREATE TABLE lessons(id TEXT, title TEXT, content TEXT, confidence TEXT,
            source TEXT, source_notes TEXT, created_at TEXT, updated_at TEXT);
        CREATE TABLE edges(from_id TEXT, to_id TEXT, relation TEXT);
        CREATE TABLE lesson_tags(lesson_id TEXT, tag TEXT);";
    connection.execute_batch(tables).expect("tables");
    connection.execute_batch(statements).expect("rows");
    file
}

const LESSONS: &str = "INSERT INTO lessons(id, title, content) VALUES
    ('a', 'One', 'The first'), ('b', 'Two', 'The second'), ('c', 'Three', 'The third');";

#[test]
fn what_crashed_the_originals_own_migration_comes_in() {
    let home = Home::new();
    let learnings = lines(&[
        json!({"id": "l1", "fact": "A dead end of old", "category": "dead_end"}),
        json!({"id": "l2", "fact": "Said by gossip", "category": "gossip",
            "created_at": "2026-01-20T10:11:12"}),
        json!({"id": "l3", "category": "pattern"}),
    ]);
    home.write(
        "shop/.sunwell/intelligence/learnings.jsonl",
        &(learnings + "{\"id\": \"cut"),
    );
    let decisions = json!({"id": "d1", "question": "Which store?", "choice": "SQLite"});
    home.write(
        "shop/.sunwell/intelligence/decisions.jsonl",
        &lines(&[decisions]),
    );
    let failures = json!({"id": "f1", "description": "Tried Redis", "error_message": "too slow"});
    home.write(
        "shop/.sunwell/intelligence/failures.jsonl",
        &lines(&[failures]),
    );
    let dead = json!({"approach": "Polling", "reason": "it misses events"});
    home.write(
        "shop/.sunwell/intelligence/dead_ends.jsonl",
        &lines(&[dead]),
    );
    let tree = home.path("shop");
    let report = run(&home, &["import", &tree, "--utc"]);
    let learnings = ".sunwell/intelligence/learnings.jsonl";
    assert_eq!(
        fate(&report),
        (
            5,
            0,
            vec![&*format!("{learnings}:3"), &*format!("{learnings}:4")]
        )
    );
    // An unknown category leads to the nearest, a time without a zone is marked as taken.
    let export = command(&home, &["export"]).stdout;
    let gossip = export.lines().find(|line| line.contains("Said by gossip"));
    let gossip: Value = serde_json::from_str(gossip.expect("it is kept")).expect("JSON");
    assert_eq!(gossip["details"]["category"], "pattern");
    assert_eq!(gossip["details"]["metadata"]["legacy_category"], "gossip");
    assert_eq!(gossip["metadata"]["ts_assumed_tz"], "UTC");
    assert_eq!(gossip["timestamp"], "2026-01-20T10:11:12Z");
    // Nothing of the legacy tree was touched.
    assert!(
        Path::new(&tree)
            .join(".sunwell/intelligence/dead_ends.jsonl")
            .exists()
    );
    assert!(!Path::new(&tree).join(".sunwell/memory").exists());
    let gossip = r#"{"fact": "x", "category": "gossip"}"#;
    let said = refused(&home, &["call", "add_learning", gossip]);
    assert_contains!(said, "task_completion");
    assert_eq!(records(&home), 5);
}

#[test]
fn circles_come_in_whole_and_what_leads_nowhere_is_told() {
    let home = Home::new();
    let edges = "INSERT INTO edges VALUES('a', 'b', 'leads_to'), ('b', 'c', 'leads_to'),
        ('c', 'a', 'leads_to'), ('a', 'a', 'is'), ('a', 'gone', 'leads_to');
        CREATE TABLE tag_relations(from_tag TEXT, to_tag TEXT, relation TEXT);
        INSERT INTO tag_relations VALUES('js', 'javascript', 'alias_of');";
    let file = database(&home, &[LESSONS, edges].concat());
    let file = file.to_string_lossy().into_owned();
    let report = run(&home, &["import", &file]);
    assert_eq!(fate(&report), (4, 0, vec!["edges a a"]));
    assert_eq!(report["links"], 3, "{report}");
    let around = run(&home, &["tags", "related", "a", "--depth", "5"]);
    assert_eq!(
        around["related"].as_array().map(Vec::len),
        Some(2),
        "{around}"
    );
    let itself = refused(&home, &["tags", "link", "a", "a"]);
    assert_contains!(itself, "are the same memory");
    run(&home, &["forget", "--external-id", "c"]);
    for arguments in [["tags", "link", "a", "c"], ["tags", "link", "c", "a"]] {
        let said = refused(&home, &arguments);
        assert_contains!(said, "no memory with id `c`");
    }
    // What was forgotten does not come in again, and its links neither.
    let again = run(&home, &["import", &file]);
    assert_eq!((fate(&again).0, &again["links"]), (0, &json!(0)), "{again}");
    let frames = json!({"id": "f1", "content": "It belongs to what is gone",
        "frame_type": "learning", "metadata": {"related_ids": ["c", "nowhere"]},
        "timestamp": "2026-01-10T12:00:00", "session_id": "s", "tags": []});
    let frames = home.write("frames.jsonl", &lines(&[frames]));
    let report = run(&home, &["import", &frames]);
    assert_eq!((fate(&report).0, &report["links"]), (1, &json!(0)));
}

#[test]
fn ten_thousand_tags_and_a_bomb_of_aliases_spoil_nothing_else() {
    let home = Home::new();
    let tags: Vec<String> = (0..10_000).map(|number| format!("t{number}")).collect();
    let frame = |id: &str, tags: &[String]| {
        json!({"id": id, "content": format!("Said by {id}"), "frame_type": "learning",
            "metadata": {}, "timestamp": "2026-01-10T12:00:00+00:00", "session_id": "s",
            "tags": tags})
    };
    let frames = lines(&[frame("many", &tags), frame("few", &tags[..3])]);
    let frames = home.write("frames.jsonl", &frames);
    let report = run(&home, &["import", &frames]);
    assert_eq!(
        fate(&report).0 + report["rejected"].as_u64().unwrap_or_default(),
        2
    );
    let few = run(&home, &["show", "few"]);
    assert_eq!(few["records"][0]["tags"].as_array().map(Vec::len), Some(3));
    let line = json!({"external_id": "x", "text": "tagged", "tags": tags});
    let line = home.write("lines.jsonl", &lines(&[line]));
    let said = command(&home, &["ingest", "--jsonl", &line]);
    assert_lacks!(said.stderr, "panicked");

    let mut bomb = "a0: &a0 [lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        let before = format!("*a{}", level - 1);
        let all = [before.as_str(); 9].join(", ");
        let line = format!("a{level}: &a{level} [{all}]\n");
        bomb.push_str(&line);
    }
    let kept = records(&home);
    home.write(
        "notes/bomb.md",
        &format!("---\n{bomb}---\n\n# Title\n\nThe text stays.\n"),
    );
    home.write(
        "notes/good.md",
        "---\ntags: [a]\n---\n\n# Good\n\nIt is read.\n",
    );
    let notes = home.path("notes");
    let report = run(&home, &["import", &notes, "--from", "markdown"]);
    assert!(fate(&report).0 >= 1, "{report}");
    let found = run(&home, &["recall", "it is read"]);
    assert!(
        found["results"][0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("It is read"))
    );
    let kept = (records(&home) > kept).then(|| records(&home));
    let file = home.write("bomb.yaml", &bomb);
    refused(&home, &["import", &file, "--from", "reprise"]);
    refused(&home, &["ingest", &file]);
    assert_eq!(Some(records(&home)), kept);
}

#[test]
fn a_database_in_use_or_damaged_is_told_in_one_sentence_and_nothing_is_kept() {
    let home = Home::new();
    let file = database(&home, LESSONS);
    let path = file.to_string_lossy().into_owned();
    // Another program has it for itself.
    let other = Connection::open(&file).expect("a database");
    let exclusive = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;";
    other.execute_batch(exclusive).expect("it is locked");
    let said = refused(&home, &["import", &path]);
    assert_contains!(said, "close the program that uses it");
    assert!(!home.data().join("ada").exists());
    drop(other);
    let whole = std::fs::read(&file).expect("the database");
    let mut bent = whole.clone();
    for byte in bent.iter_mut().skip(100) {
        *byte ^= 0x5a;
    }
    let damages = [
        ("cut in its header", whole[..60].to_vec()),
        ("without pages", whole[..100].to_vec()),
        ("bent", bent),
        ("empty", Vec::new()),
        ("none at all", b"not a database, only words\n".repeat(40)),
    ];
    for (name, bytes) in damages {
        std::fs::write(&file, bytes).expect("written");
        let said = refused(&home, &["import", &path, "--from", "ai-lessons"]);
        assert!(said.contains("knowledge.db"), "{name}: {said}");
        assert!(!home.data().join("ada").exists(), "{name}");
    }
    std::fs::write(&file, whole).expect("written");
    assert_eq!(fate(&run(&home, &["import", &path])).0, 3);
}

#[test]
fn exports_of_other_systems_cut_in_the_middle_give_what_is_whole() {
    let home = Home::new();
    let frames: Vec<Value> = (0..20)
        .map(|number| {
            json!({"id": format!("f{number}"), "content": format!("Frame {number} of it"),
                "frame_type": "context", "metadata": {}, "session_id": "s", "tags": [],
                "timestamp": "2026-01-10T12:00:00+00:00"})
        })
        .collect();
    let frames = lines(&frames);
    let learnings: Vec<Value> = (0..20)
        .map(|number| {
            json!({"id": format!("{number:016x}"), "fact": format!("Fact {number} of it"),
                "category": "pattern", "created_at": "2026-01-20T10:11:12Z"})
        })
        .collect();
    let learnings = lines(&learnings);
    let graph: Vec<Value> = (0..20)
        .map(|number| {
            json!({"type": "entity", "name": format!("e{number}"), "entityType": "note",
                "observations": [format!("Seen {number} of it")]})
        })
        .collect();
    let graph = lines(&graph);
    for (kind, name, text) in [
        ("frames", "frames.jsonl", frames),
        ("sunwell", "shop/.sunwell/memory/learnings.jsonl", learnings),
        ("server-memory", "memory.jsonl", graph),
    ] {
        let half = text.len() / 2 + 7;
        let whole = text[..half].lines().count() as u64 - 1;
        let file = home.write(name, &text[..half]);
        let report = run(&home, &["import", &file, "--from", kind]);
        let (inserted, _, places) = fate(&report);
        let of_line = if kind == "server-memory" { 2 } else { 1 };
        assert_eq!(
            (inserted, places.len()),
            (whole * of_line, 1),
            "{kind}: {report}"
        );
        assert!(
            places[0].ends_with(&format!(":{}", whole + 1)),
            "{kind}: {places:?}"
        );
        // The whole of it, later: what is there already stays once.
        let file = home.write(name, &text);
        let report = run(&home, &["import", &file, "--from", kind]);
        let (inserted, known, places) = fate(&report);
        assert_eq!(
            (inserted, known, places.len()),
            ((20 - whole) * of_line, whole * of_line, 0),
            "{kind}"
        );
    }
}

#[test]
fn the_state_of_a_sunwell_project_may_stand_where_the_environment_says() {
    let home = Home::new();
    let inside = home.folder().join("project/.sunwell/memory");
    let state = home.folder().join("state/memory");
    for (folder, fact) in [
        (&inside, "Lives in the tree"),
        (&state, "Lives out of the tree"),
    ] {
        std::fs::create_dir_all(folder).expect("a folder");
        let line = json!({ "id": "a", "fact": fact, "category": "pattern" });
        std::fs::write(folder.join("learnings.jsonl"), line.to_string()).expect("written");
    }
    let project = home.folder().join("project");
    let import = |path: &Path, user: &str| {
        let path = path.to_string_lossy().into_owned();
        let mut import = home.command(&["--no-daemon", "import", &path, "--user", user]);
        import.env("SUNWELL_STATE_DIR", home.folder().join("state"));
        let done = run_to_end(import.current_dir(&project)).expect("reprise runs");
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let export = ["--no-daemon", "export", "--user", user];
        let told = home.run(&export);
        told.stdout
    };
    // The variable is of the project that is worked in.
    for (user, path) in [("ada", project.as_path()), ("bob", Path::new("."))] {
        let told = import(path, user);
        assert_contains!(told, "out of the tree");
        assert_lacks!(told, "in the tree");
    }
    // Another one that is named has its own, and so has one whose state was moved.
    let other = home.folder().join("other");
    home.write(
        "other/.sunwell/memory/learnings.jsonl",
        &json!({ "id": "b", "fact": "Lives in another tree", "category": "pattern" }).to_string(),
    );
    let told = import(&other, "eve");
    assert_contains!(told, "another tree");
    assert_lacks!(told, "out of the tree");
}
