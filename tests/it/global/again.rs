//! Publishing again: what is not said stays as it is published.

use std::path::Path;

use serde_json::{Value, json};

use super::{call, data, done, recall};

const PUBLISH: [&str; 4] = ["publish", "--user", "ann", "tokio"];

fn publish(data: &Path, more: &[&str]) -> Value {
    let published = done(data, &[&PUBLISH[..], &["--yes"], more].concat());
    published["published"][0].clone()
}

/// What would leave with these words more.
fn leaves(data: &Path, more: &[&str]) -> Value {
    done(data, &[&PUBLISH[..], &["--dry-run"], more].concat())["leaves"].clone()
}

fn edit(data: &Path, content: &str) {
    let edit = ["edit", "--user", "ann", "tokio", "--content", content];
    done(data, &edit);
}

#[test]
fn what_was_said_once_stays_in_later_versions() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
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
    assert_eq!(
        (&same["version"], &same["unchanged"]),
        (&"1".into(), &true.into())
    );

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
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    let first = publish(&data, &["--policy", "paid", "--licence", "MIT"]);
    edit(&data, "Corrected.");
    assert_eq!(leaves(&data, &[])["access_policy"], "paid");
    assert_eq!(publish(&data, &[])["version"], "2");
    let id = first["id"].as_str().expect("an id");
    done(&data, &["unpublish", "--user", "ann", id]);
    let anew = leaves(&data, &[]);
    assert_eq!(
        (&anew["access_policy"], &anew["licence"]),
        (&"public".into(), &"".into())
    );
}
