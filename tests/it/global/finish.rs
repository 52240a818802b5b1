//! What is said of published knowledge, and what is left unsaid.

use reprise_tests::{assert_contains, assert_lacks};
use serde_json::{Value, json};

use super::{call, data, ingest, recall, refused, run, run_for_person, run_json};

fn receipts(data: &std::path::Path, user: &str) -> Vec<Value> {
    let kept = call(data, user, "receipts", &json!({}));
    kept["receipts"].as_array().cloned().unwrap_or_default()
}

#[test]
fn the_same_bytes_again_leave_the_receipt_that_is_there() {
    let (_folder, data) = data();
    let publish = ["share", "publish", "--user", "ann", "tokio", "--yes"];
    let branch = [&publish[..], &["--branch", "next", "--title", "Tried"]].concat();
    run_json(&data, &["global", "branch", "add", "next", "--user", "ann"]);
    for arguments in [&publish[..], &branch] {
        let first = run_json(&data, arguments);
        let before = receipts(&data, "ann").len();
        let again = run_json(&data, arguments);
        assert_eq!(again["published"][0]["unchanged"], true, "{again}");
        assert_eq!(again["receipt"], first["receipt"], "{again}");
        assert_eq!(receipts(&data, "ann").len(), before, "{arguments:?}");
    }
    // What was published at the same time has a receipt of its own.
    ingest(
        &data,
        "ann",
        &[json!({"external_id": "new", "text": "Another"})],
    );
    run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "new", "--yes"],
    );
    assert_eq!(receipts(&data, "ann").len(), 3);
}

#[test]
fn a_title_of_the_text_ends_with_a_whole_word() {
    let (_folder, data) = data();
    let words = "Only the last one of a queue of many writers may ever move tarpaulins. ".repeat(9);
    ingest(
        &data,
        "ann",
        &[json!({"external_id": "long", "text": words})],
    );
    let shown = run_json(
        &data,
        &["share", "publish", "--user", "ann", "long", "--dry-run"],
    );
    let title = shown["leaves"]["title"].as_str().expect("a title");
    let summary = shown["leaves"]["summary"].as_str().expect("a summary");
    for (cut, most) in [(title, 80), (summary, 280)] {
        assert!(words.starts_with(&format!("{cut} ")), "{cut}");
        assert!((most - 20..=most).contains(&cut.len()), "{cut}");
    }
}

#[test]
fn what_is_published_is_taken_back_by_its_records_name_too() {
    let (_folder, data) = data();
    let publish = ["share", "publish", "--user", "ann", "tokio", "--yes"];
    let published = run_json(&data, &publish);
    run_json(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", "Corrected."],
    );
    let gone = run_json(&data, &["share", "unpublish", "--user", "ann", "tokio"]);
    assert_eq!(gone["unpublished"], published["published"][0]["id"]);
    for name in ["tokio", "salary", "nothing"] {
        let said = refused(&data, &["share", "unpublish", "--user", "ann", name]);
        assert_contains!(said, "reprise share list");
    }
}

#[test]
fn nothing_that_is_published_is_no_data() {
    let (_folder, data) = data();
    let mut command = reprise_tests::reprise_command(&data).expect("reprise is built");
    command.args(["share", "list", "--user", "ann"]);
    let listed = reprise_tests::run_to_end(&mut command).expect("reprise runs");
    assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), ""));
    assert_contains!(listed.stderr, "nothing is published");
}

#[test]
fn what_turns_a_line_around_is_named_in_a_terminal() {
    let (_folder, data) = data();
    let title = "Safe \u{202e}elif\u{202c} tokio";
    let publish = ["share", "publish", "--user", "ann", "tokio", "--yes"];
    let said = run_for_person(&data, &[&publish[..], &["--title", title]].concat());
    let listed = run_for_person(&data, &["share", "list", "--user", "ann"]);
    let found = run_for_person(
        &data,
        &["recall", "--user", "bob", "--scope", "global", "tokio"],
    );
    for shown in [said, listed, found] {
        assert_lacks!(shown, '\u{202e}');
        assert_contains!(shown, "Safe U+202Eelif");
    }
    // What a person is asked about, too.
    let asked = run(
        &data,
        &[
            "share",
            "publish",
            "--user",
            "ann",
            "tokio",
            "--title",
            title,
            "--licence",
            "X",
        ],
    );
    assert_contains!(asked.stderr, "Safe \\u202eelif");
    assert_lacks!(asked.stderr, '\u{202e}');
}

#[test]
fn what_others_can_find_is_not_called_private() {
    let (_folder, data) = data();
    let seen = || call(&data, "ann", "visibility", &json!({ "id": "tokio" }));
    assert_eq!(seen()["visibility"], "private");
    run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    let published = seen();
    assert_eq!(published["visibility"], "published", "{published}");
    assert!(!published.to_string().contains("private"), "{published}");
    let ways = published["ways"].as_array().expect("ways").iter();
    let stays: Vec<&Value> = ways.filter_map(|way| way.get("stays")).collect();
    assert_eq!(stays, ["it was never made visible to the workspace"]);
}

#[test]
fn the_own_record_is_enough_beside_its_published_copy() {
    let (_folder, data) = data();
    run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    let scopes = |user: &str, scope: &str| -> Vec<Value> {
        let found = recall(&data, user, scope, "tokio handler");
        found.iter().map(|one| one["scope"].clone()).collect()
    };
    assert_eq!(scopes("ann", "local+global"), ["local"]);
    assert_eq!(scopes("ann", "global"), ["global"]);
    assert_eq!(scopes("bob", "local+global"), ["global"]);
    // What was corrected since is the newer word on the same.
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    run_json(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    assert_eq!(scopes("ann", "local+global"), ["local"]);
    run_json(&data, &["forget", "--user", "ann", "tokio"]);
    assert_eq!(scopes("ann", "local+global"), ["global"]);
}
