//! Runs pip and curl: no input, output kept for the error message, watched while it runs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a running download is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A download that takes longer than this is given up.
const DOWNLOAD_TIME_MAX: Duration = Duration::from_mins(30);
/// Most of a failed program's output that goes into an error.
const OUTPUT_CHARS_MAX: usize = 400;
/// What pip and curl say where nobody answers.
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

/// Why a program brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// It is not on this machine.
    Absent,
    /// No host answers.
    Unreachable,
    /// Anything else, in one sentence.
    Said(String),
}

impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self::Said(message)
    }
}

/// Runs a program to its end, asking `look` now and then how many bytes have come. Without a byte
/// within `first_byte` it is given up.
pub(super) fn run(
    command: &mut Command,
    log: &Path,
    first_byte: Duration,
    look: &mut dyn FnMut() -> u64,
) -> Result<(), Failed> {
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
                return Err(failure(&name, status, &output));
            }
            Ok(None) if started.elapsed() < DOWNLOAD_TIME_MAX => {}
            Ok(None) => {
                give_up(&mut child);
                let minutes = DOWNLOAD_TIME_MAX.as_secs() / 60;
                return Err(format!("{name} was stopped after {minutes} minutes").into());
            }
            Err(error) => {
                give_up(&mut child);
                return Err(format!("{name} cannot be waited for: {error}").into());
            }
        }
        if look() == 0 && started.elapsed() > first_byte {
            give_up(&mut child);
            return Err(Failed::Unreachable);
        }
        sleep(LOOK_EVERY);
    }
}

/// Whether a program is there and answers with success.
pub(super) fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn give_up(child: &mut Child) {
    // It may have ended by itself meanwhile; either way it is gone afterwards.
    drop(child.kill());
    drop(child.wait());
}

fn failure(name: &str, status: ExitStatus, output: &str) -> Failed {
    let lower = output.to_lowercase();
    if UNREACHABLE.iter().any(|sign| lower.contains(sign)) {
        return Failed::Unreachable;
    }
    Failed::Said(format!("{name} failed ({status}): {}", last_words(output)))
}

/// The last lines of a program's output, on one line.
fn last_words(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let words: Vec<char> = lines.join(" / ").chars().collect();
    let start = words.len().saturating_sub(OUTPUT_CHARS_MAX);
    words[start..].iter().collect()
}
