//! Models beside the built-in one, by the real binary: an endpoint that another process serves, a
//! model of a user's own, and one that is chosen by a memory's own records.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use reprise_tests::{Finished, finish, has, reprise, says};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A memory with a configuration of its own, and no daemon.
pub(crate) struct Desk(TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        let desk = Self(tempfile::tempdir().expect("a folder"));
        fs::write(desk.path("config.toml"), "").expect("written");
        desk
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = reprise(&self.0.path().join("data")).expect("reprise is built");
        command.args(["--no-daemon", "--config", &self.path("config.toml")]);
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        finish(&mut self.command(arguments)).expect("reprise runs")
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
        self.json(&["ingest", "--user", user, "--jsonl", &file]);
    }

    fn spaces(&self, user: &str) -> Value {
        self.json(&["stats", "--user", user, "--json"])["spaces"].clone()
    }
}

/// An endpoint whose vectors are 12 wide and tell a text's subject; counts the texts it was sent.
fn served() -> (String, Arc<AtomicUsize>) {
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

const NOTES: [&str; 3] = [
    "The espresso maker on the third floor leaks",
    "Our train to Lisbon leaves at seven",
    "The invoice of the printer is still open",
];

#[test]
fn an_endpoint_makes_the_vectors_of_a_memory_and_takes_over_another_ones() {
    let desk = Desk::new();
    desk.keep("ada", &NOTES);
    assert_eq!(
        desk.spaces("ada"),
        json!([{ "model": "all-MiniLM-L6-v2", "version": "int8-1", "width": 384, "records": 3 }])
    );
    let (setting, texts) = served();
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
    desk.run(&["reembed", "--user", "ada"]).ended(0);
    let spaces = desk.spaces("ada");
    has!(spaces[0], "width": 12, "records": 3);
    assert_eq!(spaces.as_array().map(Vec::len), Some(1), "{spaces}");
    let answer = desk.json(&ask);
    assert_eq!(
        (&answer["results"][0]["text"], &answer["degraded"]),
        (&json!(NOTES[0]), &json!([]))
    );
    assert!(texts.load(Ordering::SeqCst) >= 5);
    desk.run(&["check", "--user", "ada"]).ended(0);
    let doctor = desk.run(&["doctor"]);
    says!(doctor.stdout, "subjects at http");
}

#[test]
fn a_silent_endpoint_is_degraded_and_what_is_kept_meanwhile_is_found_by_words() {
    let desk = Desk::new();
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
    says!(doctor.stdout, "gives no vectors");
}

#[test]
fn a_user_has_a_model_of_the_users_own() {
    let desk = Desk::new();
    let (setting, texts) = served();
    let chosen = desk.json(&["models", "use", &setting, "--user", "bob", "--json"]);
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
    let added = desk.json(&["models", "add", &setting, "--json"]);
    assert_eq!(added["dimensions"], 12);
    let refused = desk.run(&["models", "use", "https://host/v1/embeddings"]);
    says!(refused.stderr, "is no endpoint");
}

#[test]
fn models_are_compared_by_a_memorys_own_records() {
    let desk = Desk::new();
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
            "She drinks it standing beside the window",
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
    desk.keep("ada", &texts);
    let report = desk.json(&["eval", "mine", "--user", "ada", "--json"]);
    has!(report, "records": 12, "questions": 12);
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
    desk.keep("bob", &["One sentence alone."]);
    let few = desk.run(&["eval", "mine", "--user", "bob"]);
    says!(few.stderr, "10 are needed");
}
