//! Runs one command with limits on time, output and environment, and kills everything it started.
//!
//! Blocking: run on a thread of its own.

use std::io::{PipeReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;

use reprise_types::lock;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::prelude::*;

/// How long to wait for the rest of the output after the command has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLimits {
    pub time: Duration,
    /// Most bytes of output kept; the rest is read and dropped.
    pub output_bytes: usize,
    /// Its whole environment; nothing is inherited.
    pub environment: Vec<(String, String)>,
}

impl Default for CommandLimits {
    /// A minute, 64 KiB, and a minimal `PATH`.
    fn default() -> Self {
        Self {
            time: Duration::from_mins(1),
            output_bytes: 64 * 1024,
            environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Ended {
    Exit(i32),
    Killed,
    TimedOut,
    NotStarted(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Ran {
    pub(super) ended: Ended,
    /// Standard output and error, interleaved, up to the limit.
    pub(super) output: String,
    /// Size of the whole output in bytes.
    pub(super) output_bytes: usize,
    pub(super) duration_ms: u64,
}

impl Ran {
    pub(super) fn not_started(why: String) -> Self {
        Self {
            ended: Ended::NotStarted(why),
            output: String::new(),
            output_bytes: 0,
            duration_ms: 0,
        }
    }

    pub(super) fn sentence(&self) -> String {
        match &self.ended {
            Ended::Exit(code) => format!("exit {code}"),
            Ended::Killed => "ended by a signal".to_owned(),
            Ended::TimedOut => format!("stopped after {} ms", self.duration_ms),
            Ended::NotStarted(why) => format!("not started ({why})"),
        }
    }

    /// The most informative line: the first that mentions an error, else the last.
    pub(super) fn informative_line(&self) -> &str {
        let lines = || self.output.lines().filter(|line| !line.trim().is_empty());
        let error = lines().find(|line| line.to_lowercase().contains("error"));
        error
            .or_else(|| lines().next_back())
            .unwrap_or("no output")
            .trim()
    }
}

/// Output read so far; shared with the reading thread, which may outlive the command.
#[derive(Debug, Default)]
struct Captured {
    kept: Vec<u8>,
    all: usize,
}

/// Runs `command` with the shell in `folder`. Its whole process group is killed afterwards.
pub(super) fn run(command: &str, folder: &Path, limits: &CommandLimits) -> Ran {
    let began = Instant::now();
    let started = start(command, folder, limits);
    let (mut child, output) = match started {
        Ok(started) => started,
        Err(error) => return Ran::not_started(error.to_string()),
    };
    let read = Arc::new(Mutex::new(Captured::default()));
    let (done, finished) = channel();
    let reader = Arc::clone(&read);
    let kept_max = limits.output_bytes;
    thread::spawn(move || {
        drain(output, kept_max, &reader);
        let _nobody_waits = done.send(()).is_err();
    });
    let timed_out = !ends_within(&child, limits.time);
    // Before it is reaped: until then its process id cannot be reused.
    end_group(&child);
    let status = child.wait();
    let _said_all = finished.recv_timeout(LAST_WORDS).is_ok();
    let read = lock(&read);
    Ran {
        ended: match status {
            _ if timed_out => Ended::TimedOut,
            Ok(status) => status.code().map_or(Ended::Killed, Ended::Exit),
            Err(error) => Ended::NotStarted(error.to_string()),
        },
        output: String::from_utf8_lossy(&read.kept).into_owned(),
        output_bytes: read.all,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn start(
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
    // Dropping `shell` closes our copies of the pipe's write end.
    Ok((shell.spawn()?, output))
}

fn drain(mut output: PipeReader, kept_max: usize, read: &Mutex<Captured>) {
    let mut buffer = [0; 8192];
    loop {
        match output.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let mut read = lock(read);
                let room = kept_max.saturating_sub(read.kept.len());
                read.kept.extend(buffer.iter().take(count.min(room)));
                read.all += count;
            }
        }
    }
}

/// Whether a command ends within its time; it is not reaped.
fn ends_within(child: &Child, time: Duration) -> bool {
    const LONGEST: Duration = Duration::from_millis(20);
    let until = Instant::now() + time;
    let mut step = Duration::from_millis(1);
    loop {
        if has_ended(child) {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(step.min(left));
        step = (step * 2).min(LONGEST);
    }
}

/// The process id of the child, which is also that of its group.
fn group_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

fn has_ended(child: &Child) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let pid = group_of(child);
    // On an error here, the later wait reports it.
    pid.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), look), Ok(None)))
}

/// Kills a command and everything in its process group.
fn end_group(child: &Child) {
    if let Some(group) = group_of(child) {
        let _already_gone = kill_process_group(group, Signal::KILL).is_err();
    }
}
