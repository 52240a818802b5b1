//! The real binary on input that is wrong: one sentence that helps, an exit code, nothing changed.
//!
//! A table's worth of bad input, each through a process as a user would meet it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reprise_tests::{
    RunOutput, SeededRng, assert_contains, assert_lacks, reprise_command, run_to_end,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::home::rows;

const DONE: Option<i32> = Some(0);
const REFUSED: Option<i32> = Some(1);
const FAILED: Option<i32> = Some(2);

#[test]
fn the_binary_says_its_version() {
    let place = UserFolder::new();
    let finished = place.run(&["--version"]).expect_code(0);
    assert_contains!(finished.stdout, env!("CARGO_PKG_VERSION"));
}

/// A data directory with a user in it.
struct UserFolder {
    folder: TempDir,
}

impl UserFolder {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn store(&self) -> PathBuf {
        self.data().join("ada").join("memory.rvf")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = reprise_command(&self.data()).expect("reprise is built");
        command.args(["--no-model", "--json"]).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> RunOutput {
        let finished = run_to_end(&mut self.command(arguments)).expect("reprise runs");
        is_civil(&finished);
        finished
    }

    fn file(&self, bytes: &[u8]) -> String {
        let path = self.folder.path().join("lines.jsonl");
        fs::write(&path, bytes).expect("the file is written");
        path.to_string_lossy().into_owned()
    }

    fn ingest(&self, bytes: &[u8]) -> RunOutput {
        self.run(&["ingest", "--user", "ada", "--jsonl", &self.file(bytes)])
    }

    fn export(&self) -> Vec<Value> {
        let finished = self.run(&["export", "--user", "ada"]);
        assert_eq!(finished.code, DONE, "{}", finished.stderr);
        rows(&finished.stdout)
    }

    /// A closed store with one record.
    fn with_one() -> Self {
        let place = Self::new();
        let finished = place.ingest(b"{\"external_id\":\"one\",\"text\":\"kept before\"}\n");
        assert_eq!(finished.code, DONE, "{}", finished.stderr);
        place
    }
}

/// Whatever happens, nothing that a programmer left behind reaches a user.
fn is_civil(finished: &RunOutput) {
    for rude in [
        "panicked",
        "RUST_BACKTRACE",
        "unwrap",
        "Error {",
        "stack backtrace",
    ] {
        assert!(
            !finished.stderr.contains(rude),
            "{rude}: {}",
            finished.stderr
        );
    }
    if finished.code != DONE {
        assert!(
            finished.stderr.trim().len() > 20,
            "no sentence: {:?}",
            finished.stderr
        );
    }
    assert!(
        finished.code.is_some(),
        "ended by a signal: {}",
        finished.stderr
    );
}

/// The one line of `stderr` about input line `number`, with `word` in it.
fn names_line(finished: &RunOutput, number: usize, word: &str) {
    // `refused line 2: why` or `skipped line 2: why`.
    let place = format!(" line {number}:");
    let about: Vec<&str> = finished
        .stderr
        .lines()
        .filter(|line| line.contains(&place))
        .collect();
    assert_eq!(
        about.len(),
        1,
        "one sentence about {place}: {}",
        finished.stderr
    );
    assert!(
        about.concat().contains(word),
        "{word} in: {}",
        about.concat()
    );
}

fn counts(finished: &RunOutput) -> (u64, u64, u64) {
    let summary = finished.stdout.lines().last().unwrap_or_default();
    let summary: Value = serde_json::from_str(summary).expect("a JSON summary");
    let count = |name: &str| summary[name].as_u64().expect("a count");
    (count("inserted"), count("duplicate"), count("rejected"))
}

#[test]
fn a_bad_line_is_named_by_its_number_and_the_rest_goes_on() {
    let place = UserFolder::new();
    let lines = b"{\"external_id\":\"a\",\"text\":\"first\"}\n\
                  {\"external_id\":\"b\",\"text\":\n\
                  {\"external_id\":\"c\"}\n\
                  {\"external_id\":\"d\",\"text\":\"\xff\xfe\"}\n\
                  {\"external_id\":\"e\",\"text\":\"   \"}\n\
                  {\"external_id\":\"f\",\"text\":\"x\",\"source\":\"gossip\"}\n\
                  {\"external_id\":\"g\",\"text\":\"x\",\"timestamp\":\"soon\"}\n\
                  [1,2]\n\
                  {\"external_id\":\"a\",\"text\":\"again\"}\n\
                  {\"external_id\":\"z\",\"text\":\"last\"}\n";
    let finished = place.ingest(lines);
    assert_eq!(finished.code, REFUSED, "{}", finished.stderr);
    assert_eq!(counts(&finished), (3, 1, 6));
    let reasons = [
        (2, ""),
        (3, "text"),
        (5, "empty"),
        (6, "gossip"),
        (7, "RFC 3339"),
        (8, ""),
    ];
    for (number, word) in reasons {
        names_line(&finished, number, word);
    }
    let texts: Vec<Value> = place
        .export()
        .iter()
        .map(|record| record["text"].clone())
        .collect();
    // Bytes that are no UTF-8 are read as U+FFFD.
    assert_eq!(texts, ["first", "\u{fffd}\u{fffd}", "last"]);
}

#[test]
fn a_vector_that_cannot_be_stored_is_refused_by_line() {
    let place = UserFolder::new();
    let line = |id: &str, vector: &str, dimensions: u32| {
        let space = format!(r#"{{"model":"m","version":"1","dimensions":{dimensions}}}"#);
        format!(
            r#"{{"external_id":"{id}","text":"t","embedding":{vector},"embedding_space":{space}}}"#
        )
    };
    let long = vec!["0.0"; 384].join(",");
    let bad = [
        line("short", "[1.0]", 384),
        line(
            "infinite",
            &format!("[{}]", long.replacen("0.0", "1e39", 1)),
            384,
        ),
        line("zero", &format!("[{long}]"), 384),
        line("nan", "[NaN]", 1),
        r#"{"external_id":"homeless","text":"t","embedding":[1.0]}"#.to_owned(),
    ];
    let finished = place.ingest(bad.join("\n").as_bytes());
    assert_eq!(finished.code, REFUSED, "{}", finished.stderr);
    assert_eq!(counts(&finished), (0, 0, 5));
    for number in 1..=5 {
        names_line(&finished, number, "");
    }
    assert!(place.export().is_empty());
}

#[test]
fn ingest_takes_secrets_out_unless_told_not_to() {
    let place = UserFolder::new();
    let secret = ["AKIA", "IOSFODNN7EXAMPLE"].concat();
    let line = format!(r#"{{"text": "the bucket's key is {secret}, <Private>psst</private>"}}"#);
    let finished = place.ingest(line.as_bytes());
    assert_eq!(finished.code, DONE, "{}", finished.stderr);
    assert_contains!(finished.stderr, "2 secrets were removed");
    let kept = format!("{:?}", place.export());
    assert_contains!(kept, "[redacted:aws_key], [redacted:private]");
    let file = place.file(line.as_bytes());
    let ingest = ["ingest", "--user", "ada", "--verbatim", "--jsonl", &file];
    assert_eq!(place.run(&ingest).code, DONE);
    assert!(format!("{:?}", place.export()).contains(&secret));
}

#[test]
fn three_dialects_of_time_are_one_instant() {
    let place = UserFolder::new();
    let lines = [
        "2026-02-16T10:46:08+01:00",
        "2026-02-16 09:46:08",
        "2026-02-16T09:46:08Z",
        "2026-02-16T09:46:08.000000",
    ]
    .map(|time| format!(r#"{{"external_id":"{time}","text":"t","timestamp":"{time}"}}"#));
    let finished = place.ingest(lines.join("\n").as_bytes());
    assert_eq!(finished.code, DONE, "{}", finished.stderr);
    for record in place.export() {
        assert_eq!(record["timestamp"], "2026-02-16T09:46:08Z");
    }
}

#[test]
fn a_user_id_that_is_no_safe_name_is_refused_and_makes_nothing() {
    let long = "u".repeat(300);
    for user in [
        "..",
        ".",
        "",
        "a/b",
        "../ada",
        "/etc",
        ".hidden",
        "a\\b",
        "a b\n",
        long.as_str(),
    ] {
        let place = UserFolder::new();
        let file = place.file(b"{\"text\":\"t\"}\n");
        let finished = place.run(&["ingest", "--jsonl", &file, "--user", user]);
        assert_eq!(finished.code, FAILED, "{user:?}: {}", finished.stderr);
        assert!(
            finished.stderr.contains("user id"),
            "{user:?}: {}",
            finished.stderr
        );
        assert!(!place.data().exists(), "{user:?} made something");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let place = UserFolder::new();
    let file = place.file(b"{\"text\":\"t\"}\n");
    let in_the_way = place.folder.path().join("plain-file");
    fs::write(&in_the_way, "x").expect("a file");
    // Permissions do not stop the superuser; the kernel's own tree stops everybody.
    let kernel = PathBuf::from("/proc/reprise");
    let kernel = Some(kernel).filter(|_| Path::new("/proc/self").exists());
    for data in [Some(in_the_way), kernel].into_iter().flatten() {
        let mut command = reprise_command(&data).expect("reprise is built");
        command.args(["--no-model", "ingest", "--user", "ada", "--jsonl", &file]);
        let finished = run_to_end(&mut command).expect("reprise runs");
        is_civil(&finished);
        assert_eq!(finished.code, FAILED, "{}", finished.stderr);
        assert_contains!(finished.stderr, &*data.to_string_lossy());
    }
}

#[test]
fn a_second_process_on_the_same_user_is_told_who_holds_it() {
    let place = UserFolder::with_one();
    // The product locks the file itself, so holding that lock is being another process on it.
    let held = fs::File::options()
        .read(true)
        .write(true)
        .open(place.store())
        .expect("the store");
    held.lock().expect("nobody holds it yet");
    let before = fs::read(place.store()).expect("the store");
    let file = place.file(b"{\"external_id\":\"two\",\"text\":\"t\"}\n");
    let finished = place.run(&["ingest", "--user", "ada", "--wait", "0", &file]);
    assert_eq!(finished.code, FAILED, "{}", finished.stderr);
    assert_contains!(finished.stderr, "process");
    assert_eq!(fs::read(place.store()).expect("the store"), before);
    // Who can wait says so and has its turn.
    let mut waiting = place.command(&["ingest", "--user", "ada", &file]);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut waiting = waiting.spawn().expect("it starts");
    let mut said = BufReader::new(waiting.stderr.take().expect("piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says that it waits");
    assert_contains!(line, "waiting");
    drop(held);
    let output = waiting.wait_with_output().expect("it ends");
    let counts = String::from_utf8_lossy(&output.stdout);
    assert_contains!(counts, "\"inserted\":1");
}

#[test]
fn a_foreign_file_in_the_stores_place_is_refused_and_left_alone() {
    let forged = [
        b"RVFS".repeat(64),
        vec![0x5a; 4096],
        b"{\"text\":\"x\"}\n".to_vec(),
        vec![],
    ];
    for bytes in forged {
        let place = UserFolder::new();
        fs::create_dir_all(place.store().parent().expect("a parent")).expect("a directory");
        fs::write(place.store(), &bytes).expect("the foreign file");
        for arguments in [
            vec!["doctor", "check"],
            vec!["export"],
            vec!["stats"],
            vec!["recall", "x"],
        ] {
            let arguments = [arguments, vec!["--user", "ada"]].concat();
            let finished = place.run(&arguments);
            assert_ne!(
                finished.code,
                DONE,
                "{arguments:?} on {} bytes",
                bytes.len()
            );
        }
        let finished = place.ingest(b"{\"text\":\"t\"}\n");
        assert_eq!(finished.code, FAILED, "{}", finished.stderr);
        assert_contains!(finished.stderr, "memory.rvf");
        assert_eq!(fs::read(place.store()).expect("the foreign file"), bytes);
    }
}

#[test]
fn a_file_of_a_newer_format_is_refused_and_left_alone() {
    let place = UserFolder::with_one();
    let mut bytes = fs::read(place.store()).expect("the store");
    // docs/FORMAT.md: the first segment's payload follows 64 bytes of header and holds, after
    // 32 bytes of preamble, the format's version; its hash is in the header.
    bytes[96] += 1;
    let length = u64::from_le_bytes(bytes[0x10..0x18].try_into().expect("eight bytes"));
    let end = 64 + usize::try_from(length).expect("a short payload");
    let hash = rvf_wire::hash::compute_content_hash(1, &bytes[64..end]);
    bytes[0x28..0x38].copy_from_slice(&hash);
    fs::write(place.store(), &bytes).expect("the store");
    for arguments in [
        vec!["doctor", "check"],
        vec!["export"],
        vec!["doctor", "compact"],
        vec!["recall", "x"],
    ] {
        let finished = place.run(&[arguments, vec!["--user", "ada"]].concat());
        assert_eq!(finished.code, FAILED, "{}", finished.stderr);
        assert_contains!(finished.stderr, "newer");
    }
    let finished = place.ingest(b"{\"text\":\"t\"}\n");
    assert_eq!(finished.code, FAILED, "{}", finished.stderr);
    assert_eq!(fs::read(place.store()).expect("the store"), bytes);
}

#[test]
fn a_damaged_byte_is_reported_or_harmless_and_never_served() {
    let place = UserFolder::new();
    let text = |n: u64| format!("{n} {}", noise(n));
    let line = |n| format!("{{\"external_id\":\"{n}\",\"text\":\"{}\"}}", text(n));
    for part in 0..4 {
        let lines: Vec<String> = (part * 20..part * 20 + 20).map(line).collect();
        assert_eq!(place.ingest(lines.join("\n").as_bytes()).code, DONE);
    }
    let whole = fs::read(place.store()).expect("the store");
    let mut seeded = SeededRng::new(7);
    let mut reported = 0;
    for _ in 0..24 {
        let mut bytes = whole.clone();
        let at = usize::try_from(seeded.draw_below(whole.len() as u64)).expect("an index");
        bytes[at] ^= 1 << seeded.draw_below(8);
        fs::write(place.store(), &bytes).expect("the store");
        let check = place.run(&["doctor", "check", "--user", "ada"]);
        let export = place.run(&["export", "--user", "ada"]);
        let mut kept = 0;
        for record in export.stdout.lines() {
            let record: Value = serde_json::from_str(record).expect("JSON");
            let number = record["external_id"]
                .as_str()
                .and_then(|id| id.parse().ok());
            assert_eq!(record["text"], text(number.expect("a number")), "byte {at}");
            kept += 1;
        }
        reported += u32::from(check.code != DONE);
        assert!(
            kept == 80 || check.code != DONE,
            "byte {at}: {kept} of 80, and check is content"
        );
    }
    assert!(reported > 0, "not one of the damaged bytes was reported");
}

#[test]
fn another_word_for_a_command_is_answered_with_the_command() {
    let place = UserFolder::new();
    for (word, command) in [
        ("search", "`reprise recall`"),
        ("remember", "`reprise learn`"),
        ("delete", "`reprise forget`"),
        ("status", "`reprise serve status`"),
    ] {
        let finished = place.run(&[word, "the lift"]);
        assert_eq!(finished.code, FAILED);
        assert_contains!(finished.stderr, command);
    }
}

#[test]
fn the_help_of_a_command_has_one_line_for_the_global_options() {
    let place = UserFolder::new();
    for command in [&["tags"][..], &["doctor", "check"], &["workspace", "log"]] {
        let help = place.run(&[command, &["--help"]].concat()).stdout;
        assert_lacks!(help, "--data-dir <DIR>");
        assert_contains!(help, "Global options: --json, --data-dir");
    }
    assert_contains!(place.run(&["help", "--all"]).stdout, "--data-dir <DIR>");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let place = UserFolder::new();
    let finished = place.run(&["ingest", "--user", "ada", "--jsonl", "no-such-file.jsonl"]);
    assert_eq!(finished.code, FAILED);
    assert_contains!(finished.stderr, "no-such-file.jsonl");
    assert!(!place.store().exists(), "nothing was made");
}

#[test]
fn a_disk_that_takes_no_more_costs_only_what_was_not_acknowledged() {
    let place = UserFolder::with_one();
    let line = |n| format!("{{\"external_id\":\"{n}\",\"text\":\"{n} {}\"}}", noise(n));
    let lines = (0..2000).map(line).collect::<Vec<_>>().join("\n");
    let file = place.file(lines.as_bytes());
    let binary = place.command(&[]).get_program().to_owned();
    // A limit on a file's size replaces a full disk: the same write fails, at the same place.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -f 300; exec \"$@\"", "sh"])
        .arg(binary);
    shell.args(place.command(&[]).get_args());
    shell.args(["ingest", "--ack", "--user", "ada", "--jsonl", &file]);
    let finished = run_to_end(&mut shell).expect("the shell runs");
    is_civil(&finished);
    assert_eq!(finished.code, FAILED, "{}", finished.stderr);
    let acknowledged: Vec<&str> = finished
        .stdout
        .lines()
        .filter(|line| line.parse::<u32>().is_ok())
        .collect();
    assert!(acknowledged.len() < 2000, "the limit was never met");
    let check = place.run(&["doctor", "check", "--user", "ada"]);
    assert_eq!(check.code, DONE, "{}{}", check.stdout, check.stderr);
    let kept = place.export();
    let times = |id: &str| {
        kept.iter()
            .filter(|record| record["external_id"] == id)
            .count()
    };
    assert!(
        acknowledged.iter().all(|id| times(id) == 1),
        "an acknowledged record is not there once"
    );
    assert_eq!(times("one"), 1, "what was there before stays");
}

/// Words that do not compress away.
fn noise(number: u64) -> String {
    let mut seeded = SeededRng::new(number);
    let words: Vec<String> = (0..40)
        .map(|_| format!("{:x}", seeded.draw_below(u64::MAX)))
        .collect();
    words.join(" ")
}

#[test]
fn without_a_model_recall_answers_by_words_and_says_so() {
    let place = UserFolder::new();
    place.ingest(
        b"{\"external_id\":\"a\",\"text\":\"race condition in the auth module\"}\n\
          {\"external_id\":\"b\",\"text\":\"lunch was good\"}\n",
    );
    let finished = place.run(&["recall", "--user", "ada", "auth race"]);
    assert_eq!(finished.code, DONE, "{}", finished.stderr);
    let answer: Value = serde_json::from_str(finished.stdout.trim()).expect("one JSON object");
    assert_eq!(answer["results"][0]["external_id"], "a");
    assert!(!answer["degraded"].as_array().expect("a list").is_empty());
}

#[test]
fn an_odd_question_is_answered_or_refused_with_what_to_do() {
    let place = UserFolder::with_one();
    let ask = |question: &str| place.run(&["recall", "--user", "ada", question]);
    for (empty, word) in [("", "reprise list"), (" \n", "reprise list")] {
        let finished = ask(empty);
        assert_eq!(finished.code, FAILED, "{}", finished.stderr);
        assert_contains!(finished.stderr, word);
    }
    for (question, note) in [
        ("the", "no word to look up by"),
        ("\u{1f600}", ""),
        ("\"kept", "a quote is not closed"),
        ("kept on 2026-02-30", "no calendar has the day"),
        ("\u{4ee5}\u{524d}", ""),
    ] {
        let finished = ask(question);
        assert_eq!(finished.code, DONE, "{}", finished.stderr);
        let answer: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        let notes = answer["notes"].to_string();
        assert!(notes.contains(note), "{question}: {notes}");
    }
    let (long, too_long) = ("kept ".repeat(200_000), "kept ".repeat(210_000));
    let lines = [&*too_long, "", &long].map(|query| json!({ "query_id": "q", "query": query }));
    let lines = lines.map(|line| line.to_string()).join("\n");
    let file = place.file(lines.as_bytes());
    let finished = place.run(&["recall", "--user", "ada", "--queries", &file]);
    assert_eq!(finished.code, REFUSED, "{}", finished.stderr);
    names_line(&finished, 1, "send at most 1048576");
    names_line(&finished, 2, "empty");
    assert_contains!(finished.stdout, "only its first and last 8191");
    for (flag, value, word) in [
        ("--since", "2026-02-30", "28 days"),
        ("--until", "someday", "RFC 3339"),
        ("--as-of", "2026-13-01", "12 months"),
    ] {
        let finished = place.run(&["recall", "--user", "ada", "kept", flag, value]);
        assert_contains!(finished.stderr, word);
        assert_ne!(finished.code, DONE);
    }
    let finished = place.run(&["recall", "--user", "ada", "kept", "--author", "nobody"]);
    let answer: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_contains!(answer["notes"][0].to_string(), "by `nobody`");
}
