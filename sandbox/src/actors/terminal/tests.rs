//! Real commands, limited in time, output, environment and child processes.

use std::path::Path;
use std::time::Duration;

use reprise_tests::{seen_if, wait_for};

use super::command::run_shell;
use super::*;

fn new_limits(time: Duration, output_bytes: usize) -> CommandLimits {
    CommandLimits {
        time,
        output_bytes,
        ..CommandLimits::default()
    }
}

fn run_in_new_folder(command: &str) -> CommandReport {
    let folder = tempfile::tempdir().unwrap();
    run_shell(command, folder.path(), &CommandLimits::default())
}

#[test]
fn a_command_is_run_where_it_should_and_tells_how_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let here = run_shell(
        "echo made > it && pwd",
        folder.path(),
        &CommandLimits::default(),
    );
    assert_eq!(here.end, CommandEnd::Exit(0));
    assert!(folder.path().join("it").exists());
    let failed = run_in_new_folder("echo 'error[E0432]: no' >&2; echo more; exit 7");
    assert_eq!(failed.end, CommandEnd::Exit(7));
    assert_eq!(failed.informative_line(), "error[E0432]: no");
    assert_eq!(run_in_new_folder("kill -9 $$").end, CommandEnd::Killed);
    assert_eq!(run_in_new_folder("true").informative_line(), "no output");
    let nowhere = run_shell(
        "true",
        Path::new("/nowhere/at/all"),
        &CommandLimits::default(),
    );
    assert!(
        matches!(nowhere.end, CommandEnd::NotStarted(_)),
        "{nowhere:?}"
    );
}

#[test]
fn nothing_of_the_hosts_environment_is_inherited() {
    let environment = run_in_new_folder("env").output;
    assert!(environment.contains("PATH="), "{environment}");
    assert!(!environment.contains("CARGO"), "{environment}");
}

#[test]
fn output_beyond_the_bound_is_counted_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let limits = new_limits(Duration::from_mins(1), 1_000);
    let loud = run_shell("yes | head -c 300000", folder.path(), &limits);
    assert_eq!(loud.end, CommandEnd::Exit(0));
    assert_eq!((loud.output.len(), loud.output_bytes), (1_000, 300_000));
}

#[cfg(unix)]
#[test]
fn a_command_that_takes_too_long_goes_with_everything_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let command = "sleep 600 & echo $! > pid; sleep 600";
    let limits = new_limits(Duration::from_millis(300), 1_000);
    let late = run_shell(command, folder.path(), &limits);
    assert_eq!(late.end, CommandEnd::TimedOut);
    let pid: u32 = std::fs::read_to_string(pid)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    wait_until_ended(pid);
    let with_child = run_shell(
        "sleep 600 & echo $! > pid",
        folder.path(),
        &CommandLimits::default(),
    );
    assert_eq!(
        with_child.end,
        CommandEnd::Exit(0),
        "it ended; what it left is not waited for"
    );
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    wait_until_ended(pid.trim().parse().unwrap());
}

/// Waits for the end of a killed process.
#[cfg(unix)]
fn wait_until_ended(pid: u32) {
    wait_for("the end of a killed process", || {
        seen_if(!is_running(pid), pid)
    });
}

/// Whether a process runs; a zombie does not.
#[cfg(unix)]
fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(')').next().unwrap_or_default().trim();
    !(state.is_empty() || state.starts_with('Z') || state.starts_with('X'))
}

#[test]
fn failures_from_outside_are_told_apart_from_the_works_own() {
    for (output, kind) in [
        ("curl: (6) Could not resolve host: x", FailureKind::Network),
        ("connect: Connection refused", FailureKind::Network),
        ("HTTP/1.1 401 Unauthorized", FailureKind::Auth),
        ("HTTP/1.1 429 Too Many Requests", FailureKind::RateLimit),
        ("test result: FAILED", FailureKind::Validation),
    ] {
        assert_eq!(classify_failure(output), kind, "{output}");
    }
}
