//! What ten thousand records take of a machine: memory, and processor time as the kernel counts it.

use std::fs;
use std::process::Command;

use reprise_tests::{finish, reprise};
use serde_json::{Value, json};

use crate::home::Home;

const RECORDS: usize = 10_000;
/// How often a command's time is taken; the least of them counts.
const ROUNDS: usize = 3;

#[test]
fn ten_thousand_records_stay_within_their_share_of_memory() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut command = reprise(folder.path()).expect("reprise is built");
    let records = RECORDS.to_string();
    command.args(["--json", "bench", "memory", "--records", &records]);
    let finished = finish(&mut command).expect("reprise runs").ended(0);
    let figures: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(figures["records"], RECORDS + 100);
    let [opened, written] = ["opened_mb", "after_100_writes_mb"]
        .map(|name| figures[name].as_f64().expect("a figure of Linux"));
    // Asked are 60 MB at 10,000 records and 400 at ten times as many.
    assert!(opened > 0.5 && written <= 40.0, "{figures}");
}

/// Seconds of the processor that the commands of a shell took, as `times` tells them.
fn seconds(told: &str) -> f64 {
    let of_children = told.lines().last().expect("two lines");
    let parts = of_children.split_whitespace().map(|part| {
        let (minutes, seconds) = part.split_once('m').expect("minutes");
        let seconds = seconds.trim_end_matches('s').parse::<f64>();
        minutes.parse::<f64>().expect("a number") * 60.0 + seconds.expect("a number")
    });
    parts.sum()
}

#[test]
fn ten_thousand_records_answer_within_a_second_of_the_processor() {
    let home = Home::with(&["--no-daemon"]);
    let line = |number: usize| {
        let text = format!(
            "station {number} of the line {} has its pump checked",
            number % 97
        );
        json!({ "external_id": number.to_string(), "text": text }).to_string()
    };
    let lines: Vec<String> = (0..RECORDS).map(line).collect();
    let file = home.folder().join("lines.jsonl");
    fs::write(&file, lines.join("\n")).expect("written");
    home.done(&["ingest", &file.to_string_lossy(), "--user", "ada"]);
    let took = (0..ROUNDS).map(|_| {
        let asked = home.command(&["recall", "--user", "ada", "the pump of station 7771"]);
        let mut command = Command::new("sh");
        command
            .args(["-c", r#""$@" >&2; times"#, "sh"])
            .arg(asked.get_program())
            .args(asked.get_args());
        for (name, value) in asked.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let finished = finish(&mut command).expect("a shell");
        assert!(finished.stderr.contains("station 7771 of"), "{finished:?}");
        seconds(&finished.stdout)
    });
    let least = took.fold(f64::INFINITY, f64::min);
    assert!(least > 0.0 && least < 1.0, "{least} s");
}
