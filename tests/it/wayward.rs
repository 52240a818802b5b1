//! The command line with a daemon, and what it answers to what was typed wrong: exit codes as the
//! table says, sentences that a person reads, the configuration that was named.

use std::path::Path;
use std::process::{Command, Stdio};

use reprise_tests::{assert_contains, assert_lacks, run_to_end};

use crate::home::{Home, kill, rows};

#[test]
fn what_was_typed_wrong_ends_as_the_table_of_codes_says() {
    let home = Home::new();
    home.run_ok(&["learn", "the gate is shut at night", "--user", "ada"]);
    // Nothing could be done for somebody who has no memory.
    for flags in [&[][..], &["--json"], &["--max-tokens", "200"]] {
        let arguments = [&["recall", "gate", "--user", "adda"], flags].concat();
        let typo = home.run(&arguments);
        assert_eq!(typo.code, Some(2), "{arguments:?}: {}", typo.stderr);
        assert_contains!(typo.stderr, "no memories yet");
    }
    assert!(!home.data().join("adda").exists());
    assert_eq!(home.run(&["recall", "gate", "--user", "ada"]).code, Some(0));
    // A hook is a hook by its place, not by a word.
    home.run(&["hook", "user-prompt", "--bogus"]).expect_code(1);
    home.run(&["show", "hook", "--bogus"]).expect_code(2);
    // Some lines were refused, and the others kept.
    let lines = b"{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\
        \"observations\":[\"she writes\"]}\n{\"type\":\"entity\"\n";
    let file = home.write("memory.json", lines);
    home.run(&["import", "--from", "server-memory", &file, "--user", "eve"])
        .expect_code(1);
}

#[test]
fn what_was_plainly_meant_is_done() {
    let home = Home::with(&["--no-daemon"]);
    home.run_ok(&["learn", "- geese fly south in autumn"]);
    let note = home.write("notes.md", "Walruses live in the north.\n");
    let learned = home.run(&["learn", &note]).expect_code(0);
    assert_contains!(learned.stderr, "is a file");
    let texts = ["- geese fly south in autumn", "Walruses live in the north."];
    assert_eq!(home.texts("default"), texts);
    let mut asked = home.command(&["recall", "-"]);
    let question = std::fs::File::open(&note).expect("there");
    let found = run_to_end(asked.stdin(Stdio::from(question))).expect("it runs");
    assert_contains!(found.expect_code(0).stdout, texts[1]);
    let listed = home.run_json(&["list", "--limit", "1"]);
    let id = listed["id"].as_str().expect("an id").to_owned();
    let short = &id[..12];
    assert_contains!(home.run_ok(&["show", short]), texts[1]);
    home.run_ok(&["edit", short, "--tags", "north"]);
    let kept = home.run(&["forget", short]);
    assert_ne!(kept.code, Some(0));
    assert_contains!(kept.stderr, &format!("write its whole id, `{id}`"));
    // A text that begins with a long address is printed from where its words begin.
    let address = ["https://example.org/", &"a/".repeat(200)].concat();
    home.run_ok(&["learn", &format!("{address} the zebra crossing is closed")]);
    let printed = home.run_ok(&["recall", "zebra", "crossing"]);
    assert_contains!(printed, "... the zebra crossing is closed");
}

#[test]
fn what_has_nothing_to_show_says_so() {
    let home = Home::new();
    let secret = ["learn", "Bob earns ninety thousand", "--tags", "sensitive"];
    home.run_ok(&[&secret[..], &["--user", "ada"]].concat());
    for (question, why) in [
        ("zebras", "found nothing"),
        ("what Bob earns", "what answers is sensitive"),
    ] {
        let asked = ["recall", question, "--max-tokens", "200", "--user", "ada"];
        let asked = home.run(&asked).expect_code(0);
        assert_eq!(asked.stdout, "", "no part of a prompt");
        assert_contains!(asked.stderr, why);
    }
    let open = |user: &str| {
        let opened = home
            .run(&["open", "--print", "--user", user])
            .expect_code(0);
        opened.stderr.contains("no memories yet")
    };
    assert_eq!((open("ada"), open("adda")), (false, true));
}

#[test]
fn nobody_is_asked_about_a_record_that_is_not_there() {
    let home = Home::new();
    home.run_ok(&["learn", "the gate is shut at night", "--user", "ada"]);
    let id = rows(&home.run_ok(&["--json", "list", "--user", "ada"]))[0]["id"].clone();
    for (name, said) in [
        ("vpn", "no memory with id `vpn`"),
        (id.as_str().expect("an id"), "Type yes"),
    ] {
        let asked = home.command(&["forget", name, "--user", "ada"]);
        let words = std::iter::once(asked.get_program()).chain(asked.get_args());
        let words: Vec<_> = words.map(std::ffi::OsStr::to_string_lossy).collect();
        let mut script = Command::new("script");
        script.args(["-qec", &words.join(" "), "/dev/null"]);
        let set = asked.get_envs();
        script.envs(set.filter_map(|(name, value)| Some((name, value?))));
        // A terminal is what it makes, where it is there.
        if let Ok(done) = run_to_end(script.stdin(Stdio::null())) {
            assert_contains!(done.stdout, said);
            assert_eq!(done.stdout.contains("Type yes"), said == "Type yes");
        }
    }
}

#[test]
fn no_line_is_refused_for_its_mark_and_none_in_the_words_of_a_parser() {
    let home = Home::new();
    let marked =
        b"\xef\xbb\xbf{\"text\":\"with a mark before it\"}\n[1]\n{\"text\":[5]}\n\"x\"\n{}\n{\n";
    let file = home.write("marked.jsonl", marked);
    let kept = home.run(&["ingest", &file, "--user", "ada"]).expect_code(1);
    assert_contains!(kept.stdout, "1 memory added");
    for word in [
        "struct",
        "IngestLine",
        "invalid type",
        "sequence",
        "EOF",
        "map",
    ] {
        assert!(!kept.stderr.contains(word), "`{word}` in: {}", kept.stderr);
    }
    let said = "a list is given where an object is expected";
    assert_contains!(kept.stderr, said);
    let call = home
        .run(&["call", "recall", "[1]", "--user", "ada"])
        .expect_code(2);
    assert_lacks!(call.stderr, "sequence");
}

#[test]
fn a_configuration_that_is_named_reaches_the_daemon_that_is_started() {
    let home = Home::new();
    let file = home.write("named.toml", b"[serve]\nhttp = \"127.0.0.1:0\"\n");
    home.run_ok(&["--config", &file, "open", "--print", "--user", "ada"]);
    let status = home.run_json(&["serve", "status"]);
    assert!(status["http"].is_string(), "{status}");
    let shown = home.run_ok(&["--config", &file, "connect", "generic", "--user", "ada"]);
    assert_contains!(shown, "--config", "named.toml");
    assert!(Path::new(&file).is_absolute());
}

#[test]
fn after_a_daemon_was_killed_the_next_command_does_what_it_should() {
    let home = Home::new();
    for round in 0..5 {
        home.run_ok(&["open", "--print", "--user", "ada"]);
        kill(home.daemon(), "-KILL");
        home.run_ok(&["learn", &format!("lesson {round}"), "--user", "ada"]);
        home.run_ok(&["open", "--print", "--user", "ada"]);
        kill(home.daemon(), "-KILL");
        home.run_ok(&["open", "--print", "--user", "ada"]);
    }
    let kept = home.run_ok(&["list", "--user", "ada"]);
    assert_contains!(kept, "lesson 4");
}
