//! The first minute: `setup` finds the programs on a machine, connects them, brings in what their
//! sessions of the last weeks said, and asks a question of it; what it wrote can be taken back.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use reprise_tests::{
    RunOutput, assert_contains, assert_lacks, reprise_command, run_to_end, seen_if, wait_for,
};
use reprise_types::{Clock as _, SystemClock};
use serde_json::{Value, json};

use crate::home::{Home, rows};

const SETTINGS: &str = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
/// A program that is not on the search path of these tests, and has left no file.
const PATH: &str = "/usr/bin:/bin";

/// A session of Claude Code so many days ago, in a folder that has never been.
fn session(home: &Home, name: &str, days: i64, prompt: &str, answer: &str) {
    let at = SystemClock.now() - chrono::TimeDelta::days(days);
    let line = |kind: &str, id: &str, seconds: i64, message: Value| {
        let at = at + chrono::TimeDelta::seconds(seconds);
        json!({
            "type": kind, "uuid": format!("{name}-{id}"), "sessionId": name, "cwd": "/work/shop",
            "timestamp": at.to_rfc3339(), "message": message, "version": "2.1.0",
        })
        .to_string()
    };
    let user = json!({ "role": "user", "content": prompt });
    let said = json!([{ "type": "text", "text": answer }]);
    let agent = json!({ "role": "assistant", "content": said });
    let lines = [
        line("user", "1", 0, user),
        line("assistant", "2", 30, agent),
    ];
    home.write(
        &format!(".claude/projects/-work-shop/{name}.jsonl"),
        &(lines.join("\n") + "\n"),
    );
}

/// A machine with Claude Code, Codex and Zed on it, and two sessions.
fn machine() -> Home {
    let home = Home::new();
    home.write(".claude/settings.json", SETTINGS);
    home.write(".codex/config.toml", "model = \"gpt\"\n");
    home.write(".config/zed/settings.json", "{}\n");
    session(
        &home,
        "fresh",
        2,
        "why does the checkout charge a customer twice",
        "The payment webhook was retried; an idempotency key on the charge fixed it.",
    );
    session(
        &home,
        "stale",
        90,
        "which linter do we use for the shop",
        "The shop is linted by ruff with the house settings.",
    );
    home
}

fn setup(home: &Home, arguments: &[&str]) -> RunOutput {
    let mut command = home.command(arguments);
    run_to_end(command.env("PATH", PATH)).expect("reprise runs")
}

fn read(home: &Home, file: &str) -> String {
    fs::read_to_string(home.path(file)).unwrap_or_default()
}

#[test]
fn one_command_connects_what_is_there_and_brings_in_the_last_weeks() {
    let home = machine();
    let done = setup(&home, &["setup", "--yes", "--user", "ada"]).expect_code(0);
    for label in ["Claude Code", "Codex", "Zed"] {
        assert_contains!(done.stderr, label);
    }
    assert_lacks!(done.stderr, "Cursor");
    assert_contains!(done.stderr, "of Claude Code: 1 session of ");
    assert_contains!(done.stdout, "charge");
    assert_contains!(done.stdout, "Ready in ");
    assert_contains!(
        done.stderr,
        "Connected Codex: ~/.codex/config.toml, ~/.codex/hooks.json"
    );
    assert_contains!(read(&home, ".claude.json"), "\"memory\"");
    let settings = read(&home, ".claude/settings.json");
    for part in [
        "// mine",
        " hook user-prompt --user ",
        " statusline --user ",
    ] {
        assert_contains!(settings, part);
    }
    assert_contains!(read(&home, ".codex/config.toml"), "mcp_servers.memory");
    assert_contains!(read(&home, ".config/zed/settings.json"), "context_servers");
    // What is older stays where it is.
    let texts = || home.texts("ada").join("\n");
    wait_for("the session comes in", || {
        let texts = texts();
        seen_if(texts.contains("idempotency"), texts)
    });
    assert_lacks!(texts(), "linted by ruff");

    let again = setup(&home, &["setup", "--yes", "--user", "ada"]).expect_code(0);
    assert_eq!(
        again.stderr.matches(": connected already").count(),
        3,
        "{}",
        again.stderr
    );
    assert_contains!(again.stdout, "Nothing new was connected. ");
    assert_lacks!(again.stdout, "Ready in");
    // What is there is not brought in again, and not proposed.
    assert_contains!(
        again.stderr,
        "memory has the last 30 days of Claude Code already"
    );
    assert_lacks!(again.stderr, "bringing in");
    let offered = setup(&home, &["connect", "claude-code", "--user", "ada"]).expect_code(0);
    assert_contains!(offered.stderr, "--dry-run");
    fs::remove_file(home.path(".claude/projects/-work-shop/stale.jsonl")).expect("removed");
    let offered = setup(&home, &["connect", "claude-code", "--user", "ada"]).expect_code(0);
    assert_lacks!(offered.stderr, "--dry-run");
    let of_other = setup(&home, &["connect", "claude-code", "--user", "bea"]).expect_code(0);
    assert_contains!(of_other.stderr, "--dry-run");
    home.run_ok(&["connect", "claude-code", "--user", "ada"]);

    for program in ["claude-code", "codex", "zed"] {
        home.run_ok(&["connect", program, "--undo"]);
    }
    assert_eq!(read(&home, ".claude/settings.json"), SETTINGS);
    assert_eq!(read(&home, ".codex/config.toml"), "model = \"gpt\"\n");
    assert_eq!(read(&home, ".config/zed/settings.json"), "{}\n");
}

#[test]
fn what_is_asked_first_is_what_was_decided_and_no_prompt() {
    let home = machine();
    session(
        &home,
        "money",
        5,
        "the cart total is off by one cent, can you find out why",
        "The discount was rounded for each line. We decided to keep money as integer cents in all \
         of the shop.",
    );
    session(
        &home,
        "last",
        1,
        "add a stripe webhook handler for refunds",
        "The handler answers refund events now.",
    );
    let done = setup(&home, &["setup", "--yes", "--user", "ada"]).expect_code(0);
    let asked = "For example: reprise recall \"what did we decide about money\"";
    assert_contains!(done.stdout, asked);
    assert_contains!(done.stdout, "We decided to keep money as integer cents");
    assert_lacks!(done.stdout, "stripe webhook");
}

#[test]
fn nothing_is_written_for_who_only_looks_or_is_not_asked() {
    let home = machine();
    let shown = setup(&home, &["setup", "--show"]).expect_code(0);
    assert_contains!(shown.stdout, "statusline");
    // Nobody is at the terminal to choose.
    let refused = setup(&home, &["setup"]).expect_code(2);
    assert_contains!(refused.stderr, "add --yes");
    assert_eq!(read(&home, ".claude/settings.json"), SETTINGS);
    assert_eq!(read(&home, ".claude.json"), "");
}

#[test]
fn a_machine_without_programs_is_ready_too() {
    let home = Home::new();
    let done = setup(&home, &["setup", "--yes", "--json"]).expect_code(0);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(report["programs"], json!([]));
    assert_contains!(done.stderr, "connect generic");
}

#[test]
fn a_file_that_cannot_be_changed_stops_no_other_program() {
    let home = machine();
    home.write(".config/zed/settings.json", "[broken");
    let done = setup(&home, &["--json", "setup", "--yes"]).expect_code(1);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let state = |name: &str| {
        let mut all = report["programs"].as_array().expect("programs").iter();
        let found = all.find(|one| one["program"] == name);
        found.map(|one| one["connected"].clone())
    };
    assert_eq!(state("claude-code"), Some(json!(true)));
    assert_eq!(state("zed"), Some(json!(false)));
    assert_eq!(read(&home, ".config/zed/settings.json"), "[broken");
}

#[test]
fn somebody_elses_status_line_stays() {
    let home = machine();
    let own = "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine.sh\"}}\n";
    home.write(".claude/settings.json", own);
    setup(&home, &["setup", "--yes"]).expect_code(0);
    assert_contains!(read(&home, ".claude/settings.json"), "mine.sh");
    assert_lacks!(read(&home, ".claude/settings.json"), "statusline");
    home.run_ok(&["connect", "claude-code", "--undo"]);
    assert_eq!(read(&home, ".claude/settings.json"), own);
}

/// What a status bar prints for a session.
fn status_line(home: &Home, session: &str) -> String {
    let mut command = home.command(&["statusline", "--user", "ada"]);
    let mut running = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("reprise runs");
    let input = json!({ "session_id": session, "cwd": "/work/shop", "model": {} });
    let mut stdin = running.stdin.take().expect("its input");
    stdin
        .write_all(input.to_string().as_bytes())
        .expect("it reads");
    drop(stdin);
    let ended = running.wait_with_output().expect("it ends");
    assert!(ended.status.success());
    String::from_utf8(ended.stdout).expect("text")
}

#[test]
fn a_status_bar_gets_one_line_from_the_daemon_and_starts_none() {
    let home = Home::new();
    assert_eq!(
        status_line(&home, "s1"),
        "memory: the daemon starts at the next prompt\n"
    );
    assert_eq!(home.daemon(), None);
    let kept = json!({ "text": "The gateway listens on port 8443", "session_id": "s1" });
    home.run_ok(&["open", "--print", "--user", "ada"]);
    home.keep(&[kept], &["--user", "ada"]);
    let line = status_line(&home, "s1");
    assert!(
        line.starts_with("memory: 0 in \u{b7} 1 kept \u{b7} saved "),
        "{line}"
    );
    assert!(
        line.ends_with(" ago\n") && line.lines().count() == 1,
        "{line}"
    );
    assert_eq!(status_line(&home, "other"), "memory: 0 in \u{b7} 0 kept\n");
    assert_eq!(rows(&home.run_ok(&["export", "--user", "ada"])).len(), 1);
}

#[test]
fn exact_words_are_listed_and_a_change_of_what_somebody_changed_is_refused() {
    let home = Home::with(&["--no-daemon", "--user", "ada"]);
    for (id, text) in [
        ("n1", "The gateway listens on port 8443"),
        ("n2", "The gateway was slow on Monday"),
        ("n3", "Port 443 is closed"),
    ] {
        home.keep(&[json!({ "external_id": id, "text": text })], &[]);
    }
    let found = |text: &str| {
        let listed = home.run(&["list", "--grep", text, "--json"]).expect_code(0);
        let texts = rows(&listed.stdout);
        let texts = texts
            .iter()
            .map(|row| row["text"].as_str().expect("a text").to_owned());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(found("PORT 8443"), ["The gateway listens on port 8443"]);
    assert_eq!(found("gateway").len(), 2);
    assert_eq!(found("gateways"), [""; 0]);
    let one = home.run(&["list", "--grep", "gateway", "--limit", "1", "--json"]);
    assert_contains!(one.stderr, "more with --cursor");

    let read = rows(&home.run_ok(&["list", "--grep", "8443", "--json"]))[0]["id"].clone();
    let read = read.as_str().expect("an id");
    home.run_ok(&[
        "edit",
        "n1",
        "The gateway listens on port 9443",
        "--expected",
        read,
    ]);
    let late = home.run(&["edit", "n1", "It listens on port 1", "--expected", read]);
    assert_eq!(late.code, Some(2), "{late:?}");
    assert_contains!(late.stderr, "was changed since you read it");
    assert_eq!(found("9443").len(), 1);
}

/// `script` gives a terminal to what it starts; every Linux has it.
#[cfg(target_os = "linux")]
#[test]
fn at_a_terminal_the_bare_name_proposes_setup_while_no_memory_exists() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let program = reprise_command(folder.path()).expect("reprise is built");
    let name = program.get_program().display().to_string();
    let run = || {
        let mut command = Command::new("script");
        command.args(["-qec", &name, "/dev/null"]);
        for (key, value) in program.get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        command
            .env("HOME", folder.path())
            .env_remove("XDG_DATA_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("script starts");
        let answered = child.stdin.take().expect("piped").write_all(b"n\n");
        answered.expect("script reads");
        let output = child.wait_with_output().expect("script ends");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_contains!(run(), "There is no memory here yet");
    let user = folder.path().join(".local/share/reprise/default");
    fs::create_dir_all(&user).expect("a folder");
    fs::write(user.join("memory.rvf"), "").expect("a file");
    assert_lacks!(run(), "There is no memory here yet");
}

#[test]
fn the_directory_of_models_that_was_named_is_written_and_taken_back() {
    let home = machine();
    let models = home.path("own models");
    let run = |arguments: &[&str]| {
        let named = [&["--models-dir", &models], arguments, &["--user", "ada"]].concat();
        setup(&home, &named).expect_code(0)
    };
    let shown = run(&["connect", "claude-code", "--show"]);
    assert_contains!(
        [shown.stdout, shown.stderr].concat(),
        "--models-dir",
        &models
    );
    run(&["setup", "--yes"]);
    let files = [
        ".claude.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".config/zed/settings.json",
    ];
    for file in files {
        assert_contains!(read(&home, file), "--models-dir", &models);
    }
    for program in ["claude-code", "codex", "zed"] {
        run(&["connect", program, "--undo"]);
    }
    for file in files {
        assert_lacks!(read(&home, file), "--models-dir");
    }
    // Nobody named one: none is written.
    setup(&home, &["setup", "--yes", "--user", "ada"]).expect_code(0);
    assert_lacks!(read(&home, ".claude.json"), "--models-dir");
}

#[test]
fn the_first_question_is_about_the_project_of_the_folder() {
    let home = machine();
    let folder = crate::sessions::shop(&home);
    let decision = |text: &str, project: &str, at: &str| {
        json!({ "text": text, "timestamp": at, "kind": "finding",
            "tags": [format!("project:{project}")], "details": { "type": "decision" } })
    };
    let lines = [
        decision(
            "We decided to keep the herons in the northern pond.",
            "git.example.org/acme/shop",
            "2026-01-02T09:00:00Z",
        ),
        decision(
            "We decided to feed the walrus at noon.",
            "git.example.org/acme/zoo",
            "2026-01-03T09:00:00Z",
        ),
    ];
    home.keep(&lines, &["--user", "ada"]);
    let mut command = home.command(&["setup", "--yes", "--user", "ada"]);
    let command = command.env("PATH", PATH).current_dir(&folder);
    let done = run_to_end(command).expect("reprise runs").expect_code(0);
    assert_contains!(done.stdout, "what did we decide about the herons", "pond");
    assert_lacks!(done.stdout, "walrus");
}
