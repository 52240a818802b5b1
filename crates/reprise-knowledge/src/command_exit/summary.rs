//! Reads the summary of a test runner, a compiler or another tool at the end of an output. What an
//! output says elsewhere decides only where nothing summarises it.

/// Lines at the end of an output that are examined.
const EXAMINED_LINES: usize = 60;
/// How the line of a run that failed begins.
const FAILED_RUN_BEGINNINGS: [&str; 17] = [
    "test result: FAILED",
    // The last lines of cargo, of which `| tail` leaves these.
    "error: test failed, to rerun pass",
    "error: test run failed",
    "error: could not compile `",
    "FAILED (",
    "--- FAIL",
    "FAIL\t",
    "npm ERR! code",
    "npm error code",
    "BUILD FAILURE",
    "BUILD FAILED",
    "FAILURES!",
    "make: *** ",
    "gmake: *** ",
    "ninja: build stopped",
    "Automatic merge failed",
    "ERROR: failed to solve",
];
/// How the line of a run that passed begins.
const PASSED_RUN_BEGINNINGS: [&str; 9] = [
    "test result: ok",
    "ok  \t",
    "OK (",
    "BUILD SUCCESS",
    "All checks passed!",
    "Success: no issues found",
    "Successfully built ",
    "Successfully tagged ",
    "Finished `",
];
/// Lines of a run that passed.
const PASSED_RUN_LINES: [&str; 3] = ["OK", "PASS", "found 0 vulnerabilities"];
/// How the line of a run that passed ends.
const PASSED_RUN_ENDS: [&str; 1] = [" successfully rolled out"];
/// How a line begins in which a program says that it could not do what it was asked.
const ERROR_BEGINNINGS: [&str; 9] = [
    "error: ",
    "error[",
    "Error: ",
    "ERROR: ",
    "fatal: ",
    "npm error ",
    "npm ERR! ",
    "Error from server",
    "CONFLICT (",
];
/// What a compiler writes behind the place of an error.
const PLACED_ERROR: &str = "): error TS";
/// Beginnings of the line of one passed test.
const PASSED_TEST_MARKS: [&str; 4] = ["\u{2713}", "\u{2714}", "\u{221a}", "ok "];
/// Other texts of a line without a failure, such as that of a test that is expected to fail.
const NO_FAILURE_TEXTS: [&str; 2] = [" PASSED [", "failed as expected"];
/// What Maven puts before its lines.
const LEVELS: [&str; 3] = ["[INFO] ", "[ERROR] ", "[WARNING] "];
/// Words after the number of failures.
const FAILURE_WORDS: [&str; 7] = [
    "failed", "failing", "failures", "failure", "fail", "errors", "error",
];
/// Words after the number of successes.
const SUCCESS_WORDS: [&str; 4] = ["passed", "passing", "pass", "examples"];
/// What is counted in a summary that begins with its number.
const COUNTED: [&str; 6] = [
    "test",
    "tests",
    "examples",
    "specs",
    "scenarios",
    "assertions",
];

/// Judges an output: by its summary, else by what a program says of its own failure; `None` where
/// neither is there.
pub(super) fn judge_output(output: &str) -> Option<bool> {
    judge_summary(output).or_else(|| last_lines(output).any(is_error).then_some(false))
}

/// Judges an output by its summaries: one that tells of a failure counts more than one that does
/// not.
pub(super) fn judge_summary(output: &str) -> Option<bool> {
    let judged = last_lines(output).filter_map(judge_line);
    judged.reduce(|one, other| one && other)
}

fn last_lines(output: &str) -> impl Iterator<Item = &str> {
    output.lines().rev().take(EXAMINED_LINES)
}

fn begins_with_any(line: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|start| line.starts_with(start))
}

fn is_error(line: &str) -> bool {
    let line = line.trim();
    begins_with_any(line, &ERROR_BEGINNINGS) || line.contains(PLACED_ERROR)
}

/// Judges one line; `None` if it is no summary.
fn judge_line(line: &str) -> Option<bool> {
    let line = line.trim_start();
    let line = LEVELS
        .iter()
        .find_map(|level| line.strip_prefix(level))
        .unwrap_or(line);
    let bare = line.trim_matches(['=', ' ']);
    if begins_with_any(line, &FAILED_RUN_BEGINNINGS) || is_of_make(line) {
        return Some(false);
    }
    if begins_with_any(line, &PASSED_RUN_BEGINNINGS)
        || PASSED_RUN_LINES.contains(&bare)
        || PASSED_RUN_ENDS.iter().any(|end| bare.ends_with(end))
    {
        return Some(true);
    }
    let is_passed_test = begins_with_any(line, &PASSED_TEST_MARKS)
        || bare.ends_with(" PASSED")
        || NO_FAILURE_TEXTS.iter().any(|text| line.contains(text));
    let counted = judge_findings(bare).or_else(|| judge_counts(bare));
    counted.filter(|passed| *passed || !is_passed_test)
}

/// Whether a line is of a make below another: `make[1]: *** [Makefile:3: all] Error 1`.
fn is_of_make(line: &str) -> bool {
    let rest = line
        .strip_prefix("make[")
        .and_then(|line| line.split_once(']'));
    rest.is_some_and(|(_, rest)| rest.starts_with(": *** "))
}

/// Judges what a linter or compiler found: `Found 3 errors.`, `3 problems (2 errors, 1 warning)`.
fn judge_findings(line: &str) -> Option<bool> {
    let problems = line
        .split_once(" problems (")
        .or_else(|| line.split_once(" problem ("));
    let found = line
        .strip_prefix("Found ")
        .or(problems.map(|(_, found)| found))?;
    let (number, rest) = found.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let is_counted = rest.starts_with("error");
    is_counted.then_some(number == 0 || rest.contains(" 0 remaining"))
}

/// Judges the numbers of a summary: `1 failed, 3 passed in 0.3s`.
fn judge_counts(line: &str) -> Option<bool> {
    let (wrong, well, has_failures) = count_results(line);
    if wrong == 0 {
        return (well > 0 || has_failures).then_some(true);
    }
    let is_number = |word: &str| word.parse::<u64>().is_ok();
    let words: Vec<&str> = line.split_whitespace().collect();
    let stands_alone = match words.as_slice() {
        // "404 errors" may be the heading of some tests.
        [number, word] => is_number(number) && !word.starts_with("error"),
        [number, _, "in", time, ..] => {
            is_number(number) && time.starts_with(|c: char| c.is_ascii_digit())
        }
        ["#" | "\u{2139}", "fail", _] => true,
        [number, counted, ..] if is_number(number) && COUNTED.contains(counted) => true,
        words => words.starts_with(&["Tests", "run:"]) || words.starts_with(&["Tests:"]),
    };
    // A number before a word ("2 failed logins") may come from the tested program.
    (well > 0 || stands_alone).then_some(false)
}

/// Counts failures and successes: "2 failed", "3 tests passed", "Failures: 1"; and says whether
/// failures have a number, which may be 0.
fn count_results(line: &str) -> (u64, u64, bool) {
    let (mut wrong, mut well, mut has_failures) = (0, 0, false);
    let mut count = |number: &str, word: &str| {
        let Ok(number) = number.parse::<u64>() else {
            return;
        };
        let word = word.to_ascii_lowercase();
        if FAILURE_WORDS.contains(&word.as_str()) {
            wrong += number;
            has_failures |= word.starts_with("fail");
        } else if SUCCESS_WORDS.contains(&word.as_str()) {
            well += number;
        }
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let bare = |word: &&str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    for (at, pair) in words.windows(2).enumerate() {
        let [a, b] = pair else { continue };
        // A word with a colon is before its number.
        let is_named = b.ends_with(':')
            && words
                .get(at + 2)
                .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        if a.ends_with(':') {
            count(&bare(b), &bare(a));
        } else if !a.ends_with(',') && !is_named {
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
    (wrong, well, has_failures)
}
