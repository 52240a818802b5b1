//! As people meet it: a word that is nearly a command, a wrong file, no network, an edited
//! configuration, a daemon that has the file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use reprise_tests::{assert_contains, assert_fields, assert_lacks, run_to_end};
use serde_json::Value;

use crate::home::Home;

fn wake(home: &Home) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    runtime
        .block_on(home.client().ensure_running())
        .expect("a daemon starts");
}

#[test]
fn what_is_typed_first_works_or_says_what_does() {
    let home = Home::new();
    let file = home.write(
        "notes.yaml",
        "text: the port is 8080\n---\ntext: tea at five\n",
    );
    home.run_ok(&["ingest", &file]);
    home.run_ok(&["learn", "the staging database is reset every night"]);
    home.run_ok(&["learn", "the", "lift", "is", "broken"]);
    for (question, answer) in [
        (vec!["recall", "lift"], "the lift is broken"),
        (vec!["recall", "staging", "database"], "reset every night"),
        (vec!["recall", "port"], "8080"),
    ] {
        let found = home.run_ok(&question);
        assert!(found.contains(answer), "{question:?}: {found}");
    }
    let nothing = home.run(&[]).expect_code(2);
    assert_contains!(nothing.stderr, "  import ");
    for (typo, meant) in [("recal", "`recall`"), ("exprot", "`export`")] {
        let hint = home.run(&[typo]).expect_code(2);
        assert_contains!(hint.stderr, meant);
    }
    // Old names are not commands any more; the words of other programs name ours.
    for (old, said) in [
        ("search", "`reprise recall`"),
        ("remember", "`reprise learn`"),
        ("publish", "`reprise share publish`"),
        ("consolidate", "unknown command"),
        ("disconnect", "unknown command"),
        ("daemon", "unknown command"),
        ("bench", "unknown command"),
    ] {
        let refused = home.run(&[old, "x"]).expect_code(2);
        assert_contains!(refused.stderr, said);
    }
}

/// Runs what somebody tried, each with the exit code and a part of what is said; nothing is said in
/// the words of the system or of a parser.
fn check_answers(home: &Home, tried: &[(&[&str], i32, &str)]) {
    for (typed, code, said) in tried {
        let ran = home.run(typed);
        let all = ran.stdout + &ran.stderr;
        assert_eq!(ran.code, Some(*code), "{typed:?}: {all}");
        assert!(all.contains(said), "{typed:?}: {all}");
        for inside in ["os error", "admitted", "+00:00", "line 1 column"] {
            assert!(!all.contains(inside), "{typed:?}: {all}");
        }
    }
}

/// A home with two memories, a branch and a backup, whose path is returned, with that of the lines.
fn used_home() -> (Home, String, String) {
    let home = Home::new();
    let lines = home.write("notes.jsonl", "{\"text\":\"the port is 8080\"}\n");
    let backup = home.folder().join("me.rvf").display().to_string();
    home.run_ok(&["ingest", &lines]);
    home.run_ok(&["learn", "off"]);
    home.run_ok(&["backup", &backup, "--user", "default"]);
    home.run_ok(&["branch", "fork", "idea"]);
    (home, lines, backup)
}

/// What somebody tried who had never seen this program, and what it said about it.
#[test]
fn a_stranger_is_answered_in_words_of_use() {
    let (home, lines, backup) = used_home();
    let tried = [
        (&["import", "nosuch"][..], 2, "`nosuch` does not exist"),
        (&["import", &backup], 2, "`reprise backup restore "),
        (
            &["backup", "restore", "nosuch.rvf", "--user", "x"],
            2,
            "`nosuch.rvf` does not exist",
        ),
        (
            &["branch", "merge", "nope"],
            2,
            "`default` has no branch `nope`",
        ),
        (&["list", "--day", "2001-01-01"], 0, "`2001-01-01`"),
        (&["list", "--since", "2100-01-01"], 0, " UTC or later"),
        (&["list", "--limit", "1"], 0, "2 memories in all; more with"),
        (&["outcome", "status"], 0, "learning is on"),
        (&["list"], 0, "  off"),
        (&["branch", "fork", "other"], 0, "; use it with"),
        (&["doctor", "tidy", "--dry-run"], 0, ""),
        (&["doctor", "audit"], 0, "memories"),
        (&["doctor", "diary"], 0, ""),
        (&["share", "list"], 0, "nothing is published"),
        (&["serve", "status"], 1, "no daemon runs"),
        (&["serve", "token", "list"], 0, "no tokens yet"),
        (&["share", "branch", "list"], 0, "no branches yet"),
        (
            &["backup", "restore", "gone.rvf"],
            2,
            "`gone.rvf` does not exist",
        ),
        (
            &["forget", "nosuch", "--dry-run"],
            2,
            "no memory with id `nosuch`",
        ),
        (
            &["recall", "x", "--limit", "0"],
            2,
            "--limit must be 1 or more",
        ),
        (
            &["recall", "x", "--scope", "banana"],
            2,
            "unknown scope `banana`",
        ),
        (
            &["outcome", "withdraw", "x"],
            2,
            "a run is named `recall ID` with the `recall_id` of its outcome",
        ),
        (
            &["stats", "--user", "none"],
            2,
            "`none` has no memories yet",
        ),
        (&["list", "--user", "none"], 2, "`none` has no memories yet"),
        (&["import", &lines], 0, "1 memory added"),
    ];
    check_answers(&home, &tried);
}

/// What else somebody tried, who had begun to use it.
#[test]
fn a_beginner_is_answered_in_words_of_use() {
    let (home, _, backup) = used_home();
    let tried = [
        (&["help", "recall"][..], 0, "--as-of"),
        (&["learn", "tagged", "--tag", "ops"], 0, "remembered as"),
        (
            &["edit", "nosuch", "in", "words"],
            2,
            "no memory with id `nosuch`",
        ),
        (&["backup", &backup], 0, "every hash verified"),
        (
            &["backup", "restore", &backup],
            2,
            "`default` has a memory already",
        ),
        (&["branch", "list"], 0, "KB"),
        (&["connect", "codex", "--show"], 0, "config.toml"),
        (&["help", "--all"], 0, "\n  ingest "),
        (&["recall", "--pre"], 2, "put `--` before the text"),
        (&["learn", "--pre"], 2, "put `--` before the text"),
        (&["recall", "--limmit", "3"], 2, "(did you mean `--limit`?)"),
        (&["recall", "--no-model", "--", "--pre"], 0, ""),
        (&["doctor", "--repair"], 0, "every hash verified"),
        (&["doctor", "compact"], 0, "3 memories kept"),
    ];
    check_answers(&home, &tried);
}

#[test]
fn a_lesson_is_kept_once_and_again_when_it_was_forgotten() {
    let home = Home::new();
    let outcome = |arguments: &[&str]| -> Value {
        let said = home.run_ok(&[&["--json"], arguments].concat());
        serde_json::from_str(&said).expect("JSON")
    };
    let lesson = [
        "learn",
        "--title",
        "Migrations",
        "--content",
        "test them on a copy",
    ];
    let first = outcome(&lesson);
    assert_eq!(first["outcome"], "inserted");
    let again = outcome(&lesson);
    assert_fields!(again, "outcome": "duplicate", "id": first["id"]);
    let tagged = outcome(&[&lesson[..], &["--tags", "db"]].concat());
    assert_eq!(tagged["outcome"], "inserted", "it says more");
    for _ in 0..2 {
        let id = outcome(&lesson)["id"].clone();
        home.run_ok(&["forget", id.as_str().expect("an id")]);
        assert_eq!(outcome(&lesson)["outcome"], "inserted");
        assert_eq!(outcome(&lesson)["outcome"], "duplicate");
    }
    for empty in [
        vec!["learn"],
        vec!["learn", " "],
        vec!["learn", "--tags", "a"],
    ] {
        let refused = home.run(&empty).expect_code(2);
        assert_contains!(refused.stderr, "nothing to remember");
    }
}

#[test]
fn a_wrong_file_is_given_up_after_ten_lines_and_makes_no_memory() {
    let home = Home::new();
    let notes = "# Notes\n\n- something that nobody wrote as JSON, however often\n".repeat(200);
    let file = home.write("notes.md", &notes);
    for daemon in [false, true] {
        if daemon {
            wake(&home);
        }
        let finished = home
            .run(&["ingest", "--user", "bea", "--jsonl", &file])
            .expect_code(2);
        let lines: Vec<&str> = finished.stderr.lines().collect();
        assert_eq!(lines.len(), 11, "{}", finished.stderr);
        assert!(lines[10].contains("`reprise import "), "{}", lines[10]);
        assert!(finished.stderr.len() < 2_000, "{}", finished.stderr);
        assert!(!home.data().join("bea").exists());
    }
    // Some bad lines among good ones are no wrong file; the first of them are named.
    let mixed = "{\"text\":\"good\"}\n".to_owned() + &"bad\n".repeat(30);
    let file = home.write("mixed.jsonl", &mixed);
    let finished = home.run(&["ingest", "--user", "ada", &file]).expect_code(1);
    assert_contains!(finished.stdout, "30 refused");
    assert_eq!(finished.stderr.lines().count(), 11, "{}", finished.stderr);
}

/// Programs of these names that fail as they do without a network, and write down that they ran.
fn offline(home: &Home) -> std::path::PathBuf {
    let folder = home.folder().join("bin");
    fs::create_dir_all(&folder).expect("made");
    let asked = home.folder().join("asked");
    for name in ["python3", "pip3", "python", "pip", "curl"] {
        let program = folder.join(name);
        let noise = "WARNING: Retrying after connection broken by 'NewConnectionError: Failed to \
                     establish a new connection: [Errno -3] Temporary failure in name resolution'";
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *--version*) exit 0;; esac\necho {name} >> '{}'\n\
             for i in 1 2 3 4 5; do echo \"{noise}\" >&2; done\nexit 1\n",
            asked.display()
        );
        fs::write(&program, script).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    folder
}

#[test]
fn without_network_and_model_a_recall_says_one_sentence_and_asks_nobody_twice() {
    let home = Home::new();
    let file = home.write("a.jsonl", "{\"text\":\"the lift is broken\"}\n");
    home.run_ok(&["ingest", &file]);
    let path = format!("{}:/usr/bin:/bin", offline(&home).display());
    let models = home.folder().join("models");
    let recall = || {
        let mut command = reprise_tests::reprise_command(&home.data()).expect("reprise is built");
        command
            .env("PATH", &path)
            .env("XDG_RUNTIME_DIR", home.folder())
            .arg("--models-dir")
            .arg(&models)
            .args(["recall", "lift"]);
        let finished = run_to_end(&mut command)
            .expect("reprise runs")
            .expect_code(0);
        assert_contains!(finished.stdout, "the lift is broken");
        finished.stderr
    };
    let asked = || fs::read_to_string(home.folder().join("asked")).unwrap_or_default();
    for said in [recall(), recall()] {
        let last = said.lines().last().unwrap_or_default();
        assert!(last.starts_with("note: ") && last.len() < 300, "{said}");
        assert!(last.contains("reprise doctor models pull"), "{said}");
        assert_lacks!(said, "NewConnectionError");
        assert_eq!(asked(), "python3\ncurl\n", "each is asked once in all");
    }
}

#[test]
fn a_configuration_that_changed_under_a_daemon_is_told() {
    let home = Home::new();
    let file = home.write("config.toml", "");
    wake(&home);
    let note = "has changed since the daemon read it";
    let before = home.run(&["--config", &file, "serve", "status"]);
    assert_lacks!(before.stderr, note);
    home.write("config.toml", "[tags]\nknown = [\"rust\"]\n");
    let after = home.run(&["--config", &file, "serve", "status"]);
    assert_contains!(after.stderr, note);
    assert_contains!(after.stderr, "reprise serve stop");
}

fn texts(home: &Home, user: &str) -> usize {
    home.run_ok(&["export", "--user", user]).lines().count()
}

#[test]
fn a_running_daemon_lets_a_branch_come_back_and_a_backup_take_its_place() {
    let home = Home::new();
    wake(&home);
    let keep = |user: &str, text: &str| {
        let line = format!("{{\"text\":\"{text}\"}}\n");
        let file = home.write("line.jsonl", &line);
        home.run_ok(&["ingest", "--user", user, &file]);
        // The daemon has it open.
        home.run_ok(&["recall", "--user", user, text]);
    };
    keep("ada", "one");
    home.run_ok(&["branch", "fork", "idea", "--user", "ada"]);
    keep("ada+idea", "two");
    let backup = home.path("ada.rvf");
    home.run_ok(&["backup", &backup, "--user", "ada"]);
    let merged = home.run_ok(&["--json", "branch", "merge", "idea", "--user", "ada"]);
    assert_contains!(merged, "\"added\":1");
    keep("ada", "three");
    assert_eq!(texts(&home, "ada"), 3);
    home.run_ok(&["backup", "restore", &backup, "--user", "ada", "--replace"]);
    assert_eq!(texts(&home, "ada"), 1);
    keep("ada", "after");
    assert_eq!(texts(&home, "ada"), 2);
    home.run_ok(&["branch", "drop", "idea", "--user", "ada"]);
    assert!(!Path::new(&home.data()).join("ada+idea").exists());
    assert!(home.daemon().is_some(), "it ran all the time");
}
