//! Models other than the built-in one, by the real binary: an endpoint that another process serves,
//! a model of a user's own, and one that is chosen by a memory's own records.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use reprise_tests::{RunOutput, assert_contains, assert_fields, reprise_command, run_to_end};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A memory with a configuration of its own, and no daemon.
pub(crate) struct ConfiguredMemory(TempDir);

impl ConfiguredMemory {
    pub(crate) fn new() -> Self {
        let desk = Self(tempfile::tempdir().expect("a folder"));
        fs::write(desk.path("config.toml"), "").expect("written");
        desk
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = reprise_command(&self.0.path().join("data")).expect("reprise is built");
        command.args(["--no-daemon", "--config", &self.path("config.toml")]);
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> RunOutput {
        run_to_end(&mut self.command(arguments)).expect("reprise runs")
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let finished = self.run(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
        serde_json::from_str(&finished.stdout).expect("JSON")
    }

    fn keep(&self, user: &str, texts: &[&str]) {
        let lines = texts.iter().map(|text| json!({ "text": text }).to_string());
        let lines = lines.collect::<Vec<_>>().join("\n");
        let file = self.path("notes.jsonl");
        fs::write(&file, lines).expect("written");
        self.json(&["--json", "ingest", "--user", user, "--jsonl", &file]);
    }

    fn spaces(&self, user: &str) -> Value {
        self.json(&["stats", "--user", user, "--json"])["spaces"].clone()
    }
}

/// An endpoint whose vectors are 12 wide and tell a text's subject; counts the texts it was sent.
fn start_endpoint() -> (String, Arc<AtomicUsize>) {
    served_after(Duration::ZERO)
}

/// One that takes so long for each request.
pub(crate) fn served_after(delay: Duration) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let texts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&texts);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
            let (mut head, mut length) = (String::new(), 0);
            while reader.read_line(&mut head).expect("a line") > 2 {}
            for line in head.to_ascii_lowercase().lines() {
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let body: Value = serde_json::from_slice(&body).expect("JSON");
            let input = body["input"].as_array().expect("texts");
            count.fetch_add(input.len(), Ordering::SeqCst);
            thread::sleep(delay);
            let data: Vec<Value> = input
                .iter()
                .map(|text| vector(text.as_str().expect("a text")))
                .collect();
            let answer = json!({ "data": data }).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            drop(stream.write_all([head, answer].concat().as_bytes()));
        }
    });
    (format!("http://{address}/v1/embeddings#subjects"), texts)
}

fn vector(text: &str) -> Value {
    let mut numbers = [0.1_f32; 12];
    for (place, words) in [
        ["espresso", "coffee"],
        ["train", "railway"],
        ["invoice", "bill"],
    ]
    .iter()
    .enumerate()
    {
        if words.iter().any(|word| text.to_lowercase().contains(word)) {
            numbers[place * 4] = 2.0;
        }
    }
    json!({ "embedding": numbers })
}

pub(crate) const NOTES: [&str; 3] = [
    "The espresso maker on the third floor leaks",
    "Our train to Lisbon leaves at seven",
    "The invoice of the printer is still open",
];

#[test]
fn an_endpoint_makes_the_vectors_of_a_memory_and_takes_over_another_ones() {
    let desk = ConfiguredMemory::new();
    desk.keep("ada", &NOTES);
    assert_eq!(
        desk.spaces("ada"),
        json!([{ "model": "all-MiniLM-L6-v2", "version": "int8-1", "width": 384, "records": 3 }])
    );
    let (setting, texts) = start_endpoint();
    // Named in the configuration and nowhere else.
    let config = format!("[memory]\nmodel = \"{setting}\"\n");
    fs::write(desk.path("config.toml"), config).expect("written");
    let ask = [
        "recall",
        "--user",
        "ada",
        "--json",
        "where is the coffee machine broken",
    ];
    let answer = desk.json(&ask);
    assert_eq!(answer["results"][0]["text"], NOTES[0], "{answer}");
    desk.run(&["doctor", "reembed", "--user", "ada"])
        .expect_code(0);
    let spaces = desk.spaces("ada");
    assert_fields!(spaces[0], "width": 12, "records": 3);
    assert_eq!(spaces.as_array().map(Vec::len), Some(1), "{spaces}");
    let answer = desk.json(&ask);
    assert_eq!(
        (&answer["results"][0]["text"], &answer["degraded"]),
        (&json!(NOTES[0]), &json!([]))
    );
    assert!(texts.load(Ordering::SeqCst) >= 5);
    desk.run(&["doctor", "check", "--user", "ada"])
        .expect_code(0);
    let doctor = desk.run(&["doctor"]);
    assert_contains!(doctor.stdout, "subjects at http");
}

#[test]
fn a_silent_endpoint_is_degraded_and_what_is_kept_meanwhile_is_found_by_words() {
    let desk = ConfiguredMemory::new();
    let closed = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    let config = format!("[memory]\nmodel = \"http://{closed}/v1/embeddings#m\"\n");
    fs::write(desk.path("config.toml"), config).expect("written");
    desk.keep("ada", &NOTES);
    let answer = desk.json(&["recall", "--user", "ada", "--json", "espresso maker"]);
    assert_eq!(answer["results"][0]["text"], NOTES[0], "{answer}");
    assert_eq!(answer["degraded"], json!(["no_query_vector"]), "{answer}");
    let doctor = desk.run(&["doctor"]);
    assert_contains!(doctor.stdout, "gives no vectors");
}

#[test]
fn a_user_has_a_model_of_the_users_own() {
    let desk = ConfiguredMemory::new();
    let (setting, texts) = start_endpoint();
    let chosen = desk.json(&[
        "doctor", "models", "use", &setting, "--user", "bob", "--json",
    ]);
    assert_eq!(chosen["user"], "bob");
    desk.keep("ada", &NOTES);
    let before = texts.load(Ordering::SeqCst);
    desk.keep("bob", &NOTES);
    assert_eq!(texts.load(Ordering::SeqCst) - before, 3, "bob's alone");
    let width = |user: &str| desk.spaces(user)[0]["width"].clone();
    assert_eq!((width("ada"), width("bob")), (json!(384), json!(12)));
    for user in ["ada", "bob"] {
        let answer = desk.json(&["recall", "--user", user, "--json", "the railway"]);
        assert_eq!(answer["results"][0]["text"], NOTES[1], "{user}: {answer}");
        assert_eq!(answer["degraded"], json!([]), "{user}: {answer}");
    }
    let added = desk.json(&["doctor", "models", "add", &setting, "--json"]);
    assert_eq!(added["dimensions"], 12);
    let refused = desk.run(&["doctor", "models", "use", "https://host/v1/embeddings"]);
    assert_contains!(refused.stderr, "is no endpoint");
}

#[test]
fn what_can_be_added_by_name_is_listed_and_only_what_is_installed_is_chosen() {
    let desk = ConfiguredMemory::new();
    let models = desk.path("models");
    let run = |arguments: &[&str]| {
        let place = ["--models-dir", &models];
        let arguments = [&["doctor", "models"][..], arguments, &place].concat();
        desk.run(&arguments)
    };
    let listed = run(&["list", "--json"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let rows = listed.stdout.lines();
    let rows: Vec<Value> = rows
        .map(|row| serde_json::from_str(row).expect("JSON"))
        .collect();
    for (name, role) in [
        ("e5-small-v2", "model"),
        ("bge-small-en-v1.5", "model"),
        ("multilingual-e5-small", "model"),
        ("ms-marco-minilm-l12", "reranker"),
    ] {
        let row = rows.iter().find(|row| row["name"] == name).expect(name);
        assert_eq!(
            (&row["role"], &row["is_installed"]),
            (&json!(role), &json!(false))
        );
        let chosen = run(&["use", name]);
        assert_ne!(chosen.code, Some(0), "{}", chosen.stdout);
        assert_contains!(chosen.stderr, "models add");
    }
    let printed = run(&["list"]).stdout;
    assert_contains!(printed, "models add ms-marco-minilm-l12");
    let settings = fs::read_to_string(desk.path("config.toml")).expect("read");
    assert_eq!(settings, "", "nothing was chosen");
}

#[test]
fn who_adds_a_model_without_a_network_is_told_to_try_that_again() {
    let desk = ConfiguredMemory::new();
    let folder = desk.path("models");
    let add = [
        "--models-dir",
        &folder,
        "doctor",
        "models",
        "add",
        "e5-small-v2",
    ];
    let mut add = desk.command(&add);
    add.env("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        .env("PIP_EXTRA_INDEX_URL", "");
    let said = run_to_end(&mut add).expect("reprise runs");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert_contains!(said.stderr, "run the command again", "`--from PATH`");
}
