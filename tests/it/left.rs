//! What is left behind: no process outlives its clients' last use, and none brings back a memory
//! that was removed.

use std::fs;
use std::process::{Child, Stdio};

use reprise_tests::{assert_contains, seen_if, wait_for};
use reprise_types::sha256_hex;
use serde_json::{Value, json};

use crate::home::{Home, kill};
use crate::together::Mcp;

/// Sessions that end without a word.
const CLIENTS: usize = 6;

/// The ids of the processes that work on this home's data.
#[cfg(target_os = "linux")]
fn processes_of(home: &Home) -> Vec<String> {
    let data = home.data().to_string_lossy().into_owned();
    let all = fs::read_dir("/proc").expect("it is Linux").flatten();
    let ours = all.filter(|one| {
        // A process that has just ended has no words.
        let words = fs::read(one.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(&data)
    });
    ours.map(|one| one.file_name().to_string_lossy().into_owned())
        .collect()
}

/// The ids of the children of a process that have ended, and that it has not reaped.
#[cfg(target_os = "linux")]
fn unreaped_children_of(process: u32) -> Vec<String> {
    let all = fs::read_dir("/proc").expect("it is Linux").flatten();
    let unreaped = all.filter_map(|one| {
        let stat = fs::read_to_string(one.path().join("stat")).ok()?;
        // The name of the program is before it, in brackets.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, parent) = (fields.next()?, fields.next()?);
        let is_one = state == "Z" && parent == process.to_string();
        is_one.then(|| one.file_name().to_string_lossy().into_owned())
    });
    unreaped.collect()
}

/// Puts an event into the queue of what could not be sent.
fn queue_event(home: &Home, text: &str) {
    let name = sha256_hex(home.data().as_os_str().as_encoded_bytes());
    let line = json!({ "user": "ada", "moment": {
        "event": "UserPromptSubmit", "session": "late", "agent": "claude-code", "project": "shop",
        "text": text,
    } });
    let file = format!(".local/state/reprise/unsent/{}.jsonl", &name[..16]);
    home.write(&file, &format!("{line}\n"));
}

#[test]
fn what_waits_in_the_background_brings_no_removed_memory_back() {
    let home = Home::new();
    home.run_ok(&["learn", "the lift is broken", "--user", "ada"]);
    queue_event(
        &home,
        "the warehouse has four aisles and two doors at the back",
    );
    home.run_ok(&["branch", "sync", "--unsent"]);
    assert_contains!(home.run_ok(&["list", "--user", "ada"]), "two doors");
    home.run_ok(&["serve", "stop"]);

    fs::remove_dir_all(home.data()).expect("it was there");
    queue_event(
        &home,
        "the shop has a third door since the renovation of its front",
    );
    let refused = home.run(&["branch", "sync", "--unsent"]);
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    assert!(!home.data().exists(), "{}", refused.stderr);
    assert_eq!(home.daemon(), None);
}

#[cfg(target_os = "linux")]
#[test]
fn of_clients_that_are_killed_the_daemon_alone_is_left_until_it_is_stopped() {
    let home = Home::new();
    let start = |_| {
        let mut client = home.command(&["mcp", "--user", "ada"]);
        let client = client.stdin(Stdio::piped()).stdout(Stdio::piped());
        client.spawn().expect("reprise runs")
    };
    let mut clients: Vec<Child> = (0..CLIENTS).map(start).collect();
    wait_for("the clients start one daemon", || {
        let seen = processes_of(&home);
        seen_if(home.daemon().is_some() && seen.len() > CLIENTS, seen)
    });
    for client in &mut clients {
        client.kill().expect("it runs");
        client.wait().expect("it was killed");
    }
    let daemon = home.daemon();
    wait_for("the daemon alone is left", || {
        let seen = processes_of(&home);
        seen_if(seen == Vec::from_iter(daemon.clone()), seen)
    });
    let found: Value = home.run_json(&["doctor", "--user", "ada"]);
    assert_contains!(
        found.to_string(),
        &format!("process {}", daemon.as_deref().unwrap_or("?"))
    );
    kill(daemon, "-TERM");
    wait_for("nothing is left", || {
        let seen = processes_of(&home);
        seen_if(seen.is_empty(), seen)
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_of_mcp_reaps_each_process_that_it_starts() {
    const EVENTS: usize = 3;
    let home = Home::new();
    let mut command = home.command(&["mcp", "--user", "ada"]);
    // Nobody listens there, so that each event is handed over.
    command
        .env("REPRISE_URL", "http://127.0.0.1:1")
        .env("REPRISE_TOKEN", "none");
    let mut server = Mcp::start(&mut command);
    for number in 0..EVENTS {
        let prompt = format!("which of the warehouses has {number} doors at the back?");
        let event =
            json!({ "event": "user-prompt", "session_id": "s", "cwd": "/", "prompt": prompt });
        server.call("hook", &event);
    }
    let queue = home.folder().join(".local/state/reprise/unsent");
    wait_for("the events are queued", || {
        let files = fs::read_dir(&queue).into_iter().flatten().flatten();
        let texts = files.filter(|file| file.path().extension().is_some_and(|is| is == "jsonl"));
        let texts = texts.filter_map(|file| fs::read_to_string(file.path()).ok());
        let lines: Vec<usize> = texts.map(|text| text.lines().count()).collect();
        seen_if(lines.iter().sum::<usize>() == EVENTS, lines)
    });
    wait_for("no process that has ended is left", || {
        let unreaped = unreaped_children_of(server.process());
        seen_if(unreaped.is_empty(), unreaped)
    });
    server.end();

    let mut server = Mcp::start(&mut home.command(&["mcp", "--user", "ada"]));
    server.call("recall", &json!({ "query": "warehouse" }));
    home.run_ok(&["serve", "stop"]);
    wait_for("the daemon that it started is reaped", || {
        let unreaped = unreaped_children_of(server.process());
        seen_if(unreaped.is_empty(), unreaped)
    });
    server.end();
}
