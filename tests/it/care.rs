//! Forgetting for good, backing up what is damaged, putting a backup in a memory's place: the real
//! binary on real files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use reprise_operations::WriteReport;
use reprise_server::Call;
use reprise_tests::{assert_contains, assert_fields, assert_lacks};
use serde_json::{Value, json};

use crate::backup::Writing;
use crate::home::Home;

/// Keeps these texts in one session each, without a daemon.
fn keep(home: &Home, user: &str, texts: &[(&str, &str)]) {
    let line = |(session, text): &(&str, &str)| {
        format!("{}\n", json!({ "text": text, "session_id": session }))
    };
    let file = home.write(
        &format!("{user}.jsonl"),
        &texts.iter().map(line).collect::<String>(),
    );
    let user = ["--user", user];
    home.run_ok(&["--no-daemon", "ingest", user[0], user[1], "--jsonl", &file]);
}

fn memory(home: &Home, user: &str) -> PathBuf {
    home.folder().join("data").join(user).join("memory.rvf")
}

fn damage(file: &Path) {
    let mut bytes = fs::read(file).expect("there");
    let middle = bytes.len() / 3;
    for byte in &mut bytes[middle..middle + 40] {
        *byte ^= 0x55;
    }
    fs::write(file, bytes).expect("written");
}

#[test]
fn a_proof_of_forgetting_names_every_copy_that_still_holds_it() {
    let home = Home::new();
    keep(
        &home,
        "ada",
        &[
            ("garden", "the code of the garden gate is 4711"),
            (
                "work",
                "the code of the garden gate is 4711, said at work too",
            ),
            ("work", "ok"),
            ("garden", "ok"),
        ],
    );
    let copy = home.path("copy.rvf");
    home.run_ok(&["backup", "--user", "ada", &copy]);
    home.run_ok(&["--no-daemon", "branch", "fork", "trial", "--user", "ada"]);
    home.run_ok(&[
        "--no-daemon",
        "backup",
        "restore",
        &copy,
        "--user",
        "ada",
        "--replace",
    ]);
    let forget = [
        "--no-daemon",
        "--json",
        "forget",
        "--user",
        "ada",
        "--session",
        "garden",
    ];
    let said = home.run_ok(&[&forget[..], &["--verify"]].concat());
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(
        said["forgotten"].as_array().map(Vec::len),
        Some(2),
        "{said}"
    );
    assert_eq!(
        said["traces_in_file"], 0,
        "what others say is no trace: {said}"
    );
    let copies = said["copies"].as_array().expect("a list");
    let named = |ending: &str| {
        let found = copies.iter().find(|row| {
            let file = row["file"].as_str().unwrap_or_default();
            file.ends_with(ending)
        });
        found.is_some_and(|row| row["records"].as_u64() >= Some(2))
    };
    let endings = [
        "copy.rvf",
        "ada+trial/memory.rvf",
        "memory.rvf.before-restore",
    ];
    assert!(endings.iter().all(|ending| named(ending)), "{said}");
    assert_eq!(copies.len(), 3, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgetting_is_proven_while_others_write() {
    let home = Home::new();
    let client = Arc::new(home.client());
    client.ensure_running().await.expect("a daemon starts");
    let kept: Vec<Value> = (0..300)
        .map(|n| json!({ "text": format!("to be forgotten {n}"), "session_id": "gone" }))
        .collect();
    for part in kept.chunks(100) {
        let call = Call::post("/v1/users/ada/records", &json!({ "records": part }));
        let report: WriteReport = client.ask(&call).await.expect("they are kept");
        assert_eq!(report.inserted, 100);
    }
    let writing = Writing::begin(&client);
    let forget = ["forget", "--user", "ada", "--session", "gone", "--verify"];
    let finished = tokio::task::block_in_place(|| home.run(&forget));
    writing.stop.store(true, Ordering::SeqCst);
    writing.writer.await.expect("the writer ends");
    let written = writing.acknowledged.load(Ordering::SeqCst);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = &finished.stdout;
    assert!(said.contains("300 memories forgotten"), "{said}");
    assert!(said.contains("no longer in the file"), "{said}");
    tokio::task::block_in_place(|| home.run_ok(&["serve", "stop"]));
    let export =
        tokio::task::block_in_place(|| home.run_ok(&["--no-daemon", "export", "--user", "ada"]));
    assert_eq!(export.lines().count(), written);
}

#[test]
fn a_proof_looks_into_what_was_made_of_a_memory_too() {
    let home = Home::new();
    let line = |text: &str, tag: &str| json!({ "text": text, "tags": [tag] }).to_string();
    let lines = [
        line("the door says \"friend\" in the dark", "project:moria"),
        line("another door is painted green", "doors"),
        line("what stays is here to stay", "kept"),
    ];
    let file = home.write("ada.jsonl", &lines.join("\n"));
    let user = ["--user", "ada"];
    let run = |command: &[&str]| home.run_ok(&[&["--no-daemon"], command, &user].concat());
    run(&["ingest", "--jsonl", &file]);
    run(&["doctor", "rebuild", "markdown"]);
    let said = |command: &[&str]| -> Value {
        let said = run(&[&["--json", "forget", "--verify"], command].concat());
        serde_json::from_str(&said).expect("JSON")
    };
    // A file whose place memory knows is written anew, and holds nothing of it.
    let gone = said(&["--project", "moria"]);
    assert_eq!(
        gone["forgotten"].as_array().map(Vec::len),
        Some(1),
        "{gone}"
    );
    assert_eq!(
        (&gone["traces_in_file"], &gone["copies"]),
        (&json!(0), &json!([]))
    );
    // A projection that somebody keeps from being written is named.
    let folder = memory(&home, "ada").with_file_name("projections");
    let stray = folder.join("notes").join("mine.md");
    fs::write(&stray, "I noted that another door is painted green.").expect("written");
    let gone = said(&["--tag", "doors"]);
    assert_eq!(gone["traces_in_file"], 0);
    let copies = gone["copies"].as_array().expect("a list");
    assert_eq!(copies.len(), 1, "{gone}");
    let named = copies[0]["file"].as_str().expect("a path");
    assert!(
        named.ends_with("mine.md") && copies[0]["records"] == 1,
        "{gone}"
    );
}

#[test]
fn a_damaged_memory_stops_no_other_backup_and_gives_what_can_be_read() {
    let home = Home::new();
    let texts: Vec<String> = (0..200).map(|n| format!("text of number {n}")).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|text| ("s", text.as_str())).collect();
    for user in ["ada", "bob", "eve"] {
        keep(&home, user, &texts);
    }
    damage(&memory(&home, "bob"));
    fs::write(memory(&home, "eve"), "no memory at all").expect("written");
    let to = home.folder().join("copies");
    let finished = home.run(&["--no-daemon", "backup", "--all", &to.to_string_lossy()]);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("bob: "), "{}", finished.stderr);
    assert!(finished.stderr.contains("eve: "), "{}", finished.stderr);
    assert!(to.join("ada.rvf").exists() && !to.join("bob.rvf").exists());
    let rest = to.join("bob.salvaged.rvf").to_string_lossy().into_owned();
    let user = ["--user", "rest"];
    home.run_ok(&["--no-daemon", "backup", "restore", &rest, user[0], user[1]]);
    let export = home.run_ok(&["--no-daemon", "export", user[0], user[1]]);
    let read = export.lines().count();
    assert!((1..=200).contains(&read), "{read} of 200");
    let left = fs::read_dir(&to).expect("there").count();
    assert_eq!(left, 2, "nothing unfinished is left");
}

#[test]
fn doctor_tells_of_a_pipe_in_a_memorys_place_and_goes_on() {
    let home = Home::new();
    keep(&home, "ada", &[("s", "a text")]);
    keep(&home, "bob", &[("s", "a text")]);
    fs::remove_file(memory(&home, "bob")).expect("removed");
    let made = Command::new("mkfifo").arg(memory(&home, "bob")).status();
    assert!(made.expect("mkfifo runs").success());
    let finished = home.run(&["--no-daemon", "doctor"]);
    let said = &finished.stdout;
    assert!(said.contains("ada: 1 memory,"), "{said}");
    assert!(said.contains("not a regular file"), "{said}");
}

#[test]
fn an_audit_counts_what_waits_for_a_vector() {
    let home = Home::new();
    let embedding: Vec<f32> = (0..384).map(|n| f32::from(u8::from(n == 7))).collect();
    let space = json!({ "model": "m", "version": "1", "dimensions": 384 });
    let with = json!({ "text": "has one", "embedding": embedding, "embedding_space": space });
    let lines = format!("{with}\n{}\n", json!({ "text": "waits" }));
    let file = home.write("two.jsonl", &lines);
    home.run_ok(&["--no-daemon", "ingest", "--user", "ada", &file]);
    let said = home.run_ok(&["--json", "--no-daemon", "doctor", "audit", "--user", "ada"]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_fields!(said, "records": 2, "unembedded": 1);
}

#[test]
fn segments_in_other_places_are_told_and_mended_and_stop_no_other_backup() {
    let home = Home::new();
    for user in ["ada", "eve"] {
        home.run_ok(&[
            "--no-daemon",
            "learn",
            "--user",
            user,
            "backups run at three",
        ]);
    }
    let memory = home.data().join("ada/memory.rvf");
    let whole = fs::read(&memory).expect("there");
    let tail = &whole[whole.len() - 256..];
    let in_front = [&whole[..128], tail, &whole[128..]].concat();
    let half = whole.len() / 2 / 64 * 64;
    let swapped = [&whole[..128], &whole[half..], &whole[128..half]].concat();
    for damaged in [in_front, swapped] {
        let damage = || fs::write(&memory, &damaged).expect("written");
        damage();
        let check = home
            .run(&["doctor", "check", "--user", "ada"])
            .expect_code(1);
        assert_contains!(check.stdout, "damaged");
        for arguments in [
            &["doctor"][..],
            &["backup", "--user", "ada", &home.path("a.rvf")],
        ] {
            let ran = home.run(arguments);
            assert!(
                ran.code.is_some_and(|code| code <= 2),
                "{arguments:?}: {ran:?}"
            );
            assert_lacks!(ran.stderr, "panicked");
        }
        let all = home.run(&["backup", "--all", &home.path("all")]);
        assert_lacks!(all.stderr, "panicked");
        assert!(
            fs::exists(home.path("all/eve.rvf")).expect("looked for"),
            "{all:?}"
        );
        // A daemon writes to it.
        home.run_ok(&["learn", "--user", "ada", "restores take an hour"]);
        home.run(&["serve", "stop"]);
        damage();
        home.run(&["doctor", "check", "--repair", "--user", "ada"]);
        let mended = home.run(&["doctor", "check", "--user", "ada"]);
        assert_contains!(mended.stdout, "no damage found");
        fs::remove_dir_all(home.path("all")).expect("removed");
    }
}

#[test]
fn doctor_says_that_memory_is_paused() {
    let home = Home::new();
    let run = |arguments: &[&str]| home.run(&[&["--no-daemon", "--json"], arguments].concat());
    run(&["learn", "Deploys go out on Tuesdays."]).expect_code(0);
    let is_said = || run(&["doctor"]).stdout.contains("\"paused\"");
    assert!(!is_said());
    run(&["serve", "pause"]).expect_code(0);
    assert!(is_said());
    run(&["serve", "resume"]).expect_code(0);
    assert!(!is_said());
}

#[test]
fn a_pause_of_a_folder_is_of_its_project_and_is_ended_by_the_folder() {
    let home = Home::new();
    let folder = home.path("shop");
    fs::create_dir_all(&folder).expect("a folder");
    let run = |arguments: &[&str]| home.run(&[&["--no-daemon", "--json"], arguments].concat());
    let paused = run(&["pause", "--project", &folder]).expect_code(0);
    assert_contains!(paused.stderr, "using project `shop-");
    let told: Value = serde_json::from_str(&paused.stdout).expect("JSON");
    let name = told["pauses"][0]["project"].as_str().expect("a project");
    assert!(name.starts_with("shop-"), "{name}");
    let resumed = run(&["serve", "resume", "--project", &folder]);
    let told: Value = serde_json::from_str(&resumed.expect_code(0).stdout).expect("JSON");
    assert_eq!((&told["ended"], &told["pauses"]), (&json!(1), &json!([])));
}

/// Returns what of this home's files was kept aside for `user`.
fn kept_tails(home: &Home, user: &str) -> Vec<String> {
    let entries = fs::read_dir(home.data().join(user)).expect("it has a memory");
    let names = entries.map(|entry| entry.expect("it is there").path());
    let names = names.map(|path| path.to_string_lossy().into_owned());
    names.filter(|path| path.contains(".torn")).collect()
}

#[test]
fn the_first_command_says_what_was_cut_off_a_file_that_was_cut_short() {
    let home = Home::new();
    for mode in ["--no-daemon", "--json"] {
        let user = if mode == "--no-daemon" { "ada" } else { "bob" };
        home.run_ok(&[
            "learn",
            "the lift is broken on the third floor",
            "--user",
            user,
        ]);
        home.run_ok(&["serve", "stop"]);
        let file = home.data().join(user).join("memory.rvf");
        let whole = fs::metadata(&file).expect("it is there").len();
        home.run_ok(&[
            "--no-daemon",
            "learn",
            "the lift was mended at noon",
            "--user",
            user,
        ]);
        let text = fs::read(&file).expect("it is read");
        // The commit begins where the file ended, with a head of 64 bytes.
        let cut = whole as usize + 200;
        fs::write(&file, &text[..cut]).expect("it is cut short");

        if mode == "--no-daemon" {
            let told = home.run(&["--no-daemon", "list", "--user", user]);
            assert_contains!(told.stderr, "are an incomplete commit and are not read");
            assert!(
                kept_tails(&home, user).is_empty(),
                "a reader changes no file"
            );
        }
        let first = home.run(&["learn", "the stairs are free", "--user", user, mode]);
        assert_eq!(first.code, Some(0), "{}", first.stderr);
        let [kept] = &kept_tails(&home, user)[..] else {
            panic!("one tail is kept: {}", first.stderr)
        };
        assert_contains!(first.stderr, kept);
        assert_contains!(first.stderr, "restore a backup");
        let aside = fs::read(kept).expect("it is read");
        assert!(aside.ends_with(&text[whole as usize..cut]), "{kept}");
        let shown = home.run(&["doctor", "inspect", kept]).stdout;
        assert_contains!(shown, "the beginning of a segment");

        let second = home.run(&["learn", "the bell rings at nine", "--user", user, mode]);
        assert_lacks!(second.stderr, ".torn");
        assert_contains!(home.run(&["doctor"]).stdout, kept);
        let all = [
            "forget",
            "--user",
            user,
            "--before",
            "2999-01-01T00:00:00Z",
            "--verify",
        ];
        assert_contains!(home.run(&[&all[..], &[mode]].concat()).stdout, kept);
        home.run(&["serve", "stop"]);
    }
}
