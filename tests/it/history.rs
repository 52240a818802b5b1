//! Sessions that a program has kept: brought in once, taken up where they go on, learned from, and
//! offered by `connect`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use reprise_tests::{seen_if, wait_for};
use serde_json::{Value, json};

use crate::home::Home;
use crate::models::ConfiguredMemory;

const TRANSCRIPT: &str = "e8f91fe5-2e92-473f-861a-44c5cc8086cc.jsonl";

/// Claude Code's folder with a real transcript in it.
fn projects(home: &Home) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../reprise-knowledge/tests/fixtures/sessions/claude/projects/-work-shop")
        .join(TRANSCRIPT);
    let projects = home.folder().join(".claude/projects");
    fs::create_dir_all(projects.join("-work-shop")).expect("a folder");
    fs::copy(from, projects.join("-work-shop").join(TRANSCRIPT)).expect("copied");
    projects
}

fn import(home: &Home, path: &Path, more: &[&str]) -> Value {
    let path = path.to_string_lossy().into_owned();
    let import = ["--no-daemon", "import", &path, "--user", "ada"];
    home.run_json(&[&import[..], more].concat())
}

fn numbers(report: &Value, names: &[&str]) -> Vec<u64> {
    let number = |name: &&str| report[*name].as_u64().expect("a report has numbers");
    names.iter().map(number).collect()
}

fn line(own: &str, parent: &str, at: &str, who: &str, content: &Value) -> String {
    let id = ["m", own].concat();
    json!({"uuid": own, "parentUuid": parent, "sessionId": "later", "cwd": "/work/shop",
        "timestamp": at, "type": who, "message": {"id": id, "role": who, "content": content}})
    .to_string()
        + "\n"
}

/// A later session that builds on the first one, and whose test passes.
fn later() -> String {
    let at = "2026-11-26T10:00:0";
    let at = |second: u8| format!("{at}{second}Z");
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let run = json!([{"type": "tool_use", "id": "t", "name": "Bash",
        "input": {"command": "cargo test"}}]);
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let end = json!([{"type": "tool_result", "tool_use_id": "t", "is_error": false,
        "content": "test result: ok. 9 passed; 0 failed"}]);
    [
        line("1", "", &at(1), "user", &json!("The login test fails again, look at it")),
        line("2", "1", &at(2), "assistant", &text(&format!(
            "A stale cookie again: the session store drops it and I clear the jar. Token {token}"
        ))),
        line("3", "2", &at(3), "assistant", &run),
        line("4", "3", &at(4), "user", &end),
    ]
    .concat()
}

#[test]
fn a_history_comes_in_once_goes_on_and_teaches() {
    let home = Home::new();
    let projects = projects(&home);
    let counts = [
        "inserted",
        "duplicate",
        "rejected",
        "sessions",
        "projects",
        "days",
    ];
    let plan = import(&home, &projects, &["--dry-run"]);
    assert_eq!(plan["kind"], "claude-code");
    assert_eq!(numbers(&plan, &counts), [5, 0, 0, 1, 1, 1]);
    assert!(!home.data().join("ada").exists(), "a dry run keeps nothing");
    let done = import(&home, &projects, &[]);
    assert_eq!(numbers(&done, &counts), [5, 0, 0, 1, 1, 1]);
    assert_eq!(numbers(&done, &["learnings", "outcomes"]), [2, 0], "{done}");
    let again = import(&home, &projects, &[]);
    assert_eq!(numbers(&again, &counts)[..2], [0, 5], "{again}");
    assert_eq!(numbers(&again, &["learnings", "outcomes"]), [0, 0]);

    let file = projects.join("-work-shop/later.jsonl");
    let whole = later();
    let (first, _) = whole.split_once('\n').expect("lines");
    fs::write(&file, format!("{first}\n")).expect("written");
    assert_eq!(
        numbers(&import(&home, &projects, &[]), &counts)[..2],
        [1, 5]
    );
    fs::write(&file, &whole).expect("written");
    let on = import(&home, &projects, &[]);
    assert_eq!(numbers(&on, &counts)[..2], [2, 6], "only what is new: {on}");
    // No memory was in its prompt, so none gets credit for its test.
    assert_eq!(numbers(&on, &["outcomes"]), [0], "{on}");
    let runs = home.run_ok(&["--no-daemon", "call", "runs", "{}", "--user", "ada"]);
    let runs: Value = serde_json::from_str(&runs).expect("JSON");
    assert_eq!(runs["all"], 0, "{runs}");
    assert_eq!(
        on["redacted"][0]["rule"].as_str().map(str::is_empty),
        Some(false),
        "{on}"
    );
    let kept = home.run_ok(&[
        "--no-daemon",
        "export",
        "--user",
        "ada",
        "--format",
        "jsonl",
    ]);
    for absent in [
        "ghp_0123456789",
        "secret thoughts",
        "rustup",
        "skill_listing",
    ] {
        assert!(!kept.contains(absent), "{absent}");
    }
    let listed = home.run_ok(&["--no-daemon", "list", "--user", "ada"]);
    assert!(listed.contains("passed"), "{listed}");
}

#[test]
fn what_a_hook_has_kept_does_not_come_in_again() {
    let home = Home::new();
    let file = home.folder().join("later.jsonl");
    fs::write(&file, later()).expect("written");
    let prompt = json!({"session_id": "later", "cwd": home.folder(), "hook_event_name":
        "UserPromptSubmit", "prompt": "The login test fails again, look at it"});
    let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
    // Its daemon has to start first.
    hook.args(["--deadline-ms", "60000"]);
    hook.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut hook = hook.spawn().expect("it runs");
    let mut stdin = hook.stdin.take().expect("piped");
    stdin
        .write_all(prompt.to_string().as_bytes())
        .expect("it reads");
    drop(stdin);
    assert!(hook.wait_with_output().expect("it ends").status.success());
    // The prompt does not wait for its own keeping, nor for the memory to be there at all.
    wait_for("the prompt that the hook keeps", || {
        let listed = home.run(&["list", "--user", "ada"]);
        seen_if(listed.stdout.contains("The login test fails again"), listed)
    });
    let path = file.to_string_lossy().into_owned();
    let report = home.run_json(&["import", &path, "--user", "ada"]);
    assert_eq!(
        numbers(&report, &["inserted", "duplicate"]),
        [2, 1],
        "{report}"
    );
}

#[test]
fn connect_says_what_there_is_to_bring_in() {
    let home = Home::new();
    let put = |program: &str, file: &str| {
        let fixtures = "../reprise-knowledge/tests/fixtures/sessions";
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixtures);
        let to = home.folder().join([".", program].concat()).join(file);
        fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        fs::copy(from.join(program).join(file), to).expect("copied");
    };
    projects(&home);
    let rollout = "rollout-2026-11-25T19-32-41-01a21432-28d4-77e1-8330-02b82414e990.jsonl";
    put("codex", &["sessions/2026/11/25", rollout].join("/"));
    put("gemini", "projects.json");
    put(
        "gemini",
        "tmp/shop/chats/session-2026-11-25T19-33-d74f5100.jsonl",
    );
    for (program, place) in [
        ("claude-code", ".claude/projects"),
        ("codex", ".codex/sessions"),
        ("gemini", ".gemini/tmp"),
    ] {
        let done = home
            .run(&["connect", program, "--user", "ada"])
            .expect_code(0);
        let offered = format!("{place} holds 1 session of 1 project on 1 day; `reprise import");
        assert!(done.stderr.contains(&offered), "{}", done.stderr);
        assert!(done.stderr.contains("--dry-run"), "{}", done.stderr);
    }
}

/// A session of Claude Code with a question and its cause, in a folder of its own.
fn staging(home: &Home) -> PathBuf {
    let answer = "It turned out that a long-running analytics query holds an ACCESS SHARE lock on \
                  users. The fix is to end it before the migration.";
    let ask = json!("why does the staging deploy hang at the migration step");
    let told = json!([{"type": "text", "text": answer}]);
    let lines = [
        line("1", "", "2026-11-26T10:00:01Z", "user", &ask),
        line("2", "1", "2026-11-26T10:00:02Z", "assistant", &told),
    ];
    home.write(".claude/projects/-work-shop/s.jsonl", &lines.concat());
    home.folder().join(".claude/projects")
}

#[test]
fn what_came_in_answers_with_the_cause_and_not_with_the_question() {
    let home = Home::new();
    let projects = staging(&home);
    import(&home, &projects, &[]);
    for question in [
        "staging deploy migration",
        "why did staging hang",
        "why does staging hang?",
    ] {
        let asked = ["--no-daemon", "recall", question, "--user", "ada"];
        let answer = home.run_json(&asked);
        let first = answer["results"][0]["text"].as_str();
        let is_cause = first.is_some_and(|text| text.starts_with("It turned out"));
        assert!(is_cause, "{question}: {answer}");
        assert!(
            !answer.to_string().contains("why does the staging deploy"),
            "{answer}"
        );
    }
}

#[test]
fn the_lessons_of_an_import_have_their_embeddings_unless_it_is_for_later() {
    let desk = ConfiguredMemory::new();
    fs::write(desk.path("config.toml"), "[memory]\nmodel = \"int8\"\n").expect("written");
    let home = Home::new();
    let projects = staging(&home).to_string_lossy().into_owned();
    let waiting = |user: &str, more: &[&str]| {
        let import = ["import", &projects, "--user", user];
        let done = desk.run(&[&import[..], more].concat()).expect_code(0);
        let report = format!("{}{}", done.stdout, done.stderr);
        assert!(report.contains("new: 2 lessons"), "{report}");
        desk.json(&["stats", "--user", user, "--json"])["unembedded"].as_u64()
    };
    assert_eq!(waiting("ada", &[]), Some(0));
    assert_eq!(waiting("bob", &["--later"]), Some(4));
}
