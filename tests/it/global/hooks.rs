//! Hooks that ask the service of published knowledge: what others know stands in the prompt, and a
//! service that hangs costs no more than its own lines. And how far it is, as `doctor` says.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use reprise_tests::reprise;
use serde_json::{Value, json};

use super::service::Service;
use super::{done, ingest, run};

/// What a prompt of a session is given.
fn prompted(data: &Path, config: &str, session: &str) -> String {
    let event = json!({ "session_id": session, "cwd": "/",
        "prompt": "why do otters hold hands ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" });
    let mut command = reprise(data).expect("reprise is built");
    command.args([
        "--no-model",
        "--config",
        config,
        "hook",
        "user-prompt",
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
    let made = done(&server, &["global", "token", "add", "bob", "--user", "bob"]);
    let token = made["token"].as_str().expect("a token").to_owned();
    let file = folder.path().join("things.jsonl");
    let thing = json!({ "origin": "o", "content_type": "document", "title": "Otters",
        "summary": "", "content": "Otters hold hands because they drift asleep.", "tags": [],
        "access_policy": "public", "licence": "" });
    fs::write(&file, thing.to_string()).expect("written");
    let file = file.display().to_string();
    done(&server, &["global", "import", &file, "--user", "ann"]);
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
    run(&data, &["--config", &off, "stop"]);
    let config = configured(&data, &service.url, &token, on);
    let with = prompted(&data, &config, "two");
    assert!(with.contains("published by ann, version 1"), "{with}");
    assert!(with.contains("drift asleep"), "{with}");
    // It stands in the session by now.
    let again = prompted(&data, &config, "two");
    assert!(!again.contains("drift asleep"), "{again}");
    run(&data, &["--config", &config, "stop"]);

    // A service that takes connections and never answers.
    let hangs = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", hangs.local_addr().expect("an address"));
    let config = configured(&data, &url, &token, "hooks = true\n");
    let own = (0..50).map(|n| prompted(&data, &config, &format!("three {n}")));
    // The first may be late for its own reasons: its daemon starts.
    let own = own.into_iter().find(|own| own.contains("on Mondays"));
    assert!(own.is_some_and(|own| !own.contains("published by")));
    run(&data, &["--config", &config, "stop"]);
}

#[test]
fn doctor_says_how_far_the_service_is_and_how_long_recalls_and_hooks_wait_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, data) = (folder.path().join("server"), folder.path().join("bob"));
    let service = Service::start(&server, &[]);
    let made = done(&server, &["global", "token", "add", "bob", "--user", "bob"]);
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
