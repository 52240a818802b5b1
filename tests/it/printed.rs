//! What a stored text does to the terminal that it is printed on: nothing, in any form.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use reprise_tests::{RunOutput, assert_contains};
use reprise_types::is_unsafe_to_display;
use serde_json::{Value, json};

use crate::home::{Home, rows};

/// Clears a screen by two ways, sets a title, turns a line around, hides a part, overwrites a line.
const HOSTILE: &str = "safe\u{1b}[2J\u{9b}2J\u{1b}]0;x\u{7}\u{202e}egnaro\u{202c}\u{2066}a\u{200b}b\
    \u{7f}\u{8}\u{85}\u{2028}\u{e0041}\rover\u{1b}[8mhidden";

/// Neither stream of a command has a character that acts; its stdout.
fn run_and_check_stdout(home: &Home, command: &[&str]) -> String {
    let finished = home.run(command);
    for stream in [&finished.stdout, &finished.stderr] {
        let found = stream.chars().find(|c| is_unsafe_to_display(*c));
        assert_eq!(found, None, "{command:?}: {stream:?}");
    }
    finished.stdout
}

fn planted(home: &Home) -> String {
    let record = json!({
        "external_id": format!("id-{HOSTILE}"), "text": format!("Otters {HOSTILE}"),
        "session_id": HOSTILE, "tags": ["otter", format!("tag {HOSTILE}")],
        "metadata": { "note": HOSTILE, (HOSTILE): "value" },
        "details": { "title": HOSTILE, "content": HOSTILE },
    });
    let file = home.write("lines.jsonl", &record.to_string());
    let acknowledged = run_and_check_stdout(home, &["ingest", &file, "--ack"]);
    assert_contains!(acknowledged, "id-safe\\u001b[2J\\u009b2J");
    let listed = run_and_check_stdout(home, &["--json", "list"]);
    let listed: Value = serde_json::from_str(listed.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        listed["text"], record["text"],
        "what is escaped is the same text"
    );
    listed["id"].as_str().expect("an id").to_owned()
}

#[test]
fn no_command_prints_what_acts_on_a_terminal() {
    let home = Home::with(&["--no-daemon"]);
    let id = planted(&home);
    let bad = format!("nothing {HOSTILE}");
    let commands: [&[&str]; 27] = [
        &["recall", "otters"],
        &["recall", "otters", "--explain"],
        &["--json", "recall", "otters"],
        &["recall", &bad],
        &["list"],
        &["show", &id],
        &["--json", "show", &id],
        &["show", &bad],
        &["tags", "related", &id],
        &["tags"],
        &["--json", "tags"],
        &["tags", "--review"],
        &["tags", "sources"],
        &["stats"],
        &["--json", "stats"],
        &["doctor", "inspect"],
        &["share", "publish", &id, "--dry-run"],
        &["--json", "share", "publish", &id, "--dry-run"],
        &["share", "publish", &id],
        &["forget", "--tag", "otter", "--dry-run"],
        &["--json", "forget", "--tag", "otter", "--dry-run"],
        &["forget", "--external-id", &bad],
        &["doctor", "audit"],
        &["doctor", "tidy", "--dry-run"],
        &["export"],
        &["export", "--format", "json"],
        &["export", "--format", "yaml"],
    ];
    for command in commands {
        run_and_check_stdout(&home, command);
    }
    let exact = run_and_check_stdout(&home, &["share", "publish", &id, "--dry-run"]);
    let exact: Value = serde_json::from_str(&exact).expect("JSON");
    let content = exact["content"].as_str().expect("its content");
    assert!(
        content.contains('\u{202e}'),
        "what leaves is shown as it is: {content:?}"
    );
}

/// What `mcp` answers to a client that says all this, a line each.
fn run_mcp(home: &Home, lines: &[Value]) -> RunOutput {
    let mut child = home
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut said = String::new();
    for line in lines {
        writeln!(stdin, "{line}").expect("it reads");
        // A notification has no answer.
        if line.get("id").is_some() {
            stdout.read_line(&mut said).expect("it answers");
        }
    }
    drop(stdin);
    stdout.read_to_string(&mut said).expect("it ends");
    let ended = child.wait_with_output().expect("it ends");
    RunOutput {
        code: ended.status.code(),
        stdout: said,
        stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
    }
}

#[test]
fn mcp_prints_nothing_that_acts_and_is_the_same_without_a_daemon() {
    let mut all = Vec::new();
    for flags in [&["--no-daemon"][..], &[]] {
        let home = Home::with(flags);
        planted(&home);
        let call = |id: u32, name: &str, arguments: Value| {
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": name, "arguments": arguments } })
        };
        let lines = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "t", "version": "1" } } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            call(
                2,
                "learn",
                json!({ "title": "Weirs", "text": "The weir has three gates." }),
            ),
            call(3, "recall", json!({ "query": "otters" })),
            call(
                4,
                "recall",
                json!({ "query": "How many gates has the weir?" }),
            ),
            call(5, "recall", json!({ "query": HOSTILE, "what": HOSTILE })),
        ];
        let said = run_mcp(&home, &lines).expect_code(0);
        for stream in [&said.stdout, &said.stderr] {
            assert_eq!(
                stream.chars().find(|c| is_unsafe_to_display(*c)),
                None,
                "{stream:?}"
            );
        }
        let answers = rows(&said.stdout);
        let text = |place: usize| answers[place]["result"]["content"][0]["text"].clone();
        assert!(
            text(2).as_str().expect("text").contains("Otters safe"),
            "{}",
            text(2)
        );
        assert!(
            text(3).as_str().expect("text").contains("three gates"),
            "{}",
            text(3)
        );
        all.push(answers.len());
        // What one of them kept the next command finds.
        assert!(
            home.run_ok(&["recall", "gates of the weir"])
                .contains("three gates")
        );
    }
    assert_eq!(all, [5, 5]);
}

#[test]
fn what_was_printed_comes_back_as_it_was() {
    let home = Home::with(&["--no-daemon"]);
    planted(&home);
    for (format, ending) in [("jsonl", "jsonl"), ("yaml", "yaml")] {
        let printed = run_and_check_stdout(&home, &["export", "--format", format]);
        let path = home.write(&format!("again.{ending}"), &printed);
        let input: &[&str] = match format {
            "yaml" => &["--yaml", &path],
            _ => &[&path],
        };
        run_and_check_stdout(&home, &[&["ingest"], input, &["--user", ending]].concat());
        let listed = run_and_check_stdout(&home, &["--json", "list", "--user", ending]);
        let listed: Value =
            serde_json::from_str(listed.lines().next().expect("a line")).expect("JSON");
        assert_eq!(listed["text"], format!("Otters {HOSTILE}"), "{printed}");
        let file = home.folder().join(format!("whole.{ending}"));
        let place = file.to_string_lossy().into_owned();
        run_and_check_stdout(&home, &["export", "--format", format, "--out", &place]);
        let written = fs::read_to_string(&file).expect("text");
        assert_eq!(
            written.chars().find(|c| is_unsafe_to_display(*c)),
            None,
            "{written:?}"
        );
    }
}
