//! `reprise import` and what comes out again, by the real binary, with a daemon and without.

use std::path::{Path, PathBuf};

use reprise_tests::{assert_contains, assert_fields, assert_lacks, run_git};
use serde_json::{Value, json};

use crate::home::Home;

fn fixture(name: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/reprise-knowledge");
    crates.join("tests/fixtures").join(name)
}

/// The answer of a command; its code says whether some of its input was refused.
fn run(home: &Home, arguments: &[&str]) -> Value {
    let done = home.run(&[&["--json"], arguments, &["--user", "ada"]].concat());
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

fn counts(report: &Value) -> [u64; 3] {
    ["inserted", "duplicate", "rejected"]
        .map(|name| report[name].as_u64().expect("a report has counts"))
}

#[test]
fn a_project_moves_in_once_and_is_found() {
    let home = Home::new();
    let tree = fixture("sunwell_legacy").to_string_lossy().into_owned();
    let plan = run(&home, &["import", &tree, "--dry-run"]);
    assert_eq!(
        (plan["kind"].as_str(), counts(&plan)),
        (Some("sunwell"), [10, 0, 3])
    );
    assert!(!home.data().join("ada").exists(), "a dry run keeps nothing");
    let report = run(&home, &["import", &tree]);
    assert_eq!(counts(&report), [10, 0, 3]);
    let cut = &report["lines"][0];
    assert_eq!(cut["where"], ".sunwell/intelligence/learnings.jsonl:2");
    assert!(
        cut["why"].as_str().is_some_and(|why| why.contains("cut")),
        "{cut}"
    );
    assert_eq!(counts(&run(&home, &["import", &tree])), [0, 10, 3]);
    assert_eq!(
        counts(&run(&home, &["import", &tree, "--dry-run"])),
        [0, 10, 3]
    );
    let found = run(&home, &["recall", "unbounded cache leaks memory"]);
    assert_eq!(found["results"][0]["external_id"], "de139ab9b1ff7971");
    let shown = run(&home, &["show", "de139ab9b1ff7971"]);
    assert_eq!(shown["records"][0]["kind"], "episode");
}

#[test]
fn a_line_of_the_unified_store_is_found_and_written_by_its_own_id() {
    let home = Home::new();
    let folder = tempfile::tempdir().expect("a folder");
    let memory = folder.path().join(".sunwell/memory");
    std::fs::create_dir_all(&memory).expect("a folder");
    let learning = r#"{"id":"abc123","fact":"Pools need a limit","category":"pattern"}"#;
    std::fs::write(memory.join("learnings.jsonl"), learning).expect("written");
    let decisions = [
        r#"{"id":"unified-d1","decision":"Use SQLite","rationale":"Simple"}"#,
        r#"{"id":"unified-d2","decision":"Use PostgreSQL","rationale":"Many","supersedes":"unified-d1"}"#,
    ];
    std::fs::write(memory.join("decisions.jsonl"), decisions.join("\n")).expect("written");
    let tree = folder.path().to_string_lossy().into_owned();
    let report = run(&home, &["import", &tree]);
    assert_eq!(
        (counts(&report), &report["links"]),
        ([3, 0, 0], &json!(1)),
        "{report}"
    );
    assert_eq!(counts(&run(&home, &["import", &tree])), [0, 3, 0]);
    let shown = run(&home, &["show", "abc123"]);
    assert_eq!(shown["records"][0]["text"], "Pools need a limit", "{shown}");
    let out = folder.path().join("written");
    let out_text = out.to_string_lossy();
    home.run_ok(&[
        "export", "--user", "ada", "--format", "sunwell", "--out", &out_text,
    ]);
    let memory = out.join(".sunwell/memory");
    let files = std::fs::read_dir(&memory).expect("a unified store");
    let written: String = files
        .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("text"))
        .collect();
    for id in ["abc123", "unified-d1", "unified-d2"] {
        assert!(
            written.contains(&format!("\"id\":\"{id}\"")),
            "{id}: {written}"
        );
    }
    assert!(
        written.contains("\"supersedes\":\"unified-d1\""),
        "{written}"
    );
}

#[test]
fn links_come_in_with_a_daemon_and_without() {
    let frames = fixture("ralph_memory.jsonl").to_string_lossy().into_owned();
    for daemon in [false, true] {
        let home = Home::new();
        if daemon {
            // A tool of an agent starts the daemon.
            let client = home.client();
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime
                .block_on(client.ensure_running())
                .expect("the daemon starts");
        }
        let report = run(&home, &["import", &frames]);
        assert_eq!(
            (counts(&report), &report["links"]),
            ([6, 0, 0], &json!(2)),
            "{daemon}"
        );
        let again = run(&home, &["import", &frames]);
        assert_eq!(
            (counts(&again), &again["links"]),
            ([0, 6, 0], &json!(0)),
            "{daemon}"
        );
        let related = run(&home, &["tags", "related", "e-1", "--direction", "both"]);
        let related = related["related"].as_array().map(Vec::len);
        assert_eq!((related, home.daemon().is_some()), (Some(2), daemon));
    }
}

#[test]
fn a_repository_and_its_notes_move_in_once_and_are_found_by_the_same_recall() {
    let home = Home::new();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("CLAUDE.md"),
        "# Rules\n\nMoney is in cents.\n",
    )
    .unwrap();
    let words = "Raise the pool to fifty connections";
    let commit = ["commit", "-q", "--allow-empty", "-m", words];
    run_git(folder.path(), &["init", "-q"]);
    run_git(folder.path(), &commit);
    let path = folder.path().to_string_lossy().into_owned();
    let command = ["import", &path, "--dry-run", "--user", "ada"];
    let plan = home.run(&command);
    assert_contains!(
        plan.stderr,
        "it also contains (choose with --from): instructions"
    );
    let history: &[&str] = &["import", &path];
    let rules: &[&str] = &["import", &path, "--from", "instructions"];
    for arguments in [history, rules] {
        assert_eq!(counts(&run(&home, arguments)), [1, 0, 0], "{arguments:?}");
        assert_eq!(counts(&run(&home, arguments)), [0, 1, 0], "{arguments:?}");
    }
    let name = folder
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .to_lowercase();
    let listed = run(&home, &["recall", "how many connections has the pool"]);
    let tags = listed["results"][0]["tags"].as_array().unwrap();
    let of_project = |tag: &Value| {
        tag.as_str()
            .unwrap()
            .starts_with(&format!("project:{name}-"))
    };
    assert!(tags.iter().any(of_project), "{listed}");
    let found = run(&home, &["recall", "money in cents"]);
    assert_contains!(
        found["results"][0]["text"].as_str().unwrap(),
        "Money is in cents"
    );
}

/// A memory that was corrected, tagged, linked, taught and partly forgotten.
fn lived(home: &Home) {
    let lines = [
        r#"{"external_id":"a","text":"Deploy on Tuesdays","confidence":0.9,"tags":["ops"]}"#,
        r#"{"external_id":"b","text":"Ten connections","timestamp":"2026-01-02T03:04:05.678901Z"}"#,
        r#"{"external_id":"c","text":"Checkout times out","metadata":{"n":1.5,"s":"---\nx: [y"}}"#,
        r#"{"external_id":"d","text":"Forget me"}"#,
        r#"{"external_id":"e","text":"My pay","tags":["sensitive"]}"#,
    ];
    let file = home.folder().join("lines.jsonl");
    std::fs::write(&file, lines.join("\n")).expect("the folder takes files");
    let outcome = home.folder().join("outcome.jsonl");
    let said = r#"{"query":"why does checkout fail","used":["b"],"quality":0.9}"#;
    std::fs::write(&outcome, said).expect("the folder takes files");
    for arguments in [
        &["ingest", "--jsonl", &file.to_string_lossy()][..],
        &["edit", "a", "--content", "Deploy on Thursdays"],
        &["edit", "b", "--tags", "pool,database"],
        &["tags", "link", "c", "b", "--relation", "caused_by"],
        &["outcome", "--jsonl", &outcome.to_string_lossy()],
        &["forget", "--external-id", "d"],
    ] {
        let arguments = [arguments, &["--user", "ada"]].concat();
        let done = home.run(&arguments);
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
    }
}

#[test]
fn a_whole_memory_moves_in_each_of_our_forms_and_a_cut_one_is_refused() {
    let home = Home::new();
    lived(&home);
    for format in ["jsonl", "json", "yaml"] {
        let file = home.folder().join(format!("ada.{format}"));
        let file = file.to_str().unwrap();
        let export = |user: &str, out: &str| {
            let arguments = ["export", "--user", user, "--format", format, "--out", out];
            home.run(&arguments).expect_code(0);
            std::fs::read_to_string(out).expect("the export is there")
        };
        let import = |user: &str, more: &[&str]| {
            let arguments = [&["import", file, "--user", user, "--json"], more].concat();
            home.run(&arguments)
        };
        let first = export("ada", file);
        assert_lacks!(first, "Forget me", "My pay");
        let plan = import(format, &["--dry-run"]);
        let report: Value = serde_json::from_str(&plan.stdout).expect("JSON");
        assert_eq!(
            (counts(&report), &report["kind"]),
            ([3, 0, 0], &json!("reprise"))
        );
        let moved = import(format, &[]);
        let report: Value = serde_json::from_str(&moved.stdout).expect("JSON");
        assert_eq!((counts(&report), &report["links"]), ([3, 0, 0], &json!(1)));
        let again = home.folder().join(format!("again.{format}"));
        assert_eq!(export(format, again.to_str().unwrap()), first, "{format}");
        // Once more, and into the memory that it came from: nothing.
        for user in [format, "ada"] {
            let report: Value = serde_json::from_str(&import(user, &[]).stdout).expect("JSON");
            assert_eq!(
                (counts(&report), &report["links"]),
                ([0, 3, 0], &json!(0)),
                "{user}"
            );
        }
        // Into another memory: what is new, with its links.
        let second = format!("{format}-second");
        let other = home.folder().join("other.jsonl");
        std::fs::write(&other, r#"{"external_id":"z","text":"Already here"}"#).unwrap();
        let arguments = [
            "ingest",
            "--jsonl",
            other.to_str().unwrap(),
            "--user",
            &second,
        ];
        assert_eq!(home.run(&arguments).code, Some(0));
        let report: Value = serde_json::from_str(&import(&second, &[]).stdout).expect("JSON");
        assert_eq!((counts(&report), &report["links"]), ([3, 0, 0], &json!(1)));
        // Cut anywhere: one sentence, and nothing is kept.
        for part in [3, 2] {
            let end = first.floor_char_boundary(first.len() - first.len() / part);
            std::fs::write(file, &first[..end]).unwrap();
            let refused = import("nobody", &["--from", "reprise"]);
            assert_ne!(refused.code, Some(0), "{format} {part}");
            let sentence = refused.stderr.trim();
            assert!(
                sentence.contains("make the export again"),
                "{format}: {sentence}"
            );
            assert!(!home.data().join("nobody").exists());
        }
    }
}

#[test]
fn a_stock_file_brings_the_whole_memory_back() {
    let home = Home::new();
    lived(&home);
    let out = home.path("ada.rvf");
    let export = |user: &str, more: &[&str]| {
        let arguments = [&["export", "--user", user], more].concat();
        let done = home.run(&arguments).expect_code(0);
        done.stdout
    };
    export("ada", &["--format", "rvf", "--out", &out]);
    let import = ["import", &out, "--user", "eve"];
    home.run(&import).expect_code(0);
    let json = ["--format", "json"];
    assert_eq!(export("eve", &json), export("ada", &json));
}

/// A file that keeps its folder from being empty, with as many vectors as lines.
fn with_vectors(home: &Home) -> String {
    let lines = (0..40).map(|at: u16| {
        let mut vector = vec![0.0_f32; 384];
        vector[usize::from(at)] = 0.6;
        vector[usize::from(at) + 1] = 0.8;
        json!({
            "external_id": format!("v{at}"),
            "text": format!("number {at}"),
            "embedding": vector,
            "embedding_space": { "model": "hand", "version": "1", "dimensions": 384 },
        })
        .to_string()
    });
    home.write("vectors.jsonl", &lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_memory_moves_out_in_other_systems_forms_and_in_again() {
    let home = Home::new();
    lived(&home);
    for (format, kind, records) in [
        ("markdown", "markdown", 3),
        ("rvf", "reprise", 3),
        ("sunwell", "sunwell", 3),
        ("ai-lessons", "ai-lessons", 3),
        ("frames", "frames", 3),
    ] {
        let out = home.path(format);
        let export = ["export", "--user", "ada", "--format", format, "--out", &out];
        let without = home.run(&export[..5]);
        assert_contains!(without.stderr, "--out PATH");
        let again = match format {
            "markdown" | "sunwell" => (Some(2), "is an existing folder"),
            // Its own file is written anew.
            _ => (Some(0), ""),
        };
        for (code, word) in [(Some(0), ""), again] {
            let done = home.run(&export);
            assert_eq!(done.code, code, "{format}: {}", done.stderr);
            assert!(done.stderr.contains(word), "{format}: {}", done.stderr);
        }
        for expected in [[records, 0, 0], [0, records, 0]] {
            let import = ["import", &out, "--user", format, "--json"];
            let done = home.run(&import);
            let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
            assert_eq!(
                (counts(&report), &report["kind"]),
                (expected, &json!(kind)),
                "{report}"
            );
        }
        let found = ["recall", "deploy on thursdays", "--user", format, "--json"];
        let found = home.run(&found);
        assert!(
            found.stdout.contains("Deploy on Thursdays"),
            "{format}: {}",
            found.stdout
        );
        assert!(!home.folder().join(format!("{format}.unfinished")).exists());
    }
}

#[test]
fn stock_rvf_runtime_finds_the_same_neighbours_in_a_closed_file() {
    let home = Home::new();
    let lines = with_vectors(&home);
    run(&home, &["ingest", "--jsonl", &lines]);
    let report = run(&home, &["doctor", "check", "--stock"]);
    assert_fields!(report, "sound": true, "stock_vectors": 40);
    let out = home.path("ada.rvf");
    let export = ["export", "--user", "ada", "--format", "rvf", "--out", &out];
    assert_eq!(home.run(&export).code, Some(0));
    let import = ["import", &out, "--user", "eve", "--json"];
    let moved = home.run(&import);
    let report: Value = serde_json::from_str(&moved.stdout).expect("JSON");
    assert_eq!(counts(&report), [40, 0, 0]);
}

#[test]
fn a_new_memory_has_its_vectors_in_rvf_runtime_where_that_is_chosen_and_keeps_them_there() {
    let home = Home::new();
    let lines = with_vectors(&home);
    let chosen = home.write("rvf.toml", "[memory]\nvectors = \"rvf-runtime\"\n");
    run(&home, &["ingest", "--jsonl", &lines, "--config", &chosen]);
    let beside = home.data().join("ada/memory.vectors.rvf");
    let written = std::fs::metadata(&beside).expect("it is there").len();
    assert!(
        written > 40 * 384 * 4,
        "all 40 vectors are in it: {written}"
    );
    // The setting is for new memories: without it this one is opened with what it was made with.
    assert_fields!(run(&home, &["stats"]), "vector_store": "rvf-runtime", "embedded": 40);
    let told = home.run(&["stats", "--user", "ada"]).expect_code(0);
    assert_contains!(told.stdout, "asked of rvf-runtime");
    assert_fields!(run(&home, &["doctor", "check", "--stock"]), "sound": true);
    std::fs::write(&beside, "no file of that package").expect("written");
    let learn = ["learn", "The deploy key is in the safe", "--user", "ada"];
    home.run(&learn).expect_code(0);
    let mended = std::fs::metadata(&beside).expect("it is there").len();
    assert!(mended >= written, "made anew from the log: {mended}");
    let plain = ["ingest", "--jsonl", &lines, "--user", "eve"];
    home.run(&plain).expect_code(0);
    let with = ["stats", "--user", "eve", "--json", "--config", &chosen];
    let stats: Value = serde_json::from_str(&home.run(&with).stdout).expect("JSON");
    assert_fields!(stats, "vector_store": "log");
}

#[test]
fn secrets_are_taken_out_of_whatever_moves_in() {
    let home = Home::new();
    let secret = format!("ghp_{}", "Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9Jj0Kk1Ll2");
    let write = |name: &str, line: &Value| home.write(name, &format!("{line}\n"));
    let said = format!("the deploy token is {secret}");
    let graph = json!({ "type": "entity", "name": "ci", "entityType": "tool",
        "observations": [&said] });
    let graph = write("graph.jsonl", &graph);
    run(&home, &["import", &graph, "--from", "server-memory"]);
    // A memory that was kept word for word and comes from elsewhere.
    let record = json!({ "text": &said, "session_id": &secret, "tags": [&secret],
        "metadata": { "seen": &said } });
    let file = write("verbatim.jsonl", &record);
    let archive = home.path("eve.json");
    for arguments in [
        vec!["ingest", "--user", "eve", "--verbatim", &file],
        vec![
            "export", "--user", "eve", "--format", "json", "--out", &archive,
        ],
    ] {
        home.run(&arguments).expect_code(0);
    }
    assert!(std::fs::read_to_string(&archive).unwrap().contains(&secret));
    run(&home, &["import", &archive, "--from", "reprise"]);
    let export = home.run(&["export", "--user", "ada"]);
    assert_eq!(export.stdout.lines().count(), 3, "{}", export.stdout);
    let kept = export.stdout.to_lowercase();
    assert_lacks!(kept, &secret.to_lowercase());
}

#[test]
fn a_plain_text_beside_notes_is_not_passed_over_in_silence() {
    let home = Home::new();
    let folder = home.folder().join("notes");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("a.md"), "# Deploy\n\nOn Mondays.\n").expect("written");
    let text = folder.join("printer.txt");
    std::fs::write(&text, "The printer is on the third floor.\n").expect("written");
    let [folder, text] = [&folder, &text].map(|path| path.to_string_lossy().into_owned());
    let told = home.run(&["import", &folder]).expect_code(0);
    assert_contains!(told.stderr, "1 file ending in .txt", &text);
    let told = home.run(&["import", &text]).expect_code(2);
    assert_contains!(told.stderr, "--from markdown");
    home.run_ok(&["import", &text, "--from", "markdown"]);
    // Markdown that was given to the other command is sent here.
    let note = folder + "/a.md";
    for flag in ["--jsonl", "--yaml"] {
        let told = home.run(&["ingest", flag, &note]);
        assert_contains!(told.stderr, "reprise import");
    }
}

#[test]
fn an_export_does_not_bring_back_what_was_forgotten_since() {
    let home = Home::new();
    for text in ["The heron nests by the weir", "The ibis nests by the mill"] {
        home.run_ok(&["learn", text, "--user", "ada"]);
    }
    let file = home.path("ada.jsonl");
    home.run_ok(&["export", "--user", "ada", "--out", &file]);
    let kept = run(&home, &["list", "--limit", "1"]);
    let id = kept["id"].as_str().expect("an id");
    run(&home, &["forget", "--id", id]);
    for flags in [&["--dry-run"][..], &[]] {
        let report = run(&home, &[&["import", &file], flags].concat());
        assert_eq!(
            (counts(&report), &report["forgotten"]),
            ([0, 2, 0], &json!(1)),
            "{flags:?}"
        );
    }
}
