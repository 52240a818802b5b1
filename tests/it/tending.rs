//! Memory tended from the command line: what is said of it, what is done, and all of it undone.

use std::fs;

use reprise_tests::finish;
use serde_json::{Value, json};

use crate::home::Home;

fn done(home: &Home, arguments: &[&str]) -> String {
    let finished = finish(&mut home.command(arguments)).expect("reprise runs");
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
    finished.stdout
}

/// A command's answer as JSON.
fn asked(home: &Home, arguments: &[&str]) -> Value {
    let said = done(home, &[&["--json"], arguments].concat());
    serde_json::from_str(&said).expect("JSON")
}

/// Keeps lines, each with its name.
fn keep(home: &Home, lines: &[Value]) {
    let file = home.folder().join("lines.jsonl");
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&file, lines.join("\n")).expect("written");
    let file = file.to_string_lossy().into_owned();
    done(home, &["ingest", "--user", "ada", &file]);
}

/// All that answers, without the log's history.
fn answering(home: &Home) -> Vec<Value> {
    let said = done(home, &["export", "--user", "ada"]);
    let lines = said.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        line.as_object_mut().expect("an object").remove("archive");
        line
    });
    lines.collect()
}

fn line(name: &str, session: &str, text: &str) -> Value {
    json!({ "external_id": name, "session_id": session, "text": text })
}

#[test]
fn all_that_tending_does_is_said_and_undone() {
    let home = Home::new();
    let mut scratch = line("s-1", "mon", "a buffer that had its time");
    scratch["metadata"] = json!({ "expires_at": "2020-01-01" });
    keep(
        &home,
        &[
            line("d-1", "mon", "The deploy script fails without the VPN."),
            line("d-2", "tue", "the deploy script fails without the VPN"),
            line(
                "d-3",
                "wed",
                "The deploy script just fails without the VPN!",
            ),
            line("p-260", "mon", "Reviewed PR 260 for the payment service"),
            line("p-480", "tue", "Reviewed PR 480 for the payment service"),
            line("t-30", "mon", "The timeout of the login page is 30 seconds"),
            line("t-90", "tue", "The timeout of the login page is 90 seconds"),
            scratch,
        ],
    );
    let user = ["--user", "ada"];
    let of = |command: &[&str]| asked(&home, &[command, &user].concat());
    let before = answering(&home);
    let dry = of(&["consolidate", "--dry-run"]);
    assert_eq!(answering(&home), before);
    let real = of(&["consolidate"]);
    for (said, is_dry) in [(&dry, true), (&real, false)] {
        assert_eq!(said["dry_run"], is_dry);
        assert_eq!(
            said["merged"],
            json!([{ "kept": "d-3", "gone": ["d-1", "d-2"] }])
        );
        assert_eq!(said["review"][0]["pair"], json!(["p-260", "p-480"]));
        assert_eq!(said["contradictions"][0]["pair"], json!(["t-30", "t-90"]));
        assert_eq!(said["contradictions"][0]["newest"], "t-90");
        assert_eq!(said["purged"], json!(["s-1"]));
        assert_eq!(said["distilled"].as_array().map(Vec::len), Some(1));
    }
    let audit = of(&["audit"]);
    assert_eq!(
        (&audit["records"], &audit["duplicates"]),
        (&json!(6), &json!(0))
    );
    let day = &audit["history"][0];
    assert_eq!(day["score"], audit["score"], "{audit}");
    let diary = of(&["diary"]);
    let action = diary["actions"][0]["action"].as_str().expect("a name");
    assert_eq!(real["action"], action);
    assert_eq!(diary["actions"][0]["merged"], real["merged"]);
    // The same as an operation, with the texts for whoever answers.
    let pairs = of(&["call", "review"]);
    assert_eq!(
        pairs["contradictions"][0]["texts"][1],
        "The timeout of the login page is 90 seconds"
    );
    let undone = of(&["undo", action]);
    let mut restored: Vec<&str> = undone["restored"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    restored.sort_unstable();
    assert_eq!(restored, ["d-1", "d-2", "s-1"]);
    assert_eq!(answering(&home), before);
    assert_eq!(of(&["diary"])["actions"][0]["undone"], true);
    let again = finish(&mut home.command(&["undo", action, "--user", "ada"])).expect("it runs");
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    // What was undone is not done again; an answer is undone like anything else.
    assert_eq!(of(&["consolidate"])["merged"], json!([]));
    let answered = of(&["review", "t-30", "t-90", "--answer", "newer"]);
    assert_eq!(answered["kept"], "t-90");
    assert_eq!(
        of(&["consolidate", "--dry-run"])["contradictions"],
        json!([])
    );
    of(&["undo", "t-30"]);
    assert_eq!(answering(&home), before);
    done(&home, &["stop"]);
    let offline = asked(&home, &["--no-daemon", "audit", "--user", "ada"]);
    assert_eq!(offline["records"], 8);
}
