//! Tells how a command ended, and extracts the lines of its output that are worth keeping.
//!
//! Success is judged by the exit code if there is one, and by what test runners print at the end.

mod purpose;
mod scope;

pub use purpose::{CommandPurpose, classify_command};
pub use scope::RunScope;

use reprise_types::sha256_hex;

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
/// Lines at the end of an output that are examined.
const EXAMINED_LINES: usize = 60;
/// Texts that only a failed run prints.
const FAILED_RUN_TEXTS: [&str; 10] = [
    "test result: FAILED",
    // The last lines of cargo, of which `| tail` leaves these.
    "error: test failed, to rerun pass",
    "error: could not compile `",
    "FAILED (",
    "--- FAIL",
    "FAIL\t",
    "npm ERR!",
    "BUILD FAILURE",
    "BUILD FAILED",
    "FAILURES!",
];
/// Texts that only a passed run prints.
const PASSED_RUN_TEXTS: [&str; 6] = [
    "test result: ok",
    "\nOK\n",
    "\nok  \t",
    "PASS\n",
    "BUILD SUCCESS",
    "OK (",
];
/// Beginnings of the line of one passed test.
const PASSED_TEST_MARKS: [&str; 4] = ["\u{2713}", "\u{2714}", "\u{221a}", "ok "];
/// Other texts of a line without a failure, such as that of a test that is expected to fail.
const NO_FAILURE_TEXTS: [&str; 2] = [" PASSED [", "failed as expected"];
/// Words after the number of failures.
const FAILURE_WORDS: [&str; 6] = ["failed", "failing", "failures", "failure", "fail", "errors"];
/// Words after the number of successes.
const SUCCESS_WORDS: [&str; 4] = ["passed", "passing", "pass", "examples"];

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
        let from_output = || parse_verdict(&self.output);
        match self.code {
            Some(code) if INCONCLUSIVE_CODES.contains(&code) => None,
            Some(0) if hides_exit_code(command) => from_output(),
            // `make` and scripts hide the exit of what they run, too.
            Some(0) | None
                if classify_command(command) == Some(CommandPurpose::Tests)
                    && reports_failed_tests(&self.output) =>
            {
                Some(false)
            }
            Some(code) => Some(code == 0),
            None => self.went_well.or_else(from_output),
        }
    }
}

/// Whether the exit code may be another command's: that of `a | b` and `a; b` is that of `b`.
fn hides_exit_code(command: &str) -> bool {
    command.trim().contains(['|', ';', '\n'])
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

/// Returns the last lines of an output, each between line breaks.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let last = lines.len().saturating_sub(EXAMINED_LINES);
    format!("\n{}\n", lines[last..].join("\n"))
}

/// Whether an output reports failed tests in the words of a test runner: a number before a word ("2
/// failed logins") may come from the tested program.
fn reports_failed_tests(output: &str) -> bool {
    let end = last_lines(output);
    let is_number = |word: &str| word.parse::<u64>().is_ok();
    let is_summary = |line: &str| {
        let (wrong, well) = count_results(line);
        let words: Vec<&str> = line.trim_matches(['=', ' ']).split_whitespace().collect();
        let stands_alone = match words.as_slice() {
            // "404 errors" may be the heading of some tests.
            [number, word] => is_number(number) && !word.starts_with("errors"),
            [number, _, "in", time, ..] => {
                is_number(number) && time.starts_with(|c: char| c.is_ascii_digit())
            }
            ["#" | "\u{2139}", "fail", _] => true,
            words => words.starts_with(&["Tests", "run:"]),
        };
        wrong > 0 && (well > 0 || stands_alone)
    };
    let is_passed = |line: &&str| {
        let begins = |mark: &&str| line.trim_start().starts_with(*mark);
        PASSED_TEST_MARKS.iter().any(begins)
            || line.ends_with(" PASSED")
            || NO_FAILURE_TEXTS.iter().any(|word| line.contains(word))
    };
    let mut lines = end.lines().filter(|line| !is_passed(line));
    lines.any(|line| FAILED_RUN_TEXTS.iter().any(|word| line.contains(word)) || is_summary(line))
}

/// Parses the verdict of a test runner's output; `None` if there is none.
fn parse_verdict(output: &str) -> Option<bool> {
    let end = last_lines(output);
    let has = |words: &[&str]| words.iter().any(|word| end.contains(word));
    let (wrong, well) = count_results(&end);
    if wrong > 0 || has(&FAILED_RUN_TEXTS) {
        return Some(false);
    }
    (well > 0 || has(&PASSED_RUN_TEXTS)).then_some(true)
}

/// Counts failures and successes: "2 failed", "3 tests passed", "Failures: 1".
fn count_results(text: &str) -> (u64, u64) {
    let (mut wrong, mut well) = (0, 0);
    let mut count = |number: &str, word: &str| {
        let Ok(number) = number.parse::<u64>() else {
            return;
        };
        let word = word.to_ascii_lowercase();
        if FAILURE_WORDS.contains(&word.as_str()) {
            wrong += number;
        } else if SUCCESS_WORDS.contains(&word.as_str()) {
            well += number;
        }
    };
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bare = |word: &&str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        for pair in words.windows(2) {
            let [a, b] = pair else { continue };
            if a.ends_with(':') {
                count(&bare(b), &bare(a));
            } else if !a.ends_with(',') && !b.ends_with(':') {
                count(&bare(a), &bare(b));
            }
        }
        for three in words.windows(3) {
            let [a, between, b] = three else { continue };
            if ["test", "tests"].contains(between) {
                count(&bare(a), &bare(b));
            }
        }
        // `node --test`: a mark, the word, the number, and nothing else.
        if let [_, word, number] = words.as_slice() {
            count(number, word);
        }
    }
    (wrong, well)
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
        let (command, ended) = text.strip_prefix('`')?.split_once('`')?;
        let passed = ended.starts_with(" passed");
        (passed || ended.starts_with(" failed")).then_some(Self { command, passed })
    }
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
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_say_what_failed_are_kept() {
        let cargo = "running 2 tests\ntest login::works ... ok\ntest login::expires ... FAILED\n\n\
            failures:\n\n---- login::expires stdout ----\nthread 'login::expires' panicked at \
            src/login.rs:41:9:\nassertion `left == right` failed: the token lives on\n  left: 1\n \
            right: 0\nnote: run with `RUST_BACKTRACE=1`\n\ntest result: FAILED. 1 passed; 1 failed;";
        let extract = extract_failure_lines(cargo);
        for part in [
            "login::expires ... FAILED",
            "src/login.rs:41:9",
            "the token lives on",
            "left: 1",
        ] {
            assert!(extract.contains(part), "{part}: {extract}");
        }
        assert!(
            !extract.contains("login::works") && !extract.contains("test result"),
            "{extract}"
        );
        let pytest = "x.py F\n    def test_x():\n>       assert f() == 3\nE       assert 2 == 3\n\
                      FAILED x.py::test_x - assert 2 == 3\n1 failed in 0.1s";
        assert!(extract_failure_lines(pytest).contains("FAILED x.py::test_x - assert 2 == 3"));
        assert_eq!(
            extract_failure_lines("one\n\ntwo\nthree\nfour\nfive"),
            "two\nthree\nfour\nfive"
        );
        assert_eq!(extract_failure_lines(""), "");
        let long = extract_failure_lines(&format!("error: {}\n", "x".repeat(900)).repeat(1));
        assert!(long.chars().count() == LINE_CHARS_MAX);
        let many: Vec<String> = (0..99).map(|n| format!("error: {n}")).collect();
        assert_eq!(
            extract_failure_lines(&many.join("\n")).lines().count(),
            FAILURE_LINES_MAX
        );
    }

    #[test]
    fn what_tail_leaves_of_cargo_is_a_failure() {
        for (command, end) in [
            (
                "cargo test 2>&1 | tail -2",
                "error: test failed, to rerun pass `--lib`",
            ),
            (
                "cargo test",
                "\nerror: could not compile `x` (lib test) due to 2 errors",
            ),
            (
                "cargo build | tail -1",
                "error: could not compile `x` due to 1 error",
            ),
        ] {
            let ended = CommandExit::new(None, Some(true), end.to_owned(), Some(0));
            assert_eq!(ended.verdict(command), Some(false), "{command}: {end}");
        }
    }

    #[test]
    fn a_commit_is_known_by_what_git_prints() {
        let output = "[main 1a2b3c4] Freeze the clock\n 2 files changed, 3 insertions(+)\n";
        assert_eq!(
            extract_commit_line(output),
            "[main 1a2b3c4] Freeze the clock; 2 files changed, 3 insertions(+)"
        );
        let first = "[main (root-commit) 1a2b3c4d] Begin\n";
        assert_eq!(
            extract_commit_line(first),
            "[main (root-commit) 1a2b3c4d] Begin"
        );
        for other in ["[ok] done", "nothing to commit", "[main abc] x", ""] {
            assert_eq!(extract_commit_line(other), "");
        }
    }
}
