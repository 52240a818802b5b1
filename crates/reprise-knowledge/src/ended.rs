//! How a command ended, and what of that is worth keeping.
//!
//! Whether it succeeded: by exit codes where they are said, and by what test runners print at their
//! end.

mod output;
mod ran;

pub use output::{committed, failing};
pub use ran::{Ran, ran};

/// Exit codes of a command that was never run, not found, or interrupted: they judge nothing.
const SAYS_NOTHING: [i64; 3] = [126, 127, 130];
/// How a line begins that says the code.
const CODED: [&str; 2] = ["exit code", "process exited with code"];
/// Lines at the end of an output that are looked at.
const LINES: usize = 60;
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
    /// Of a `code` that is not given it is looked for in the output.
    pub fn new(code: Option<i64>, went_well: Option<bool>, output: String) -> Self {
        Self {
            code: code.or_else(|| written_code(&output)),
            went_well,
            output,
        }
    }

    /// The same where its program says the code of a command that failed, and only of that.
    #[must_use]
    pub fn unless_said(mut self, code: Option<i64>) -> Self {
        self.code = self.code.or(code);
        self
    }

    /// Whether the command went well; `None` where that is not said.
    pub fn verdict(&self, command: &str) -> Option<bool> {
        let said = || says(&self.output);
        match self.code {
            Some(code) if SAYS_NOTHING.contains(&code) => None,
            Some(0) if hides_its_end(command) => said(),
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

/// What a test runner's output says of the run.
fn says(output: &str) -> Option<bool> {
    let lines: Vec<&str> = output.lines().collect();
    let lines = lines.get(lines.len().saturating_sub(LINES)..)?;
    let end = format!("\n{}\n", lines.join("\n"));
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
