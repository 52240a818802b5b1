//! Tells how a command ended, and extracts the lines of its output that are worth keeping.
//!
//! Success is judged by the exit code if there is one, and by what test runners print at the end.

mod purpose;
mod scope;
mod summary;

pub use purpose::{CommandPurpose, classify_command};
pub use scope::RunScope;

use reprise_types::RecordType;

use crate::prelude::*;
use summary::{judge_output, judge_summary};

/// Exit codes of a command that was not executable, not found, or interrupted: no verdict.
const INCONCLUSIVE_CODES: [i64; 3] = [126, 127, 130];
/// Beginnings of a line with the exit code.
const CODE_LINE_BEGINNINGS: [&str; 5] = [
    "exit code",
    "exit status",
    "process exited with code",
    "command failed with exit code",
    "command exited with non-zero status code",
];
/// How a command ended, as far as is known.
#[derive(Debug, Default)]
pub struct CommandExit {
    code: Option<i64>,
    went_well: Option<bool>,
    pub output: String,
}

impl CommandExit {
    /// Builds it from the exit code, which is searched in the output if it is `None`.
    /// `assumed_code` is the code if neither names one, for programs that report only the code of
    /// failures.
    pub fn new(
        code: Option<i64>,
        went_well: Option<bool>,
        output: String,
        assumed_code: Option<i64>,
    ) -> Self {
        Self {
            code: code.or_else(|| find_exit_code(&output)).or(assumed_code),
            went_well,
            output,
        }
    }

    /// Whether the command succeeded; `None` if that is not known.
    pub fn verdict(&self, command: &str) -> Option<bool> {
        let from_output = || judge_output(&self.output);
        match self.code {
            Some(code) if INCONCLUSIVE_CODES.contains(&code) => None,
            Some(0) if hides_exit_code(command) => from_output(),
            // `make` and scripts hide the exit of what they run, too.
            Some(0) | None
                if classify_command(command) == Some(CommandPurpose::Tests)
                    && judge_summary(&self.output) == Some(false) =>
            {
                Some(false)
            }
            Some(code) => Some(code == 0),
            None => self.went_well.or_else(from_output),
        }
    }
}

/// Whether the exit code may be another command's: that of `a | b` and `a; b` is that of `b`. What
/// is in quotes parts no commands.
fn hides_exit_code(command: &str) -> bool {
    let mut quote = None;
    command.trim().chars().any(|c| match (quote, c) {
        (None, '|' | ';' | '\n') => true,
        (None, '\'' | '"') => {
            quote = Some(c);
            false
        }
        (Some(open), _) if open == c => {
            quote = None;
            false
        }
        _ => false,
    })
}

/// Finds the exit code in the last line of an output that names one.
fn find_exit_code(output: &str) -> Option<i64> {
    let after = |line: &str, start: &str| {
        let (beginning, rest) = line.split_at_checked(start.len())?;
        let rest = rest.trim_start_matches(':').trim();
        let code = rest.split_whitespace().next()?;
        beginning
            .eq_ignore_ascii_case(start)
            .then(|| code.parse().ok())?
    };
    let mut lines = output.lines().rev();
    lines.find_map(|line| {
        CODE_LINE_BEGINNINGS
            .iter()
            .find_map(|start| after(line, start))
    })
}

/// Most lines of a failure that are kept.
const FAILURE_LINES_MAX: usize = 12;
const LINE_CHARS_MAX: usize = 200;
/// Lines that are kept if none tells what failed.
const FALLBACK_LINES: usize = 4;
/// Texts in a line that tells what failed.
const FAILURE_LINE_TEXTS: &[&str] = &[
    "... FAILED",
    "FAILED ",
    "panicked at",
    "assertion ",
    "AssertionError",
    "left: ",
    "right: ",
    "error[",
    "error:",
    "Error:",
    "ERROR",
    "--- FAIL",
    "FAIL ",
    "FAIL\t",
    "\u{2715}",
    "\u{2717}",
    "\u{25cf} ",
    "not ok ",
    "Exception",
    "E   ",
    "Expected",
    "expected",
    "Received",
    "undefined",
    "fatal:",
    "npm ERR!",
    "Failures:",
    "failed:",
    "cannot find",
    "No such file",
];
/// Texts in a line that only counts, or reports a success.
const SUMMARY_LINE_TEXTS: &[&str] = &[
    "test result:",
    " 0 failed",
    "... ok",
    "could not compile",
    "RUST_BACKTRACE",
    "failures:",
];

/// Returns the lines of an output that tell what failed, or its last lines if none does.
pub fn extract_failure_lines(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let mut selected: Vec<&str> = Vec::new();
    let mut is_panic_message = false;
    for line in &lines {
        let is_failure = has(line, FAILURE_LINE_TEXTS) && !has(line, SUMMARY_LINE_TEXTS);
        // The message of a panic is on the next line.
        if (is_failure || is_panic_message) && !selected.contains(line) {
            selected.push(line);
            if selected.len() == FAILURE_LINES_MAX {
                break;
            }
        }
        is_panic_message = line.contains("panicked at");
    }
    if selected.is_empty() {
        selected = lines
            .iter()
            .rev()
            .take(FALLBACK_LINES)
            .rev()
            .copied()
            .collect();
    }
    let cut = |line: &&str| line.chars().take(LINE_CHARS_MAX).collect::<String>();
    let selected: Vec<String> = selected.iter().map(cut).collect();
    selected.join("\n")
}

/// Returns what git prints about a commit: `[main 1a2b3c4] Subject`, and how much it changed.
pub fn extract_commit_line(output: &str) -> String {
    let mut lines = output.lines().map(str::trim);
    let Some(commit_line) = lines.find(|line| is_commit_line(line)) else {
        return String::new();
    };
    let changed = lines.find(|line| line.contains("changed,"));
    let parts: Vec<&str> = std::iter::once(commit_line).chain(changed).collect();
    parts.join("; ").chars().take(LINE_CHARS_MAX * 2).collect()
}

fn is_commit_line(line: &str) -> bool {
    let inner = line
        .strip_prefix('[')
        .and_then(|line| line.split_once("] "));
    inner.is_some_and(|(place, subject)| {
        let id = place.rsplit(' ').next().unwrap_or_default();
        id.len() >= 7 && id.bytes().all(|b| b.is_ascii_hexdigit()) && !subject.is_empty()
    })
}

/// A command that ran, and how it ended, as its record says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandRun<'r> {
    pub command: &'r str,
    pub passed: bool,
}

impl<'r> CommandRun<'r> {
    /// Reads what [`CommandPurpose::describe_end`] wrote; `None` for another text.
    pub fn parse(text: &'r str) -> Option<Self> {
        let rest = text.strip_prefix('`')?;
        // The command may have the marks of code in it, and the failure may, too.
        let (command, passed) = if let Some((command, _)) = rest.split_once("` failed:\n") {
            (command, false)
        } else if let Some(command) = rest.strip_suffix("` failed") {
            (command, false)
        } else if let Some(command) = rest.strip_suffix("` passed") {
            (command, true)
        } else {
            let (command, ended) = rest.split_once('`')?;
            let passed = ended.starts_with(" passed");
            (passed || ended.starts_with(" failed")).then_some((command, passed))?
        };
        Some(Self { command, passed })
    }
}

/// Returns whether a test record says that the test passed: by what its details say, by what a
/// hook wrote of a command, by a test runner's summary, or by its last word. `None` for other
/// records, and where nothing says it: that a text merely has the word `fail` says nothing.
pub fn find_test_verdict(record: &MemoryRecord) -> Option<bool> {
    if record.record_type() != RecordType::Test {
        return None;
    }
    let details = record.details.as_ref();
    let detail = |key: &str| details.and_then(|it| it.get(key));
    let ended = detail("passed").and_then(Value::as_bool);
    let code = || Some(detail("exit_code")?.as_i64()? == 0);
    let run = || CommandRun::parse(record.text.trim()).map(|run| run.passed);
    let quality = || Some(record.quality_score? >= 0.5);
    let last_word = || {
        let text = record.text.trim_end_matches(['.', '!', ' ', '\n']);
        match text.rsplit(' ').next() {
            Some("passed") => Some(true),
            Some("failed") => Some(false),
            _ => None,
        }
    };
    ended
        .or_else(code)
        .or_else(run)
        .or_else(quality)
        .or_else(|| judge_summary(&record.text))
        .or_else(|| names_failures(&record.text).then_some(false))
        .or_else(last_word)
}

/// Whether a text names failures behind a command, with their number: `npm test: 1 failed: sum`.
fn names_failures(text: &str) -> bool {
    text.split(": ").skip(1).any(|part| {
        let mut words = part.split(' ');
        let number = words.next().and_then(|word| word.parse::<u64>().ok());
        let word = words.next().unwrap_or_default();
        number.is_some_and(|number| number > 0) && word.trim_end_matches([':', ',']) == "failed"
    })
}

/// Returns the key under which a hook stores the words of a session, which an import knows, too.
/// Equal words have one key; how a command ended may come `times` again.
pub fn hook_request_key(session: &str, words: &str, times: usize) -> String {
    let words = match times {
        0 | 1 => format!("{session}\n{words}"),
        _ => format!("{session}\n{words}\n{times}"),
    };
    ["hook ", &sha256_hex(words.as_bytes())].concat()
}

#[cfg(test)]
mod tests;
