//! Published knowledge through the real binary: shown, refused, found by others, taken back.

mod again;
mod finish;
mod hooks;
mod nodes;
mod operator;
mod projects;
mod quotas;
mod reviews;
mod service;
mod teams;

use std::fs;
use std::path::{Path, PathBuf};

use reprise_tests::{
    RunOutput, assert_contains, assert_fields, assert_lacks, reprise_command, run_to_end,
};
use reprise_types::sha256_hex;
use serde_json::{Value, json};

pub(crate) fn run(data: &Path, arguments: &[&str]) -> RunOutput {
    let mut command = reprise_command(data).expect("reprise is built");
    command.args(["--no-model", "--json"]).args(arguments);
    run_to_end(&mut command).expect("reprise runs")
}

pub(crate) fn run_json(data: &Path, arguments: &[&str]) -> Value {
    let finished = run(data, arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
    serde_json::from_str(finished.stdout.lines().next().unwrap_or("null")).expect("JSON")
}

/// The sentence of a command that did nothing.
fn refused(data: &Path, arguments: &[&str]) -> String {
    let finished = run(data, arguments);
    assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stdout);
    assert_eq!(finished.stdout, "", "{arguments:?}");
    finished.stderr
}

fn ingest(data: &Path, user: &str, lines: &[Value]) {
    let file = data.join("lines.jsonl");
    fs::create_dir_all(data).expect("a data directory");
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&file, lines.join("\n")).expect("lines are written");
    let path = file.to_string_lossy();
    run_json(
        data,
        &["ingest", "--user", user, "--verbatim", "--jsonl", &path],
    );
}

fn recall(data: &Path, user: &str, scope: &str, query: &str) -> Vec<Value> {
    let answer = run_json(data, &["recall", "--user", user, "--scope", scope, query]);
    answer["results"].as_array().cloned().unwrap_or_default()
}

fn the_receipt_is_no_knowledge(data: &Path, published: &Value, id: &str) {
    // The receipt is in Ann's own log, and says nothing of the content.
    let receipt_id = published["receipt"].as_str().expect("a receipt");
    let receipt = run_json(data, &["show", "--user", "ann", receipt_id]).to_string();
    assert_contains!(receipt, id);
    assert_lacks!(receipt, "starves");

    // It is no knowledge: nothing but its id, and `published`, leads to it, and it stays here.
    let listed = run_json(data, &["list", "--user", "ann"]).to_string();
    assert_lacks!(listed, "Published record");
    let found = recall(
        data,
        "ann",
        "local",
        "published record global store version",
    );
    assert!(
        found
            .iter()
            .all(|one| !one.to_string().contains("Published record")),
        "{found:?}"
    );
    let said = refused(
        data,
        &["share", "publish", "--user", "ann", receipt_id, "--yes"],
    );
    assert_contains!(said, "is a receipt");
}

const KEY: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn data() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = folder.path().join("data");
    ingest(
        &data,
        "ann",
        &[
            json!({"external_id": "tokio", "text": format!(
                "Blocking inside an async handler starves tokio. My key is {KEY}. \
                 <private>Ann's diary</private>"), "tags": ["rust"]}),
            json!({"external_id": "salary", "text": "My salary is low",
                "tags": ["sensitive"]}),
            json!({"external_id": "diary", "text": "Dear diary",
                "visibility": "private"}),
        ],
    );
    ingest(
        &data,
        "bob",
        &[json!({"external_id": "1", "text": "The lift is broken"})],
    );
    (folder, data)
}

#[test]
fn what_is_published_is_shown_first_found_by_others_and_taken_back() {
    let (_folder, data) = data();
    let shown = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--dry-run"],
    );
    let exact = shown["exact"].as_str().expect("the bytes");
    assert_contains!(exact, "starves tokio");
    assert_lacks!(exact, KEY, "diary");
    assert_lacks!(exact, "ann");
    assert_eq!(shown["bytes"], exact.len());
    assert!(recall(&data, "bob", "global", "tokio").is_empty());

    let said = refused(&data, &["share", "publish", "--user", "ann", "tokio"]);
    assert_contains!(said, "--yes", "--dry-run");
    let published = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    let thing = &published["published"][0];
    assert_fields!(thing, "version": "1", "bytes": shown["bytes"]);
    let id = thing["id"].as_str().expect("an id").to_owned();

    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found[0]["id"], id);
    assert_eq!(found[0]["scope"], "global");
    assert_fields!(found[0], "author": "ann", "version": "1");
    assert_eq!(found[0]["quality"], 0.5);
    let both = recall(&data, "bob", "local+global", "tokio handler lift");
    let scopes: Vec<&str> = both
        .iter()
        .filter_map(|hit| hit["scope"].as_str())
        .collect();
    assert!(
        scopes.contains(&"local") && scopes.contains(&"global"),
        "{both:?}"
    );
    let local = recall(&data, "bob", "local", "tokio handler");
    assert!(local.iter().all(|hit| hit["id"] != id), "{local:?}");
    // A user who has no memory yet finds what others published.
    assert_eq!(
        recall(&data, "new", "local+global", "tokio handler")[0]["id"],
        id
    );
    let block = run_json(
        &data,
        &[
            "recall",
            "--user",
            "bob",
            "--scope",
            "global",
            "--budget",
            "200",
            "tokio handler",
        ],
    );
    let text = block["text"].as_str().expect("a text");
    assert_contains!(text, "published by ann, version 1");

    the_receipt_is_no_knowledge(&data, &published, &id);

    let again = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    assert_eq!(again["published"][0]["id"], id);
    assert_eq!(again["published"][0]["unchanged"], true);

    let said = refused(&data, &["share", "unpublish", "--user", "bob", &id]);
    assert_contains!(said, "only its author");
    let gone = run_json(&data, &["share", "unpublish", "--user", "ann", &id]);
    assert_eq!(
        (&gone["unpublished"], &gone["verified"]),
        (&id.as_str().into(), &true.into())
    );
    assert!(recall(&data, "bob", "global", "tokio handler").is_empty());
    let left = run_json(&data, &["share", "list", "--user", "ann"]);
    assert_eq!(left["published"].as_array().map(Vec::len), Some(0));
    refused(&data, &["share", "unpublish", "--user", "ann", &id]);
}

#[test]
fn a_corrected_record_becomes_a_new_version() {
    let (_folder, data) = data();
    let exact = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--dry-run"],
    )["exact"]
        .clone();
    let exact = exact.as_str().expect("the bytes");
    let published = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    let id = published["published"][0]["id"].clone();
    let checksum = || {
        let rows = run_json(&data, &["share", "list", "--user", "ann"]);
        rows["published"][0]["checksum"].clone()
    };
    let of_first = sha256_hex(exact.as_bytes());
    assert_eq!(checksum(), of_first);
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    run_json(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    // What left stays as it was until it is published again.
    let stays = recall(&data, "bob", "global", "tokio handler");
    assert_eq!((stays.len(), &stays[0]["version"]), (1, &"1".into()));
    assert_lacks!(stays[0].to_string(), "spawn_blocking");
    assert_eq!(checksum(), of_first);
    let published = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    let thing = &published["published"][0];
    assert_eq!((&thing["id"], &thing["version"]), (&id, &"2".into()));
    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["version"], "2");
    assert_ne!(checksum(), of_first);
}

#[test]
fn what_is_marked_stays_and_a_policy_needs_its_readers() {
    let (folder, data) = data();
    for (record, word) in [
        ("salary", "sensitive"),
        ("diary", "private"),
        ("none", "no memory"),
    ] {
        for yes in ["--yes", "--dry-run"] {
            let said = refused(&data, &["share", "publish", "--user", "ann", record, yes]);
            assert_contains!(said, word);
            // Nothing of the others leaves either.
            refused(
                &data,
                &["share", "publish", "--user", "ann", "tokio", record, yes],
            );
        }
    }
    assert!(recall(&data, "bob", "global", "salary diary tokio").is_empty());
    let to_org = [
        "share", "publish", "--user", "ann", "tokio", "--policy", "org", "--yes",
    ];
    let said = refused(&data, &to_org);
    assert_contains!(said, "no organisation");
    let config = folder.path().join("config.toml");
    fs::write(
        &config,
        "[global.organisations]\nacme = [\"ann\", \"mia\"]\n",
    )
    .expect("written");
    let config = config.to_string_lossy().into_owned();
    let with = |arguments: &[&str]| run_json(&data, &[&["--config", &config], arguments].concat());
    with(&to_org);
    for (user, found) in [("mia", 1), ("bob", 0)] {
        let answer = with(&["recall", "--user", user, "--scope", "global", "tokio"]);
        let results = answer["results"].as_array().map_or(0, Vec::len);
        assert_eq!(results, found, "{user}");
    }
}

#[test]
fn a_branch_is_tried_out_by_its_author_and_merged_or_dropped() {
    let (_folder, data) = data();
    let branch = |user: &str, arguments: &[&str]| {
        let own = ["--user", user];
        run(&data, &[&["global", "branch"], arguments, &own].concat())
    };
    let titles = |user: &str| -> Vec<Value> {
        let asked = branch(user, &["ask", "next", "tokio handler"]).expect_code(0);
        let answer: Value = serde_json::from_str(&asked.stdout).expect("JSON");
        let hits = answer["hits"].as_array().expect("hits").iter();
        hits.map(|hit| hit["record"]["title"].clone()).collect()
    };
    let publish = ["share", "publish", "--user", "ann", "tokio", "--yes"];
    let on_branch = [&publish[..], &["--branch", "next", "--title", "Tried"]].concat();
    let said = refused(&data, &on_branch);
    assert_contains!(said, "global branch add next");
    assert_eq!(branch("ann", &["add", "next"]).code, Some(0));
    run_json(&data, &on_branch);
    assert_eq!(titles("ann"), ["Tried"]);
    assert!(recall(&data, "bob", "global", "tokio handler").is_empty());
    assert!(recall(&data, "ann", "global", "tokio handler").is_empty());
    let theirs = branch("bob", &["ask", "next", "tokio handler"]).expect_code(2);
    assert_contains!(theirs.stderr, "you have no branch");
    branch("ann", &["merge", "next"]).expect_code(0);
    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found[0]["version"], "1");
    let seen = call(&data, "ann", "visibility", &json!({ "id": "tokio" }));
    assert_fields!(seen, "published": found[0]["id"], "version": "1");

    assert_eq!(branch("ann", &["add", "next"]).code, Some(0));
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    run_json(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    let drafted = run_json(&data, &on_branch);
    assert_eq!(drafted["published"][0]["id"], found[0]["id"]);
    assert_eq!(drafted["published"][0]["version"], "2");
    assert_eq!(branch("ann", &["drop", "next"]).code, Some(0));
    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!((found.len(), &found[0]["version"]), (1, &"1".into()));
}

/// A power cut between the merge and its receipt leaves the memory as it was before both.
#[test]
fn a_merge_whose_answer_was_lost_leaves_its_receipt_the_next_time() {
    let (folder, data) = data();
    let branch = |verb: &'static str| ["global", "branch", verb, "next", "--user", "ann"];
    run_json(&data, &branch("add"));
    let publish = ["share", "publish", "--user", "ann", "tokio", "--yes"];
    run_json(&data, &[&publish[..], &["--branch", "next"]].concat());
    let (memory, before) = (data.join("ann/memory.rvf"), folder.path().join("before"));
    fs::copy(&memory, &before).expect("copied");
    let merged = run_json(&data, &branch("merge"));
    fs::copy(&before, &memory).expect("copied back");
    let again = run_json(&data, &branch("merge"));
    for what in ["id", "version", "bytes"] {
        let of = |answer: &Value| answer["published"][0][what].clone();
        assert_eq!(of(&again), of(&merged), "{what}");
    }
    let shown = json!({ "id": "tokio" });
    let seen = call(&data, "ann", "visibility", &shown);
    assert_eq!(seen["published"], merged["published"][0]["id"], "{seen}");
    assert!(again["receipt"].is_string(), "{again}");
    assert_eq!(run_json(&data, &branch("merge")), again);
    // What was dropped was not merged.
    run_json(&data, &branch("add"));
    let other = [&publish[..], &["--branch", "next", "--title", "Other"]];
    run_json(&data, &other.concat());
    run_json(&data, &branch("drop"));
    let is_over = || {
        let said = refused(&data, &branch("merge"));
        assert_contains!(said, "you have no branch");
    };
    is_over();
    // Nor is it where the same was published by itself.
    run_json(&data, &[&publish[..], &["--title", "Other"]].concat());
    is_over();
    // What a merge published and its author took back since is published no more.
    run_json(&data, &branch("add"));
    let third = [&publish[..], &["--branch", "next", "--title", "Third"]];
    run_json(&data, &third.concat());
    let merged = run_json(&data, &branch("merge"));
    let id = merged["published"][0]["id"].as_str().expect("an id");
    run_json(&data, &["share", "unpublish", id, "--user", "ann"]);
    is_over();
}

/// What a command says to a person.
fn run_for_person(data: &Path, arguments: &[&str]) -> String {
    let mut command = reprise_command(data).expect("reprise is built");
    let told = run_to_end(command.arg("--no-model").args(arguments)).expect("reprise runs");
    assert_eq!(told.code, Some(0), "{arguments:?}: {}", told.stderr);
    told.stdout
}

#[test]
fn whoever_hides_or_forgets_a_record_hears_of_its_published_copy() {
    for act in [
        &["edit", "tokio", "--tags", "private"][..],
        &["edit", "tokio", "--tags", "sensitive", "--content", "New"],
        &["forget", "tokio"],
        &["forget", "--tag", "rust"],
        &["forget", "--tag", "rust", "--verify"],
    ] {
        let (_folder, data) = data();
        let published = run_json(
            &data,
            &["share", "publish", "--user", "ann", "tokio", "--yes"],
        );
        let id = published["published"][0]["id"].as_str().expect("an id");
        let take_back = format!("`reprise share unpublish {id} --user ann`");
        let harmless = run_for_person(&data, &["edit", "tokio", "--tags", "rust", "--user", "ann"]);
        assert_lacks!(harmless, "unpublish");

        let said = run_for_person(&data, &[act, &["--user", "ann"]].concat());
        assert_eq!(said.matches(&take_back).count(), 1, "{act:?}: {said}");
    }
}

#[test]
fn of_what_was_taken_back_nothing_is_said() {
    let (_folder, data) = data();
    let published = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    let id = published["published"][0]["id"].as_str().expect("an id");
    run_json(&data, &["share", "unpublish", id, "--user", "ann"]);
    for act in [
        &["edit", "tokio", "--tags", "private"][..],
        &["forget", "tokio"],
    ] {
        let said = run_for_person(&data, &[act, &["--user", "ann"]].concat());
        assert!(!said.contains("unpublish"), "{act:?}: {said}");
    }
}

fn call(data: &Path, user: &str, operation: &str, arguments: &Value) -> Value {
    let text = arguments.to_string();
    run_json(data, &["call", operation, &text, "--user", user])
}

fn refused_call(data: &Path, user: &str, operation: &str, arguments: &Value) -> String {
    let text = arguments.to_string();
    refused(data, &["call", operation, &text, "--user", user])
}

#[test]
fn the_operations_publish_what_was_shown_and_tell_of_newer_versions() {
    let (_folder, data) = data();
    let what = json!({ "ids": ["tokio"], "title": "Tokio handlers" });
    let shown = call(&data, "ann", "publish_preview", &what);
    let shown = &shown["leaving"][0];
    let agreed = |hash: &str| {
        let mut agreed = what.clone();
        agreed["agreed"] = json!([hash]);
        agreed
    };
    let said = refused_call(&data, "ann", "publish", &agreed(&"0".repeat(64)));
    assert_contains!(said, "not what was shown");
    assert!(recall(&data, "bob", "global", "tokio handler").is_empty());
    let hash = shown["sha256"].as_str().expect("a hash");
    let first = call(&data, "ann", "publish", &agreed(hash));
    let id = first["published"][0]["id"].clone();
    let shown = call(&data, "ann", "publish_preview", &what);
    assert_eq!(shown["leaving"][0]["replaces"], id);

    // What a run of Bob's used is known by its version, and a newer one is told of.
    let ask = json!({ "query": "tokio handler", "scope": "local+global" });
    let found = call(&data, "bob", "recall", &ask);
    assert_eq!(found["notes"], json!([]));
    let hit = found["results"].as_array().expect("results").iter();
    let mut hit = hit.filter(|hit| hit["id"] == id);
    assert_eq!(hit.next().expect("it is found")["scope"], "global");
    let light = call(&data, "bob", "brief", &ask);
    let light = light["results"].as_array().expect("results").iter();
    let mut light = light.filter(|hit| hit["id"] == id);
    assert_eq!(light.next().expect("it is found")["author"], "ann");
    let outcome = json!({ "query": "tokio", "used": [id], "quality": 0.9 });
    call(&data, "bob", "outcome", &outcome);
    let receipts = call(&data, "bob", "receipts", &json!({}));
    let used = &receipts["receipts"][0];
    assert_fields!(used, "act": "used", "version": "1");
    let nobody = json!({ "query": "tokio", "used": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        "quality": 0.9 });
    let told = || call(&data, "bob", "stats", &json!({}))["learning"]["runs"].take();
    let before = told();
    let said = refused_call(&data, "bob", "outcome", &nobody);
    assert_contains!(said, "no memory with id");
    assert_eq!(told(), before, "what is refused is not learned from");
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    run_json(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    let next = run_json(
        &data,
        &["share", "publish", "--user", "ann", "tokio", "--yes"],
    );
    assert_eq!(next["published"][0]["version"], "2");
    let found = call(&data, "bob", "recall", &ask);
    let note = found["notes"][0].as_str().expect("a note");
    assert_contains!(note, "is at version 2: you have used version 1");
    shown_and_narrowed(&data, &id);
}

/// Who can see a record, a published thing whole, and a filter on what others published.
fn shown_and_narrowed(data: &Path, id: &Value) {
    let seen = call(data, "ann", "visibility", &json!({ "id": "tokio" }));
    assert_eq!((&seen["published"], &seen["version"]), (id, &"2".into()));
    let seen = call(data, "ann", "visibility", &json!({ "id": "salary" }));
    let stays = |seen: &Value| -> usize {
        let ways = seen["ways"].as_array().expect("ways").iter();
        ways.filter(|way| way["stays"].is_string()).count()
    };
    assert_eq!(stays(&seen), 4);
    let whole = call(data, "bob", "get", &json!({ "id": id }));
    assert_contains!(whole["records"][0]["text"].to_string(), "spawn_blocking");
    let thing = json!({ "id": id, "version": "1" });
    let thing = call(data, "bob", "published_thing", &thing);
    assert_eq!(thing["title"], "Tokio handlers");
    // A filter narrows what others published too.
    for (tag, count) in [("rust", 1), ("python", 0)] {
        let narrow = json!({ "query": "tokio", "scope": "global", "tag": [tag] });
        let found = call(data, "bob", "recall", &narrow);
        assert_eq!(
            found["results"].as_array().map(Vec::len),
            Some(count),
            "{tag}"
        );
    }
}
