//! What commands say to the person who types them: what was done, to what, and what comes next.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use reprise_tests::{assert_contains, assert_lacks, run_to_end};
use serde_json::{Value, json};

use crate::home::Home;

const ALONE: [&str; 3] = ["--no-daemon", "--user", "ada"];

fn home_with_two_memories() -> Home {
    let home = Home::with(&ALONE);
    home.keep(
        &[
            json!({ "external_id": "a", "text": "the heron nests by the weir", "tags": ["birds"] }),
            json!({ "external_id": "b", "text": "the ibis nests by the mill" }),
        ],
        &[],
    );
    home
}

#[test]
fn another_word_for_a_command_leads_to_that_command_and_to_no_other() {
    let home = Home::new();
    for (word, command) in [
        ("undo", "doctor undo"),
        ("history", "show ID"),
        ("sync", "branch sync"),
        ("merge", "doctor tidy"),
        ("why", "recall --why"),
        ("log", "list"),
        ("version", "--version"),
        ("disconnect", "connect AGENT --undo"),
        ("uninstall", "connect AGENT --undo"),
        ("sessions", "list"),
        ("login", "setup"),
    ] {
        let help = home.run(&["help", word]).expect_code(2).stderr;
        assert_contains!(help, &format!("use `reprise {command}`"));
        let said = home.run(&[word]).expect_code(2).stderr;
        assert_contains!(said, &format!("use `reprise {command}`"));
    }
    // Spelled alike is not meant alike, unless it begins alike.
    let said = home.run(&["config"]).expect_code(2).stderr;
    assert_contains!(said, "unknown command `config`", "lists the commands");
    assert_lacks!(said, "tip:");
    let said = home.run(&["recal", "x"]).expect_code(2).stderr;
    assert_contains!(said, "did you mean `recall`?");
    let said = home.run(&["help", "recal"]).expect_code(2).stderr;
    assert_contains!(said, "did you mean `recall`?");
    let said = home.run(&["tags", "list"]).expect_code(2).stderr;
    assert_contains!(said, "`reprise tags` alone lists the tags");
    assert_contains!(
        home.run_ok(&["help", "doctor", "models"]),
        "Usage: reprise doctor models"
    );
}

#[test]
fn forgetting_by_a_word_says_the_same_as_by_an_option_and_can_be_proved() {
    let home = home_with_two_memories();
    home.run_ok(&["backup", &home.path("b.rvf")]);
    let by_option = home.run_ok(&["forget", "--external-id", "a"]);
    let by_word = home.run_ok(&["forget", "b"]);
    assert_eq!(by_word, by_option);
    assert_contains!(by_word, "1 memory forgotten\nthe text stays on disk until");
    assert_contains!(
        by_word,
        "copies that were made before may have it, too (--verify looks into them):",
        "the backup of 20",
        "b.rvf"
    );

    let home = home_with_two_memories();
    let proof = home.run_json(&["forget", "a", "--verify"]);
    assert_eq!(proof["traces_in_file"], 0, "{proof}");
    let said = home.run_ok(&["forget", "b", "--verify"]);
    assert_contains!(said, "no longer in the file");
}

#[test]
fn several_memories_are_forgotten_at_once_and_a_proof_says_what_is_left() {
    let home = home_with_two_memories();
    let said = home.run(&["forget", "a", "nope"]).expect_code(2).stderr;
    assert_contains!(said, "no memory with id `nope`");
    assert_contains!(home.run_ok(&["forget", "a", "b"]), "2 memories forgotten");

    let home = Home::with(&ALONE);
    let session = "0f5c9f6e-1d2a-4c77-9a53-0d8d3a9a1b2c";
    let text = "the heron nests by the weir";
    home.keep(
        &[
            json!({ "external_id": "a", "text": text, "session_id": session }),
            json!({ "external_id": "b", "text": format!("I told them: {text}.") }),
        ],
        &[],
    );
    let said = home.run_ok(&["forget", "a", "--verify"]);
    assert_contains!(
        said,
        "memories that are kept say the same:",
        "forgets it, too"
    );
    assert_lacks!(said, "their texts are no longer in the file");
}

#[test]
fn a_list_of_a_user_without_memories_says_so_as_a_recall_does() {
    let home = Home::new();
    let said = |arguments: &[&str]| home.run(arguments).expect_code(2).stderr;
    let listed = said(&["--no-daemon", "list", "--user", "nobody"]);
    let asked = said(&["--no-daemon", "recall", "--user", "nobody", "birds"]);
    assert_contains!(asked, "`nobody` has no memories yet");
    assert_eq!(listed, asked);
}

#[test]
fn a_selector_that_means_nothing_says_so() {
    let home = home_with_two_memories();
    let said = home.run(&["forget", "--tag", "nope"]).expect_code(2).stdout;
    assert_contains!(said, "no memory is tagged `nope`; `reprise tags` lists");
    let said = home
        .run(&["forget", "--session", "s9"])
        .expect_code(2)
        .stdout;
    assert_contains!(said, "no memory is of session `s9`");
    let said = home.run(&["list", "--tag", "nope"]).stderr;
    assert_contains!(
        said,
        "no memory is tagged `nope`",
        "`reprise tags` lists the tags"
    );
    let said = home
        .run(&["doctor", "tidy", "--group", "nope"])
        .expect_code(2)
        .stderr;
    assert_contains!(said, "no memory with id `nope`");
    let said = home.run_ok(&["show", "a", "--around"]);
    assert_contains!(said, "is not linked to anything");
}

#[test]
fn a_value_that_means_nothing_says_what_to_give() {
    let home = home_with_two_memories();
    for (command, expected) in [
        (&["edit", "a"][..], "nothing to change: give a new text"),
        (&["learn"], "nothing to remember: type"),
        (
            &[
                "tags",
                "sources",
                "--add",
                "hunch",
                "--typical-confidence",
                "wow",
            ],
            "`wow` is no confidence; take very-low, low",
        ),
        (
            &["branch", "sync", "x.rvf", "y.rvf"],
            "`x.rvf` is no memory file",
        ),
        (&["ingest", "x.jsonl"], "`x.jsonl` does not exist"),
        (
            &["list", "--limit", "x"],
            "`x` is no value for `--limit <N>`; give a whole number",
        ),
        (
            &["recall", "heron", "--limit", "-1"],
            "`-1` is no value for `--limit`; give a number that is not negative",
        ),
        (
            &["pause", "--minutes", "-5"],
            "`-5` is no value for `--minutes`",
        ),
        (
            &["--user", "ada", "list"],
            "write `--user` after the command: `reprise list --user ada`",
        ),
        (&["connect"], "`connect` needs the name of an agent"),
        (
            &["pause", "--project", "nowhere"],
            "no memory is of a project `nowhere`",
        ),
        (
            &["pause", "--project", "./nowhere"],
            "there is no folder `./nowhere`",
        ),
        (
            &["resume", "--project", "nowhere"],
            "no memory is of a project",
        ),
        (
            &["pause", "--agent", "clade"],
            "(did you mean `claude-code`?)",
        ),
        (
            &["serve", "--http", "foo"],
            "give an address and a port, such as 127.0.0.1:7341",
        ),
        (
            &["forget"],
            "nothing to forget is named; give an ID, --external-id",
        ),
    ] {
        let said = home.run(command).expect_code(2).stderr;
        assert_contains!(said, expected);
        assert_lacks!(said, "os error");
    }
    let pull = ["doctor", "models", "pull", "--from", "/nowhere"];
    let said = Home::new().run(&pull).expect_code(2).stderr;
    assert_contains!(said, "`/nowhere` does not exist");
}

#[test]
fn a_user_without_memories_is_told_how_to_begin() {
    let home = Home::with(&["--no-daemon"]);
    // Before the first memory there is no folder of memories either.
    let said = home.run(&["branch", "list"]).expect_code(0).stderr;
    assert_contains!(said, "no branches yet");
    let asked = home.run(&["recall", "anything"]).expect_code(2);
    assert_contains!(asked.stderr, "has no memories yet", "`reprise setup`");
    assert_eq!(asked.stdout, "");
    assert_contains!(
        home.run(&["tags"]).expect_code(2).stderr,
        "has no memories yet"
    );
}

#[test]
fn what_came_in_and_went_out_is_said_in_a_sentence_and_as_json_when_asked() {
    let home = Home::with(&ALONE);
    let lines = home.write(
        "l.jsonl",
        "{\"external_id\":\"a\",\"text\":\"the heron nests\"}\nnothing\n",
    );
    let said = home.run(&["ingest", &lines]).expect_code(1).stdout;
    assert_eq!(said, "1 memory added, 0 already known, 1 refused\n");
    let row = home
        .run(&["ingest", &lines, "--json"])
        .expect_code(1)
        .stdout;
    let row: Value = serde_json::from_str(&row).expect("JSON");
    assert_eq!(
        (&row["duplicate"], &row["rejected"]),
        (&json!(1), &json!(1))
    );

    let outcome = json!({ "query": "herons", "used": [], "quality": 1.0 });
    let file = home.write("o.jsonl", &outcome.to_string());
    let said = home.run_ok(&["outcome", "--jsonl", &file]);
    assert_contains!(
        said,
        "1 outcome recorded, 0 already known",
        "finished runs are needed"
    );

    let out = home.path("e.jsonl");
    let said = home.run(&["export", "--out", &out]).expect_code(0).stderr;
    assert_contains!(said, &format!("wrote 1 memory to {out}"));
    // A file that could not be written is no copy that a forgotten text may be in.
    let away = home.path("nowhere/e.jsonl");
    let said = home.run(&["export", "--out", &away]).expect_code(2).stderr;
    assert_contains!(said, "does not exist; create it first");
    let copies = fs::read_to_string(home.data().join(".reprise/backups.jsonl")).expect("a list");
    assert_lacks!(copies, "nowhere");

    let more = home.write("m.jsonl", "{\"text\":\"the ibis nests\"}\n");
    let said = home.run_ok(&["import", &more]);
    assert_eq!(said, "1 memory added, 0 already known, 0 refused\n");
    let said = home
        .run(&["import", &more, "--from", "git"])
        .expect_code(2)
        .stderr;
    assert_contains!(said, "is a file, not a repository");
    let empty = home.path("empty");
    fs::create_dir(&empty).expect("a folder");
    let said = home
        .run(&["import", &empty, "--from", "instructions"])
        .stderr;
    assert_contains!(said, "there is nothing of instructions there");
}

#[test]
fn a_backup_is_not_named_like_a_command_and_a_branch_not_like_another() {
    let home = home_with_two_memories();
    let said = home.run(&["backup", "list"]).expect_code(2).stderr;
    assert_contains!(
        said,
        "`backup` has no command `list`, and nothing was written"
    );
    assert!(!std::path::Path::new("list").exists());
    let file = home.path("ada.rvf");
    let said = home.run_ok(&["backup", &file]);
    assert_contains!(said, &format!("backed up ada to {file}: 2 memories"));
    home.run_ok(&["branch", "fork", "idea"]);
    let said = home.run(&["branch", "fork", "idea"]).expect_code(2).stderr;
    assert_contains!(said, "branch `idea` exists already; drop it with");
}

#[test]
fn a_repair_of_a_sound_memory_says_that_nothing_was_damaged() {
    let home = home_with_two_memories();
    let said = home.run_ok(&["doctor", "--repair"]);
    assert_contains!(said, "nothing was damaged; the index was rebuilt");
    home.run_ok(&["doctor", "rebuild", "markdown"]);
    home.keep(&[json!({ "text": "the stork came back" })], &[]);
    let said = home.run(&["doctor", "--repair"]).expect_code(1).stdout;
    assert_contains!(
        said,
        "nothing was damaged; the index was rebuilt;",
        "out of date"
    );
    assert_lacks!(said, "repaired:");
}

#[test]
fn a_status_line_without_a_session_says_nothing_of_the_daemon() {
    let home = Home::new();
    let mut command = home.command(&["statusline", "--user", "ada"]);
    let ended = run_to_end(command.stdin(Stdio::null())).expect("reprise runs");
    assert_eq!(ended.stdout, "memory: no session\n");
}

#[test]
fn connecting_and_disconnecting_say_which_files_and_how_to_take_it_back() {
    let home = Home::new();
    let said = home.run_ok(&["connect", "codex"]);
    assert_contains!(
        said,
        "Connected Codex: ~/.codex/config.toml, ~/.codex/hooks.json",
        "`reprise connect codex --undo`"
    );
    let said = home.run_ok(&["connect", "codex"]);
    assert_contains!(said, "Codex was connected already");
    let said = home.run_ok(&["connect", "codex", "--undo"]);
    assert_contains!(
        said,
        "Disconnected Codex: deleted ~/.codex/config.toml (nothing else"
    );
    assert!(!home.folder().join(".codex").exists());
    // An empty folder that was there says that the program is on this machine.
    fs::create_dir(home.folder().join(".codex")).expect("a folder");
    home.run_ok(&["connect", "codex"]);
    home.run_ok(&["connect", "codex", "--undo"]);
    let left = fs::read_dir(home.folder().join(".codex")).expect("it is still there");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_demo_that_compiles_programs_refuses_where_no_compiler_runs() {
    let home = Home::new();
    let cargo = home.write("bin/cargo", "#!/bin/sh\necho no toolchain >&2\nexit 1\n");
    let rustc = home.write("bin/rustc", "#!/bin/sh\nexit 0\n");
    for program in [cargo, rustc] {
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    }
    let mut command = home.command(&["demo", "week"]);
    let ended = run_to_end(command.env("PATH", home.path("bin"))).expect("reprise runs");
    let said = ended.expect_code(2).stderr;
    assert_contains!(said, "`cargo` does not run here: no toolchain");
}
