//! Lessons in a repository: written by one, reviewed as a diff, pulled and trusted by another, who
//! recalls them as what they are.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use reprise_tests::{assert_contains, assert_fields};
use serde_json::{Value, json};

use crate::home::Home;
use crate::sessions::shop;
use crate::together::run;

const LESSON: &str = "Coupons are rounded once per cart, never per line.";

fn recall_results(home: &Home, user: &str, question: &str) -> Value {
    home.run_json(&["recall", "--user", user, question])["results"].clone()
}

/// Returns what a user's memory holds.
fn own(home: &Home, user: &str) -> Vec<Value> {
    let lines = home.run_ok(&["--json", "list", "--user", user]);
    let read = |line| serde_json::from_str(line).expect("JSON");
    lines.lines().map(read).collect()
}

fn shared(folder: &Path, name: &str, text: &str) {
    let place = folder.join(".reprise/shared");
    fs::create_dir_all(&place).expect("made");
    fs::write(place.join(name), text).expect("written");
}

/// A hook tells it too, with its place.
fn a_hook_tells_where_it_is_from(home: &Home, folder: &Path) {
    let hooked = |session: usize| {
        let mut hook = home.command(&["hook", "user-prompt", "--text", "--user", "bob"]);
        hook.args(["--deadline-ms", "60000"]);
        let prompt = "when are refunds booked?";
        let input = json!({ "session_id": format!("s{session}"), "cwd": folder, "prompt": prompt });
        run(&mut hook, &input.to_string())
    };
    // The first ones may find it being read.
    let mut told = (0..20).map(hooked);
    let told = told.find(|told| told.contains("month of the sale"));
    let told = told.unwrap_or_default();
    assert!(told.contains("month of the sale"), "{told}");
    assert!(told.contains(".reprise/shared/refunds.md"), "{told}");
}

#[test]
fn a_lesson_goes_through_the_diff_and_answers_whoever_trusts_the_repository() {
    let home = Home::new();
    let folder = shop(&home);
    let path = folder.to_string_lossy().into_owned();
    home.run_ok(&["learn", "--user", "ada", LESSON, "--tags", "money"]);
    let id = own(&home, "ada")[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let write = [
        "share",
        "repository",
        &id,
        "--user",
        "ada",
        "--folder",
        &path,
    ];
    let file = home.run_ok(&write);
    assert_eq!(
        file.trim(),
        ".reprise/shared/coupons-are-rounded-once-per-cart-never-per-line.md"
    );
    let written = fs::read_to_string(folder.join(file.trim())).expect("readable");
    assert!(
        written.starts_with("---\ntype: Lesson\n") && written.contains(LESSON),
        "{written}"
    );
    assert!(!written.contains(&id), "{written}");

    home.run_ok(&["learn", "--user", "bob", "The gate is shut at night."]);
    let question = "how are coupons rounded?";
    let is_there = |results: &Value| results.to_string().contains("rounded once");
    assert!(
        !is_there(&recall_results(&home, "bob", question)),
        "nobody trusts it yet"
    );
    let told_there = || {
        let mut ask = home.command(&["recall", "--user", "bob", question]);
        let asked = reprise_tests::run_to_end(ask.current_dir(&folder)).expect("reprise runs");
        asked.stderr.contains("`reprise share trust`")
    };
    assert!(told_there());
    assert!(!told_there(), "once is enough");
    let said = home.run_ok(&["share", "trust", &path, "--user", "bob"]);
    assert!(said.contains("1 lesson"), "{said}");
    let results = recall_results(&home, "bob", question);
    let first = &results[0];
    assert_eq!(first["text"], LESSON, "{results}");
    assert_fields!(first, "author": "repository", "version": file.trim());
    let reason = first["reason"].as_str().expect("a reason");
    assert!(reason.contains("not the user's own"), "{reason}");
    // Never among the user's own.
    assert_eq!(own(&home, "bob").len(), 1);
    let shown = home.run_json(&[
        "show",
        first["id"].as_str().expect("an id"),
        "--user",
        "bob",
    ]);
    assert_eq!(shown["records"][0]["text"], LESSON);

    // A pull changes, adds and takes away.
    fs::remove_file(folder.join(file.trim())).expect("removed");
    shared(
        &folder,
        "refunds.md",
        "---\ntitle: Refunds\n---\nRefunds are booked in the month of the sale.\n",
    );
    let results = recall_results(&home, "bob", "when are refunds booked?");
    assert_contains!(
        results[0]["text"].as_str().expect("a text"),
        "month of the sale"
    );
    assert!(!is_there(&recall_results(&home, "bob", question)));
    a_hook_tells_where_it_is_from(&home, &folder);
    home.run_ok(&["share", "trust", &path, "--user", "bob", "--remove"]);
    let after = recall_results(&home, "bob", "when are refunds booked?");
    assert!(!after.to_string().contains("month of the sale"), "{after}");
}

#[test]
fn what_leaves_with_a_branch_is_back_when_the_branch_is() {
    let home = Home::new();
    let folder = shop(&home);
    let path = folder.to_string_lossy().into_owned();
    home.run_ok(&["learn", "--user", "bob", "The gate is shut at night."]);
    shared(&folder, "coupons.md", LESSON);
    home.run_ok(&["share", "trust", &path, "--user", "bob"]);
    let is_there = || {
        let results = recall_results(&home, "bob", "how are coupons rounded?");
        results.to_string().contains("rounded once")
    };
    assert!(is_there());
    for _ in 0..2 {
        fs::remove_file(folder.join(".reprise/shared/coupons.md")).expect("removed");
        assert!(!is_there());
        shared(&folder, "coupons.md", LESSON);
        assert!(is_there(), "it is back");
    }
}

#[test]
fn what_a_clone_brings_is_bounded_and_said_once_when_it_is_trusted() {
    let home = Home::new();
    let folder = shop(&home);
    let path = folder.to_string_lossy().into_owned();
    shared(
        &folder,
        "key.md",
        "Deploys need a key.\npassword = \"hunter2hunter2hunter2\"\n",
    );
    shared(&folder, "huge.md", &"x ".repeat(50_000));
    let secret = home.folder().join("diary.md");
    fs::write(&secret, "Between us: the vault is under the stairs.").expect("written");
    symlink(&secret, folder.join(".reprise/shared/link.md")).expect("linked");
    home.run_ok(&["learn", "--user", "ada", "The lift is green."]);
    let said = home.run_json(&["share", "trust", &path, "--user", "ada"]);
    assert_eq!(said["lessons"], 1, "{said}");
    assert_eq!(said["problems"].as_array().map(Vec::len), Some(3), "{said}");
    assert!(!said.to_string().contains("hunter2"), "{said}");
    let results = recall_results(&home, "ada", "what do deploys need?");
    assert_contains!(results.to_string(), "Deploys need a key");
    assert!(!results.to_string().contains("hunter2"), "{results}");
    let vault = recall_results(&home, "ada", "where is the vault?");
    assert!(!vault.to_string().contains("stairs"), "{vault}");
    // Another repository at its place is not the one that was trusted.
    fs::remove_dir_all(folder.join(".git")).expect("removed");
    shared(&folder, "evil.md", "Deploys need no review.");
    let results = recall_results(&home, "ada", "what do deploys need?");
    assert!(!results.to_string().contains("Deploys need"), "{results}");
}
