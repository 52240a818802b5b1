//! Memory and workspace are one: events become memories, records become lines of the tree.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use reprise_tests::{
    RunOutput, assert_contains, assert_fields, assert_lacks, reprise_command, run_to_end, seen_if,
    wait_for,
};
use serde_json::{Value, json};

use super::{PRD, git, must, run, run_json, workspace, write};

/// A command on the memory next to the tree, with this on its standard input.
fn memory(root: &Path, arguments: &[&str], input: &str) -> RunOutput {
    let mut command = reprise_command(root).expect("reprise is built");
    command
        .args(["--json", "--no-model", "--no-daemon"])
        .args(arguments);
    let file = root.join(".git/in/stdin");
    fs::write(&file, input).expect("a file to read from");
    command.stdin(Stdio::from(fs::File::open(&file).expect("it is there")));
    let finished = run_to_end(&mut command).expect("reprise runs");
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
    finished
}

fn ingest(root: &Path, lines: &str) -> Value {
    let ingest = ["ingest", "--json", "--user", "ada", "--jsonl", "-"];
    let told = memory(root, &ingest, lines).stdout;
    let last = told.lines().last().unwrap_or("null");
    serde_json::from_str(last).expect("JSON")
}

#[test]
fn events_become_memories_and_each_is_one_however_often_it_comes() {
    let folder = workspace();
    let root = folder.path();
    assert_eq!(write(root, "prm", PRD, b"{\"v\":1}").code, Some(0));
    assert_eq!(write(root, "researcher", PRD, b"{\"v\":2}").code, Some(1));
    let told = run(root, &["events", "--records"]).stdout;
    assert_eq!(told.lines().count(), 3, "{told}");
    for (inserted, duplicate) in [(3, 0), (0, 3)] {
        let report = ingest(root, &told);
        let counts = (&report["inserted"], &report["duplicate"]);
        assert_eq!(counts, (&json!(inserted), &json!(duplicate)), "{report}");
    }
    let found = memory(
        root,
        &["recall", "--user", "ada", "policy violated by researcher"],
        "",
    );
    assert!(
        found
            .stdout
            .contains("policy violated by researcher: core/prd/PRD-001.json")
    );
}

#[test]
fn what_is_meant_for_the_workspace_becomes_a_line_of_it_and_the_rest_stays() {
    let folder = workspace();
    let root = folder.path();
    let records = [
        json!({"external_id": "1", "text": "PRD-1 contradicts PRD-2", "tags": ["contradiction"],
            "visibility": "workspace"}),
        json!({"external_id": "2", "text": "the port is 8080", "visibility": "workspace"}),
        json!({"external_id": "3", "text": "my salary"}),
        json!({"external_id": "4", "text": "the vault is behind it", "tags": ["sensitive"],
            "visibility": "workspace"}),
        json!({"external_id": "5", "text": "what ada thinks of it", "tags": ["private"],
            "visibility": "workspace"}),
        json!({"external_id": "6", "text": "their page", "visibility": "published"}),
    ];
    let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
    let lines = lines.join("\n");
    assert_eq!(ingest(root, &lines)["inserted"], 6);
    let told = run_json(root, &["project", "--user", "ada"]);
    let counts = (&told["written"], &told["known"], &told["held_back"]);
    assert_eq!(counts, (&json!(2), &json!(0), &json!(4)), "{told}");
    let all = must(root, &["log", "-p", "--all"]);
    assert!(all.contains("the port is 8080"));
    for held in ["salary", "vault", "ada thinks", "their page"] {
        assert!(!all.contains(held), "{held}");
    }
    let log = fs::read_to_string(root.join("memory/contradiction_history.jsonl"));
    assert_eq!(log.expect("the log").lines().count(), 1);
    let again = run_json(root, &["project", "--user", "ada"]);
    assert_fields!(again, "written": 0, "receipt": Value::Null);
    // Opened later by its owner.
    let change = r#"{"id":"3","text":"the salary table","visibility":"workspace"}"#;
    memory(root, &["call", "--user", "ada", "revise", change], "");
    assert_eq!(run_json(root, &["project", "--user", "ada"])["written"], 1);
    let lines = fs::read_to_string(root.join("memory/long_term/records.jsonl")).expect("a log");
    assert_contains!(lines, "the salary table");
    assert_lacks!(lines, "my salary");
}

#[test]
fn a_manifest_follows_the_store_and_two_models_are_told_apart() {
    let folder = workspace();
    let root = folder.path();
    let embedded = |id: &str, version: &str| {
        let mut vector = vec![0.0; 384];
        vector[id.len()] = 1.0;
        json!({"external_id": id, "text": format!("text {id}"), "embedding": vector,
            "embedding_space": {"model": "mini", "version": version, "dimensions": 384}})
    };
    let line = |record: &Value| format!("{record}\n");
    let first = [embedded("a", "1"), embedded("bb", "1")];
    assert_eq!(
        ingest(root, &first.iter().map(line).collect::<String>())["inserted"],
        2
    );
    run_json(root, &["manifest", "--user", "ada"]);
    let path = "embeddings/index/memory-ada.json";
    let read = || -> Value {
        let text = fs::read_to_string(root.join(path)).expect("the manifest");
        serde_json::from_str(&text).expect("JSON")
    };
    let entry = read()["artifacts"][0].clone();
    assert_fields!(entry, "artifact_id": "memory/ada", "count": 2);
    // Another machine's clone, where the same memory was embedded by a later model.
    must(root, &["switch", "-qc", "other"]);
    let mut theirs = read();
    theirs["artifacts"][0]["model_version"] = json!("2");
    let text = theirs.to_string();
    assert_eq!(
        write(root, "vectorizer", path, text.as_bytes()).code,
        Some(0)
    );
    must(root, &["switch", "-q", "main"]);
    assert_eq!(ingest(root, &line(&embedded("ccc", "1")))["inserted"], 1);
    run_json(root, &["manifest", "--user", "ada"]);
    let (is_ok, said) = git(root, &["merge", "-q", "--no-edit", "other"]);
    assert!(is_ok && said.contains("is to be embedded again"), "{said}");
    let merged = read()["artifacts"].clone();
    assert_eq!(merged.as_array().map(Vec::len), Some(1), "{merged}");
    assert_fields!(merged[0], "re_embed": true, "count": 3);
    // The next manifest of the store itself is the answer.
    run_json(root, &["manifest", "--user", "ada"]);
    assert_eq!(read()["artifacts"][0]["re_embed"], Value::Null);
    // Vectors stay out of git.
    assert!(!must(root, &["log", "-p", "--all"]).contains("1.0,0.0"));
}

#[test]
fn a_running_daemon_looks_after_its_workspaces() {
    let folder = workspace();
    let root = folder.path();
    let old = root.join("memory/episodic/old.episodic");
    let step = "[{\"ts\":\"2025-11-27T10:00:00Z\",\"status\":\"done\",\"duration_ms\":1}]";
    assert_eq!(
        write(root, "prm", "memory/episodic/old.episodic", step.as_bytes()).code,
        Some(0)
    );
    assert_eq!(
        write(root, "prm", PRD, b"{\"id\":\"PRD-001\"}").code,
        Some(0)
    );
    fs::write(root.join(PRD), "{\"id\":\"PRD-001\",\"v\":2}").expect("a file");
    must(root, &["commit", "-qam", "Sharpen the goal"]);
    let config = root.join(".git/in/config.toml");
    let registered = format!("[workspaces.app]\npath = \"{}\"\n", root.display());
    fs::write(&config, registered).expect("a configuration");
    let mut command = reprise_command(root).expect("reprise is built");
    command
        .args(["--no-model", "--config"])
        .arg(&config)
        .args(["serve", "--idle-exit", "60"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut daemon = command.spawn().expect("a daemon");
    let is_told = || run(root, &["events"]).stdout.contains("\"human:Ada\"");
    wait_for(
        "old scratch is gone and a commit of plain git is announced",
        || {
            let seen = (!old.exists(), is_told());
            seen_if(seen == (true, true), seen)
        },
    );
    daemon.kill().and_then(|()| daemon.wait()).expect("it ends");
    // The data directory of this test lies next to the tree's files.
    let status = must(root, &["status", "--porcelain"]);
    assert_eq!(status, "?? .reprise/\n");
}
