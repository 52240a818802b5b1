//! What comes after publishing: publishing again, which keeps what the new version does not
//! mention; a record that is changed, which says what others still find; ratings of readers.

use std::path::Path;

use reprise_tests::assert_fields;
use serde_json::{Value, json};

use super::{call, data, recall, refused, run_for_person, run_json};

const PUBLISH: [&str; 5] = ["share", "publish", "--user", "ann", "tokio"];

fn publish(data: &Path, more: &[&str]) -> Value {
    let published = run_json(data, &[&PUBLISH[..], &["--yes"], more].concat());
    published["published"][0].clone()
}

/// What would leave with these words more.
fn leaves(data: &Path, more: &[&str]) -> Value {
    run_json(data, &[&PUBLISH[..], &["--dry-run"], more].concat())["leaves"].clone()
}

fn edit(data: &Path, content: &str) {
    let edit = ["edit", "--user", "ann", "tokio", "--content", content];
    run_json(data, &edit);
}

#[test]
fn what_was_said_once_stays_in_later_versions() {
    let (_folder, data) = data();
    let terms = [
        "--title",
        "Tokio",
        "--summary",
        "In short",
        "--licence",
        "MIT",
        "--type",
        "agent",
    ];
    publish(&data, &terms);
    let same = publish(&data, &[]);
    assert_fields!(same, "version": "1", "unchanged": true);

    edit(
        &data,
        "A blocked handler starves tokio.\nUse spawn_blocking.",
    );
    let said = |leaves: &Value| {
        let words = ["title", "summary", "licence", "content_type"];
        words.map(|word| leaves[word].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(
        said(&leaves(&data, &[])),
        ["Tokio", "In short", "MIT", "agent"]
    );
    // Every face asks the same operation.
    let shown = call(
        &data,
        "ann",
        "publish_preview",
        &json!({ "ids": ["tokio"] }),
    );
    let exact = shown["leaving"][0]["exact"].as_str().expect("bytes");
    assert!(exact.contains("\"licence\":\"MIT\""), "{exact}");
    assert_eq!(publish(&data, &[])["version"], "2");

    // What is said is changed, and by an empty word taken away.
    assert_eq!(said(&leaves(&data, &["--licence", ""]))[2], "");
    assert_eq!(said(&leaves(&data, &["--type", "document"]))[3], "document");
    assert_eq!(
        said(&leaves(&data, &["--title", ""]))[0],
        "A blocked handler starves tokio."
    );
    publish(&data, &["--licence", "", "--title", "", "--summary", ""]);
    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found[0]["version"], "3");
    edit(&data, "Corrected once more.\nUse spawn_blocking.");
    let [title, summary, licence, _] = said(&leaves(&data, &[]));
    assert_eq!(
        (title.as_str(), licence.as_str()),
        ("Corrected once more.", "")
    );
    assert!(summary.starts_with("Corrected once more."), "{summary}");
}

#[test]
fn a_policy_stays_and_what_was_taken_back_begins_anew() {
    let (_folder, data) = data();
    let first = publish(&data, &["--policy", "paid", "--licence", "MIT"]);
    edit(&data, "Corrected.");
    assert_eq!(leaves(&data, &[])["access_policy"], "paid");
    assert_eq!(publish(&data, &[])["version"], "2");
    let id = first["id"].as_str().expect("an id");
    run_json(&data, &["share", "unpublish", "--user", "ann", id]);
    let anew = leaves(&data, &[]);
    assert_fields!(anew, "access_policy": "public", "licence": "");
}

#[test]
fn whoever_corrects_a_record_hears_that_its_former_version_is_published() {
    let (_folder, data) = data();
    let publish = ["share", "publish", "--user", "ann", "--yes", "tokio"];
    let published = run_json(&data, &publish);
    let thing = published["published"][0]["id"].as_str().expect("an id");
    let take_back = format!("reprise share unpublish {thing} --user ann");
    let is_former =
        |id: &str| call(&data, "ann", "visibility", &json!({ "id": id }))["is_former"] == true;
    assert!(!is_former("tokio"));

    let changes = json!({ "id": "tokio", "text": "A handler that blocks starves tokio." });
    let revised = call(&data, "ann", "revise", &changes);
    let id = revised["id"].as_str().expect("an id");
    let standing = json!({ "id": thing, "take_back": take_back,
        "publish_anew": format!("reprise share publish {id} --user ann") });
    assert_eq!(revised["published"], standing);
    assert!(is_former(id));
    run_json(&data, &["share", "publish", "--user", "ann", "--yes", id]);
    assert!(!is_former(id));

    // What changes nothing of what left is no matter.
    let pinned = call(
        &data,
        "ann",
        "revise",
        &json!({ "id": "tokio", "retention": "pinned" }),
    );
    assert_eq!(pinned.get("published"), None, "{pinned}");
    let said = run_for_person(
        &data,
        &["edit", "tokio", "--confidence", "high", "--user", "ann"],
    );
    assert!(!said.contains("publish"), "{said}");
    assert!(!is_former("tokio"));

    for change in [
        &["--content", "Blocking starves it."][..],
        &["--tags", "async"],
    ] {
        let edit = [&["edit", "tokio", "--user", "ann"], change].concat();
        let said = run_for_person(&data, &edit);
        let present: Value = call(&data, "ann", "get", &json!({ "id": "tokio" }));
        let id = present["records"][0]["id"].as_str().expect("an id");
        let anew = format!("`reprise share publish {id} --user ann` publishes it as it is now");
        assert!(said.contains(&anew) && said.contains(&take_back), "{said}");
    }
}

#[test]
fn a_reader_rates_what_others_published() {
    let (_folder, data) = data();
    let published = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    let id = published["published"][0]["id"].as_str().expect("an id");
    let rated = run_json(&data, &["share", "rate", id, "0.2", "--user", "bob"]);
    assert_eq!((&rated["id"], &rated["rating"]), (&json!(id), &json!(0.2)));
    let given = || {
        let thing = call(&data, "ann", "published_thing", &json!({ "id": id }));
        thing["quality_metrics"]["user_rating"].clone()
    };
    assert_eq!(given(), Value::Null, "one reader is not told");
    // The last word of a reader counts, and a reader needs no memory.
    for user in ["bob", "eva", "fay", "gil", "hal"] {
        run_json(&data, &["share", "rate", id, "0.8", "--user", user]);
    }
    let given = given().as_f64().expect("a rating");
    assert!((given - 0.8).abs() < 0.01, "{given}");

    for (user, id, rating, word) in [
        ("ann", id, "0.9", "is yours"),
        ("bob", id, "5", "between 0 and 1"),
        (
            "bob",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "0.5",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ),
    ] {
        let said = refused(&data, &["share", "rate", id, rating, "--user", user]);
        assert!(said.contains(word), "{said}");
    }
}
