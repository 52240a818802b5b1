//! How a command ended, and what of that is worth keeping.
//!
//! Whether it succeeded: by exit codes where they are said, and by what test runners print at their
//! end.

mod ran;

pub use ran::{Ran, ran};

/// Exit codes of a command that was never run, not found, or interrupted: they judge nothing.
const SAYS_NOTHING: [i64; 3] = [126, 127, 130];
/// How a line begins that says the code.
const CODED: [&str; 2] = ["exit code", "process exited with code"];
/// Lines at the end of an output that are looked at.
const LOOKED_AT: usize = 60;
/// What only a failed run prints.
const FAILED: [&str; 8] = [
    "test result: FAILED",
    "FAILED (",
    "--- FAIL",
    "FAIL\t",
    "npm ERR!",
    "BUILD FAILURE",
    "BUILD FAILED",
    "FAILURES!",
];
/// What only a passed run prints.
const PASSED: [&str; 6] = [
    "test result: ok",
    "\nOK\n",
    "\nok  \t",
    "PASS\n",
    "BUILD SUCCESS",
    "OK (",
];
/// How a runner begins the line of one test that passed, whatever that one is called.
const MARKED_PASSED: [&str; 4] = ["\u{2713}", "\u{2714}", "\u{221a}", "ok "];
/// What else stands in a line that tells of no failure: a test that is to fail did.
const NO_FAILURE: [&str; 2] = [" PASSED [", "failed as expected"];
/// After a number: so many went wrong.
const WRONG: [&str; 6] = ["failed", "failing", "failures", "failure", "fail", "errors"];
/// After a number: so many went well.
const WELL: [&str; 4] = ["passed", "passing", "pass", "examples"];

/// The end of a command, as far as it is said.
#[derive(Debug, Default)]
pub struct Ended {
    code: Option<i64>,
    went_well: Option<bool>,
    pub output: String,
}

impl Ended {
    /// A `code` that is not given is looked for in the output; `unsaid` is the one of a command of
    /// which no code is said, where its program names that of a failure alone.
    pub fn new(
        code: Option<i64>,
        went_well: Option<bool>,
        output: String,
        unsaid: Option<i64>,
    ) -> Self {
        Self {
            code: code.or_else(|| written_code(&output)).or(unsaid),
            went_well,
            output,
        }
    }

    /// Whether the command went well; `None` where that is not said.
    pub fn verdict(&self, command: &str) -> Option<bool> {
        let said = || says(&self.output);
        match self.code {
            Some(code) if SAYS_NOTHING.contains(&code) => None,
            Some(0) if hides_its_end(command) => said(),
            // `make` and scripts hide the exit of what they run, too.
            Some(0) | None if ran(command) == Some(Ran::Tests) && fails(&self.output) => {
                Some(false)
            }
            Some(code) => Some(code == 0),
            None => self.went_well.or_else(said),
        }
    }
}

/// The exit code of `a | b` and `a; b` is that of `b`.
fn hides_its_end(command: &str) -> bool {
    command.trim().contains(['|', ';', '\n'])
}

/// The number on the last line that says the code.
fn written_code(output: &str) -> Option<i64> {
    let after = |line: &str, start: &str| {
        let (said, rest) = line.split_at_checked(start.len())?;
        let rest = rest.trim_start_matches(':').trim();
        let code = rest.split_whitespace().next()?;
        said.eq_ignore_ascii_case(start)
            .then(|| code.parse().ok())?
    };
    let mut lines = output.lines().rev();
    lines.find_map(|line| CODED.iter().find_map(|start| after(line, start)))
}

/// The lines at the end of an output, each between line breaks.
fn end_of(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let last = lines.len().saturating_sub(LOOKED_AT);
    format!("\n{}\n", lines[last..].join("\n"))
}

/// Whether an output says in a test runner's own words that tests failed: a number before a word
/// ("2 failed logins") may be of the program that is tested.
fn fails(output: &str) -> bool {
    let end = end_of(output);
    let is_number = |word: &str| word.parse::<u64>().is_ok();
    let is_summary = |line: &str| {
        let (wrong, well) = counts(line);
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
        MARKED_PASSED.iter().any(begins)
            || line.ends_with(" PASSED")
            || NO_FAILURE.iter().any(|word| line.contains(word))
    };
    let mut lines = end.lines().filter(|line| !is_passed(line));
    lines.any(|line| FAILED.iter().any(|word| line.contains(word)) || is_summary(line))
}

/// What a test runner's output says of the run.
fn says(output: &str) -> Option<bool> {
    let end = end_of(output);
    let has = |words: &[&str]| words.iter().any(|word| end.contains(word));
    let (wrong, well) = counts(&end);
    if wrong > 0 || has(&FAILED) {
        return Some(false);
    }
    (well > 0 || has(&PASSED)).then_some(true)
}

/// How many went wrong and how many went well: "2 failed", "3 tests passed", "Failures: 1".
fn counts(text: &str) -> (u64, u64) {
    let (mut wrong, mut well) = (0, 0);
    let mut count = |number: &str, word: &str| {
        let Ok(number) = number.parse::<u64>() else {
            return;
        };
        let word = word.to_ascii_lowercase();
        if WRONG.contains(&word.as_str()) {
            wrong += number;
        } else if WELL.contains(&word.as_str()) {
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

/// Lines of a failure that are kept, and characters of each.
const LINES: usize = 12;
const LINE_CHARACTERS: usize = 200;
/// Lines kept where none says what failed.
const LAST: usize = 4;
/// What stands in a line that says what failed.
const FAILING: &[&str] = &[
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
/// What stands in a line that only counts, or speaks of what went well.
const COUNTING: &[&str] = &[
    "test result:",
    " 0 failed",
    "... ok",
    "could not compile",
    "RUST_BACKTRACE",
    "failures:",
];

/// The lines of an output that say what failed, else its last ones.
pub fn failing(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let mut kept: Vec<&str> = Vec::new();
    let mut message = false;
    for line in &lines {
        let says = has(line, FAILING) && !has(line, COUNTING);
        // What panicked says why on the next line.
        if (says || message) && !kept.contains(line) {
            kept.push(line);
            if kept.len() == LINES {
                break;
            }
        }
        message = line.contains("panicked at");
    }
    if kept.is_empty() {
        kept = lines.iter().rev().take(LAST).rev().copied().collect();
    }
    let cut = |line: &&str| line.chars().take(LINE_CHARACTERS).collect::<String>();
    let kept: Vec<String> = kept.iter().map(cut).collect();
    kept.join("\n")
}

/// What git prints of a commit: `[main 1a2b3c4] Subject`, and how much it changed.
pub fn committed(output: &str) -> String {
    let mut lines = output.lines().map(str::trim);
    let Some(said) = lines.find(|line| is_commit(line)) else {
        return String::new();
    };
    let changed = lines.find(|line| line.contains("changed,"));
    let parts: Vec<&str> = std::iter::once(said).chain(changed).collect();
    parts.join("; ").chars().take(LINE_CHARACTERS * 2).collect()
}

fn is_commit(line: &str) -> bool {
    let inner = line
        .strip_prefix('[')
        .and_then(|line| line.split_once("] "));
    inner.is_some_and(|(place, subject)| {
        let id = place.rsplit(' ').next().unwrap_or_default();
        id.len() >= 7 && id.bytes().all(|b| b.is_ascii_hexdigit()) && !subject.is_empty()
    })
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
        let said = failing(cargo);
        for part in [
            "login::expires ... FAILED",
            "src/login.rs:41:9",
            "the token lives on",
            "left: 1",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(
            !said.contains("login::works") && !said.contains("test result"),
            "{said}"
        );
        let pytest = "x.py F\n    def test_x():\n>       assert f() == 3\nE       assert 2 == 3\n\
                      FAILED x.py::test_x - assert 2 == 3\n1 failed in 0.1s";
        assert!(failing(pytest).contains("FAILED x.py::test_x - assert 2 == 3"));
        assert_eq!(
            failing("one\n\ntwo\nthree\nfour\nfive"),
            "two\nthree\nfour\nfive"
        );
        assert_eq!(failing(""), "");
        let long = failing(&format!("error: {}\n", "x".repeat(900)).repeat(1));
        assert!(long.chars().count() == LINE_CHARACTERS);
        let many: Vec<String> = (0..99).map(|n| format!("error: {n}")).collect();
        assert_eq!(failing(&many.join("\n")).lines().count(), LINES);
    }

    #[test]
    fn a_commit_is_known_by_what_git_prints() {
        let said = "[main 1a2b3c4] Freeze the clock\n 2 files changed, 3 insertions(+)\n";
        assert_eq!(
            committed(said),
            "[main 1a2b3c4] Freeze the clock; 2 files changed, 3 insertions(+)"
        );
        let first = "[main (root-commit) 1a2b3c4d] Begin\n";
        assert_eq!(committed(first), "[main (root-commit) 1a2b3c4d] Begin");
        for other in ["[ok] done", "nothing to commit", "[main abc] x", ""] {
            assert_eq!(committed(other), "");
        }
    }
}
