//! What was made of a memory and is stored elsewhere, when a part of it is forgotten for good: the
//! real binary on real files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::global::{run, run_json};
use crate::home::Home;
use crate::observations::long_session;

const ALONE: [&str; 3] = ["--no-daemon", "--user", "ada"];

/// Returns the path of each copy that a proof names, with its kind and how many records it holds.
fn copies(proof: &Value) -> BTreeMap<PathBuf, (String, Option<u64>)> {
    let rows = proof["copies"].as_array().expect("a list").iter();
    let named = rows.map(|row| {
        let kind = row["kind"].as_str().expect("a kind").to_owned();
        let file = row["file"].as_str().expect("a path").into();
        (file, (kind, row["records"].as_u64()))
    });
    named.collect()
}

/// A text that no form writes as it is: long, on many lines, quoted, folded, cut by pages.
fn long(word: &str) -> String {
    let line = |n: usize| {
        format!("{n}: the {word} said \"it's {n} degrees\" \\ and went on for some time after that")
    };
    (0..200).map(line).collect::<Vec<_>>().join("\n")
}

const FORMATS: [&str; 8] = [
    "jsonl",
    "json",
    "yaml",
    "markdown",
    "rvf",
    "sunwell",
    "ai-lessons",
    "frames",
];

#[test]
fn a_proof_looks_into_every_export_wherever_it_stands() {
    let home = Home::with(&ALONE);
    let (gone, stays) = (long("heron"), long("stork"));
    home.keep(
        &[
            json!({ "external_id": "gone", "text": gone, "tags": ["birds"] }),
            json!({ "external_id": "short", "text": "the ibis flew off", "tags": ["birds"] }),
            json!({ "external_id": "stays", "text": stays }),
        ],
        &[],
    );
    let place = |format: &str| home.folder().join(format!("out-{format}"));
    let export = |format: &str| {
        let out = place(format);
        let _was_there = fs::remove_file(&out).or_else(|_| fs::remove_dir_all(&out));
        home.run_ok(&[
            "export",
            "--format",
            format,
            "--out",
            &out.to_string_lossy(),
        ]);
    };
    FORMATS.into_iter().for_each(export);
    let proof = home.run_json(&["forget", "--tag", "birds", "--verify"]);
    assert_eq!(proof["traces_in_file"], 0);
    let named = copies(&proof);
    for format in FORMATS {
        let at = place(format);
        let own = named.iter().filter(|(file, _)| file.starts_with(&at));
        let held: u64 = own.clone().filter_map(|(_, (_, records))| *records).sum();
        // The index of a folder of notes tells the title of one of them.
        let expected = if format == "markdown" { 3 } else { 2 };
        assert_eq!(held, expected, "{format}: {proof}");
        assert!(own.into_iter().all(|(_, (kind, _))| kind == "export"));
    }
    // Exported anew they hold nothing of it, and what is removed is no copy.
    for format in &FORMATS[..7] {
        export(format);
    }
    fs::remove_file(place("frames")).expect("removed");
    home.keep(
        &[json!({ "external_id": "again", "text": gone, "tags": ["birds"] })],
        &[],
    );
    let proof = home.run_json(&["forget", "--tag", "birds", "--verify"]);
    assert_eq!(proof["copies"], json!([]), "{proof}");
}

#[test]
fn a_plain_forgetting_names_only_the_files_that_have_the_text() {
    let home = Home::with(&ALONE);
    let birds = ["heron", "stork", "ibis", "crane", "egret"];
    let notes = birds.map(|bird| {
        json!({ "external_id": bird, "text": format!("the {bird} stood in the reeds until noon") })
    });
    home.keep(&notes, &[]);
    let out = home.folder().join("notes");
    home.run_ok(&[
        "export",
        "--format",
        "markdown",
        "--out",
        &out.to_string_lossy(),
    ]);
    let said = home.run_ok(&["forget", "stork"]);
    assert!(said.contains("stork"), "{said}");
    for other in ["heron", "ibis", "crane", "egret", "more exports"] {
        assert!(!said.contains(other), "{other}: {said}");
    }
}

#[test]
fn a_backup_with_a_forgotten_text_is_to_be_deleted_and_a_branch_to_be_dropped() {
    let home = Home::with(&ALONE);
    home.keep(&[json!({ "text": long("heron"), "tags": ["birds"] })], &[]);
    home.run_ok(&["backup", &home.path("b.rvf")]);
    home.run_ok(&["branch", "fork", "try"]);
    let said = home.run_ok(&["forget", "--tag", "birds", "--verify"]);
    let remedy_of = |file: &str| {
        let mut lines = said.lines().filter(|line| line.contains("still has"));
        lines.find(|line| line.contains(file)).expect(file)
    };
    assert!(
        remedy_of("b.rvf").ends_with("delete it; a backup that is made now does not have them")
    );
    assert!(remedy_of("ada+try").ends_with("forget it there too, or drop the branch"));
}

#[test]
fn a_projection_is_written_anew_wherever_it_was_put() {
    let home = Home::with(&ALONE);
    home.keep(
        &[
            json!({ "text": long("heron"), "tags": ["birds"] }),
            json!({ "text": "what stays is here to stay" }),
        ],
        &[],
    );
    let config = home.folder().join("config.toml");
    let configured = home.folder().join("configured");
    let projection = format!(
        "[[projections]]\nuser = \"ada\"\nkind = \"markdown\"\npath = {:?}\n",
        configured.display().to_string()
    );
    fs::write(&config, projection).expect("written");
    home.run_ok(&["--config", &config.to_string_lossy(), "doctor", "rebuild"]);
    let elsewhere = home.folder().join("elsewhere");
    home.run_ok(&[
        "doctor",
        "rebuild",
        "markdown",
        "--to",
        &elsewhere.to_string_lossy(),
    ]);
    let notes = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let paths = entries.map(|entry| entry.path());
        let mut notes: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
            .filter(|path| !path.ends_with("index.md"))
            .collect();
        notes.sort();
        notes
    };
    assert_eq!((notes(&configured).len(), notes(&elsewhere).len()), (2, 2));
    // The configuration no longer names it, and one note belongs to somebody else by now.
    fs::write(elsewhere.join("mine.md"), long("heron")).expect("written");
    let proof = home.run_json(&["forget", "--tag", "birds", "--verify"]);
    assert_eq!(notes(&configured).len(), 1);
    assert_eq!(notes(&elsewhere).len(), 2);
    let expected = BTreeMap::from([(
        elsewhere.join("mine.md"),
        ("projection".to_owned(), Some(1)),
    )]);
    assert_eq!(copies(&proof), expected);
}

#[test]
fn of_a_project_only_the_files_of_its_memory_are_looked_into() {
    let home = Home::with(&ALONE);
    let fact = "the heron nests by the weir";
    let learning = json!({ "fact": fact, "category": "pattern", "tags": ["birds"] });
    home.run_ok(&["call", "add_learning", &learning.to_string()]);
    let project = home.folder().join("project");
    fs::create_dir_all(project.join("src")).expect("a folder");
    fs::write(project.join("src/heron.txt"), fact).expect("written");
    home.run_ok(&[
        "doctor",
        "rebuild",
        "sunwell",
        "--to",
        &project.to_string_lossy(),
    ]);
    let stray = project.join(".sunwell/memory/old.jsonl");
    fs::write(&stray, fact).expect("written");
    let proof = home.run_json(&["forget", "--tag", "birds", "--verify"]);
    let named: Vec<PathBuf> = copies(&proof).into_keys().collect();
    assert_eq!(named, [stray], "{proof}");
}

#[test]
fn a_proof_names_what_was_published_and_who_says_it_too() {
    let home = Home::with(&ALONE);
    home.keep(
        &[
            json!({ "external_id": "a", "text": "the heron nests by the weir", "tags": ["birds"] }),
            json!({ "external_id": "b", "text": "I told them: the heron nests by the weir." }),
        ],
        &[],
    );
    let published = home.run_json(&["share", "publish", "a", "--yes"]);
    let id = published["published"][0]["id"].clone();
    assert!(id.is_string(), "{published}");
    let proof = home.run_json(&["forget", "--tag", "birds", "--verify"]);
    assert_eq!(
        (&proof["traces_in_file"], &proof["published"]),
        (&json!(0), &json!([id]))
    );
    assert_eq!(
        proof["said_by"].as_array().map(Vec::len),
        Some(1),
        "{proof}"
    );
    assert!(
        copies(&proof).values().any(|(kind, _)| kind == "published"),
        "{proof}"
    );
}

#[test]
fn a_proof_names_what_stands_on_a_branch() {
    let home = Home::with(&ALONE);
    home.keep(
        &[
            json!({ "external_id": "a", "text": "the heron nests by the weir", "tags": ["birds"] }),
            json!({ "external_id": "b", "text": "the ibis nests by the mill", "tags": ["ibis"] }),
        ],
        &[],
    );
    for branch in ["next", "later"] {
        home.run_ok(&["global", "branch", "add", branch]);
    }
    let draft = |name: &str, branch: &str| {
        let drafted = home.run_json(&["share", "publish", name, "--yes", "--branch", branch]);
        drafted["published"][0]["id"].clone()
    };
    let id = draft("a", "next");
    let said = home.run_ok(&["forget", "--tag", "birds", "--verify"]);
    let id = id.as_str().expect("an id");
    let line = said.lines().find(|line| line.contains(id));
    let line = line.expect("it is named");
    assert!(line.contains("branch `next`"), "{line}");
    assert!(line.contains("reprise global branch drop next"), "{line}");
    // What was dropped or merged no longer rests on it.
    draft("b", "next");
    home.run_ok(&["global", "branch", "drop", "next"]);
    draft("b", "later");
    let merged = home.run_json(&["global", "branch", "merge", "later"]);
    let proof = home.run_json(&["forget", "--tag", "ibis", "--verify"]);
    assert_eq!(
        proof["published"],
        json!([merged["published"][0]["id"]]),
        "{proof}"
    );
    assert_eq!(proof["drafts"], json!([]), "{proof}");
}

#[test]
fn a_copy_whose_folder_is_gone_can_be_struck_from_the_list() {
    let home = Home::with(&ALONE);
    home.keep(
        &[
            json!({ "external_id": "a", "text": "the heron nests by the weir" }),
            json!({ "external_id": "b", "text": "the ibis nests by the mill" }),
        ],
        &[],
    );
    let away = home.folder().join("away");
    fs::create_dir(&away).expect("a folder");
    let out = away.join("out.jsonl").to_string_lossy().into_owned();
    home.run_ok(&["export", "--out", &out]);
    fs::remove_dir_all(&away).expect("removed");
    for forget in [
        &["forget", "--external-id", "a"][..],
        &["forget", "--external-id", "b", "--verify"],
    ] {
        let said = home.run_ok(forget);
        let line = said.lines().find(|line| line.contains(&out));
        let line = line.unwrap_or_else(|| panic!("it is named: {said}"));
        assert!(line.contains(".reprise/backups.jsonl"), "{line}");
    }
}

#[test]
fn two_projections_of_one_place_are_both_looked_into() {
    let home = Home::with(&ALONE);
    let fact = "the heron nests by the weir";
    let learning = json!({ "fact": fact, "category": "pattern", "tags": ["birds"] });
    home.run_ok(&["call", "add_learning", &learning.to_string()]);
    let place = home.folder().join("place");
    let to = place.to_string_lossy().into_owned();
    for kind in ["sunwell", "markdown"] {
        home.run_ok(&["doctor", "rebuild", kind, "--to", &to, "--adopt"]);
    }
    let proof = home.run_json(&["forget", "--tag", "birds", "--verify"]);
    assert_eq!(copies(&proof), BTreeMap::new(), "{proof}");
}

#[test]
fn forgetting_one_observation_forgets_the_summary_that_tells_of_it() {
    let home = Home::with(&ALONE);
    home.keep(&long_session(), &[]);
    let done = home.run_ok(&["call", "compact_observations", "{\"session\":\"long\"}"]);
    let done: Value = serde_json::from_str(&done).expect("JSON");
    assert_eq!(done["summaries_created"], 2);
    let summary = done["summaries"][0].as_str().expect("an id");
    let shown = home.run_ok(&["call", "get", &json!({ "id": summary }).to_string()]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let originals = &shown["records"][0]["details"]["metadata"]["original_ids"];
    let original = originals[0].as_str().expect("an id");
    let would = home.run_json(&["forget", "--id", original, "--dry-run"]);
    let proof = home.run_json(&["forget", "--id", original, "--verify"]);
    assert_eq!(proof["forgotten"], json!([original, summary]));
    assert_eq!(would["forgotten"], proof["forgotten"]);
    assert_eq!(
        (&proof["traces_in_file"], &proof["said_by"]),
        (&json!(0), &json!([]))
    );
    // The others that it stood for answer again.
    let asked = json!({ "session": "long", "limit": 100 }).to_string();
    let left = home.run_ok(&["call", "observations", &asked]);
    let left: Value = serde_json::from_str(&left).expect("JSON");
    let count = originals.as_array().map(Vec::len);
    assert_eq!(
        left["total_count"].as_u64().map(|left| left as usize),
        count.map(|count| 12 - 1 + count - 1)
    );
}

#[test]
fn a_user_is_removed_whole_and_only_when_that_was_meant() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = folder.path().join("data");
    let notes = folder.path().join("notes.jsonl");
    fs::write(&notes, "{\"text\":\"the port is 8080\"}\n").expect("notes are written");
    let path = notes.to_string_lossy();
    for user in ["ada", "bob"] {
        run_json(&data, &["ingest", "--user", user, "--jsonl", &path]);
    }
    run_json(&data, &["branch", "fork", "idea", "--user", "ada"]);
    // No branch, whatever it is called.
    run_json(&data, &["ingest", "--user", "ada+own", "--jsonl", &path]);

    let everything = ["forget", "--user", "ada", "--everything"];
    let refused = run(&data, &everything).expect_code(2);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    let would = run_json(&data, &[&everything[..], &["--dry-run"]].concat());
    assert_eq!(would["branches"], json!(["ada+idea"]));
    assert!(data.join("ada+idea").exists());

    run_json(&data, &[&everything[..], &["--yes"]].concat());
    let left: Vec<bool> = ["ada", "ada+idea", "ada+own", "bob"]
        .map(|user| data.join(user).exists())
        .into();
    assert_eq!(left, [false, false, true, true]);
}

#[test]
fn of_a_user_who_goes_nothing_is_said_that_others_published() {
    let home = Home::with(&["--no-daemon"]);
    for (user, text) in [
        ("ada", "the heron nests by the weir"),
        ("bob", "the ibis flew"),
    ] {
        home.keep(
            &[json!({ "external_id": "a", "text": text })],
            &["--user", user],
        );
    }
    home.run_ok(&["share", "publish", "a", "--yes", "--user", "ada"]);
    let said = home.run_ok(&["forget", "--user", "bob", "--everything", "--yes"]);
    assert!(!said.contains("unpublish"), "{said}");
}

#[test]
fn forget_takes_an_external_id_by_itself_and_tells_the_option_of_one_given_as_an_id() {
    let home = Home::with(&ALONE);
    home.keep(
        &[json!({ "external_id": "m5", "text": "the ibis flew off" })],
        &[],
    );
    let told = home.run(&["forget", "--id", "m5"]).expect_code(2);
    assert!(told.stderr.contains("--external-id m5"), "{}", told.stderr);
    home.run_ok(&["forget", "m5"]);
    home.run(&["forget", "m5"]).expect_code(2);
}
