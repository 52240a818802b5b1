//! Hooks that ask the service of published knowledge: what others know is in the prompt, and a
//! service that hangs costs no more than its own lines. And how far it is, as `doctor` says.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::spawn;
use std::time::Duration;

use reprise_tests::reprise_command;
use serde_json::{Value, json};

use super::service::Service;
use super::{ingest, run, run_json};

/// What a prompt of a session is given.
fn prompted(data: &Path, config: &str, session: &str) -> String {
    hooked(data, config, "user-prompt", session)
}

fn hooked(data: &Path, config: &str, kind: &str, session: &str) -> String {
    let event = json!({ "session_id": session, "cwd": "/",
        "prompt": "why do otters hold hands ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" });
    let mut command = reprise_command(data).expect("reprise is built");
    command.args([
        "--no-model",
        "--config",
        config,
        "hook",
        kind,
        "--user",
        "bob",
    ]);
    command.args(["--deadline-ms", "60000", "--text"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(event.to_string().as_bytes())
        .expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn configured(data: &Path, url: &str, token: &str, more: &str) -> String {
    let config = data.join("config.toml");
    let text = format!("[global]\nurl = \"{url}\"\ntoken = \"{token}\"\n{more}");
    fs::write(&config, text).expect("a configuration");
    config.display().to_string()
}

#[test]
fn a_prompt_has_what_others_published_where_hooks_may_ask() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, data) = (folder.path().join("server"), folder.path().join("bob"));
    let service = Service::start(&server, &[]);
    let made = run_json(&server, &["global", "token", "add", "bob", "--user", "bob"]);
    let token = made["token"].as_str().expect("a token").to_owned();
    let file = folder.path().join("things.jsonl");
    let thing = json!({ "origin": "o", "content_type": "document", "title": "Otters",
        "summary": "", "content": "Otters hold hands because they drift asleep.", "tags": [],
        "access_policy": "public", "licence": "" });
    fs::write(&file, thing.to_string()).expect("written");
    let file = file.display().to_string();
    run_json(&server, &["global", "import", &file, "--user", "ann"]);
    ingest(
        &data,
        "bob",
        &[json!({ "text": "Our otters hold hands on Mondays", "external_id": "o" })],
    );

    // A busy machine may take its time: how long a hook waits is not what is tested here.
    let on = "hooks = true\nhook_deadline_ms = 30000\n";
    let off = configured(&data, &service.url, &token, "");
    let without = prompted(&data, &off, "one");
    assert!(!without.contains("published by"), "{without}");
    run(&data, &["--config", &off, "serve", "stop"]);
    let config = configured(&data, &service.url, &token, on);
    let with = prompted(&data, &config, "two");
    assert!(with.contains("published by ann, version 1"), "{with}");
    assert!(with.contains("drift asleep"), "{with}");
    // It is in the session by now.
    let again = prompted(&data, &config, "two");
    assert!(!again.contains("drift asleep"), "{again}");
    run(&data, &["--config", &config, "serve", "stop"]);

    // A service that takes connections and never answers.
    let hangs = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", hangs.local_addr().expect("an address"));
    let config = configured(&data, &url, &token, "hooks = true\n");
    let own = (0..50).map(|n| prompted(&data, &config, &format!("three {n}")));
    // The first may be late for its own reasons: its daemon starts.
    let own = own.into_iter().find(|own| own.contains("on Mondays"));
    assert!(own.is_some_and(|own| !own.contains("published by")));
    run(&data, &["--config", &config, "serve", "stop"]);
}

/// Who sent a request, counted by connections, and its first line.
type Heard = (usize, String);

/// A service that knows nothing and keeps connections open; what it hears.
fn keeping_open() -> (String, Receiver<Heard>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (tell, heard) = channel();
    spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (stream, tell) = (stream.expect("a client"), tell.clone());
            spawn(move || answer_all(&stream, number, &tell));
        }
    });
    (url, heard)
}

fn answer_all(mut stream: &TcpStream, number: usize, tell: &Sender<Heard>) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut body_bytes) = (String::new(), 0);
        if reader.read_line(&mut first).unwrap_or_default() == 0 {
            return;
        }
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap_or_default() > 2 {
            let header = line.to_ascii_lowercase();
            if let Some(bytes) = header.strip_prefix("content-length:") {
                body_bytes = bytes.trim().parse().expect("a number");
            }
            line.clear();
        }
        let mut body = vec![0; body_bytes];
        reader.read_exact(&mut body).expect("the body");
        let answer = "{\"hits\": []}";
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", answer.len());
        // The test hears of a request before its sender goes on.
        let told = tell.send((number, first.trim().to_owned())).is_ok();
        let written = write!(stream, "{head}\r\n{answer}").is_ok();
        if !told || !written {
            return;
        }
    }
}

#[test]
fn a_daemon_has_its_connection_before_the_first_prompt_asks() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("bob");
    ingest(
        &data,
        "bob",
        &[json!({ "text": "Our otters hold hands on Mondays", "external_id": "o" })],
    );
    let (url, heard) = keeping_open();
    // Where nothing asks it unbidden, it hears nothing.
    let off = configured(&data, &url, "rpr_x", "");
    hooked(&data, &off, "session-start", "zero");
    run(&data, &["--config", &off, "serve", "stop"]);
    let on = "hooks = true\nhook_deadline_ms = 30000\n";
    let config = configured(&data, &url, "rpr_x", on);
    hooked(&data, &config, "session-start", "one");
    let next = || {
        let heard = heard.recv_timeout(Duration::from_mins(1));
        heard.expect("the daemon asks")
    };
    assert_eq!(next(), (0, "GET /health/live HTTP/1.1".to_owned()));
    // Its answer is read by now, or soon: each prompt looks for the connection anew.
    let used_again = (0..50).any(|number| {
        prompted(&data, &config, &format!("one {number}"));
        let (connection, line) = next();
        assert_eq!(line, "POST /v1/query HTTP/1.1");
        connection == 0
    });
    assert!(used_again, "each prompt made a connection of its own");
    let more: Vec<Heard> = heard.try_iter().collect();
    assert!(more.is_empty(), "one request in advance: {more:?}");
    run(&data, &["--config", &config, "serve", "stop"]);
}

#[test]
fn doctor_says_how_far_the_service_is_and_how_long_recalls_and_hooks_wait_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, data) = (folder.path().join("server"), folder.path().join("bob"));
    let service = Service::start(&server, &[]);
    let made = run_json(&server, &["global", "token", "add", "bob", "--user", "bob"]);
    let token = made["token"].as_str().expect("a token").to_owned();
    fs::create_dir_all(&data).expect("a data directory");
    let looked = |url: &str, more: &str| -> (bool, String) {
        let config = configured(&data, url, &token, more);
        let looked = run(&data, &["--config", &config, "doctor"]);
        let looked: Value = serde_json::from_str(&looked.stdout).expect("JSON");
        let findings = looked["findings"].as_array().expect("findings").iter();
        let mut findings = findings.filter(|one| one["what"] == "service");
        let found = findings.next().expect("one of the service");
        let is_good = found["good"].as_bool().expect("a word");
        assert!(is_good || looked["healthy"] == false, "{looked}");
        (is_good, found["says"].as_str().expect("a text").to_owned())
    };
    let near = format!("{} answers in ", service.url);
    let waits = "; a recall waits 400 ms for it, hooks do not ask it";
    let (_, said) = looked(&service.url, "");
    assert!(said.starts_with(&near) && said.ends_with(waits), "{said}");
    let waits = "; a recall waits 400 ms for it, a hook 150 ms";
    let (_, said) = looked(&service.url, "hooks = true\n");
    assert!(said.starts_with(&near) && said.ends_with(waits), "{said}");
    let patient = "hooks = true\nhook_deadline_ms = 20000\ndeadline_ms = 30000\n";
    let waits = "; a recall waits 30000 ms for it, a hook 20000 ms";
    let (is_good, said) = looked(&service.url, patient);
    assert!(is_good && said.ends_with(waits), "{said}");
    let url = service.url.clone();
    drop(service);
    let (is_good, said) = looked(&url, patient);
    assert!(!is_good && said.starts_with(&url), "{said}");
    assert!(
        !said.contains("answers in") && said.ends_with(waits),
        "{said}"
    );
    let none = run(&folder.path().join("none"), &["doctor"]).stdout;
    assert!(!none.contains("\"service\""), "{none}");
}
