//! A branch through the real binary: made, used like any memory, compared, merged, dropped.

use std::fs;
use std::path::Path;

use reprise_tests::{assert_contains, assert_fields, reprise_command, run_to_end};

use crate::global::{run, run_json};

fn ingest(data: &Path, user: &str, lines: &str) {
    let file = data.join("lines.jsonl");
    fs::create_dir_all(data).expect("a data directory");
    fs::write(&file, lines).expect("lines are written");
    run_json(
        data,
        &["ingest", "--user", user, "--jsonl", &file.to_string_lossy()],
    );
}

fn first(data: &Path, user: &str, query: &str) -> Option<String> {
    let answer = run_json(data, &["recall", "--user", user, query]);
    let text = answer["results"][0]["text"].as_str();
    text.map(str::to_owned)
}

#[test]
fn a_branch_is_tried_out_and_brought_back() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = folder.path().join("data");
    ingest(
        &data,
        "ada",
        "{\"external_id\":\"1\",\"text\":\"the port is 8080\",\"tags\":[\"Net Work\"]}\n",
    );
    let made = run_json(&data, &["branch", "fork", "try", "--user", "ada"]);
    assert_fields!(made, "branch": "ada+try", "records": 1);
    assert!(
        made["copy_on_write"].is_boolean(),
        "it says which it was: {made}"
    );
    ingest(
        &data,
        "ada+try",
        "{\"external_id\":\"2\",\"text\":\"the lift is broken\"}\n",
    );
    assert_eq!(first(&data, "ada", "lift"), None);
    assert_eq!(
        first(&data, "ada+try", "lift").as_deref(),
        Some("the lift is broken")
    );

    let diff = run_json(&data, &["branch", "diff", "try", "--user", "ada"]);
    assert_eq!(diff["added"].as_array().map(Vec::len), Some(1));
    let list = run_json(&data, &["branch", "list", "--user", "ada"]);
    assert_fields!(list, "name": "try", "records": 2);
    for (added, known) in [(1, 0), (0, 1)] {
        let merged = run_json(&data, &["branch", "merge", "try", "--user", "ada"]);
        assert_eq!(
            (&merged["added"], &merged["known"]),
            (&added.into(), &known.into())
        );
    }
    assert_eq!(
        first(&data, "ada", "lift").as_deref(),
        Some("the lift is broken")
    );
    let tagged = run_json(
        &data,
        &["recall", "--user", "ada", "port", "--tag", "NET work"],
    );
    assert_eq!(tagged["results"].as_array().map(Vec::len), Some(1));

    let said = |command: &str| {
        let words = ["--no-model", "branch", command, "try", "--user", "ada"];
        let mut binary = reprise_command(&data).expect("reprise is built");
        run_to_end(binary.args(words)).expect("it runs").stdout
    };
    let diff = said("diff");
    assert_contains!(diff, "1 in the branch but not in the memory");
    assert!(!diff.lines().any(|line| line.starts_with("0 ")), "{diff}");
    assert_eq!(said("merge"), "0 memories added, 1 already in the memory\n");
    assert_eq!(said("drop"), "branch `try` deleted\n");
    assert!(!data.join("ada+try").exists());
    assert!(data.join("ada").join("memory.rvf").exists());
}

#[test]
fn a_merged_record_is_shown_with_one_id() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = folder.path().join("data");
    ingest(&data, "ada", "{\"text\":\"the port is open\"}\n");
    run_json(&data, &["branch", "fork", "try", "--user", "ada"]);
    ingest(&data, "ada+try", "{\"text\":\"the lift is broken\"}\n");
    run_json(&data, &["branch", "merge", "try", "--user", "ada"]);
    let found = run_json(&data, &["recall", "--user", "ada", "lift"]);
    let lift = &found["results"][0];
    assert_eq!(lift["text"], "the lift is broken");
    assert!(lift["external_id"].is_null(), "{lift}");
}

#[test]
fn what_is_no_branch_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = folder.path().join("data");
    ingest(&data, "ada", "{\"text\":\"one\"}\n");
    ingest(&data, "ada+own", "{\"text\":\"two\"}\n");
    for (arguments, expected) in [
        (
            vec!["branch", "drop", "own", "--user", "ada"],
            "no branch of `ada`",
        ),
        (
            vec!["branch", "merge", "none", "--user", "ada"],
            "no branch `none`",
        ),
        (
            vec!["branch", "fork", "own", "--user", "ada"],
            "branch `own` exists already",
        ),
        (
            vec!["branch", "fork", "a/b", "--user", "ada"],
            "not a valid branch name",
        ),
    ] {
        let finished = run(&data, &arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}");
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    }
    assert!(data.join("ada+own").join("memory.rvf").exists());
}
