//! Nothing leaves the machine (M72): the program at work where there is no network, watched by the
//! system's own counters.
//!
//! A network namespace of its own has no interface and counts from zero: whatever tries to reach
//! anything is counted as without a route. Where the system grants none, the daemon's sockets are
//! looked at alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use reprise_server::Call;
use reprise_tests::{Finished, finish, reprise_binary};
use serde_json::json;

use crate::home::Home;

/// Work of every kind by a daemon, and then the demo: with the real model, which the other tests
/// have brought to this machine.
const WORK: &str = r#"
"$0" --data-dir "$1" serve --idle-exit 60 >&2 &
until "$0" --data-dir "$1" status >&2; do kill -0 $! || exit 7; done
"$0" --data-dir "$1" learn --user ada "the auth race was ended by one mutex per user" >&2
"$0" --data-dir "$1" recall --user ada "how did the auth race end?"
"$0" --data-dir "$1" stop >&2
wait
"$0" --data-dir "$1/demo" demo >&2
"#;
/// Somebody who does try: git is here for the workspace's tests.
const TRIES: &str = "git ls-remote git://192.0.2.1/nowhere >&2 || true";
/// What was sent or had nowhere to go.
const COUNTED: [&str; 7] = [
    "OutNoRoutes",
    "OutRequests",
    "ActiveOpens",
    "OutDatagrams",
    "Ip6OutNoRoutes",
    "Ip6OutRequests",
    "Udp6OutDatagrams",
];

/// Runs a script in a namespace without a network; what it left, and how often somebody tried to
/// reach something. `None` where the system grants no namespace.
fn without_network(script: &str, data: &Path) -> Option<(Finished, u64)> {
    let granted = finish(Command::new("unshare").args(["--map-root-user", "--net", "true"]));
    if !granted.is_ok_and(|granted| granted.code == Some(0)) {
        return None;
    }
    let counters = data.with_extension("counters");
    let script = format!(
        "{script}\ncat /proc/net/snmp /proc/net/snmp6 > '{}'",
        counters.display()
    );
    let mut command = Command::new("unshare");
    // The settings of this machine are left out as they are for `reprise` itself.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("REPRISE_") {
            command.env_remove(name);
        }
    }
    command
        .env("XDG_RUNTIME_DIR", data.parent().expect("a folder"))
        .args(["--map-root-user", "--net", "sh", "-c", &script])
        .arg(reprise_binary().expect("reprise is built"))
        .arg(data);
    let finished = finish(&mut command).expect("the script runs");
    let counters = fs::read_to_string(&counters).expect("the counters were written");
    Some((finished, tries(&counters)))
}

/// The sum of the counters: pairs of lines in `snmp`, one a line in `snmp6`.
fn tries(counters: &str) -> u64 {
    let mut tries = 0;
    let mut lines = counters.lines().peekable();
    while let Some(line) = lines.next() {
        let (names, values) = match line.split_once(": ") {
            Some((group, names)) => {
                let values = lines.next().and_then(|line| line.strip_prefix(group));
                (names, values.unwrap_or_default())
            }
            None => line.split_once(char::is_whitespace).unwrap_or_default(),
        };
        let values = values.trim_start_matches(':').split_whitespace();
        for (name, value) in names.split_whitespace().zip(values) {
            if COUNTED.contains(&name) {
                tries += value.parse::<u64>().unwrap_or_default();
            }
        }
    }
    tries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_at_work_reaches_for_no_network() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    if let Some((control, tried)) = without_network(TRIES, &folder.path().join("control")) {
        assert!(tried > 0, "somebody who tries is counted: {control:?}");
        let worked = without_network(WORK, &folder.path().join("data"));
        let (worked, tried) = worked.expect("granted a moment ago");
        assert!(worked.stdout.contains("one mutex per user"), "{worked:?}");
        assert!(worked.stderr.contains("3 days ago"), "{worked:?}");
        assert!(!worked.stderr.contains("degraded"), "{worked:?}");
        assert_eq!(tried, 0, "somebody reached for the network: {worked:?}");
    }
    let home = Home::new();
    let client = home.client();
    client.wake().await.expect("a daemon starts");
    let call = Call::post("/v1/users/ada/records", &json!({ "text": "one mutex" }));
    client.bytes(&call).await.expect("the daemon answers");
    sockets_are_of_this_machine(&home);
}

/// A daemon that has answered holds Unix sockets alone.
fn sockets_are_of_this_machine(home: &Home) {
    let process = home.daemon().expect("a daemon runs");
    let table =
        |name: &str| fs::read_to_string(format!("/proc/{process}/net/{name}")).unwrap_or_default();
    let local = table("unix");
    let local: BTreeSet<&str> = local
        .lines()
        .filter_map(|line| line.split_whitespace().nth(6))
        .collect();
    let open = fs::read_dir(format!("/proc/{process}/fd")).expect("a process of ours");
    let mut sockets = 0;
    for file in open.flatten() {
        let target = fs::read_link(file.path()).unwrap_or_default();
        let target = target.to_string_lossy();
        if let Some(inode) = target
            .strip_prefix("socket:[")
            .and_then(|inode| inode.strip_suffix(']'))
        {
            sockets += 1;
            assert!(local.contains(inode), "socket {inode} is no Unix socket");
        }
    }
    assert!(sockets > 0, "it listens on its Unix socket");
}
