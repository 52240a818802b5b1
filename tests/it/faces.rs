//! The real daemon as its clients meet it: started by the client that needs it, killed at any
//! moment, and memory is as it should be all the same.
//!
//! What needs processes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reprise_operations::WriteReport;
use reprise_server::{Call, TokenFile};
use reprise_tests::{assert_contains, assert_lacks, run_to_end, seen_if, wait_for};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::home::{Home, kill, rows};

const CLIENTS: usize = 8;
const WRITES: usize = 25;
const KILLS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_under_load_loses_nothing_and_doubles_nothing() {
    let home = Home::new();
    let client = Arc::new(home.client());
    client.ensure_running().await.expect("a daemon starts");
    let done = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for number in 0..CLIENTS {
        let client = Arc::clone(&client);
        writers.spawn(async move {
            let mut acknowledged = Vec::new();
            for write in 0..WRITES {
                let text = format!("client {number} writes {write}");
                let call = Call::post("/v1/users/ada/records", &json!({ "text": text }));
                // One repetition is the client's own; a second kill may need another.
                for _ in 0..5 {
                    if let Ok(report) = client.ask::<WriteReport>(&call).await {
                        assert_eq!(report.inserted + report.duplicate, 1);
                        acknowledged.push(text);
                        break;
                    }
                }
            }
            acknowledged
        });
    }
    let killer = {
        let (daemon, client, done) = (home.data(), Arc::clone(&client), Arc::clone(&done));
        let lock = daemon.join(".reprise/daemon.lock");
        tokio::spawn(async move {
            let mut killed = 0;
            while killed < KILLS && !done.load(Ordering::SeqCst) {
                // Between kills some requests go through.
                for _ in 0..20 {
                    let _answer = client.ask_bytes(&Call::get("/v1/status")).await.is_ok();
                }
                let process = fs::read_to_string(&lock).unwrap_or_default();
                kill(process.lines().next().map(str::to_owned), "-KILL");
                killed += 1;
            }
            killed
        })
    };
    let acknowledged: Vec<String> = writers.join_all().await.concat();
    done.store(true, Ordering::SeqCst);
    assert!(killer.await.expect("the killer ends") > 0);
    assert!(
        acknowledged.len() > CLIENTS * WRITES / 2,
        "{}",
        acknowledged.len()
    );

    let export = client.ask_bytes(&Call::get("/v1/users/ada/export")).await;
    let export = export.expect("the last daemon answers");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in export
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let line: Value = serde_json::from_slice(line).expect("JSON");
        *counts.entry(line["text"].to_string()).or_default() += 1;
    }
    for text in &acknowledged {
        assert_eq!(counts.get(&json!(text).to_string()), Some(&1), "{text}");
    }
    assert!(counts.values().all(|count| *count == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_is_replaced_under_load_fails_no_request() {
    let home = Home::new();
    let client = Arc::new(home.client());
    client.ensure_running().await.expect("a daemon starts");
    let first = home.daemon();
    let done = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for number in 0..CLIENTS {
        let (client, done) = (Arc::clone(&client), Arc::clone(&done));
        writers.spawn(async move {
            let mut written = 0;
            while !done.load(Ordering::SeqCst) {
                let text = format!("client {number} writes {written}");
                let call = Call::post("/v1/users/ada/records", &json!({ "text": text }));
                let report: WriteReport = client.ask(&call).await.expect("it is kept");
                assert_eq!(report.inserted + report.duplicate, 1);
                written += 1;
            }
            written
        });
    }
    let mut successor = home.command(&["serve", "--replace", "--idle-exit", "60"]);
    let mut successor = successor.stderr(Stdio::null()).spawn().expect("it starts");
    // A client may have started the successor before this one had the lock: one of them serves.
    while home.daemon() == first {
        let _answer = client.ask_bytes(&Call::get("/v1/status")).await.is_ok();
    }
    done.store(true, Ordering::SeqCst);
    let written: usize = writers.join_all().await.into_iter().sum();
    let export = client.ask_bytes(&Call::get("/v1/users/ada/export")).await;
    let export = export.expect("the successor answers");
    let kept = export
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    assert_eq!(kept.count(), written);
    client.shut_down().await.expect("it is told to end");
    let _ended = tokio::task::block_in_place(|| successor.wait()).expect("it ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_that_need_a_daemon_at_once_start_one() {
    let home = Home::new();
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let client = home.client();
        clients.spawn(async move {
            let status: Value = client
                .ask(&Call::get("/v1/status"))
                .await
                .expect("an answer");
            status["pid"].to_string()
        });
    }
    let mut daemons = clients.join_all().await;
    daemons.dedup();
    assert_eq!(daemons.len(), 1, "{daemons:?}");
    assert_eq!(home.daemon(), daemons.pop());
}

#[test]
fn the_command_line_asks_the_daemon_where_one_runs() {
    let home = Home::new();
    let lines = home.folder().join("lines.jsonl");
    fs::write(
        &lines,
        "{\"external_id\":\"a\",\"text\":\"the build needs protoc\"}\n",
    )
    .expect("written");
    let mut daemon = home.command(&["serve", "--idle-exit", "60"]);
    let mut daemon = daemon.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = [0; 7];
    let stderr = daemon.stderr.as_mut().expect("piped");
    std::io::Read::read_exact(stderr, &mut said).expect("it says that it serves");
    let run = |arguments: &[&str]| home.run_ok(arguments);
    let path = lines.to_string_lossy().into_owned();
    let counts = run(&["ingest", "--user", "ada", "--jsonl", &path, "--ack"]);
    assert!(
        counts.starts_with("a\n") && counts.contains("1 memory added"),
        "{counts}"
    );
    let found = run(&[
        "--json",
        "recall",
        "--user",
        "ada",
        "what does the build need",
    ]);
    let found: Value = serde_json::from_str(&found).expect("JSON");
    assert_eq!(found["results"][0]["external_id"], "a");
    // A recall by the daemon leaves a receipt: its outcome needs no question.
    let outcome = json!({"recall_id": found["recall_id"], "used": ["a"], "quality": 1.0});
    fs::write(&lines, outcome.to_string()).expect("written");
    let learned = run(&["outcome", "--user", "ada", "--jsonl", &path]);
    assert_contains!(learned, "1 outcome recorded");
    // A user without a memory remembers nothing, whichever client asks.
    for past in [&["--no-daemon"][..], &[]] {
        let said = home
            .run(&[past, &["recall", "--user", "nobody", "anything"]].concat())
            .expect_code(2);
        assert_contains!(said.stderr, "`nobody` has no memories yet");
    }
    assert!(!home.data().join("nobody").exists());
    // And one that cannot be looked at is not taken for one that is not there.
    fs::write(home.data().join("eve"), "no folder").expect("written");
    for past in [&["--no-daemon"][..], &[]] {
        let command = [past, &["stats", "--user", "eve"]].concat();
        let refused = home.run(&command).expect_code(2);
        let said = refused.stderr;
        assert_contains!(said, "directory");
        assert_lacks!(said, "no memory");
    }
    // The file is the daemon's: who insists on it is told who has it.
    fs::write(&lines, "{\"text\":\"past the daemon\"}").expect("written");
    let past = ["--no-daemon", "ingest", "--user", "ada", "--jsonl", &path];
    home.run(&past).expect_code(2);
    let gone = run(&[
        "--json",
        "forget",
        "--user",
        "ada",
        "--external-id",
        "a",
        "--verify",
    ]);
    assert_contains!(gone, "\"traces_in_file\":0");
    run(&["serve", "stop"]);
    assert!(daemon.wait().expect("it ends").success());
    home.run(&["serve", "status"]).expect_code(1);
}

#[test]
fn a_daemon_that_hangs_is_given_up_with_one_sentence_and_ended_by_its_successor() {
    let home = Home::new();
    let impatient = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("REPRISE_DAEMON_PATIENCE", "1");
        command
    };
    let serve = |arguments: &[&str]| {
        let mut daemon = impatient(arguments);
        let mut daemon = daemon.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = [0; 7];
        let stderr = daemon.stderr.as_mut().expect("piped");
        std::io::Read::read_exact(stderr, &mut said).expect("it says that it serves");
        daemon
    };
    let mut first = serve(&["serve"]);
    kill(Some(first.id().to_string()), "-STOP");
    for command in [
        &["recall", "--user", "ada", "anything"][..],
        &["serve", "stop"],
    ] {
        let ended = run_to_end(&mut impatient(command))
            .expect("reprise runs")
            .expect_code(2);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        let advice = ended.stderr.contains("serve --replace");
        let named = ended.stderr.contains(&first.id().to_string());
        assert!(advice && named, "{}", ended.stderr);
    }
    let mut second = serve(&["serve", "--replace"]);
    assert_eq!(first.wait().expect("it ends").code(), None, "by a signal");
    assert_eq!(home.daemon(), Some(second.id().to_string()));
    run_to_end(&mut impatient(&["serve", "stop"]))
        .expect("reprise runs")
        .expect_code(0);
    assert!(second.wait().expect("it ends").success());
}

#[test]
fn who_has_stopped_a_daemon_finds_every_file_closed() {
    let home = Home::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let client = home.client();
    for user in 0..24 {
        let body = json!({ "text": "the lift is broken" });
        let call = Call::post(format!("/v1/users/u{user}/records"), &body);
        let kept = runtime.block_on(client.ask::<WriteReport>(&call));
        assert_eq!(kept.expect("it is kept").inserted, 1);
    }
    drop(client);
    home.run(&["serve", "stop"]).expect_code(0);
    let lock = fs::File::open(home.place().lock_path()).expect("there");
    lock.try_lock().expect("nobody holds the data directory");
}

/// `tests/abuse/cases/tokens.py` has the thousand of them, with a daemon.
#[test]
fn tokens_that_many_processes_change_at_once_are_as_each_was_told() {
    let home = Home::new();
    let at_once = |commands: &[(&str, usize)]| -> Vec<String> {
        let start = |(what, number): &(&str, usize)| {
            let mut command = home.command(&["serve", "token", what, &format!("t{number}")]);
            let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("it starts")
        };
        let processes: Vec<_> = commands.iter().map(start).collect();
        let said = processes.into_iter().map(|process| {
            let output = process.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        });
        said.collect()
    };
    let first: Vec<(&str, usize)> = (0..12).map(|number| ("add", number)).collect();
    let first = at_once(&first);
    let second: Vec<(&str, usize)> = (0..12)
        .map(|number| match number {
            0..4 => ("revoke", number),
            4..8 => ("rotate", number),
            _ => ("add", number + 4),
        })
        .collect();
    let second = at_once(&second);
    let tokens = TokenFile::new(home.place().tokens());
    assert_eq!(tokens.list().expect("it is read").len(), 12);
    let opens = |token: &String| tokens.recognise(token).is_some();
    let [old, new] = [first, second].map(|made| made.iter().map(opens).collect::<Vec<_>>());
    assert_eq!(old, [vec![false; 8], vec![true; 4]].concat());
    assert_eq!(new, [vec![false; 4], vec![true; 8]].concat());
}

#[test]
fn a_hook_never_fails_and_never_speaks_without_need() {
    let home = Home::new();
    // A data directory that cannot be: no daemon can start there.
    fs::write(home.data(), "a file").expect("written");
    let event = json!({"session_id": "s", "prompt": "what is known about the build", "cwd": "/"});
    for input in [event.to_string(), "not json".to_owned(), String::new()] {
        let mut hook = home.command(&["hook", "user-prompt"]);
        let mut hook = hook
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdin = hook.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        let output = hook.wait_with_output().expect("it ends");
        assert!(output.status.success());
        assert!(
            output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
    fs::remove_file(home.data()).expect("removed");
}

#[test]
fn connect_writes_what_it_shows_and_disconnect_takes_it_back() {
    let home = Home::new();
    let settings = home.folder().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap_or(Path::new("/"))).expect("made");
    // As its owner has it: keys in an order of his own, in a repository of settings elsewhere.
    let elsewhere = home.folder().join("dotfiles.json");
    fs::write(&elsewhere, "{ \"theme\": 1,\n\"model\": \"opus\" }\n").expect("written");
    std::os::unix::fs::symlink(&elsewhere, &settings).expect("linked");
    let run = |arguments: &[&str]| home.run_ok(arguments);
    let shown = run(&["connect", "claude-code", "--show"]);
    assert_contains!(shown, "UserPromptSubmit", "mcpServers");
    let before = fs::read_to_string(&settings).expect("there");
    assert!(!before.contains("hooks"));
    run(&["connect", "claude-code", "--user", "ada"]);
    let after = fs::read_to_string(&settings).expect("there");
    assert_contains!(after, "hook stop", "opus");
    assert!(run(&["connect", "claude-code", "--user", "ada"]).contains("connected already"));
    let kept = settings.with_file_name("settings.json.before-reprise");
    assert_eq!(fs::read_to_string(kept).expect("there"), before);
    let servers = home.folder().join(".claude.json");
    assert!(servers.exists());
    run(&["connect", "claude-code", "--undo"]);
    assert_eq!(fs::read_to_string(&settings).expect("there"), before);
    assert!(fs::symlink_metadata(&settings).expect("there").is_symlink());
    assert!(!servers.exists() && !servers.with_extension("json.before-reprise").exists());
}

#[test]
fn a_lesson_is_kept_corrected_and_walked_from_the_command_line_without_a_daemon() {
    let home = Home::with(&["--no-daemon", "--user", "ada"]);
    let run = |arguments: &[&str]| home.run_json(arguments);
    let text = |value: &Value| value.as_str().map(str::to_owned).expect("a text");
    let lesson = [
        "learn",
        "--title",
        "Protoc first",
        "--content",
        "The build needs protoc.",
    ];
    let first = run(&[&lesson[..], &["--tags", "Build,ci", "--confidence", "high"]].concat());
    let first = text(&first["id"]);
    let second = run(&[
        "learn",
        "--title",
        "Cache it",
        "--content",
        "CI caches protoc.",
    ]);
    let second = text(&second["id"]);
    assert_eq!(run(&["tags", "link", &first, &second])["linked"], true);
    let new = run(&["edit", &first, "--content", "The build needs protoc 25."]);
    let new = text(&new["id"]);
    let shown = run(&["show", &new]);
    assert_eq!(shown["records"][0]["title"], "Protoc first");
    let near = run(&["tags", "related", &second, "--direction", "in"]);
    assert_eq!(near["related"][0]["id"], json!(new));
    assert_eq!(run(&["tags"])["tags"][0]["tag"], "build");
    assert_eq!(run(&["forget", &new])["forgotten"], json!([new, first]));
}

#[test]
fn a_list_is_the_same_with_a_daemon_and_without() {
    let home = Home::new();
    let lines: String = (1..=5)
        .map(|day| {
            let time = format!("2026-02-0{day}T09:00:00Z");
            json!({"external_id": format!("d{day}"), "text": "t", "timestamp": time}).to_string()
                + "\n"
        })
        .collect();
    let file = home.write("lines.jsonl", &lines);
    home.run_ok(&["ingest", "--user", "ada", "--jsonl", &file]);
    let list = |more: &[&str]| {
        let arguments = [&["list", "--user", "ada", "--json"], more].concat();
        rows(&home.run(&arguments).expect_code(0).stdout)
    };
    let walk = |order: &[&str]| {
        let mut seen = list(&[order, &["--limit", "2"]].concat());
        loop {
            let last = seen.last().expect("a record");
            let cursor = last["cursor"].as_str().expect("a cursor").to_owned();
            let next = list(&[order, &["--limit", "2", "--cursor", &cursor]].concat());
            if next.is_empty() {
                return seen;
            }
            seen.extend(next);
        }
    };
    let without = walk(&[]);
    let names: Vec<&str> = without
        .iter()
        .filter_map(|record| record["external_id"].as_str())
        .collect();
    assert_eq!(names, ["d5", "d4", "d3", "d2", "d1"]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime
        .block_on(home.client().ensure_running())
        .expect("a daemon starts");
    assert_eq!(walk(&[]), without);
    assert!(home.daemon().is_some());
    let mut oldest = walk(&["--oldest"]);
    oldest.reverse();
    assert_eq!(oldest, without);
}

#[test]
fn a_hosts_log_feeds_a_memory_beside_the_daemon_as_it_grows() {
    let home = Home::new();
    fs::create_dir_all(home.folder()).expect("made");
    let log = home.folder().join("events.jsonl");
    let event = |number: u32, text: &str| {
        let event = json!({
            "seq": number, "event_id": format!("event-{number}"), "actor_id": "chat-1",
            "timestamp": format!("2026-02-09T09:00:{number:02}Z"), "event_type": "chat.user_msg",
            "user_id": "ada", "payload": { "text": text, "scope": { "session_id": "mon" } },
        });
        format!("{event}\n")
    };
    fs::write(&log, event(1, "the billing service charges twice")).expect("written");
    let path = log.to_string_lossy().into_owned();
    let followed = [
        "serve",
        "--idle-exit",
        "60",
        "--events",
        &path,
        "--events-user",
        "ada",
    ];
    let told = home.folder().join("told.txt");
    let mut daemon = home.command(&followed);
    daemon.stderr(fs::File::create(&told).expect("made"));
    let mut daemon = daemon.spawn().expect("it starts");
    let comes = |text: &str| {
        wait_for(text, || {
            let listed = home.run(&["list", "--user", "ada"]);
            seen_if(listed.stdout.contains(text), listed)
        });
    };
    comes("charges twice");
    // An incomplete line waits for its end.
    let second = event(2, "the ledger is what counts");
    let (half, rest) = second.split_at(second.len() / 2);
    for part in [half, rest] {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(&log)
            .expect("there");
        file.write_all(part.as_bytes()).expect("appended");
        std::thread::sleep(Duration::from_millis(700));
    }
    comes("the ledger is what counts");
    // The daemon answers as ever, and stores what it receives next to what the log had.
    home.run_ok(&[
        "learn",
        "--user",
        "ada",
        "Charge once by an idempotency key",
    ]);
    let listed = home.run(&["list", "--user", "ada"]).stdout;
    assert_contains!(listed, "charges twice", "Charge once");
    home.run_ok(&["serve", "stop"]);
    assert!(daemon.wait().expect("it ends").success());
    let told = fs::read_to_string(&told).expect("what it told");
    assert!(
        !told.contains("ERROR"),
        "an end that was asked for is no error: {told}"
    );
}
