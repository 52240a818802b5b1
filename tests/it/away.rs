//! A memory on another machine: commands and hooks ask its daemon and leave no store here, and what
//! hooks could not tell it is told when it is back.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use reprise_tests::{RunOutput, assert_contains, find_reprise_binary, seen_if, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::home::{Home, rows};
use crate::together::Mcp;

/// The machine with the memory, and one that has none.
struct Machines {
    there: Home,
    daemon: Child,
    url: String,
    token: String,
    here: TempDir,
}

/// A daemon that listens for tokens, and its address.
pub(crate) fn serve(there: &Home, address: &str) -> (Child, String) {
    let mut serve = there.command(&["serve", "--http", address]);
    let mut daemon = serve.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(daemon.stderr.take().expect("piped"));
    let url = loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).expect("read") > 0, "it ended");
        if let Some((url, _)) = line.split_once(" accepts HTTP requests") {
            break url.to_owned();
        }
    };
    // Nobody reads on, and what it says more must not block it.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    (daemon, url)
}

impl Machines {
    fn new() -> Self {
        let there = Home::new();
        let token = there.run_ok(&["serve", "token", "add", "laptop", "--user", "ada"]);
        let (daemon, url) = serve(&there, "127.0.0.1:0");
        Self {
            there,
            daemon,
            url,
            token: token.trim().to_owned(),
            here: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(find_reprise_binary().expect("reprise is built"));
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.here.path())
            .env("REPRISE_URL", &self.url)
            .env("REPRISE_TOKEN", &self.token)
            .env("REPRISE_USER", "ada")
            .args(words);
        command
    }

    fn run(&self, words: &[&str]) -> RunOutput {
        reprise_tests::run_to_end(&mut self.command(words)).expect("reprise runs")
    }

    fn run_json(&self, words: &[&str]) -> Value {
        let done = self.run(words);
        assert_eq!(done.code, Some(0), "{words:?}: {}", done.stderr);
        serde_json::from_str(&done.stdout).expect("JSON")
    }

    fn hook(&self, event: &str, input: &Value) -> String {
        let mut command = self.command(&["hook", event, "--deadline-ms", "60000"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hook = command.spawn().expect("reprise runs");
        let mut stdin = hook.stdin.take().expect("piped");
        stdin.write_all(input.to_string().as_bytes()).expect("sent");
        drop(stdin);
        let done = hook.wait_with_output().expect("it ends");
        assert!(done.status.success());
        String::from_utf8(done.stdout).expect("text")
    }

    fn list_texts(&self) -> Vec<String> {
        let listed = self
            .run(&["list", "--json", "--limit", "500"])
            .expect_code(0);
        let text = |record: &Value| record["text"].as_str().expect("text").to_owned();
        rows(&listed.stdout).iter().map(text).collect()
    }

    fn unsent(&self) -> Value {
        let status = self.run(&["serve", "status", "--json"]).stdout;
        let status: Value = serde_json::from_str(&status).expect("JSON");
        status["unsent"].clone()
    }

    fn cut(&mut self) {
        self.daemon.kill().expect("killed");
        self.daemon.wait().expect("ended");
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        let _gone = self.daemon.kill().is_ok() && self.daemon.wait().is_ok();
    }
}

fn prompt(text: &str) -> Value {
    json!({ "session_id": "s1", "cwd": "/nowhere", "prompt": text })
}

#[test]
fn commands_ask_the_daemon_elsewhere_and_leave_no_store_here() {
    let machines = Machines::new();
    let lesson = "the ledger is what counts in billing";
    machines.run_json(&["--json", "learn", lesson, "--project", "none"]);
    assert_eq!(
        machines.list_texts(),
        ["the ledger is what counts in billing"]
    );
    let found = machines.run_json(&["recall", "what counts in billing", "--json"]);
    assert_eq!(
        found["results"][0]["text"],
        "the ledger is what counts in billing"
    );
    let put_in = machines.hook("user-prompt", &prompt("and what counts in billing again?"));
    assert!(put_in.contains("the ledger is what counts"), "{put_in}");
    let status = machines.run_json(&["serve", "status", "--json"]);
    assert_eq!(status["url"], machines.url.as_str());
    assert!(status["round_trip_ms"].as_f64().is_some_and(|ms| ms > 0.0));
    // What works on files says where they are.
    let refused = machines.run(&["doctor", "check"]);
    assert!(refused.stderr.contains(&machines.url), "{}", refused.stderr);
    let said = |name: &str, value: &str, words: &[&str]| {
        let mut command = machines.command(words);
        let done = reprise_tests::run_to_end(command.env(name, value)).expect("reprise runs");
        assert_eq!(done.stderr.matches("error:").count(), 1, "{}", done.stderr);
        (done.code, done.stderr)
    };
    let (code, why) = said("REPRISE_URL", "http://127.0.0.1:1", &["list"]);
    assert!(
        code == Some(3) && why.contains("cannot be reached"),
        "{why}"
    );
    let (code, why) = said("REPRISE_TOKEN", "rpr_00", &["list"]);
    assert!(
        code == Some(4) && why.contains("does not know this token"),
        "{why}"
    );
    let (code, why) = said("REPRISE_USER", "bob", &["list"]);
    assert!(code == Some(5) && why.contains("`bob`"), "{why}");
    let (code, why) = said("REPRISE_URL", "http://memory.example.com", &["list"]);
    assert!(code == Some(2) && why.contains("allow_plain_http"), "{why}");
    let (code, why) = said("REPRISE_TOKEN", "", &["list"]);
    assert!(code == Some(2) && why.contains("REPRISE_TOKEN"), "{why}");
    let left: Vec<_> = fs::read_dir(machines.here.path()).expect("read").collect();
    assert!(left.is_empty(), "nothing was made here: {left:?}");
}

#[test]
fn what_hooks_could_not_tell_waits_without_secrets_and_is_told_once_and_in_order() {
    let mut machines = Machines::new();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    machines.hook("user-prompt", &prompt("the first station is the warm one"));
    machines.cut();
    for number in 0..12 {
        let text = format!("station {number} of the line was cold, token {secret}");
        assert_eq!(machines.hook("user-prompt", &prompt(&text)), "");
    }
    assert_eq!(machines.unsent(), 12);
    let folder = machines.here.path().join(".local/state/reprise/unsent");
    for file in fs::read_dir(&folder).expect("it waits there") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("text");
        assert!(!text.contains(secret), "a secret is on the disk");
    }
    let address = machines.url.trim_start_matches("http://").to_owned();
    (machines.daemon, _) = serve(&machines.there, &address);
    // The next hook that reaches it, and a command for what there was no time for.
    machines.hook("user-prompt", &prompt("the last station is warm again"));
    let listed = machines.list_texts();
    assert_eq!(machines.unsent(), 0);
    let cold: Vec<&String> = listed
        .iter()
        .filter(|text| text.contains("was cold"))
        .collect();
    assert_eq!(cold.len(), 12, "{listed:?}");
    for (place, text) in cold.iter().rev().enumerate() {
        assert!(
            text.starts_with(&format!("station {place} ")),
            "{place}: {text}"
        );
    }
    assert_eq!(listed.len(), 14, "{listed:?}");
    assert!(!machines.here.path().join(".local/share").exists());
}

#[test]
fn a_daemon_that_hangs_holds_up_no_hook_and_what_happened_waits_for_it() {
    let mut machines = Machines::new();
    // It takes connections and answers nobody.
    let hangs = TcpListener::bind("127.0.0.1:0").expect("a port");
    machines.url = format!("http://{}", hangs.local_addr().expect("an address"));
    let mut hook = machines.command(&["hook", "user-prompt", "--deadline-ms", "2000"]);
    let said = prompt("the ledger is closed in March").to_string();
    assert_eq!(crate::together::run(&mut hook, &said), "");
    let folder = machines.here.path().join(".local/state/reprise/unsent");
    // A process of its own writes it there.
    wait_for("what happened", || {
        let files = fs::read_dir(&folder).into_iter().flatten().flatten();
        let all: String = files
            .filter_map(|file| fs::read_to_string(file.path()).ok())
            .collect();
        seen_if(all.contains("closed in March"), all)
    });
    drop(hangs);
}

#[test]
fn the_status_of_a_daemon_elsewhere_says_that_memory_is_paused_there() {
    let machines = Machines::new();
    let status = machines.run_json(&["serve", "status", "--json"]);
    assert_eq!(status["paused"], json!([]));
    machines.there.run_ok(&["pause", "--user", "ada"]);
    let status = machines.run(&["serve", "status"]).expect_code(0).stdout;
    assert_contains!(status, "paused", "ada: memory is paused");
    let status = machines.run_json(&["serve", "status", "--json"]);
    assert_contains!(status["paused"].to_string(), "reprise resume");
    let checked = machines.run(&["doctor"]).expect_code(0).stdout;
    assert_contains!(checked, "ok  paused", "ada: memory is paused");
    machines.there.run_ok(&["resume", "--user", "ada"]);
    let status = machines.run(&["serve", "status"]).expect_code(0).stdout;
    assert!(!status.contains("paused"), "{status}");
}

#[test]
fn mcp_on_stdin_speaks_for_the_daemon_elsewhere() {
    let machines = Machines::new();
    let mut command = machines.command(&["mcp"]);
    // What is known of a repository's history would be noted here.
    command.current_dir(machines.here.path());
    let mut server = Mcp::start(&mut command);
    let lesson = json!({ "title": "Billing", "content": "the ledger is what counts in billing" });
    let learned = server.call("learn", &lesson);
    assert_eq!(
        learned["structuredContent"]["outcome"], "inserted",
        "{learned}"
    );
    let found = server.call("recall", &json!({ "query": "what counts in billing" }));
    assert_contains!(found.to_string(), "the ledger is what counts");
    server.end();
    let kept = machines.there.run_ok(&["list", "--user", "ada", "--json"]);
    assert!(kept.contains("the ledger is what counts"), "{kept}");
    let left: Vec<_> = fs::read_dir(machines.here.path()).expect("read").collect();
    assert!(left.is_empty(), "nothing was made here: {left:?}");
}

#[test]
fn what_the_token_does_not_open_waits_and_keeps_nobody_else_back() {
    let machines = Machines::new();
    // Set up for a user whom this token does not speak for.
    let mut hook = machines.command(&["hook", "user-prompt", "--deadline-ms", "60000"]);
    let said = prompt("the ledger of bob is elsewhere").to_string();
    crate::together::run(hook.env("REPRISE_USER", "bob"), &said);
    assert_eq!(machines.unsent(), 1);
    machines.hook("user-prompt", &prompt("the ledger is closed in March"));
    assert_eq!(machines.list_texts(), ["the ledger is closed in March"]);
    assert_eq!(machines.unsent(), 1, "it waits for a token that opens it");
}

#[test]
fn connecting_writes_the_daemon_elsewhere_into_the_configuration_and_no_token_for_others() {
    use std::os::unix::fs::PermissionsExt;
    let machines = Machines::new();
    machines.run(&["connect", "claude-code"]).expect_code(0);
    let mut files = vec![machines.here.path().to_owned()];
    let mut holders = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                fs::read_dir(&path)
                    .expect("read")
                    .map(|e| e.expect("entry").path()),
            );
            continue;
        }
        if fs::read_to_string(&path).is_ok_and(|text| text.contains(&machines.token)) {
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{} is open to others", path.display());
            holders += 1;
        }
    }
    assert_eq!(holders, 1);
    // Without the variables, as a program starts it.
    let mut command = machines.command(&["learn", "written from what was configured"]);
    let command = command
        .env_remove("REPRISE_URL")
        .env_remove("REPRISE_TOKEN");
    reprise_tests::run_to_end(command)
        .expect("reprise runs")
        .expect_code(0);
    assert_eq!(machines.list_texts(), ["written from what was configured"]);
    assert!(!machines.here.path().join(".local/share").exists());
}
