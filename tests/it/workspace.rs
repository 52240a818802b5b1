//! A workspace through the real binary: the contract for scripts, plain git next to it, bad input.

mod checklist;
mod disk;
mod memory;

use std::fs;
use std::path::Path;

use reprise_tests::{RunOutput, assert_contains, reprise_command, run_to_end, try_run_git};
use serde_json::Value;

const PRD: &str = "core/prd/PRD-001.json";

fn run(root: &Path, arguments: &[&str]) -> RunOutput {
    let mut command = reprise_command(root).expect("reprise is built");
    command
        .args(["--json", "workspace", "-C"])
        .arg(root)
        .args(arguments);
    run_to_end(&mut command).expect("reprise runs")
}

fn run_json(root: &Path, arguments: &[&str]) -> Value {
    let finished = run(root, arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
    serde_json::from_str(finished.stdout.lines().next().unwrap_or("null")).expect("JSON")
}

/// Plain git; whether it succeeded, and what it said. The merge drivers are started by their place,
/// so `PATH` does not matter.
fn git(root: &Path, arguments: &[&str]) -> (bool, String) {
    let done = try_run_git(root, arguments);
    (done.code == Some(0), done.stdout + &done.stderr)
}

fn must(root: &Path, arguments: &[&str]) -> String {
    let (is_ok, text) = git(root, arguments);
    assert!(is_ok, "git {arguments:?}: {text}");
    text
}

/// A new workspace; files to write from stand in `in/`, which git is told to pass over.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    run_json(folder.path(), &["init"]);
    fs::create_dir(folder.path().join(".git/in")).expect("a folder");
    folder
}

fn write(root: &Path, actor: &str, path: &str, text: &[u8]) -> RunOutput {
    let file = root.join(".git/in/file");
    fs::write(&file, text).expect("a file to write from");
    let pair = format!("{path}={}", file.display());
    run(root, &["write", "--actor", actor, &pair])
}

#[test]
fn the_contract_for_scripts_holds() {
    let folder = workspace();
    let root = folder.path();
    let finished = write(root, "prm", PRD, b"{\"id\":\"PRD-001\"}");
    let receipt: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let head = must(root, &["rev-parse", "HEAD"]);
    assert_eq!(receipt["commit"], head.trim());
    assert_eq!(receipt["tx"].as_str().map(str::len), Some(26));
    let refused = write(root, "researcher", PRD, b"{}").expect_code(1);
    let row: Value = serde_json::from_str(&refused.stdout).expect("JSON");
    assert_eq!(row["rule"], "core-prd");
    let state = root.join(".git/in/state");
    fs::write(&state, "{\"next_action\":\"rest\"}").expect("a file");
    run_json(
        root,
        &[
            "checkpoint",
            "--actor",
            "prm",
            "--file",
            &state.to_string_lossy(),
        ],
    );
    assert_eq!(
        run_json(root, &["state", "prm"])["checkpoint"]["next_action"],
        "rest"
    );
    assert_eq!(run_json(root, &["status"])["artifacts"]["prd"], 1);
    assert_eq!(run_json(root, &["log", "--limit", "1"])["actor"], "prm");
    assert_eq!(
        run_json(root, &["audit", "--actor", "researcher"])["action"],
        "violation"
    );
    assert_eq!(run_json(root, &["graph"])["id"], "PRD-001");
    let nothing = run_json(root, &["recover"]);
    assert_eq!(nothing["finished"], Value::Array(Vec::new()));
    let snapshot = run_json(root, &["snapshot", "--actor", "governor"]);
    let id = snapshot["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        write(root, "prm", PRD, b"{\"id\":\"PRD-001\",\"v\":2}").code,
        Some(0)
    );
    run_json(root, &["restore", "--actor", "governor", &id]);
    let text = fs::read_to_string(root.join(PRD)).expect("the PRD");
    assert_eq!(text, "{\"id\":\"PRD-001\"}");
    let bad = receipt["commit"].as_str().expect("a commit");
    assert_eq!(
        run(root, &["rollback", "--actor", "prm", bad]).code,
        Some(1)
    );
    run_json(root, &["rollback", "--actor", "governor", bad]);
    assert!(!root.join(PRD).exists());
    assert_eq!(must(root, &["status", "--porcelain"]), "");
}

#[test]
fn plain_git_merges_by_the_same_rules() {
    let folder = workspace();
    let root = folder.path();
    let log = "memory/contradiction_history.jsonl";
    let both = |line: &str, when: &str, note: &str| {
        let state = format!(
            "{{\"agent_id\":\"tsm\",\"ts_checkpoint\":\"{when}\",\"next_action\":\"{note}\"}}"
        );
        let lines = format!("{{\"event_id\":\"a\"}}\n{{\"event_id\":\"{line}\"}}\n");
        assert_eq!(write(root, "tsm", log, lines.as_bytes()).code, Some(0));
        let path = "memory/agent_state/tsm.checkpoint.json";
        assert_eq!(write(root, "tsm", path, state.as_bytes()).code, Some(0));
    };
    must(root, &["switch", "-qc", "other"]);
    both("b", "2026-01-02T00:00:00Z", "theirs");
    must(root, &["switch", "-q", "main"]);
    both("c", "2026-01-01T00:00:00Z", "ours");
    must(root, &["merge", "-q", "--no-edit", "other"]);
    let text = fs::read_to_string(root.join(log)).expect("the log");
    for id in ["a", "b", "c"] {
        assert_eq!(text.matches(&format!("\"{id}\"")).count(), 1, "{text}");
    }
    let state = run_json(root, &["state", "tsm"]);
    assert_eq!(state["checkpoint"]["next_action"], "theirs");
    let conflicts = fs::read_to_string(root.join(".sdlc_ide/logs/merge_conflicts.jsonl"));
    assert!(conflicts.expect("the log").contains("\"ours\""));
    let trail = run(root, &["audit", "--action", "write"]).stdout;
    assert_eq!(trail.lines().count(), 4, "{trail}");
    // Who merged so has written in nobody's ledger.
    write(root, "prm", "core/kb/after.md", b"after\n").expect_code(0);
    let merged = run_json(root, &["audit", "--action", "git"]);
    assert_eq!(merged["rules"], serde_json::json!([]), "{merged}");
}

#[test]
fn bad_input_is_refused_in_one_sentence_and_changes_nothing() {
    let folder = workspace();
    let root = folder.path();
    assert_eq!(
        write(root, "prm", PRD, b"{\"id\":\"PRD-001\"}").code,
        Some(0)
    );
    std::os::unix::fs::symlink("/tmp", root.join("core/kb/link")).expect("a link");
    let large = vec![b'x'; 100 * 1024 * 1024];
    let cases: [(&str, &str, &[u8], i32, &str); 12] = [
        ("prm", "../x", b"x", 1, "leads out"),
        ("prm", "/etc/x", b"x", 1, "absolute"),
        ("prm", ".git/config", b"x", 1, "belongs to git"),
        ("prm", "core/kb/link/x.md", b"x", 1, "symbolic link"),
        (
            "prm",
            "core/prd/prd-001.json",
            b"{\"a\":1}",
            1,
            "differs in case only",
        ),
        ("prm", "core/kb/big.md", &large, 1, "10485760"),
        ("prm", "core/kb/binary.md", b"\x00\xff", 1, "no text"),
        ("prm", "core/prd/x.bin", b"text", 1, "no schema"),
        ("prm", "core/prd/x.json", b"{", 1, "not valid JSON"),
        ("prm", "README.md", b"x", 1, "people-only"),
        ("a b", "core/kb/x.md", b"x", 2, "no actor"),
        (
            "prm",
            "core/prd/PRD-001.json/x",
            b"{}",
            1,
            "a file and a folder",
        ),
    ];
    let before = must(root, &["write-tree"]);
    for (actor, path, text, code, word) in cases {
        let finished = write(root, actor, path, text);
        assert_eq!(finished.code, Some(code), "{path}: {}", finished.stderr);
        assert!(
            finished.stderr.contains(word),
            "{path}: {}",
            finished.stderr
        );
    }
    fs::remove_file(root.join("core/kb/link")).expect("it is there");
    // The refusals by a rule are on record; nothing of the tree changed.
    assert_eq!(
        must(root, &["diff", "--name-only", before.trim(), "HEAD"]),
        ""
    );
    let refused = run(root, &["audit", "--action", "violation"]).stdout;
    assert_contains!(refused, "people-only", "one-name");
    assert_eq!(must(root, &["status", "--porcelain"]), "");
}

#[test]
fn a_path_may_have_an_equals_sign() {
    let folder = workspace();
    let root = folder.path();
    let place = root.join(".git/in/a=b.md");
    fs::write(&place, "text\n").expect("a file");
    let pair = format!("core/kb/x=y.md={}", place.display());
    run_json(root, &["write", "--actor", "prm", &pair]);
    assert_eq!(must(root, &["show", "HEAD:core/kb/x=y.md"]), "text\n");
    // Two files are there that could be meant.
    fs::write(root.join(".git/in/b.md=c"), "one\n").expect("a file");
    fs::write(root.join("c"), "other\n").expect("a file");
    let pair = "core/kb/z=.git/in/b.md=c";
    let refused = run(root, &["write", "--actor", "prm", pair]);
    assert_contains!(refused.stderr, "--put PATH FILE");
    run_json(
        root,
        &[
            "write",
            "--actor",
            "prm",
            "--put",
            "core/kb/z",
            ".git/in/b.md=c",
        ],
    );
    assert_eq!(must(root, &["show", "HEAD:core/kb/z"]), "one\n");
}

#[test]
fn a_start_makes_a_first_prd_and_says_what_comes_next() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let root = folder.path();
    let started = run_json(root, &["start", "--title", "Parcels"]);
    assert_eq!(started["prds"], serde_json::json!([PRD]));
    let next = started["next"].to_string();
    assert_contains!(next, "approve --human", "glossary.md");
    let shared = must(root, &["symbolic-ref", "--short", "HEAD"]);
    assert_contains!(next, &format!("git switch {}\"", shared.trim()));
    assert!(must(root, &["show", &format!("HEAD:{PRD}")]).contains("\"Parcels\""));
    assert_eq!(run_json(root, &["start"])["receipt"], Value::Null);
}

#[test]
fn a_message_names_the_working_tree_that_it_is_about() {
    let folder = workspace();
    let root = folder.path();
    assert_eq!(
        write(root, "prm", PRD, b"{\"id\":\"PRD-001\"}").code,
        Some(0)
    );
    let proposal = run_json(root, &["agent", "propose", "fixer"]);
    let tree = Path::new(proposal["directory"].as_str().expect("a directory"));
    fs::write(tree.join(PRD), "{\"mine\":1}").expect("a file");
    let file = root.join(".git/in/file");
    fs::write(&file, "{\"id\":\"PRD-002\"}").expect("a file to write from");
    let pair = format!("{PRD}={}", file.display());
    let edited = run(tree, &["write", "--actor", "prm", &pair]);
    assert_contains!(edited.stderr, "working tree `fixer`");
    let abandoned = run(root, &["agent", "abandon", "fixer"]);
    assert_contains!(abandoned.stderr, "working tree `fixer`");
}

#[test]
fn a_repository_in_no_state_for_a_commit_is_named() {
    let folder = workspace();
    let root = folder.path();
    let note = "core/kb/note.md";
    assert_eq!(write(root, "prm", note, b"one\n").code, Some(0));
    let refused = |word: &str| {
        let head = must(root, &["rev-parse", "HEAD"]);
        let finished = write(root, "prm", "core/kb/other.md", b"two\n");
        assert_ne!(finished.code, Some(0), "{word}");
        assert!(
            finished.stderr.contains(word),
            "{word}: {}",
            finished.stderr
        );
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
        assert_eq!(must(root, &["rev-parse", "HEAD"]), head);
        assert!(!root.join("core/kb/other.md").exists());
    };
    must(root, &["switch", "-q", "--detach"]);
    refused("detached");
    must(root, &["switch", "-q", "main"]);
    must(root, &["switch", "-qc", "other"]);
    fs::write(root.join(note), "theirs\n").expect("a file");
    must(root, &["commit", "-qam", "theirs"]);
    must(root, &["switch", "-q", "main"]);
    fs::write(root.join(note), "ours\n").expect("a file");
    must(root, &["commit", "-qam", "ours"]);
    assert!(!git(root, &["rebase", "-q", "other"]).0);
    refused("rebase");
    must(root, &["rebase", "--abort"]);
    // Without an identity and with hooks that fail it goes on: neither is asked.
    fs::write(root.join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n").expect("a hook");
    must(root, &["config", "user.useConfigOnly", "true"]);
    assert_eq!(write(root, "prm", note, b"three\n").code, Some(0));
    let status = run_json(root, &["status"]);
    assert_eq!(status["hooks"][0], "pre-commit");

    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let none = run(elsewhere.path(), &["status"]).expect_code(2);
    assert_contains!(none.stderr, "reprise workspace init");
    must(elsewhere.path(), &["init", "-q", "--bare", "bare"]);
    let bare = run(&elsewhere.path().join("bare"), &["init"]);
    assert_contains!(bare.stderr, "bare");
    let source = format!("file://{}", root.display());
    must(
        elsewhere.path(),
        &["clone", "-q", "--depth", "1", &source, "shallow"],
    );
    let shallow = elsewhere.path().join("shallow");
    run_json(&shallow, &["init"]);
    fs::write(elsewhere.path().join("file"), "four\n").expect("a file");
    let pair = format!("{note}=../file");
    run_json(&shallow, &["write", "--actor", "prm", &pair]);
}

#[test]
fn the_whole_trail_is_written_as_one_file_that_other_programs_read() {
    let folder = workspace();
    let root = folder.path();
    assert_eq!(write(root, "prm", PRD, b"{\"v\":1}").code, Some(0));
    assert_eq!(write(root, "researcher", PRD, b"{\"v\":2}").code, Some(1));
    let listed = run(root, &["audit"]).stdout;
    let written = run_json(root, &["audit", "--export"]);
    let text = fs::read_to_string(root.join("audit_trail.jsonl")).expect("the file");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(written["lines"], lines.len());
    assert_eq!(lines.len(), listed.lines().count(), "{listed}");
    let actions: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["action"].as_str())
        .collect();
    assert_eq!(
        actions.last(),
        Some(&"violation"),
        "a refusal waits for git"
    );
    assert!(actions.contains(&"write") && actions.contains(&"init"));
    let shown = run(root, &["audit", "--export", "-"]).expect_code(0);
    assert_eq!(shown.stdout, text);
    let own = ".sdlc_ide/logs/audit_trail.jsonl";
    let before = fs::read(root.join(own)).expect("the first part");
    let refused = run(root, &["audit", "--export", own]);
    assert_ne!(refused.code, Some(0));
    assert_contains!(refused.stderr, "outside of .sdlc_ide");
    assert_eq!(fs::read(root.join(own)).expect("the first part"), before);
}

#[test]
fn a_trail_that_has_lost_lines_says_so_until_it_is_on_record() {
    let folder = workspace();
    let root = folder.path();
    assert_eq!(write(root, "prm", PRD, b"{\"v\":1}").code, Some(0));
    let kept = must(root, &["rev-parse", "HEAD"]);
    let written = write(root, "prm", PRD, b"{\"v\":2}");
    let receipt: Value = serde_json::from_str(&written.stdout).expect("JSON");
    assert_eq!(run(root, &["audit"]).code, Some(0));
    must(root, &["reset", "-q", "--hard", kept.trim()]);
    let said = run(root, &["audit"]).expect_code(1);
    let tx = receipt["tx"].as_str().expect("a transaction");
    assert_contains!(said.stderr, tx, "refs/reprise/trail");
    assert_eq!(
        run_json(root, &["status"])["trail_missing"],
        serde_json::json!([tx])
    );
    assert_eq!(write(root, "prm", PRD, b"{\"v\":3}").code, Some(0));
    assert_eq!(run(root, &["audit"]).code, Some(0));
    let line = run_json(root, &["audit", "--action", "rewritten"]);
    assert_eq!(line["details"]["missing"], serde_json::json!([tx]));
}
