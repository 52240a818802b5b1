//! Runs one command with limits on time, output and environment, and kills everything it started.
//!
//! It blocks, so it must run on a thread of its own.

use std::io::{PipeReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;

use reprise_types::lock;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::prelude::*;

/// Time limit for the rest of the output after the command has ended.
const OUTPUT_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLimits {
    pub time: Duration,
    /// Most bytes of output that are kept; the rest is read and dropped.
    pub output_bytes: usize,
    /// The command's whole environment; it inherits nothing.
    pub environment: Vec<(String, String)>,
}

impl Default for CommandLimits {
    /// The defaults are a minute, 64 KiB, and a minimal `PATH`.
    fn default() -> Self {
        Self {
            time: Duration::from_mins(1),
            output_bytes: 64 * 1024,
            environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum CommandEnd {
    Exit(i32),
    Killed,
    TimedOut,
    NotStarted(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct CommandReport {
    pub(super) end: CommandEnd,
    /// Standard output and standard error, interleaved, up to the limit.
    pub(super) output: String,
    /// Size of the whole output in bytes.
    pub(super) output_bytes: usize,
    pub(super) duration_ms: u64,
}

impl CommandReport {
    pub(super) fn not_started(why: String) -> Self {
        Self {
            end: CommandEnd::NotStarted(why),
            output: String::new(),
            output_bytes: 0,
            duration_ms: 0,
        }
    }

    pub(super) fn describe_end(&self) -> String {
        match &self.end {
            CommandEnd::Exit(code) => format!("exit {code}"),
            CommandEnd::Killed => "ended by a signal".to_owned(),
            CommandEnd::TimedOut => format!("stopped after {} ms", self.duration_ms),
            CommandEnd::NotStarted(why) => format!("not started ({why})"),
        }
    }

    /// Returns the most informative line: the first that mentions an error, otherwise the last.
    pub(super) fn informative_line(&self) -> &str {
        let lines = || self.output.lines().filter(|line| !line.trim().is_empty());
        let error = lines().find(|line| line.to_lowercase().contains("error"));
        error
            .or_else(|| lines().next_back())
            .unwrap_or("no output")
            .trim()
    }
}

/// The output read so far, which is shared with the reading thread; that may outlive the command.
#[derive(Debug, Default)]
struct CapturedOutput {
    bytes: Vec<u8>,
    whole_bytes: usize,
}

/// Runs `command` with the shell in `folder`. Its whole process group is killed afterwards.
pub(super) fn run_shell(command: &str, folder: &Path, limits: &CommandLimits) -> CommandReport {
    let began = Instant::now();
    let started = spawn_shell(command, folder, limits);
    let (mut child, output) = match started {
        Ok(started) => started,
        Err(error) => return CommandReport::not_started(error.to_string()),
    };
    let read = Arc::new(Mutex::new(CapturedOutput::default()));
    let (done_sender, finished) = channel();
    let reader = Arc::clone(&read);
    let kept_max = limits.output_bytes;
    thread::spawn(move || {
        read_output(output, kept_max, &reader);
        let _nobody_waits = done_sender.send(()).is_err();
    });
    let timed_out = !wait_for_end(&child, limits.time);
    // The group is killed before the child is reaped, as until then its process id cannot be
    // reused.
    kill_group(&child);
    let status = child.wait();
    let _is_complete = finished.recv_timeout(OUTPUT_WAIT).is_ok();
    let read = lock(&read);
    CommandReport {
        end: match status {
            _ if timed_out => CommandEnd::TimedOut,
            Ok(status) => status.code().map_or(CommandEnd::Killed, CommandEnd::Exit),
            Err(error) => CommandEnd::NotStarted(error.to_string()),
        },
        output: String::from_utf8_lossy(&read.bytes).into_owned(),
        output_bytes: read.whole_bytes,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn spawn_shell(
    command: &str,
    folder: &Path,
    limits: &CommandLimits,
) -> std::io::Result<(Child, PipeReader)> {
    let (output, write) = std::io::pipe()?;
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .envs(limits.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(write.try_clone()?)
        .stderr(write);
    shell.process_group(0);
    // When `shell` is dropped, our copies of the pipe's write end are closed.
    Ok((shell.spawn()?, output))
}

fn read_output(mut output: PipeReader, kept_max: usize, read: &Mutex<CapturedOutput>) {
    let mut buffer = [0; 8192];
    loop {
        match output.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let mut read = lock(read);
                let room = kept_max.saturating_sub(read.bytes.len());
                read.bytes.extend(buffer.iter().take(count.min(room)));
                read.whole_bytes += count;
            }
        }
    }
}

/// Waits for a command to end; returns whether it did so in time. It is not reaped.
fn wait_for_end(child: &Child, time: Duration) -> bool {
    const LONGEST: Duration = Duration::from_millis(20);
    let until = Instant::now() + time;
    let mut step = Duration::from_millis(1);
    loop {
        if has_ended(child) {
            return true;
        }
        let remaining = until.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return false;
        }
        thread::sleep(step.min(remaining));
        step = (step * 2).min(LONGEST);
    }
}

/// Returns the process id of the child, which is also that of its group.
fn process_group_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let pid = process_group_of(child);
    // The later wait reports an error that occurs here.
    pid.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
}

/// Kills a command and everything in its process group.
fn kill_group(child: &Child) {
    if let Some(group) = process_group_of(child) {
        let _already_gone = kill_process_group(group, Signal::KILL).is_err();
    }
}
