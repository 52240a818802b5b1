//! `reprise import` and what comes out again, by the real binary, with a daemon and without.

use std::path::{Path, PathBuf};

use reprise_tests::finish;
use serde_json::{Value, json};

use crate::home::Home;

fn fixture(name: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/reprise-knowledge");
    crates.join("tests/fixtures").join(name)
}

fn run(home: &Home, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--user", "ada", "--json"]].concat();
    let done = finish(&mut home.command(&arguments)).expect("reprise runs");
    assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
    serde_json::from_str(&done.stdout).expect("an answer is JSON")
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
fn links_come_in_with_a_daemon_and_without() {
    let frames = fixture("ralph_memory.jsonl").to_string_lossy().into_owned();
    for daemon in [false, true] {
        let home = Home::new();
        if daemon {
            // A tool of an agent starts the daemon.
            let client = home.client();
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(client.wake()).expect("the daemon starts");
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
        let related = run(&home, &["related", "e-1"]);
        let related = related["related"].as_array().map(Vec::len);
        assert_eq!((related, home.daemon().is_some()), (Some(2), daemon));
    }
}
