//! The first question after a start, while the model is still slow: a person and a tool call wait
//! and get a whole answer.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reprise_tests::{reprise_command, run_to_end, seen_if, wait_for};
use serde_json::{Value, json};

use crate::home::Home;
use crate::models::{NOTES, served_after};
use crate::page::PageClient;
use crate::together::Mcp;

/// Longer than a host that asks unbidden waits.
const MODEL_TAKES: Duration = Duration::from_millis(1_200);
const QUESTION: &str = "where is the coffee machine broken";

/// A memory whose model answers late, each time.
struct Cold {
    home: Home,
    config: String,
    daemon: Option<Child>,
}

impl Cold {
    fn new() -> Self {
        let home = Home::new();
        let (setting, _) = served_after(MODEL_TAKES);
        let config = home.write("slow.toml", &format!("[memory]\nmodel = \"{setting}\"\n"));
        let cold = Self {
            home,
            config,
            daemon: None,
        };
        let lines = NOTES.map(|text| json!({ "text": text }).to_string());
        let notes = cold.home.write("notes.jsonl", &lines.join("\n"));
        let kept = cold.command(&["ingest", &notes, "--user", "ada"]);
        run_to_end(&mut { kept })
            .expect("reprise runs")
            .expect_code(0);
        cold
    }

    /// With a daemon that has just begun to serve.
    fn with_daemon() -> Self {
        let mut cold = Self::new();
        let mut serve = cold.command(&["serve", "--idle-exit", "60"]);
        cold.daemon = Some(serve.stderr(Stdio::null()).spawn().expect("it starts"));
        wait_for("a daemon that answers", || {
            let status =
                run_to_end(&mut cold.command(&["--json", "serve", "status"])).expect("it runs");
            let answers = status.stdout.contains("\"running\":true");
            seen_if(answers, status)
        });
        cold
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = reprise_command(&self.home.data()).expect("reprise is built");
        command
            .env("XDG_RUNTIME_DIR", self.home.folder())
            .env("HOME", self.home.folder())
            .args(["--config", &self.config])
            .args(arguments);
        command
    }

    fn recalled(&self) -> Value {
        let recall = ["--json", "recall", QUESTION, "--user", "ada"];
        let answered = run_to_end(&mut self.command(&recall)).expect("reprise runs");
        let answered = answered.expect_code(0);
        serde_json::from_str(&answered.stdout).expect("JSON")
    }
}

impl Drop for Cold {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            // One that has ended already is what was wanted.
            let _ended = daemon.kill().and_then(|()| daemon.wait()).is_ok();
        }
    }
}

#[track_caller]
fn is_whole(answer: &Value) {
    assert_eq!(answer["results"][0]["text"], NOTES[0], "{answer}");
    assert_eq!(answer["degraded"], json!([]), "{answer}");
}

#[test]
fn the_first_question_at_a_terminal_waits_for_the_model_with_a_daemon_and_without() {
    is_whole(&Cold::new().recalled());
    is_whole(&Cold::with_daemon().recalled());
}

#[test]
fn the_first_tool_call_over_mcp_waits_for_the_model() {
    let cold = Cold::new();
    let mut server = Mcp::start(&mut cold.command(&["mcp", "--user", "ada"]));
    let answer = server.call("recall", &json!({ "query": QUESTION }));
    assert_ne!(answer["isError"], true, "{answer}");
    let found = answer.to_string();
    assert!(found.contains(NOTES[0]), "{answer}");
    assert!(!found.contains("the embedder was late"), "{answer}");
    server.end();
}

#[test]
fn the_first_question_on_the_page_waits_for_the_model() {
    let cold = Cold::with_daemon();
    let visitor = PageClient::of(&cold.home, "ada");
    let path = format!("/search?q={}", QUESTION.replace(' ', "+"));
    let shown = visitor.ask("GET", &path, "");
    assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
    assert!(shown.contains("espresso maker"), "{shown}");
    assert!(!shown.contains("embedder was late"), "{shown}");
}
