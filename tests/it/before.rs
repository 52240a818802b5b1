//! A data directory that the binary of commit 8192413 wrote (`tests/fixtures/home-8192413`): its
//! memories and what is published are refused, and their exports answer what they answered; its
//! tree is a workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reprise_tests::{assert_contains, assert_fields};
use serde_json::Value;

use crate::global::{run, run_json};

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/home-8192413");
    folder.join(name)
}

fn unpacked(into: &Path) {
    let archive = fixture("data.tar.gz");
    let mut command = Command::new("tar");
    command.arg("xzf").arg(archive).arg("-C").arg(into);
    assert!(command.status().expect("tar runs").success());
}

/// The lines of `text`, as JSON, with the fields that the fixture kept of each record.
fn records(text: &str) -> Vec<Value> {
    let fields = [
        "id",
        "external_id",
        "text",
        "session_id",
        "timestamp",
        "known_at",
        "tags",
    ];
    let lines = text.lines().map(|line| {
        let record: Value = serde_json::from_str(line).expect("JSON");
        fields.iter().map(|field| record[field].clone()).collect()
    });
    lines.collect()
}

#[test]
fn a_memory_of_an_earlier_version_is_left_as_it_is_and_comes_over_by_its_export() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    unpacked(folder.path());
    let data = folder.path().join("home");
    for user in ["ada", "ada+idea"] {
        let file = data.join(user).join("memory.rvf");
        let before = fs::read(&file).expect("the fixture has it");
        for command in [
            &["export"][..],
            &["recall", "webhooks"],
            &["doctor", "check"],
        ] {
            let refused = run(&data, &[command, &["--user", user]].concat()).expect_code(2);
            for said in ["format 1", "`reprise export`", "`reprise import`"] {
                assert_contains!(refused.stderr, said);
            }
        }
        assert_eq!(fs::read(&file).expect("it is there"), before, "{user}");
    }
    let export = fixture("export.jsonl");
    let exported = fs::read_to_string(&export).expect("the fixture has it");
    let kept = fs::read_to_string(folder.path().join("records.jsonl")).expect("the fixture has it");
    assert_eq!(records(&exported), records(&kept));

    let data = folder.path().join("new");
    let export = export.to_string_lossy().into_owned();
    let imported = run(&data, &["import", "--user", "ada", &export]);
    imported.expect_code(0);
    let check = run_json(&data, &["doctor", "check", "--user", "ada"]);
    assert_eq!(check["sound"], true);
    let again = run(&data, &["export", "--user", "ada"]);
    assert_eq!(again.stdout, exported, "nothing is lost on the way");

    let answer = run_json(
        &data,
        &[
            "recall",
            "--user",
            "ada",
            "the vendor answers 503 whenever we batch webhooks",
        ],
    );
    assert_eq!(answer["results"][0]["external_id"], "n16");
    let tagged = run_json(
        &data,
        &["list", "--user", "ada", "--tag", "webhooks", "--limit", "1"],
    );
    assert_eq!(tagged["external_id"], "n16", "the merged tag stays");
    let corrected = run_json(&data, &["show", "n9", "--user", "ada"]);
    let text = "The slow migration of invoices was mended with an index (ticket RP-109).";
    assert_eq!(corrected["records"][0]["text"], text);
    let linked = run_json(&data, &["show", "n1", "--user", "ada"]);
    assert_eq!(linked["records"][0]["links"][0]["relation"], "caused_by");
    run(&data, &["show", "n37", "--user", "ada"]).expect_code(2);
    let learned = run_json(&data, &["outcome", "status", "--user", "ada"]);
    assert_fields!(learned["status"], "runs": 8, "records": 1);
}

#[test]
fn what_an_earlier_version_published_is_left_as_it_is_and_comes_over_by_its_export() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    unpacked(folder.path());
    let data = folder.path().join("home");
    let file = data.join(".global").join("memory.rvf");
    let before = fs::read(&file).expect("the fixture has it");
    let search = ["recall", "--user", "bob", "--scope", "global", "lock"];
    // Her own memory is refused before what is published is looked at.
    fs::remove_dir_all(data.join("ada")).expect("it can be removed");
    for command in [&["share", "list", "--user", "ada"][..], &search] {
        let refused = run(&data, command).expect_code(2);
        for said in [
            ".global",
            "--user store > store.jsonl",
            "import --user store",
        ] {
            assert_contains!(refused.stderr, said);
        }
    }
    assert_eq!(fs::read(&file).expect("it is there"), before);

    let new = folder.path().join("new");
    let export = fixture("store.jsonl").to_string_lossy().into_owned();
    run(&new, &["import", "--user", "store", &export]).expect_code(0);
    fs::copy(new.join("store").join("memory.rvf"), &file).expect("it can be put in its place");
    let listed = run(&data, &["share", "list", "--user", "ada"]).expect_code(0);
    assert_contains!(listed.stdout, "Lock first");
    let found = run(&data, &search).expect_code(0);
    assert_contains!(found.stdout, "published by ada, version 1");
}

#[test]
fn a_tree_of_an_earlier_version_is_still_a_workspace() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    unpacked(folder.path());
    let tree = folder.path().join("tree").to_string_lossy().into_owned();
    let data = folder.path().join("home");
    let status = run_json(&data, &["workspace", "-C", &tree, "status"]);
    assert_eq!(
        (&status["main"], &status["loose_ends"]),
        (&"main".into(), &Value::Array(vec![]))
    );
    run_json(&data, &["workspace", "-C", &tree, "recover"]);
    let log = run(&data, &["workspace", "-C", &tree, "log"]);
    assert!(log.stdout.contains("Make a workspace"), "{}", log.stdout);
}
