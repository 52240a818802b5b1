//! Published knowledge through the real binary: shown, refused, found by others, taken back.

mod again;
mod finish;
mod hooks;
mod nodes;
mod operator;
mod service;
mod teams;

use std::fs;
use std::path::{Path, PathBuf};

use reprise_tests::{Finished, finish, has, lacks, reprise, says};
use reprise_types::sha256_hex;
use serde_json::{Value, json};

pub(crate) fn run(data: &Path, arguments: &[&str]) -> Finished {
    let mut command = reprise(data).expect("reprise is built");
    command.args(["--no-model", "--json"]).args(arguments);
    finish(&mut command).expect("reprise runs")
}

pub(crate) fn done(data: &Path, arguments: &[&str]) -> Value {
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
    done(
        data,
        &["ingest", "--user", user, "--verbatim", "--jsonl", &path],
    );
}

fn recall(data: &Path, user: &str, scope: &str, query: &str) -> Vec<Value> {
    let answer = done(data, &["recall", "--user", user, "--scope", scope, query]);
    answer["results"].as_array().cloned().unwrap_or_default()
}

fn the_receipt_is_no_knowledge(data: &Path, published: &Value, id: &str) {
    // The receipt is in Ann's own log, and says nothing of the content.
    let receipt_id = published["receipt"].as_str().expect("a receipt");
    let receipt = done(data, &["show", "--user", "ann", receipt_id]).to_string();
    says!(receipt, id);
    lacks!(receipt, "starves");

    // It is no knowledge: nothing but its id, and `published`, leads to it, and it stays here.
    let listed = done(data, &["list", "--user", "ann"]).to_string();
    lacks!(listed, "Published record");
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
    let said = refused(data, &["publish", "--user", "ann", receipt_id, "--yes"]);
    says!(said, "is a receipt");
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
    let shown = done(&data, &["publish", "--user", "ann", "tokio", "--dry-run"]);
    let exact = shown["exact"].as_str().expect("the bytes");
    says!(exact, "starves tokio");
    lacks!(exact, KEY, "diary");
    lacks!(exact, "ann");
    assert_eq!(shown["bytes"], exact.len());
    assert!(recall(&data, "bob", "global", "tokio").is_empty());

    let said = refused(&data, &["publish", "--user", "ann", "tokio"]);
    says!(said, "--yes", "--dry-run");
    let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    let thing = &published["published"][0];
    has!(thing, "version": "1", "bytes": shown["bytes"]);
    let id = thing["id"].as_str().expect("an id").to_owned();

    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found[0]["id"], id);
    assert_eq!(found[0]["scope"], "global");
    has!(found[0], "author": "ann", "version": "1");
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
    let block = done(
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
    says!(text, "published by ann, version 1");

    the_receipt_is_no_knowledge(&data, &published, &id);

    let again = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    assert_eq!(again["published"][0]["id"], id);
    assert_eq!(again["published"][0]["unchanged"], true);

    let said = refused(&data, &["unpublish", "--user", "bob", &id]);
    says!(said, "only its author");
    let gone = done(&data, &["unpublish", "--user", "ann", &id]);
    assert_eq!(
        (&gone["unpublished"], &gone["verified"]),
        (&id.as_str().into(), &true.into())
    );
    assert!(recall(&data, "bob", "global", "tokio handler").is_empty());
    let left = done(&data, &["published", "--user", "ann"]);
    assert_eq!(left["published"].as_array().map(Vec::len), Some(0));
    refused(&data, &["unpublish", "--user", "ann", &id]);
}

#[test]
fn a_corrected_record_becomes_a_new_version() {
    let (_folder, data) = data();
    let exact = done(&data, &["publish", "--user", "ann", "tokio", "--dry-run"])["exact"].clone();
    let exact = exact.as_str().expect("the bytes");
    let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    let id = published["published"][0]["id"].clone();
    let checksum = || {
        let rows = done(&data, &["published", "--user", "ann"]);
        rows["published"][0]["checksum"].clone()
    };
    let of_first = sha256_hex(exact.as_bytes());
    assert_eq!(checksum(), of_first);
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    done(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    // What left stays as it was until it is published again.
    let stays = recall(&data, "bob", "global", "tokio handler");
    assert_eq!((stays.len(), &stays[0]["version"]), (1, &"1".into()));
    lacks!(stays[0].to_string(), "spawn_blocking");
    assert_eq!(checksum(), of_first);
    let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
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
        ("none", "no record"),
    ] {
        for yes in ["--yes", "--dry-run"] {
            let said = refused(&data, &["publish", "--user", "ann", record, yes]);
            says!(said, word);
            // Nothing of the others leaves either.
            refused(&data, &["publish", "--user", "ann", "tokio", record, yes]);
        }
    }
    assert!(recall(&data, "bob", "global", "salary diary tokio").is_empty());
    let to_org = [
        "publish", "--user", "ann", "tokio", "--policy", "org", "--yes",
    ];
    let said = refused(&data, &to_org);
    says!(said, "no organisation");
    let config = folder.path().join("config.toml");
    fs::write(
        &config,
        "[global.organisations]\nacme = [\"ann\", \"mia\"]\n",
    )
    .expect("written");
    let config = config.to_string_lossy().into_owned();
    let with = |arguments: &[&str]| done(&data, &[&["--config", &config], arguments].concat());
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
        let asked = branch(user, &["ask", "next", "tokio handler"]).ended(0);
        let answer: Value = serde_json::from_str(&asked.stdout).expect("JSON");
        let hits = answer["hits"].as_array().expect("hits").iter();
        hits.map(|hit| hit["record"]["title"].clone()).collect()
    };
    let publish = ["publish", "--user", "ann", "tokio", "--yes"];
    let on_branch = [&publish[..], &["--branch", "next", "--title", "Tried"]].concat();
    let said = refused(&data, &on_branch);
    says!(said, "global branch add next");
    assert_eq!(branch("ann", &["add", "next"]).code, Some(0));
    done(&data, &on_branch);
    assert_eq!(titles("ann"), ["Tried"]);
    assert!(recall(&data, "bob", "global", "tokio handler").is_empty());
    assert!(recall(&data, "ann", "global", "tokio handler").is_empty());
    let theirs = branch("bob", &["ask", "next", "tokio handler"]).ended(2);
    says!(theirs.stderr, "you have no branch");
    branch("ann", &["merge", "next"]).ended(0);
    let found = recall(&data, "bob", "global", "tokio handler");
    assert_eq!(found[0]["version"], "1");
    let seen = call(&data, "ann", "visibility", &json!({ "id": "tokio" }));
    has!(seen, "published": found[0]["id"], "version": "1");

    assert_eq!(branch("ann", &["add", "next"]).code, Some(0));
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    done(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    let drafted = done(&data, &on_branch);
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
    done(&data, &branch("add"));
    let publish = ["publish", "--user", "ann", "tokio", "--yes"];
    done(&data, &[&publish[..], &["--branch", "next"]].concat());
    let (memory, before) = (data.join("ann/memory.rvf"), folder.path().join("before"));
    fs::copy(&memory, &before).expect("copied");
    let merged = done(&data, &branch("merge"));
    fs::copy(&before, &memory).expect("copied back");
    let again = done(&data, &branch("merge"));
    for what in ["id", "version", "bytes"] {
        let of = |answer: &Value| answer["published"][0][what].clone();
        assert_eq!(of(&again), of(&merged), "{what}");
    }
    let shown = json!({ "id": "tokio" });
    let seen = call(&data, "ann", "visibility", &shown);
    assert_eq!(seen["published"], merged["published"][0]["id"], "{seen}");
    assert!(again["receipt"].is_string(), "{again}");
    assert_eq!(done(&data, &branch("merge")), again);
    // What was dropped was not merged.
    done(&data, &branch("add"));
    let other = [&publish[..], &["--branch", "next", "--title", "Other"]];
    done(&data, &other.concat());
    done(&data, &branch("drop"));
    let is_over = || {
        let said = refused(&data, &branch("merge"));
        says!(said, "you have no branch");
    };
    is_over();
    // Nor is it where the same was published by itself.
    done(&data, &[&publish[..], &["--title", "Other"]].concat());
    is_over();
    // What a merge published and its author took back since is published no more.
    done(&data, &branch("add"));
    let third = [&publish[..], &["--branch", "next", "--title", "Third"]];
    done(&data, &third.concat());
    let merged = done(&data, &branch("merge"));
    let id = merged["published"][0]["id"].as_str().expect("an id");
    done(&data, &["unpublish", id, "--user", "ann"]);
    is_over();
}

/// What a command says to a person.
fn told(data: &Path, arguments: &[&str]) -> String {
    let mut command = reprise(data).expect("reprise is built");
    let told = finish(command.arg("--no-model").args(arguments)).expect("reprise runs");
    assert_eq!(told.code, Some(0), "{arguments:?}: {}", told.stderr);
    told.stdout
}

#[test]
fn whoever_hides_or_forgets_a_record_hears_of_its_published_copy() {
    for act in [
        &["edit", "tokio", "--tags", "private"][..],
        &["edit", "tokio", "--tags", "sensitive", "--content", "New"],
        &["delete", "tokio"],
        &["forget", "--tag", "rust"],
        &["forget", "--tag", "rust", "--verify"],
    ] {
        let (_folder, data) = data();
        let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
        let id = published["published"][0]["id"].as_str().expect("an id");
        let take_back = format!("`reprise unpublish {id} --user ann`");
        let harmless = told(&data, &["edit", "tokio", "--tags", "rust", "--user", "ann"]);
        lacks!(harmless, "unpublish");

        let said = told(&data, &[act, &["--user", "ann"]].concat());
        assert_eq!(said.matches(&take_back).count(), 1, "{act:?}: {said}");
    }
}

#[test]
fn of_what_was_taken_back_nothing_is_said() {
    let (_folder, data) = data();
    let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    let id = published["published"][0]["id"].as_str().expect("an id");
    done(&data, &["unpublish", id, "--user", "ann"]);
    for act in [
        &["edit", "tokio", "--tags", "private"][..],
        &["delete", "tokio"],
    ] {
        let said = told(&data, &[act, &["--user", "ann"]].concat());
        assert!(!said.contains("unpublish"), "{act:?}: {said}");
    }
}

fn call(data: &Path, user: &str, operation: &str, arguments: &Value) -> Value {
    let text = arguments.to_string();
    done(data, &["call", operation, &text, "--user", user])
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
    says!(said, "not what was shown");
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
    has!(used, "act": "used", "version": "1");
    let nobody = json!({ "query": "tokio", "used": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        "quality": 0.9 });
    let said = refused_call(&data, "bob", "outcome", &nobody);
    says!(said, "no record");
    let corrected = "Blocking inside an async handler starves tokio; use spawn_blocking.";
    done(
        &data,
        &["edit", "--user", "ann", "tokio", "--content", corrected],
    );
    let next = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    assert_eq!(next["published"][0]["version"], "2");
    let found = call(&data, "bob", "recall", &ask);
    let note = found["notes"][0].as_str().expect("a note");
    says!(note, "is at version 2: you have used version 1");
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
    says!(whole["records"][0]["text"].to_string(), "spawn_blocking");
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
