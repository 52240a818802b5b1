//! Sessions of an agent through the real hook, in a repository whose files come and go.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reprise_tests::{
    assert_contains, assert_lacks, parse_quoted_lines, run_git, seen_if, wait_for,
};
use serde_json::{Value, json};

use crate::home::Home;
use crate::together::run;

/// A repository with one file.
pub(crate) fn shop(home: &Home) -> PathBuf {
    let folder = home.folder().join("shop");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    run_git(&folder, &["init", "-q"]);
    run_git(
        &folder,
        &[
            "remote",
            "add",
            "origin",
            "https://git.example.org/acme/shop",
        ],
    );
    fs::write(
        folder.join("src/cart.rs"),
        "fn total_of_cart() {}\n".repeat(9),
    )
    .expect("written");
    run_git(&folder, &["add", "-A"]);
    run_git(&folder, &["commit", "-qm", "Begin"]);
    folder
}

fn hook(home: &Home, folder: &Path, event: &str, session: &str, more: &Value) -> String {
    let mut input = json!({ "session_id": session, "cwd": folder });
    for (name, value) in more.as_object().expect("an object") {
        input[name] = value.clone();
    }
    let mut hook = home.command(&["hook", event, "--text", "--user", "ada"]);
    // A starved machine may take longer than an agent would wait.
    hook.args(["--deadline-ms", "60000"]);
    run(&mut hook, &input.to_string())
}

#[test]
fn a_session_begins_with_how_the_last_one_ended_and_with_what_holds() {
    let home = Home::new();
    let folder = shop(&home);
    let tag = "project:git.example.org/acme/shop";
    let old = json!({ "text": "Coupons are rounded once per cart, never per line.", "tags": [tag],
        "timestamp": "2026-01-02T09:00:00Z", "details": { "type": "decision" } });
    // Turns of a long session before: none of them is a decision or a lesson.
    let turns = (0..260).map(|n| {
        json!({ "text": format!("Looked at aisle {n} of the warehouse report."), "tags": [tag],
            "session_id": "before", "source": "worker_result",
            "timestamp": format!("2026-01-03T09:{:02}:{:02}Z", n / 60, n % 60) })
    });
    let other = json!({ "text": "The bank's ledger closes at noon.", "tags": ["project:bank"],
        "details": { "type": "decision" } });
    let lines: Vec<Value> = turns.chain([old, other]).collect();
    home.keep(&lines, &["--user", "ada"]);
    let at = |event: &str, more: Value| hook(&home, &folder, event, "one", &more);
    at(
        "user-prompt",
        json!({ "prompt": "please make the cart total right with two coupons" }),
    );
    let failed = json!({ "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_input": { "command": "cargo test login" },
        "error": "Exit code 101\ntest login::expires ... FAILED" });
    at("post-tool", failed);
    let printed = "[main 1a2b3c4] Count each coupon once";
    let committed = json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": { "command": "git commit -m x" }, "tool_response": { "stdout": printed } });
    at("post-tool", committed);
    let said = "Thanks! I'll look at the other tests next. The coupon is taken off once per cart now. \
        Run `cargo test` to see it. Shall I go on?";
    at("stop", json!({ "last_assistant_message": said }));
    at("session-end", json!({}));
    for (event, session) in [("session-start", "two"), ("pre-compact", "three")] {
        let begun = hook(&home, &folder, event, session, &json!({}));
        let lines = parse_quoted_lines(begun.trim_end()).unwrap_or_default();
        assert!((2..=7).contains(&lines.len()), "{event}: {begun}");
        for part in [
            "Open: `cargo test login",
            "Last session: Committed [main 1a2b3c4] Count each coupon once",
            "Last session: The coupon is taken off once per cart now.",
            "Coupons are rounded once per cart, never per line.",
            "(test by claude-code)",
        ] {
            assert!(begun.contains(part), "{event}: {part}: {begun}");
        }
        for part in [
            "please make",
            "Thanks",
            "I'll look",
            "Shall I",
            "Run `cargo",
            "ledger",
        ] {
            assert!(!begun.contains(part), "{event}: {part}: {begun}");
        }
    }
    // A session that has only asked ended with nothing.
    let asked = json!({ "prompt": "what does the warehouse report say of aisle 7" });
    hook(&home, &folder, "user-prompt", "four", &asked);
    let again = hook(&home, &folder, "session-start", "one", &json!({}));
    assert_contains!(again, "This session: Committed");
    // What people are told of those records on the command line.
    for (kind, texts) in [
        ("commit", "Count each coupon once"),
        ("test", "cargo test login"),
    ] {
        let listed = home.run_ok(&["list", "--type", kind, "--user", "ada"]);
        assert_contains!(listed, texts, kind);
        assert_lacks!(listed, "aisle", "worker_result");
    }
}

#[test]
fn a_prompt_is_told_what_of_a_memory_is_gone_from_the_checkout() {
    let home = Home::new();
    let folder = shop(&home);
    let fact = "The cart total is summed in src/cart.rs by the checkout worker.";
    let line = json!({ "text": fact, "tags": ["project:git.example.org/acme/shop"] });
    home.keep(&[line], &["--user", "ada"]);
    let question = json!({ "prompt": "where is the cart total summed by the checkout worker" });
    let told = |session: &str| hook(&home, &folder, "user-prompt", session, &question);
    let there = told("one");
    assert!(there.contains(fact) && !there.contains("gone:"), "{there}");
    run_git(&folder, &["mv", "src/cart.rs", "src/basket.rs"]);
    run_git(&folder, &["commit", "-qm", "Call it a basket"]);
    let gone = told("two");
    let said = "  gone: `src/cart.rs` no longer exists; renamed to `src/basket.rs` in ";
    assert_contains!(gone, said);
    assert!(parse_quoted_lines(gone.trim_end()).is_some(), "{gone}");
}

#[test]
fn what_memory_does_not_take_in_time_is_handed_over_later() {
    let home = Home::new();
    let folder = shop(&home);
    let said = |n: usize| format!("the warehouse has {n} aisles and two doors at the back");
    for n in 0..4 {
        let input = json!({ "session_id": "late", "cwd": folder, "prompt": said(n) });
        let mut hook = home.command(&["hook", "user-prompt", "--user", "ada"]);
        // No daemon starts so fast.
        hook.args(["--deadline-ms", "1"]);
        assert_eq!(run(&mut hook, &input.to_string()), "");
    }
    // Processes of their own hand over what the hooks had no time to save.
    let listed = wait_for("the prompts that came late", || {
        // Until the first comes, there is no memory to list.
        let listed = home.run(&["list", "--user", "ada"]).stdout;
        let is_all = (0..4).all(|n| listed.contains(&said(n)));
        seen_if(is_all, listed)
    });
    assert_contains!(listed, said(3).as_str());
    let status = wait_for("a queue without events", || {
        let status = home.run_ok(&["serve", "status", "--json"]);
        let status: Value = serde_json::from_str(&status).expect("JSON");
        seen_if(status["unsent"] == 0, status)
    });
    assert_eq!(status["unsent_dropped"], 0, "{status}");
}

#[test]
fn of_two_memories_that_contradict_each_other_the_one_that_a_tools_result_names_gets_credit() {
    for (printed, credited) in [
        ("requests_per_minute = 250", [false, true]),
        ("requests_per_minute = 100", [true, false]),
        ("requests_per_minute = 100 # 250 until May", [false; 2]),
        ("", [false; 2]),
    ] {
        let home = Home::new();
        let folder = shop(&home);
        let texts = [100, 250]
            .map(|limit| format!("The gateway throttles uploads at {limit} requests per minute."));
        for text in &texts {
            home.run_ok(&["learn", text, "--user", "ada"]);
        }
        let at = |event: &str, more: Value| hook(&home, &folder, event, "one", &more);
        let question = "how does the gateway throttle uploads";
        let given = at("user-prompt", json!({ "prompt": question }));
        assert!(texts.iter().all(|text| given.contains(text)), "{given}");
        let ran = json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash",
            "tool_input": { "command": "grep -n 'requests per minute' limits.toml" },
            "tool_response": { "stdout": printed, "stderr": "", "interrupted": false } });
        at("post-tool", ran);
        at(
            "stop",
            json!({ "last_assistant_message": "Done, all of them stay below it." }),
        );
        let listed = home.run_ok(&["list", "--type", "lesson", "--user", "ada", "--json"]);
        let lessons = listed
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let lessons: Vec<Value> = lessons.collect();
        let told = home.run_json(&["call", "runs", "--user", "ada"]);
        let used = told["runs"][0]["used"].as_array().cloned();
        let used = used.unwrap_or_default();
        let got = texts.map(|text| {
            let lesson = lessons
                .iter()
                .find(|lesson| lesson["text"] == text.as_str());
            used.contains(&lesson.expect("it is kept")["id"])
        });
        assert_eq!(got, credited, "{printed}: {told}");
    }
}

#[test]
fn a_hook_connects_to_the_daemon_once() {
    let home = Home::new();
    home.place().create_folders().expect("the folders are made");
    let listener = UnixListener::bind(home.place().socket()).expect("the name is free");
    // In place of a daemon it counts the connections.
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || answer_every_request(&stream.expect("a client")));
        }
    });
    let input = json!({ "session_id": "one", "cwd": "/", "prompt": "where does the lift stop?" });
    let mut hook = home.command(&["hook", "user-prompt", "--text", "--user", "ada"]);
    hook.args(["--deadline-ms", "60000"]);
    assert_eq!(run(&mut hook, &input.to_string()), "at the third floor\n");
    assert_eq!(accepted.load(Ordering::SeqCst), 1);
}

/// Answers each request of a connection with the same context.
fn answer_every_request(stream: &UnixStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).expect("it is read") > 0 {
        let header = line.trim_end().to_ascii_lowercase();
        line.clear();
        if let Some(bytes) = header.strip_prefix("content-length:") {
            length = bytes.trim().parse().expect("a number");
        }
        if !header.is_empty() {
            continue;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("the whole body");
        let body = r#"{"context":"at the third floor"}"#;
        let size = body.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n");
        let mut writer = stream;
        let answer = [head.as_str(), body].concat();
        writer.write_all(answer.as_bytes()).expect("it is written");
    }
}
