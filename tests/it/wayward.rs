//! The command line beside a daemon, and what it answers to what was typed wrong: exit codes as the
//! table says, sentences that a person reads, the configuration that was named.

use std::path::Path;
use std::process::{Command, Stdio};

use reprise_tests::{finish, lacks, says};

use crate::home::{Home, kill, rows};

#[test]
fn what_was_typed_wrong_ends_as_the_table_of_codes_says() {
    let home = Home::new();
    home.done(&["learn", "the gate is shut at night", "--user", "ada"]);
    // Nothing could be done for somebody who has no memory.
    for flags in [&[][..], &["--json"], &["--max-tokens", "200"]] {
        let arguments = [&["recall", "gate", "--user", "adda"], flags].concat();
        let typo = home.run(&arguments);
        assert_eq!(typo.code, Some(2), "{arguments:?}: {}", typo.stderr);
        says!(typo.stderr, "no memory yet");
    }
    assert!(!home.data().join("adda").exists());
    assert_eq!(home.run(&["recall", "gate", "--user", "ada"]).code, Some(0));
    // A hook is a hook by its place, not by a word.
    home.run(&["hook", "user-prompt", "--bogus"]).ended(1);
    home.run(&["show", "hook", "--bogus"]).ended(2);
    // Some lines were refused, and the others kept.
    let lines = b"{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\
        \"observations\":[\"she writes\"]}\n{\"type\":\"entity\"\n";
    let file = home.write("memory.json", lines);
    home.run(&["import", "--from", "server-memory", &file, "--user", "eve"])
        .ended(1);
}

#[test]
fn what_has_nothing_to_show_says_so() {
    let home = Home::new();
    let secret = ["learn", "Bob earns ninety thousand", "--tags", "sensitive"];
    home.done(&[&secret[..], &["--user", "ada"]].concat());
    for (question, why) in [
        ("zebras", "nothing comes to mind"),
        ("what Bob earns", "is sensitive"),
    ] {
        let asked = ["recall", question, "--max-tokens", "200", "--user", "ada"];
        let asked = home.run(&asked).ended(0);
        assert_eq!(asked.stdout, "", "no part of a prompt");
        says!(asked.stderr, why);
    }
    let open = |user: &str| {
        let opened = home.run(&["open", "--print", "--user", user]).ended(0);
        opened.stderr.contains("no memory yet")
    };
    assert_eq!((open("ada"), open("adda")), (false, true));
}

#[test]
fn nobody_is_asked_about_a_record_that_is_not_there() {
    let home = Home::new();
    home.done(&["learn", "the gate is shut at night", "--user", "ada"]);
    let id = rows(&home.done(&["--json", "list", "--user", "ada"]))[0]["id"].clone();
    for (name, said) in [
        ("vpn", "there is no record `vpn`"),
        (id.as_str().expect("an id"), "Type yes"),
    ] {
        let asked = home.command(&["rm", name, "--user", "ada"]);
        let words = std::iter::once(asked.get_program()).chain(asked.get_args());
        let words: Vec<_> = words.map(std::ffi::OsStr::to_string_lossy).collect();
        let mut script = Command::new("script");
        script.args(["-qec", &words.join(" "), "/dev/null"]);
        let set = asked.get_envs();
        script.envs(set.filter_map(|(name, value)| Some((name, value?))));
        // A terminal is what it makes, where it is there.
        if let Ok(done) = finish(script.stdin(Stdio::null())) {
            says!(done.stdout, said);
            assert_eq!(done.stdout.contains("Type yes"), said == "Type yes");
        }
    }
}

#[test]
fn no_line_is_refused_for_its_mark_and_none_in_the_words_of_a_parser() {
    let home = Home::new();
    let marked =
        b"\xef\xbb\xbf{\"text\":\"with a mark before it\"}\n[1]\n{\"text\":5}\n\"x\"\n{}\n{\n";
    let file = home.write("marked.jsonl", marked);
    let kept = home.run(&["ingest", &file, "--user", "ada"]).ended(1);
    says!(kept.stdout, "\"inserted\":1");
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
    let said = "a list stands where an object is expected";
    says!(kept.stderr, said);
    let call = home
        .run(&["call", "recall", "[1]", "--user", "ada"])
        .ended(2);
    lacks!(call.stderr, "sequence");
}

#[test]
fn a_configuration_that_is_named_reaches_the_daemon_that_is_started() {
    let home = Home::new();
    let file = home.write("named.toml", b"[serve]\nhttp = \"127.0.0.1:0\"\n");
    home.done(&["--config", &file, "open", "--print", "--user", "ada"]);
    let status = home.asked(&["status"]);
    assert!(status["http"].is_string(), "{status}");
    let shown = home.done(&["--config", &file, "connect", "generic", "--user", "ada"]);
    says!(shown, "--config", "named.toml");
    assert!(Path::new(&file).is_absolute());
}

#[test]
fn after_a_daemon_was_killed_the_next_command_does_what_it_should() {
    let home = Home::new();
    for round in 0..5 {
        home.done(&["open", "--print", "--user", "ada"]);
        kill(home.daemon(), "-KILL");
        home.done(&["learn", &format!("lesson {round}"), "--user", "ada"]);
        home.done(&["open", "--print", "--user", "ada"]);
        kill(home.daemon(), "-KILL");
        home.done(&["open", "--print", "--user", "ada"]);
    }
    let kept = home.done(&["list", "--user", "ada"]);
    says!(kept, "lesson 4");
}
