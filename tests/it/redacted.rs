//! Secrets on every way in: taken out of every string that is kept, and told of by field, rule and
//! line, never by value.

use std::fs;
use std::path::Path;

use reprise_server::Call;
use reprise_tests::{assert_contains, assert_lacks};
use serde_json::{Value, json};

use crate::home::Home;

/// A key of a known form, in pieces so that no scanner of sources takes it for one.
fn key() -> String {
    ["AKIA", "IOSFODNN7EXAMPLE"].concat()
}

/// What is told of one secret in this field.
fn redaction_notice(field: &str, line: u32) -> Value {
    json!([{ "field": field, "rule": "aws_key", "line": line }])
}

/// No file below a folder has the key in it, in any letter case.
fn is_clean(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            is_clean(&path);
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
            let wanted = key().to_ascii_lowercase();
            assert!(!text.contains(&wanted), "{} has the key", path.display());
        }
    }
}

#[test]
fn learn_and_edit_tell_what_they_took_out() {
    for flags in [&["--no-daemon"][..], &[]] {
        let home = Home::with(flags);
        let text = format!("first line\nthe key is {}", key());
        let learn = ["learn", "--title", "Keys", "--content", &text];
        let learned = home.run_json(&learn);
        assert_eq!(
            learned["redacted"],
            redaction_notice("text", 2),
            "{learned}"
        );
        let id = learned["id"].as_str().expect("an id").to_owned();
        let again = home
            .run(&["learn", "--title", "Others", "--content", &text])
            .expect_code(0);
        assert_contains!(again.stderr, "`text` line 2 (aws_key)");
        let edited = home.run_json(&["edit", &id, "--title", &key()]);
        assert_eq!(edited["redacted"], redaction_notice("title", 1), "{edited}");
        let innocent = home.run_json(&["learn", "--title", "Doors", "--content", "They open."]);
        assert_eq!(innocent.get("redacted"), None, "{innocent}");
        for answer in [&learned, &edited] {
            assert!(!answer.to_string().contains(&key()), "{answer}");
        }
        assert!(!again.stderr.contains(&key()) && !again.stdout.contains(&key()));
    }
}

#[test]
fn a_file_that_is_ingested_or_imported_tells_of_each_record() {
    for flags in [&["--no-daemon"][..], &[]] {
        let home = Home::with(flags);
        let lines = [
            json!({ "text": "nothing here" }),
            json!({ "text": format!("a\nb {}", key()), "tags": [key()] }),
        ];
        let file = home.write(
            "lines.jsonl",
            &lines.map(|line| line.to_string()).join("\n"),
        );
        let summary = home.run_json(&["ingest", &file]);
        assert_eq!(
            summary["redacted"],
            json!([
                { "field": "text", "rule": "aws_key", "line": 2, "record": 2 },
                { "field": "tags.0", "rule": "aws_key", "line": 1, "record": 2 },
            ]),
            "{summary}"
        );
        let notes = home.folder().join("notes");
        fs::create_dir_all(&notes).expect("made");
        fs::write(
            notes.join("one.md"),
            format!("# A note\n\nwith {}\n", key()),
        )
        .expect("written");
        let notes = notes.to_string_lossy().into_owned();
        let imported = home.run_json(&["import", &notes, "--from", "markdown"]);
        let first = &imported["redacted"][0];
        assert_eq!(first["rule"], "aws_key", "{imported}");
        assert!(!imported.to_string().contains(&key()), "{imported}");
    }
}

#[test]
fn http_tools_and_hooks_tell_it_too() {
    let home = Home::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let client = home.client();
    let ask = |path: &str, body: Value| -> Value {
        let call = Call::post(path, &body);
        runtime.block_on(client.ask(&call)).expect("an answer")
    };
    let text = format!("the key is {}", key());
    let learned = ask(
        "/v1/users/ada/learn",
        json!({ "title": "Keys", "text": text }),
    );
    assert_eq!(
        learned["redacted"],
        redaction_notice("text", 1),
        "{learned}"
    );
    let tool = ask(
        "/v1/users/ada/tools/learn",
        json!({ "title": "More", "text": text }),
    );
    assert_eq!(
        tool["structured"]["redacted"],
        redaction_notice("text", 1),
        "{tool}"
    );
    let shown = tool["text"].as_str().expect("text");
    assert_contains!(shown, "`text` line 1 (aws_key)");
    let hook = json!({ "session": "s", "text": format!("please log in with {}", key()),
        "deadline_ms": 60_000 });
    let hook = ask("/v1/users/ada/hooks/UserPromptSubmit", hook);
    assert_eq!(hook["redacted"][0]["rule"], "aws_key", "{hook}");
    let records = json!([{ "text": "a" }, { "text": text }]);
    let kept = ask("/v1/users/ada/records", records);
    assert_eq!(
        kept["redacted"],
        json!([{ "field": "text", "rule": "aws_key", "line": 1, "record": 2 }]),
        "{kept}"
    );
    for answer in [&learned, &tool, &hook, &kept] {
        assert!(!answer.to_string().contains(&key()), "{answer}");
    }
    is_clean(&home.data());
}

#[test]
fn a_name_with_a_secret_is_kept_without_it_and_still_found() {
    let home = Home::with(&["--no-daemon"]);
    let (one, other) = (format!("job {}", key()), format!("task {}", key()));
    let lines = [
        json!({ "external_id": one, "text": "The first job.", "session_id": key() }),
        json!({ "external_id": other, "text": "Another task." }),
    ];
    home.keep(&lines, &[]);
    home.keep(&lines, &[]);
    let stats = home.run_json(&["stats"]);
    assert_eq!(stats["live"], 2, "a known name is a duplicate: {stats}");
    let shown = home.run_ok(&["show", &one]);
    assert_contains!(shown, "The first job.");
    let of_session = home.run_ok(&["list", "--session", &key()]);
    assert_contains!(of_session, "The first job.");
    let outcome = json!({ "query": "a job", "used": [one], "quality": 0.9, "run_id": key() });
    let file = home.folder().join("outcomes.jsonl");
    fs::write(&file, outcome.to_string()).expect("written");
    home.run_ok(&["outcome", "--jsonl", &file.to_string_lossy()]);
    home.run_ok(&["edit", &other, "--tags", &format!("work,{}", key())]);
    home.run_ok(&[
        "learn",
        "--title",
        "Evidence",
        "--content",
        "It holds.",
        "--source",
        &key(),
    ]);
    home.run_ok(&[
        "tags",
        "link",
        &one,
        &other,
        "--relation",
        &format!("needs {}", key()),
    ]);
    let forget = [
        "forget",
        "--external-id",
        &one,
        "--reason",
        &format!("it had {}", key()),
    ];
    let gone = home.run_json(&forget);
    assert_eq!(
        gone["forgotten"].as_array().map(Vec::len),
        Some(1),
        "{gone}"
    );
    let printed = home.run_ok(&["export"]) + &home.run_ok(&["doctor", "inspect"]);
    let printed = printed.to_ascii_lowercase();
    assert_lacks!(printed, &key().to_ascii_lowercase());
    is_clean(&home.data());
}

#[test]
fn what_an_import_links_and_what_is_said_of_a_line_hold_no_secret() {
    for flags in [&["--no-daemon"][..], &[]] {
        let home = Home::with(flags);
        let (one, other) = (format!("Ada {}", key()), "Bob".to_owned());
        let lines = [
            json!({ "type": "entity", "name": one, "entityType": "person", "observations": [] }),
            json!({ "type": "entity", "name": other, "entityType": "person", "observations": [] }),
            json!({ "type": "relation", "from": one, "to": other,
                "relationType": format!("knows {}", key()) }),
            json!({ "type": key() }),
        ];
        let file = home.write(
            "memory.jsonl",
            &lines.map(|line| line.to_string()).join("\n"),
        );
        let said = home.run(&["--json", "import", &file, "--from", "server-memory"]);
        let imported: Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!(imported["links"], 1, "{imported}");
        assert_lacks!(said.stdout, &key());
        let told = home.run(&["import", &file, "--from", "server-memory"]);
        assert_lacks!(told.stderr, &key());
        let long = "a word ".repeat(20_000);
        let line = |text: &str| json!({ "external_id": format!("job {}", key()), "text": text });
        let lines = [
            line(&long),
            line("Another text."),
            json!({ (key()): 1, "text": "a" }),
        ];
        let lines = lines.map(|line| line.to_string());
        let file = home.folder().join("lines.jsonl");
        fs::write(
            &file,
            format!("{}\n{{\"kind\": \"{}\"}}", lines.join("\n"), key()),
        )
        .expect("written");
        let said = home.run(&["ingest", &file.to_string_lossy()]);
        for word in ["line 1 (`", "line 2 (`", "unknown fields", "refused line 4"] {
            assert!(said.stderr.contains(word), "{word}: {}", said.stderr);
        }
        assert_lacks!(said.stderr, &key());
        is_clean(&home.data());
    }
}
