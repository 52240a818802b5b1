//! `reprise-lab` through processes: data sets, the batch contract of `reprise recall` (both find
//! the same), models judged by other models, and what a store takes of memory.
#![expect(
    clippy::expect_used,
    reason = "a test that cannot run its programs has to stop"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use reprise_engine::{Engine, EngineOptions};
use reprise_store::RealDisk;
use reprise_tests::{RunOutput, assert_contains, assert_fields, reprise_command, run_to_end};
use reprise_types::{Clock, MemoryKind, MemorySource, NewRecord, SystemClock};
use serde_json::Value;
use tempfile::TempDir;

fn fixtures_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jsonl")
}

/// `reprise-lab` on a data directory, with nothing of this machine's settings.
fn lab_command(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reprise-lab"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("REPRISE_") {
            command.env_remove(name);
        }
    }
    command.args(["--json", "--data-dir"]).arg(data);
    command.stdin(Stdio::null());
    command
}

fn run_lab(data: &Path, arguments: &[&str]) -> RunOutput {
    let mut command = lab_command(data);
    command.arg("--no-model").args(arguments);
    run_to_end(&mut command).expect("reprise-lab runs")
}

fn run(data: &Path, arguments: &[&str]) -> RunOutput {
    let mut command = reprise_command(data).expect("reprise is built");
    command.args(["--no-model", "--json"]).args(arguments);
    run_to_end(&mut command).expect("reprise runs")
}

fn parse_rows(text: &str) -> Vec<Value> {
    let rows = text.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().expect("lines of JSON")
}

/// The fixture's folder of one user, ingested.
fn ingest_fixture() -> (TempDir, PathBuf) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let folder = fixtures_path().join("anna");
    let records = folder.join("records.jsonl");
    let records = records.to_string_lossy();
    let finished = run(
        data.path(),
        &[
            "ingest", "--user", "anna", "--jsonl", &records, "--group", "3",
        ],
    );
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    (data, folder)
}

#[test]
fn eval_and_the_batch_contract_find_the_same() {
    let (data, folder) = ingest_fixture();
    let path = folder.to_string_lossy().into_owned();
    let finished = run_lab(data.path(), &["eval", "jsonl", "--data", &path]).expect_code(0);
    let report = parse_rows(&finished.stdout).remove(0);
    assert_eq!(report["judged"], 5);

    let queries = folder.join("queries.jsonl");
    let queries = queries.to_string_lossy();
    let top = ["--top-k", "20"];
    let ask = ["recall", "--user", "anna", "--queries", &queries];
    let finished = run(data.path(), &[&ask[..], &top[..]].concat());
    let answers = parse_rows(&finished.stdout);
    let gold = fs::read_to_string(folder.join("gold.jsonl")).expect("the gold is there");
    let mut shares = Vec::new();
    for line in parse_rows(&gold) {
        let wanted: BTreeSet<&str> = list_texts(&line["gold"], None).into_iter().collect();
        if wanted.is_empty() || line["category"] == 5 {
            continue;
        }
        let answer = answers.iter().find(|a| a["query_id"] == line["query_id"]);
        let results = &answer.expect("every query is answered")["results"];
        let found: BTreeSet<&str> = list_texts(results, Some("external_id"))
            .into_iter()
            .take(5)
            .collect();
        shares.push(wanted.intersection(&found).count() as f64 / wanted.len() as f64);
    }
    let expected = 100.0 * shares.iter().sum::<f64>() / shares.len() as f64;
    let got = report["systems"][0]["turn"]["recall"]["5"]
        .as_f64()
        .expect("a figure");
    assert!((got - expected).abs() < 0.01, "{got} is not {expected}");
}

/// The texts of an array, or of one field of its objects.
fn list_texts<'v>(array: &'v Value, field: Option<&str>) -> Vec<&'v str> {
    let values = array.as_array().expect("an array").iter();
    let named = values.map(|value| field.map_or(value, |field| &value[field]));
    named.map(|value| value.as_str().expect("a text")).collect()
}

#[test]
fn a_protocol_of_others_says_what_a_document_is_and_one_that_a_set_lacks_is_refused() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let types = fixtures_path().with_file_name("longmemeval_types.json");
    let beam = fixtures_path().with_file_name("beam");
    // The documents of each, and how many there are.
    for (set, path, protocol, records) in [
        ("longmemeval", &types, "turns", 9),
        ("longmemeval", &types, "sessions", 6),
        ("longmemeval", &types, "user-sessions", 6),
        ("beam", &beam, "turns", 11),
        ("beam", &beam, "rounds", 6),
    ] {
        let path = path.to_string_lossy();
        let asked = ["eval", set, "--protocol", protocol, "--data", &path];
        let finished = run_lab(data.path(), &asked);
        assert_eq!(finished.code, Some(0), "{asked:?}: {}", finished.stderr);
        let report = parse_rows(&finished.stdout).remove(0);
        assert_eq!(
            (&report["set"], &report["documents"]),
            (&set.into(), &protocol.into())
        );
        assert_eq!(report["records"], records, "{asked:?}");
        let head = report["protocol"][0].as_str().expect("a description");
        let is_told = protocol == "turns" || head.starts_with(&format!("{set}, {protocol}: "));
        assert!(is_told, "{head}");
    }
    let path = beam.to_string_lossy();
    let asked = ["eval", "beam", "--protocol", "sessions", "--data", &path];
    let finished = run_lab(data.path(), &asked);
    assert_eq!((finished.code, &*finished.stdout), (Some(2), ""));
    assert_contains!(finished.stderr, "turns, rounds");
}

#[test]
fn what_eval_cannot_do_is_said() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let path = fixtures_path().to_string_lossy().into_owned();
    for (arguments, said) in [
        (vec!["eval", "beam", "--data", &path], "chat.json"),
        (vec!["eval", "locomo", "--data", "/nowhere"], "/nowhere"),
        (
            vec!["eval", "jsonl", "--data", &path, "--without", "charm"],
            "`charm`",
        ),
        (vec!["eval", "gossip", "--data", &path], "longmemeval"),
    ] {
        let finished = run_lab(data.path(), &arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}");
        assert!(
            finished.stderr.contains(said),
            "{arguments:?}: {}",
            finished.stderr
        );
        assert_eq!(finished.stdout, "", "{arguments:?}");
    }
}

/// A server of `OpenAI`'s form that says one thing, and what it heard.
fn serve_fixed_answer(says: &'static str) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("bound"));
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a client"));
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let mut line = String::new();
                stream.read_line(&mut line).expect("a line");
                if let Some(size) = line.to_lowercase().strip_prefix("content-length:") {
                    length = size.trim().parse().expect("a length");
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a body");
            let body = String::from_utf8(body).expect("UTF-8");
            if tell.send(head + &body).is_err() {
                return;
            }
            let answer = serde_json::json!({ "choices": [{ "message": { "content": says } }] });
            let answer = answer.to_string();
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            );
            let _gone = stream.get_mut().write_all(reply.as_bytes());
        }
    });
    (address, heard)
}

#[test]
fn answers_are_judged_by_the_models_that_are_configured_and_no_other() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let set = fixtures_path().with_file_name("longmemeval_types.json");
    let set = set.to_string_lossy().into_owned();
    let ask = ["eval", "answer", "--data", &set, "--limit", "1"];
    let none = run_lab(data.path(), &ask).expect_code(2);
    assert_contains!(none.stderr, "[eval.answer]");

    let (answers, asked) = serve_fixed_answer("You own two.");
    let (judges, judged) = serve_fixed_answer("yes");
    let config = data.path().join("config.toml");
    let table = |name: &str, url: &str| {
        format!("[eval.{name}]\nurl = \"{url}\"\nmodel = \"{name}-model\"\nkey = \"k-{name}\"\n")
    };
    let both = table("answer", &answers) + &table("judge", &judges);
    fs::write(&config, both).expect("written");
    let config = config.to_string_lossy().into_owned();
    let finished =
        run_lab(data.path(), &[&["--config", &config], &ask[..]].concat()).expect_code(0);
    let report = parse_rows(&finished.stdout).remove(0);
    assert_eq!(report["all"]["percent"], 100.0);
    assert_eq!(report["answers"][0]["hypothesis"], "You own two.");
    let asked = asked.recv().expect("asked once");
    assert!(asked.contains("Bearer k-answer") && asked.contains("answer-model"));
    assert_contains!(asked, "red kayak");
    let judged = judged.recv().expect("judged once");
    assert_contains!(judged, "Model Response: You own two.");
}

/// Keeps texts in the memory of a user.
fn insert_texts(data: &Path, user: &str, texts: &[&str]) {
    let folder = data.join(user);
    fs::create_dir_all(&folder).expect("a folder");
    let options = EngineOptions::new(384, 1, SystemClock.now());
    let opened = Engine::open(Arc::new(RealDisk), &folder.join("memory.rvf"), &options);
    let (mut engine, _) = opened.expect("a memory");
    let record = |text: &&str| {
        NewRecord::new(
            (*text).to_owned(),
            MemorySource::UserInput,
            MemoryKind::Episode,
        )
    };
    let records = texts.iter().map(record).collect();
    let kept = engine.observe(records, None, SystemClock.now());
    assert_eq!(kept.expect("kept").len(), texts.len());
    engine.close().expect("closed");
}

#[test]
fn models_are_compared_by_a_memorys_own_records() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let subjects = [
        (
            "The gateway answers 502 to everybody",
            "Its certificate ran out on Sunday",
        ),
        (
            "The printer on the second floor is jammed",
            "Somebody has to open the tray on the left",
        ),
        (
            "Our train to Lisbon leaves at seven",
            "We meet at the fountain before the station",
        ),
        (
            "The invoice of the caterer is still open",
            "They want the money before the end of May",
        ),
        (
            "Ada likes her coffee without sugar",
            "She drinks it standing at the window",
        ),
        (
            "The backup of the database failed",
            "The disk of the second replica was full",
        ),
        (
            "Tests of the parser are slow",
            "Each of them compiles the grammar once more",
        ),
        (
            "The garden behind the house needs water",
            "Nobody has looked after the roses since July",
        ),
        (
            "The release was put off",
            "Two of the translators are still on holiday",
        ),
        (
            "The cat sleeps in the laundry",
            "It is warm there and nobody disturbs it",
        ),
        (
            "The heating of the office is broken",
            "A plumber comes on Thursday afternoon",
        ),
        (
            "The keys are with the neighbour",
            "He is at home from six in the evening on",
        ),
    ];
    let texts: Vec<String> = subjects
        .iter()
        .map(|(one, other)| format!("{one}. {other}."))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    insert_texts(data.path(), "ada", &texts);
    let ask = |user| {
        let mut command = lab_command(data.path());
        run_to_end(command.args(["eval", "mine", "--user", user])).expect("reprise-lab runs")
    };
    let report = parse_rows(&ask("ada").expect_code(0).stdout).remove(0);
    assert_fields!(report, "records": 12, "questions": 12);
    let models: Vec<&str> = report["models"]
        .as_array()
        .expect("models")
        .iter()
        .filter_map(|model| model["model"].as_str())
        .collect();
    assert_eq!(
        models[..2],
        ["words alone", "all-MiniLM-L6-v2/int8-1"],
        "{report}"
    );
    insert_texts(data.path(), "bob", &["One sentence alone."]);
    let few = ask("bob");
    assert_contains!(few.stderr, "10 are needed");
}

#[test]
fn ten_thousand_records_stay_within_their_share_of_memory() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let finished = run_lab(data.path(), &["bench", "memory", "--records", "10000"]).expect_code(0);
    let figures = parse_rows(&finished.stdout).remove(0);
    assert_eq!(figures["records"], 10_100);
    let [opened, written] = ["opened_mb", "after_100_writes_mb"]
        .map(|name| figures[name].as_f64().expect("a figure of Linux"));
    // Asked are 60 MB at 10,000 records and 400 at ten times as many.
    assert!(opened > 0.5 && written <= 40.0, "{figures}");
}
