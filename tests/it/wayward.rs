//! The command line beside a daemon, and what it answers to what was typed wrong: exit codes as the
//! table says, sentences that a person reads, the configuration that was named.

use std::fs;
use std::path::Path;

use crate::home::{Home, kill};

fn write(home: &Home, name: &str, text: &[u8]) -> String {
    let file = home.folder().join(name);
    fs::write(&file, text).expect("written");
    file.to_string_lossy().into_owned()
}

#[test]
fn what_was_typed_wrong_ends_as_the_table_of_codes_says() {
    let home = Home::new();
    home.done(&["learn", "the gate is shut at night", "--user", "ada"]);
    // Nothing could be done for somebody who has no memory.
    for flags in [&[][..], &["--json"], &["--max-tokens", "200"]] {
        let arguments = [&["recall", "gate", "--user", "adda"], flags].concat();
        let typo = home.run(&arguments);
        assert_eq!(typo.code, Some(2), "{arguments:?}: {}", typo.stderr);
        assert!(typo.stderr.contains("no memory yet"), "{}", typo.stderr);
    }
    assert!(!home.data().join("adda").exists());
    assert_eq!(home.run(&["recall", "gate", "--user", "ada"]).code, Some(0));
    // A hook is a hook by its place, not by a word.
    let hook = home.run(&["hook", "user-prompt", "--bogus"]);
    assert_eq!(hook.code, Some(1), "{}", hook.stderr);
    let other = home.run(&["show", "hook", "--bogus"]);
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    // Some lines were refused, and the others kept.
    let lines = b"{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\
        \"observations\":[\"she writes\"]}\n{\"type\":\"entity\"\n";
    let file = write(&home, "memory.json", lines);
    let half = home.run(&["import", "--from", "server-memory", &file, "--user", "eve"]);
    assert_eq!(half.code, Some(1), "{}{}", half.stdout, half.stderr);
}

#[test]
fn no_line_is_refused_for_its_mark_and_none_in_the_words_of_a_parser() {
    let home = Home::new();
    let marked =
        b"\xef\xbb\xbf{\"text\":\"with a mark before it\"}\n[1]\n{\"text\":5}\n\"x\"\n{}\n{\n";
    let file = write(&home, "marked.jsonl", marked);
    let kept = home.run(&["ingest", &file, "--user", "ada"]);
    assert_eq!(kept.code, Some(1), "{}", kept.stderr);
    assert!(kept.stdout.contains("\"inserted\":1"), "{}", kept.stdout);
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
    assert!(kept.stderr.contains(said), "{}", kept.stderr);
    let call = home.run(&["call", "recall", "[1]", "--user", "ada"]);
    assert_eq!(call.code, Some(2));
    assert!(!call.stderr.contains("sequence"), "{}", call.stderr);
}

#[test]
fn a_configuration_that_is_named_reaches_the_daemon_that_is_started() {
    let home = Home::new();
    let file = write(&home, "named.toml", b"[serve]\nhttp = \"127.0.0.1:0\"\n");
    home.done(&["--config", &file, "open", "--print", "--user", "ada"]);
    let status = home.asked(&["status"]);
    assert!(status["http"].is_string(), "{status}");
    let shown = home.done(&["--config", &file, "connect", "generic", "--user", "ada"]);
    assert!(
        shown.contains("--config") && shown.contains("named.toml"),
        "{shown}"
    );
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
    assert!(kept.contains("lesson 4"), "{kept}");
}
