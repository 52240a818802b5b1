//! What records take of the processor, of memory and of the disk, as the kernel counts it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use reprise_tests::{reprise_command, run_to_end, seen_if, wait_for};
use serde_json::json;

use crate::home::Home;

const RECORDS: usize = 10_000;
/// How often a command's time is taken; the least of them counts.
const ROUNDS: usize = 3;

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
    home.run_ok(&["ingest", &file.to_string_lossy(), "--user", "ada"]);
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
        let finished = run_to_end(&mut command).expect("a shell");
        assert!(finished.stderr.contains("station 7771 of"), "{finished:?}");
        seconds(&finished.stdout)
    });
    let least = took.fold(f64::INFINITY, f64::min);
    assert!(least > 0.0 && least < 1.0, "{least} s");
}

/// Records of the smallest machine's test, a fifth of those of the documents' Standard tier.
const FEW: usize = 2_000;
/// Memory of the Standard tier, in KB.
const STANDARD_KB: u64 = 512 * 1_024;
/// Disk that the documents give a memory of 10,000 records, in bytes.
const STANDARD_FILE: u64 = 25_000_000;

/// Bytes of all files under a folder.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder");
    let bytes = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            folder_bytes(&entry.path())
        } else {
            entry.metadata().map_or(0, |file| file.len())
        }
    });
    bytes.sum()
}

/// A daemon on one core keeps records, embeds them and answers. `tests/load/tiers.sh` does so with
/// the whole tier, within bounds that only root may set.
#[test]
fn a_fifth_of_the_smallest_tier_fits_one_core_its_memory_and_its_disk() {
    let home = Home::new();
    let with_model = |arguments: &[&str]| {
        let mut command = reprise_command(&home.data()).expect("reprise is built");
        command
            .env("XDG_RUNTIME_DIR", home.folder())
            .args(arguments);
        command
    };
    let served = with_model(&["serve", "--idle-exit", "600"]);
    let mut daemon = Command::new("taskset");
    daemon
        .args(["-c", "0"])
        .arg(served.get_program())
        .args(served.get_args());
    for (name, value) in served.get_envs() {
        match value {
            Some(value) => daemon.env(name, value),
            None => daemon.env_remove(name),
        };
    }
    let mut daemon = daemon
        .stderr(Stdio::null())
        .spawn()
        .expect("taskset is there");
    wait_for("the daemon", || seen_if(home.daemon().is_some(), ()));
    let line = |number: usize| {
        let text = format!("station {number} has its pump {} checked", number % 97);
        json!({ "external_id": number.to_string(), "text": text }).to_string()
    };
    let lines: Vec<String> = (0..FEW).map(line).collect();
    let file = home.write("lines.jsonl", &lines.join("\n"));
    let run = |arguments: &[&str]| {
        let finished = run_to_end(&mut with_model(arguments)).expect("it runs");
        assert_eq!(finished.code, Some(0), "{finished:?}");
        finished.stdout
    };
    run(&["ingest", &file, "--user", "ada"]);
    for number in [3, 777, 1_999] {
        let question = format!("the pump of station {number}");
        let answer = run(&["recall", "--user", "ada", &question]);
        assert!(
            answer.contains(&format!("station {number} has")),
            "{answer}"
        );
    }
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.id())).expect("Linux");
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let most = most.and_then(|rest| rest.trim().strip_suffix("kB"));
    let most: u64 = most.expect("a size").trim().parse().expect("a number");
    assert!(most > 10_000 && most < STANDARD_KB, "{most} KB");
    run(&["serve", "stop"]);
    assert!(daemon.wait().expect("it ends").success());
    let bytes = folder_bytes(&home.data().join("ada"));
    let share = STANDARD_FILE * FEW as u64 / 10_000;
    assert!(bytes > 1_000_000 && bytes <= share, "{bytes} bytes");
}
