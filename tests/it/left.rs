//! What is left behind: no process outlives its clients' last use, and none brings back a memory
//! that was removed.

use std::fs;
use std::process::{Child, Stdio};

use reprise_tests::{assert_contains, seen_if, wait_for};
use reprise_types::sha256_hex;
use serde_json::{Value, json};

use crate::home::{Home, kill};

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
