//! Runs pip and curl without input, keeps their output for the error message, and watches their
//! progress.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Interval at which a running download is checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Longest time of a download.
const DOWNLOAD_TIME_MAX: Duration = Duration::from_mins(30);
/// Most characters of a failed program's output in an error.
const OUTPUT_CHARS_MAX: usize = 400;
/// Parts of the messages of pip and curl if no host responds.
const UNREACHABLE: [&str; 10] = [
    "name resolution",
    "name or service not known",
    "could not resolve",
    "failed to resolve",
    "failed to establish a new connection",
    "connection refused",
    "could not connect",
    "couldn't connect",
    "network is unreachable",
    "timed out",
];

/// Why a download failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DownloadFailure {
    /// The program is not on this machine.
    Absent,
    /// No host responds.
    Unreachable,
    /// Anything else, in one sentence.
    Other(String),
}

impl From<String> for DownloadFailure {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

/// Runs a program to its end, and calls `look` regularly for the count of received bytes. Stops the
/// program if there is no byte within `first_byte`.
pub(super) fn run_watched(
    command: &mut Command,
    log: &Path,
    first_byte: Duration,
    look: &mut dyn FnMut() -> u64,
) -> Result<(), DownloadFailure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut start = || -> std::io::Result<Child> {
        let output = File::create(log)?;
        let errors = output.try_clone()?;
        command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
    };
    let mut child = start().map_err(|error| format!("{name} does not start: {error}"))?;
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                let output =
                    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
                return Err(classify_failure(&name, status, &output));
            }
            Ok(None) if started.elapsed() < DOWNLOAD_TIME_MAX => {}
            Ok(None) => {
                kill_child(&mut child);
                let minutes = DOWNLOAD_TIME_MAX.as_secs() / 60;
                return Err(format!("{name} was stopped after {minutes} minutes").into());
            }
            Err(error) => {
                kill_child(&mut child);
                return Err(format!("{name} cannot be waited for: {error}").into());
            }
        }
        if look() == 0 && started.elapsed() > first_byte {
            kill_child(&mut child);
            return Err(DownloadFailure::Unreachable);
        }
        sleep(LOOK_EVERY);
    }
}

/// Whether a program exists and ends with success.
pub(super) fn is_available(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn kill_child(child: &mut Child) {
    // It may have ended by itself; in both cases it is gone afterwards.
    drop(child.kill());
    drop(child.wait());
}

fn classify_failure(name: &str, status: ExitStatus, output: &str) -> DownloadFailure {
    let lower = output.to_lowercase();
    if UNREACHABLE.iter().any(|sign| lower.contains(sign)) {
        return DownloadFailure::Unreachable;
    }
    DownloadFailure::Other(format!("{name} failed ({status}): {}", last_lines(output)))
}

/// Returns the last lines of a program's output, joined to one line.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let words: Vec<char> = lines.join(" / ").chars().collect();
    let start = words.len().saturating_sub(OUTPUT_CHARS_MAX);
    words[start..].iter().collect()
}
