//! Commands of our own program that the daemon runs for its page, each in a process of its own: a
//! file from outside is never read inside the daemon.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use reprise_operations::{Problem, ProblemKind};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// Longest time of one command, as without a daemon.
const COMMAND_TIMEOUT: Duration = Duration::from_hours(1);
/// Most bytes of a report, and of messages.
const REPORT_BYTES_MAX: u64 = 16 * 1024 * 1024;
const MESSAGE_BYTES_MAX: u64 = 64 * 1024;

/// How our own program is started to work on the same files.
#[derive(Debug, Clone)]
pub struct ProgramCommand {
    pub program: PathBuf,
    /// Global options, such as the data directory.
    pub arguments: Vec<OsString>,
}

/// What a command printed.
#[derive(Debug)]
pub(crate) struct PrintedReport {
    /// Its report as JSON.
    pub(crate) report: Value,
    /// Its messages for people, a line each.
    pub(crate) messages: Vec<String>,
}

impl ProgramCommand {
    /// Runs a command in a folder. An error has the command's own sentence.
    pub(crate) async fn run(
        &self,
        folder: &Path,
        words: &[&OsStr],
    ) -> Result<PrintedReport, Problem> {
        let failed = |error: std::io::Error| {
            let detail = format!("the command could not be run ({error}); try again");
            Problem::new(ProblemKind::Internal, detail)
        };
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg("--json").args(words);
        command.current_dir(folder).kill_on_drop(true);
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let work = async {
            let (report, messages) = tokio::join!(
                read_output(stdout, REPORT_BYTES_MAX),
                read_output(stderr, MESSAGE_BYTES_MAX)
            );
            let ended = child.wait().await?;
            std::io::Result::Ok((ended, report?, messages?))
        };
        let Ok(done) = tokio::time::timeout(COMMAND_TIMEOUT, work).await else {
            let detail = "the command took more than an hour and was stopped; run it in a terminal";
            return Err(Problem::new(ProblemKind::TimedOut, detail));
        };
        let (ended, report, messages) = done.map_err(failed)?;
        read_printed_report(ended, &report, &messages)
    }
}

async fn read_output(
    output: Option<impl AsyncRead + Unpin>,
    bytes_max: u64,
) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        output.take(bytes_max).read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads what a command printed; one that refused single lines has a report as well.
fn read_printed_report(
    ended: ExitStatus,
    report: &str,
    messages: &str,
) -> Result<PrintedReport, Problem> {
    let mut lines = messages.lines().map(str::trim);
    let failure = lines.clone().find_map(|line| line.strip_prefix("error: "));
    let report = report.lines().rev().find(|line| !line.trim().is_empty());
    let report = report.and_then(|line| serde_json::from_str(line).ok());
    match (report, failure) {
        (Some(report), None) => Ok(PrintedReport {
            report,
            messages: lines.map(str::to_owned).collect(),
        }),
        (_, Some(failure)) => Err(Problem::invalid(failure.to_owned())),
        (None, None) => {
            let last = lines.rfind(|line| !line.is_empty()).unwrap_or_default();
            let detail = format!("the command ended without a report ({ended}): {last}");
            Err(Problem::new(ProblemKind::Internal, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn a_report_beside_refused_lines_is_read_and_an_error_is_its_sentence() {
        let ended = ExitStatus::from_raw(256);
        let refused = "refused line 2: `text` is missing\n";
        let read = read_printed_report(ended, "{\"inserted\":1}\n", refused).unwrap();
        assert_eq!(read.report["inserted"], 1);
        assert_eq!(read.messages, ["refused line 2: `text` is missing"]);
        let failed = read_printed_report(ended, "", "warning: x\nerror: no such kind\n");
        assert_eq!(failed.unwrap_err().detail, "no such kind");
        assert!(read_printed_report(ended, "", "").is_err());
    }
}
