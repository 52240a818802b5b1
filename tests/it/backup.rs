//! Backups of a memory that is in use, and the way back: from a copy, and from an export.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use reprise_operations::WriteReport;
use reprise_server::{Call, Client};
use reprise_tests::{RunOutput, assert_contains, assert_lacks, run_git, seen_if, wait_for_async};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::home::{Home, rows};

fn texts(export: &str) -> BTreeSet<String> {
    let text = |line: &Value| line["text"].as_str().expect("a text").to_owned();
    rows(export).iter().map(text).collect()
}

/// Somebody who writes all the time.
pub(crate) struct Writing {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) acknowledged: Arc<AtomicUsize>,
    pub(crate) writer: JoinHandle<()>,
}

impl Writing {
    /// Keeps `number 0`, `number 1` and so on until it is to stop.
    pub(crate) fn begin(client: &Arc<Client>) -> Self {
        let (stop, acknowledged) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
        let (client, is_over, kept) = (
            Arc::clone(client),
            Arc::clone(&stop),
            Arc::clone(&acknowledged),
        );
        let writer = tokio::spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                let number = kept.load(Ordering::SeqCst);
                let body = json!({ "text": format!("number {number}") });
                let call = Call::post("/v1/users/ada/records", &body);
                let report: WriteReport = client.ask(&call).await.expect("it is kept");
                assert_eq!(report.inserted, 1);
                kept.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self {
            stop,
            acknowledged,
            writer,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_taken_while_many_write_is_whole_and_comes_back() {
    let home = Home::new();
    let client = Arc::new(home.client());
    client.ensure_running().await.expect("a daemon starts");
    let Writing {
        stop,
        acknowledged,
        writer,
    } = Writing::begin(&client);
    let folder = home.path("copies");
    let mut copies = Vec::new();
    for copy in 0..3 {
        wait_for_async("records that were acknowledged", async || {
            let kept = acknowledged.load(Ordering::SeqCst);
            seen_if(kept >= 40 * (copy + 1), kept)
        })
        .await;
        let before = acknowledged.load(Ordering::SeqCst);
        let to = format!("{folder}-{copy}");
        tokio::task::block_in_place(|| home.run_ok(&["backup", "--all", &to]));
        copies.push((before, to));
    }
    stop.store(true, Ordering::SeqCst);
    writer.await.expect("the writer ends");
    tokio::task::block_in_place(|| home.run_ok(&["serve", "stop"]));
    for (number, (before, copy)) in copies.into_iter().enumerate() {
        let file = format!("{copy}/ada.rvf");
        let mode = fs::metadata(&file).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let user = format!("copy-{number}");
        run_blocking(&home, &["backup", "restore", &file, "--user", &user]).expect_code(0);
        let export = home.run_ok(&["--no-daemon", "export", "--user", &user]);
        let texts = texts(&export);
        assert!(texts.len() >= before, "{} of {before}", texts.len());
        assert!((0..before).all(|n| texts.contains(&format!("number {n}"))));
    }
}

fn run_blocking(home: &Home, arguments: &[&str]) -> RunOutput {
    tokio::task::block_in_place(|| home.run(arguments))
}

#[test]
fn a_restore_harms_nothing_that_is_there_and_takes_nothing_damaged() {
    let home = Home::new();
    let lines = home.write("lines.jsonl", "{\"text\":\"kept\"}\n");
    home.run_ok(&["ingest", "--user", "ada", "--jsonl", &lines]);
    let copy = home.path("copy.rvf");
    home.run_ok(&["backup", "--user", "ada", &copy]);
    let refused = home
        .run(&["backup", "restore", &copy, "--user", "ada"])
        .expect_code(2);
    assert_contains!(refused.stderr, "--replace");

    let mut bytes = fs::read(&copy).expect("there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xFF;
    let bad = home.path("bad.rvf");
    fs::write(&bad, &bytes).expect("written");
    let refused = home
        .run(&["backup", "restore", &bad, "--user", "eve"])
        .expect_code(2);
    assert_contains!(refused.stderr, "nothing was restored");
    assert!(!home.data().join("eve").exists());
    for (other, expected) in [
        (&lines, "not a backup"),
        (&"nowhere.rvf".to_owned(), "does not exist"),
    ] {
        let refused = home
            .run(&["backup", "restore", other, "--user", "eve"])
            .expect_code(2);
        let said = refused.stderr;
        assert_contains!(said, expected, other);
        assert!(!home.data().join("eve").exists(), "{other}");
    }

    fs::write(&lines, "{\"text\":\"later\"}\n").expect("written");
    home.run_ok(&["ingest", "--user", "ada", "--jsonl", &lines]);
    home.run_ok(&["backup", "restore", &copy, "--user", "ada", "--replace"]);
    let export = home.run_ok(&["export", "--user", "ada"]);
    assert_eq!(texts(&export), BTreeSet::from(["kept".to_owned()]));
    assert!(home.data().join("ada/memory.rvf.before-restore").exists());
}

#[test]
fn an_export_comes_back_from_json_and_from_yaml() {
    let home = Home::new();
    let lines = home.folder().join("lines.jsonl");
    let records = [
        json!({"external_id": "a", "text": "first\n---\nof two: \"parts\"", "tags": ["x", "y"],
            "timestamp": "2026-02-16T09:46:08Z", "metadata": {"n": 1, "deep": {"yes": true}}}),
        json!({"external_id": "b", "text": "- second # no comment", "kind": "strategy",
            "confidence": 0.7, "details": {"type": "lesson", "title": "t", "content": "null"}}),
        json!({"external_id": "c", "text": "third", "tags": ["sensitive"]}),
    ];
    let text: Vec<String> = records.iter().map(Value::to_string).collect();
    fs::write(&lines, text.join("\n")).expect("written");
    let path = lines.to_string_lossy().into_owned();
    home.run_ok(&["ingest", "--user", "ada", "--jsonl", &path]);
    let without = home.run(&["export", "--user", "ada"]);
    assert_eq!(without.stdout.lines().count(), 2);
    assert_contains!(without.stderr, "1 memory tagged `sensitive`");
    let json_list = home.run_ok(&["export", "--user", "ada", "--format", "json"]);
    let json_list: Vec<Value> = serde_json::from_str(&json_list).expect("a JSON list");
    assert_eq!(json_list.len(), 2);

    let yaml = home.run_ok(&["export", "--user", "ada", "--sensitive", "--format", "yaml"]);
    fs::write(&lines, &yaml).expect("written");
    home.run_ok(&["ingest", "--user", "eve", "--yaml", &path]);
    let same = |user: &str| -> Vec<Value> {
        let mut lines = rows(&home.run_ok(&["export", "--sensitive", "--user", user]));
        for line in &mut lines {
            let line = line.as_object_mut().expect("an object");
            for name in ["id", "known_at", "archive"] {
                line.remove(name);
            }
            // Without a timestamp of its own a record happened when it was kept.
            if line["external_id"] != "a" {
                line.remove("timestamp");
            }
        }
        lines
    };
    assert_eq!(same("ada"), same("eve"), "{yaml}");
}

#[test]
fn a_memory_is_its_owners_alone() {
    let home = Home::new();
    let lines = home.write("lines.jsonl", "{\"text\":\"mine\"}\n");
    home.run_ok(&["ingest", "--user", "ada", "--jsonl", &lines]);
    for _ in 0..2 {
        for name in ["ada", "ada/memory.rvf"] {
            let path = home.data().join(name);
            let mode = fs::metadata(path).expect("there").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{name}");
        }
        // The file that a compaction writes is another one.
        home.run_ok(&["doctor", "compact", "--user", "ada"]);
    }
    // A slip in a user's name makes no memory.
    let shown = home
        .run(&["--no-daemon", "show", "x", "--user", "bob"])
        .expect_code(2);
    assert_contains!(shown.stderr, "no memories yet");
    assert!(!home.data().join("bob").exists());
}

/// A key pair of `age`, made for these tests alone.
const KEY: &str = "AGE-SECRET-KEY-1N9LSFXPCKF55FFTVE9XVEH4PWW0Q7EJEJN2E0PFUHGM0JFL94F5S7V6DVA";
const PUBLIC: &str = "age16kzu47fqaqq6h9f8gula5f5722gcpzwlfe7dp0d7zwdxsp646crs7mck3w";

/// What the program `age` makes of a file, where this machine has it.
fn age_opens(arguments: &[&str], file: &str) -> Option<Vec<u8>> {
    let mut command = std::process::Command::new("age");
    let opened = command.args(arguments).arg(file).output().ok()?;
    assert!(
        opened.status.success(),
        "{}",
        String::from_utf8_lossy(&opened.stderr)
    );
    Some(opened.stdout)
}

/// Backups for a key and for a passphrase, an export for the key: no text of theirs is to be read.
fn seals(home: &Home, word: &str) {
    let sealed = [
        "backup",
        "--user",
        "ada",
        &home.path("ada.age"),
        "--recipient",
        PUBLIC,
    ];
    home.run_ok(&sealed);
    home.run_ok(&sealed);
    home.run_ok(&[
        "backup",
        "--user",
        "ada",
        &home.path("word.age"),
        "--passphrase-file",
        word,
    ]);
    home.run_ok(&[
        "export",
        "--user",
        "ada",
        "--out",
        &home.path("lines.age"),
        "--recipient",
        PUBLIC,
    ]);
    for name in ["ada.age", "word.age", "lines.age"] {
        let bytes = fs::read(home.path(name)).expect("there");
        assert!(bytes.starts_with(b"age-encryption.org/v1"), "{name}");
        let held = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        assert!(!held(b"vault code"), "{name}");
        let mode = fs::metadata(home.path(name))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

fn refuses_a_wrong_recipient(home: &Home) {
    let bad = home.run(&[
        "backup",
        "--user",
        "ada",
        &home.path("x.age"),
        "--recipient",
        "age1nobody",
    ]);
    assert_contains!(bad.stderr, "not a public age key");
    assert!(!home.folder().join("x.age").exists());
}

#[test]
fn an_encrypted_backup_and_export_open_with_their_key_alone_and_in_age_itself() {
    let home = Home::new();
    let write = |name: &str, text: &str| home.write(name, text);
    let lines = write(
        "lines.jsonl",
        "{\"text\":\"the vault code is under the mat\"}\n",
    );
    home.run_ok(&["ingest", "--user", "ada", "--jsonl", &lines]);
    let (key, word) = (
        write("key.txt", KEY),
        write("word.txt", "correct horse\nnot this\n"),
    );
    let wrong = write("wrong.txt", "another word\n");
    seals(&home, &word);
    // Nothing of it is left in the clear.
    let beside = fs::read_dir(home.data().join("ada")).expect("a folder");
    let names = beside.filter_map(|one| one.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    assert!(
        !names.iter().any(|name| name.contains("unproven")),
        "{names:?}"
    );

    for (file, flag, secret, user) in [
        ("ada.age", "--identity", &key, "by-key"),
        ("word.age", "--passphrase-file", &word, "by-word"),
    ] {
        home.run_ok(&[
            "backup",
            "restore",
            &home.path(file),
            "--user",
            user,
            flag,
            secret,
        ]);
        let export = home.run_ok(&["--no-daemon", "export", "--user", user]);
        assert_contains!(export, "the vault code is under the mat");
    }
    for (file, flags, said) in [
        ("ada.age", &[][..], "--identity FILE"),
        (
            "word.age",
            &["--passphrase-file", &wrong][..],
            "another key",
        ),
        ("word.age", &["--identity", &key][..], "another key"),
        (
            "ada.age",
            &["--identity", &lines][..],
            "not a file of age keys",
        ),
    ] {
        let file = home.path(file);
        let arguments = [
            &["backup", "restore", file.as_str(), "--user", "eve"],
            flags,
        ]
        .concat();
        let refused = home.run(&arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.stdout);
        assert!(
            refused.stderr.contains(said),
            "{arguments:?}: {}",
            refused.stderr
        );
        assert!(!home.data().join("eve").exists(), "{arguments:?}");
    }
    refuses_a_wrong_recipient(&home);
    if let Some(opened) = age_opens(&["-d", "-i", &key], &home.path("lines.age")) {
        let opened = String::from_utf8(opened).expect("text");
        assert_eq!(texts(&opened).len(), 1);
        let whole = age_opens(&["-d", "-i", &key], &home.path("ada.age")).expect("age is there");
        fs::write(home.path("ada.rvf"), whole).expect("written");
        home.run_ok(&[
            "backup",
            "restore",
            &home.path("ada.rvf"),
            "--user",
            "by-age",
        ]);
    }
}

#[test]
fn a_file_that_a_repository_would_take_along_is_named() {
    let home = Home::new();
    let lines = home.folder().join("lines.jsonl");
    fs::write(&lines, "{\"text\":\"mine\"}\n").expect("written");
    home.run_ok(&[
        "ingest",
        "--user",
        "ada",
        "--jsonl",
        &lines.to_string_lossy(),
    ]);
    let checkout = home.folder().join("dotfiles");
    run_git(home.folder(), &["init", "-q", "dotfiles"]);
    let export = |name: &str| {
        let to = checkout.join(name).to_string_lossy().into_owned();
        home.run(&["export", "--user", "ada", "--out", &to]).stderr
    };
    let said = export("knowledge.jsonl");
    assert_contains!(said, "add it to .gitignore");
    fs::write(checkout.join(".gitignore"), "*.jsonl\n").expect("written");
    let said = export("knowledge.jsonl");
    assert_lacks!(said, ".gitignore");
    let elsewhere = home.path("out.jsonl");
    let said = home
        .run(&["export", "--user", "ada", "--out", &elsewhere])
        .stderr;
    assert_lacks!(said, ".gitignore");
}

#[test]
fn an_export_of_a_time_has_what_was_corrected_and_put_away_since() {
    let home = Home::new();
    let lines = home.folder().join("lines.jsonl");
    fs::write(
        &lines,
        "{\"external_id\":\"a\",\"text\":\"as it was first\"}\n",
    )
    .expect("written");
    home.run_ok(&[
        "ingest",
        "--user",
        "ada",
        "--jsonl",
        &lines.to_string_lossy(),
    ]);
    let kept = home.run_json(&["show", "a", "--user", "ada"])["records"][0].clone();
    let then = kept["known_at"].as_str().expect("a time").to_owned();
    home.run_ok(&["edit", "a", "--content", "as it is now", "--user", "ada"]);
    let now = home.run_ok(&["export", "--user", "ada"]);
    assert_eq!(texts(&now), BTreeSet::from(["as it is now".to_owned()]));
    let past = home.run_ok(&["export", "--user", "ada", "--as-of", &then]);
    assert_eq!(texts(&past), BTreeSet::from(["as it was first".to_owned()]));
    let shown = home.run_json(&["show", "a", "--as-of", &then, "--user", "ada"]);
    assert_eq!(shown["records"][0]["text"], "as it was first");
}

/// Cuts ada's memory shortly behind its first record, and says how it was before.
fn cut_short(home: &Home) -> Vec<u8> {
    let memory = home.data().join("ada/memory.rvf");
    let keep = |text: &str| home.run_ok(&["--no-daemon", "learn", "--user", "ada", text]);
    keep("first");
    let first = fs::metadata(&memory).expect("there").len();
    keep("second");
    keep("third");
    let whole = fs::read(&memory).expect("there");
    let backup = home.path("ada.rvf");
    home.run_ok(&["backup", "--user", "ada", &backup]);
    let cut = usize::try_from(first).expect("small") + 100;
    fs::write(&memory, &whole[..cut]).expect("written");
    whole
}

#[test]
fn a_backup_keeps_the_fuller_copy_and_tells_what_was_cut_off() {
    let home = Home::new();
    cut_short(&home);
    let before = fs::read(home.path("ada.rvf")).expect("there");
    let refused = home
        .run(&["backup", "--user", "ada", &home.path("ada.rvf")])
        .expect_code(2);
    let said = refused.stderr;
    assert_contains!(said, "name another file to keep it");
    assert_eq!(fs::read(home.path("ada.rvf")).expect("there"), before);

    let other = home
        .run(&["backup", "--user", "ada", &home.path("other.rvf")])
        .expect_code(0);
    let said = other.stderr;
    assert_contains!(said, "incomplete commit and are not in the copy");
    // It grows again, and is still another one.
    for text in ["fourth", "fifth", "sixth"] {
        home.run_ok(&["--no-daemon", "learn", "--user", "ada", text]);
    }
    home.run(&["backup", "--user", "ada", &home.path("ada.rvf")])
        .expect_code(2);
    home.run_ok(&["backup", "--user", "ada", &home.path("other.rvf")]);
    home.run_ok(&[
        "backup",
        "restore",
        "--user",
        "ada",
        "--replace",
        &home.path("ada.rvf"),
    ]);
    home.run_ok(&["backup", "--user", "ada", &home.path("ada.rvf")]);

    let nowhere = home
        .run(&["backup", "--user", "ada", &home.path("nowhere/x.rvf")])
        .expect_code(2);
    let said = nowhere.stderr;
    assert_contains!(said, "cannot write `", "x.rvf`", "create it first");
    assert_lacks!(said, "unfinished");

    fs::write(home.path("cut.rvf"), &before[..before.len() - 70]).expect("written");
    let refused = home
        .run(&["backup", "restore", "--user", "eve", &home.path("cut.rvf")])
        .expect_code(2);
    let said = refused.stderr;
    assert_contains!(said, "restore an earlier backup");
}

#[test]
fn a_memory_that_was_cut_short_is_not_called_well() {
    let home = Home::new();
    let whole = cut_short(&home);
    let memory = home.data().join("ada/memory.rvf");
    let doctor = home.run(&["doctor"]).stdout;
    assert_contains!(doctor, "bytes of its file are an incomplete commit");
    let check = home.run_ok(&["doctor", "check", "--user", "ada"]);
    assert_contains!(check, "incomplete commit and are ignored");

    fs::write(&memory, &whole[..300]).expect("written");
    let check = home
        .run(&["doctor", "check", "--user", "ada"])
        .expect_code(1);
    let said = check.stdout;
    assert_contains!(said, "damaged");
    assert_lacks!(said, "no damage found");
    let doctor = home.run(&["doctor"]).stdout;
    assert_contains!(doctor, "run `reprise doctor check --user ada`");

    let mut flipped = whole;
    let middle = flipped.len() / 2;
    for byte in &mut flipped[middle..middle + 200] {
        *byte ^= 0xFF;
    }
    fs::write(&memory, &flipped).expect("written");
    let said = home.run(&["doctor"]).stderr;
    assert_contains!(said, "ada/memory.rvf`");
}

#[test]
fn counts_of_records_agree_and_say_where_earlier_versions_are_in_them() {
    let home = Home::new();
    let run = |arguments: &[&str]| home.run_ok(&[&["--no-daemon"], arguments].concat());
    home.keep(
        &[
            json!({"external_id": "a", "text": "as it was first", "session_id": "s"}),
            json!({"external_id": "b", "text": "another one", "session_id": "s"}),
        ],
        &["--user", "ada", "--no-daemon"],
    );
    run(&["edit", "a", "--content", "as it is now", "--user", "ada"]);
    let forked = run(&["branch", "fork", "try", "--user", "ada"]);
    assert_contains!(forked, "ada+try: 2 memories");
    let packed = run(&["doctor", "compact", "--user", "ada"]);
    let kept = "2 memories (3 with their earlier versions) kept";
    assert_contains!(packed, kept);
    let before = ["forget", "--user", "ada", "--before", "2100-01-01"];
    let would = run(&[&before[..], &["--dry-run"]].concat());
    let said = "2 memories (3 versions) would be forgotten";
    assert_contains!(would, said);
    let gone = run(&before);
    let said = "2 memories (3 versions) forgotten";
    assert_contains!(gone, said);
    let empty = home
        .run(&["--no-daemon", "list", "--user", "ada"])
        .expect_code(0);
    assert_contains!(empty.stderr, "has no memories yet");
}

#[test]
fn a_restore_tells_what_it_brings_back_of_the_forgotten() {
    let home = Home::new();
    let lines = ["a", "b"].map(|name| json!({ "external_id": name, "text": format!("of {name}") }));
    home.keep(&lines, &["--user", "ada"]);
    let copy = home.path("ada.rvf");
    home.run_ok(&["backup", "--user", "ada", &copy]);
    let restored = || {
        let restore = ["backup", "restore", &copy, "--user", "ada", "--replace"];
        home.run(&restore).expect_code(0).stderr
    };
    for more in [&[][..], &["--verify"]] {
        let forget = ["forget", "--user", "ada", "--external-id", "a"];
        home.run_ok(&[&forget[..], more].concat());
        assert_contains!(restored(), "1 forgotten text came back");
    }
    assert_lacks!(restored(), "forgotten");
}
