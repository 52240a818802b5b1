//! Memories of one user brought together through the real binary: two files, and machines over a
//! folder.

use std::fs;
use std::path::{Path, PathBuf};

use reprise_tests::{assert_contains, assert_fields, assert_lacks};
use serde_json::{Value, json};

use crate::home::{Home, rows};

fn learn(home: &Home, text: &str) -> String {
    let kept = home.run_json(&["learn", text, "--user", "ada"]);
    let id = kept["id"].as_str();
    id.expect("its id").to_owned()
}

fn memory(home: &Home) -> PathBuf {
    home.data().join("ada/memory.rvf")
}

fn texts(home: &Home) -> Vec<String> {
    let listed = home.run_ok(&["list", "--user", "ada", "--json", "--limit", "500"]);
    let text = |record: &Value| record["text"].as_str().expect("text").to_owned();
    let mut texts: Vec<String> = rows(&listed).iter().map(text).collect();
    texts.sort();
    texts
}

/// A machine with a copy of another one's memory.
fn copied(from: &Home) -> Home {
    let home = Home::new();
    fs::create_dir_all(home.data().join("ada")).expect("made");
    fs::copy(memory(from), memory(&home)).expect("copied");
    home
}

#[test]
fn two_files_of_one_user_say_the_same_afterwards_and_those_of_two_users_are_refused() {
    let one = Home::new();
    let shared = learn(&one, "the billing service charges twice in March");
    learn(&one, "the ledger is what counts");
    let other = copied(&one);
    learn(&one, "only the first machine knows the port");
    learn(&other, "only the second machine knows the pin");
    other.run_ok(&[
        "edit",
        &shared,
        "--content",
        "it charged twice; a retry did it",
        "--user",
        "ada",
    ]);
    one.run_ok(&["forget", &shared, "--reason", "asked", "--user", "ada"]);
    let (own, theirs) = (memory(&one), memory(&other));
    let (own, theirs) = (own.to_string_lossy(), theirs.to_string_lossy());
    let would = one.run_json(&["branch", "sync", &own, &theirs, "--dry-run"]);
    assert_eq!(texts(&one).len(), 2, "nothing was done yet");
    let done = one.run_json(&["branch", "sync", &own, &theirs]);
    assert_eq!(done["digest"], would["digest"]);
    assert_eq!(done["conflicts"][0]["what"], "forgotten", "{done}");
    let all = [
        "only the first machine knows the port",
        "only the second machine knows the pin",
        "the ledger is what counts",
    ];
    assert_eq!(
        (texts(&one), texts(&other)),
        (all.map(Into::into).into(), all.map(Into::into).into())
    );
    // The other way round, and again.
    for (first, second) in [(&theirs, &own), (&own, &theirs)] {
        let again = other.run_json(&["branch", "sync", first, second]);
        assert_eq!(again["digest"], done["digest"]);
        assert!(
            again["files"]
                .as_array()
                .expect("files")
                .iter()
                .all(|f| f["changed"] == false)
        );
    }
    one.run_ok(&["doctor", "check", "--user", "ada"]);
    one.run_ok(&["learn", "bob keeps this to himself", "--user", "bob"]);
    let bobs = one.data().join("bob/memory.rvf");
    let refused = one
        .run(&["branch", "sync", &own, &bobs.to_string_lossy()])
        .expect_code(2);
    assert!(refused.stderr.contains("`ada`") && refused.stderr.contains("`bob`"));
    let twice = one.run(&["branch", "sync", &own, &own]).expect_code(2);
    assert!(
        twice.stderr.contains("both are the same file"),
        "{}",
        twice.stderr
    );
}

fn sync(home: &Home, folder: &Path) -> Value {
    home.run_json(&[
        "branch",
        "sync",
        "--folder",
        &folder.to_string_lossy(),
        "--user",
        "ada",
    ])
}

#[test]
fn machines_exchange_over_a_folder_and_a_file_of_another_user_is_left_out() {
    let (one, other) = (Home::new(), Home::new());
    let carried = tempfile::tempdir().expect("a temporary directory");
    let folder = carried.path();
    let pin = learn(&one, "the pin of the door is on the note");
    learn(&other, "the lift is broken on Mondays");
    sync(&one, folder);
    sync(&other, folder);
    let done = sync(&one, folder);
    assert_eq!(sync(&other, folder)["digest"], done["digest"]);
    assert_eq!(
        texts(&one),
        [
            "the lift is broken on Mondays",
            "the pin of the door is on the note"
        ]
    );
    assert_eq!(texts(&one), texts(&other));
    let files = || -> Vec<PathBuf> {
        let files = fs::read_dir(folder.join("ada")).expect("read");
        files.map(|file| file.expect("a file").path()).collect()
    };
    assert_eq!(files().len(), 2, "one a machine");
    let before: Vec<_> = files()
        .iter()
        .map(|file| fs::read(file).expect("read"))
        .collect();
    assert_eq!(sync(&one, folder)["written"], 0, "twice is nothing more");
    let after: Vec<_> = files()
        .iter()
        .map(|file| fs::read(file).expect("read"))
        .collect();
    assert!(before == after);

    // A line on its way is left out until it is whole.
    let cut = files().into_iter().next().expect("a file");
    let whole = fs::read(&cut).expect("read");
    fs::write(&cut, &whole[..whole.len() - 20]).expect("cut");
    sync(&one, folder);
    fs::write(&cut, &whole).expect("whole");
    assert_eq!(texts(&one).len(), 2);

    one.run_ok(&["forget", &pin, "--reason", "asked", "--user", "ada"]);
    sync(&one, folder);
    sync(&other, folder);
    assert_eq!(texts(&other), ["the lift is broken on Mondays"]);
    sync(&one, folder);
    assert_eq!(texts(&one), texts(&other));
    for file in files() {
        let text = fs::read_to_string(&file).expect("text");
        assert!(
            !text.contains("the pin of the door"),
            "{} has it",
            file.display()
        );
    }
    let head = r#"{"reprise_exchange":1,"user":"bob","machine":"0123456789abcdef"}"#;
    fs::write(folder.join("ada/stray.jsonl"), head).expect("written");
    let words = [
        "branch",
        "sync",
        "--folder",
        &folder.to_string_lossy(),
        "--user",
        "ada",
    ];
    let refused = one.run(&words).expect_code(1);
    assert_contains!(refused.stderr, "has the memories of `bob`");
    assert_eq!(texts(&one).len(), 1);
}

#[test]
fn what_is_sensitive_does_not_get_into_the_folder_nor_what_it_said_before() {
    let (one, other) = (Home::new(), Home::new());
    let carried = tempfile::tempdir().expect("a temporary directory");
    learn(&one, "the lift is broken on Mondays");
    let line =
        |id: &str, text: &str| json!({ "external_id": id, "text": text, "tags": ["sensitive"] });
    let own = [
        line("pay", "the salary is low"),
        line("pin", "the pin is in the drawer"),
    ];
    one.keep(&own, &["--user", "ada"]);
    let edit = [
        "edit",
        "pay",
        "--content",
        "the salary is high",
        "--user",
        "ada",
    ];
    one.run_ok(&edit);
    sync(&one, carried.path());
    let files = fs::read_dir(carried.path().join("ada")).expect("read");
    let files = files.map(|file| fs::read_to_string(file.expect("a file").path()));
    let all: String = files.map(|file| file.expect("text")).collect();
    assert_contains!(all, "the lift is broken");
    assert_lacks!(all, "salary", "drawer");
    sync(&other, carried.path());
    assert_eq!(texts(&other), ["the lift is broken on Mondays"]);
    // It stays where it was kept.
    sync(&one, carried.path());
    assert_eq!(texts(&one).len(), 3);
}

/// Records whose vectors are not of any model that is here, each on an axis of its own.
fn with_vectors(home: &Home, axes: std::ops::Range<usize>) {
    let line = |axis: usize| {
        let vector: Vec<f32> = (0..384).map(|at| f32::from(u8::from(at == axis))).collect();
        json!({ "external_id": axis.to_string(), "text": format!("the station {axis}"),
            "embedding": vector, "embedding_space": space() })
    };
    let lines: Vec<Value> = axes.map(line).collect();
    home.keep(&lines, &["--user", "ada"]);
}

fn space() -> Value {
    json!({ "model": "axes", "version": "1", "dimensions": 384 })
}

#[test]
fn the_vectors_of_both_files_are_in_both_afterwards() {
    let (one, other) = (Home::new(), Home::new());
    with_vectors(&one, 0..3);
    with_vectors(&other, 3..6);
    let (own, theirs) = (memory(&one), memory(&other));
    one.run_json(&[
        "branch",
        "sync",
        &own.to_string_lossy(),
        &theirs.to_string_lossy(),
    ]);
    for (home, axis) in [(&one, 4), (&other, 1)] {
        let stats = home.run_json(&["stats", "--user", "ada"]);
        assert_fields!(stats, "embedded": 6, "unembedded": 0);
        // No word of it: by its vector alone.
        let vector: Vec<f32> = (0..384).map(|at| f32::from(u8::from(at == axis))).collect();
        let query = json!({ "query_id": "q", "query": "zzz", "embedding": vector,
            "embedding_space": space() });
        let file = home.folder().join("queries.jsonl");
        fs::write(&file, query.to_string()).expect("written");
        let ask = [
            "recall",
            "--user",
            "ada",
            "--queries",
            &file.to_string_lossy(),
        ];
        let answer: Value = serde_json::from_str(&home.run_ok(&ask)).expect("JSON");
        assert_eq!(answer["results"][0]["external_id"], axis.to_string());
    }
}

#[test]
fn a_file_of_its_own_that_a_machine_cannot_read_is_not_written_to() {
    let one = Home::new();
    let carried = tempfile::tempdir().expect("a temporary directory");
    learn(&one, "the lift is broken on Mondays");
    sync(&one, carried.path());
    let mut files = fs::read_dir(carried.path().join("ada")).expect("read");
    let own = files.next().expect("one").expect("a file").path();
    fs::write(&own, "mine\n").expect("written");
    let folder = carried.path().to_string_lossy();
    let refused = one
        .run(&["branch", "sync", "--folder", &folder, "--user", "ada"])
        .expect_code(2);
    assert_contains!(refused.stderr, "is not an exchange file");
    assert_eq!(fs::read_to_string(&own).expect("read"), "mine\n");
}
