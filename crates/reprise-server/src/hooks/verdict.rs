//! Whether a command succeeded, from what a program says of its end.
//!
//! Exit codes where each program has them, and what test runners print at their end.

use serde_json::Value;

use super::HookProgram;

/// Exit codes of a command that was never run, not found, or interrupted: they judge nothing.
const SAYS_NOTHING: [i64; 3] = [126, 127, 130];
/// Where a number is an exit code.
const CODES: [&str; 6] = [
    "/exit_code",
    "/exitCode",
    "/exit",
    "/code",
    "/metadata/exit",
    "/metadata/exit_code",
];
/// Where a text is what a command printed.
const OUTPUTS: [&str; 7] = [
    "/stdout",
    "/stderr",
    "/output",
    "/llmContent",
    "/content",
    "/error",
    "/error_message",
];
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

/// Whether the command went well; `None` where that is not said.
pub(super) fn verdict(program: HookProgram, command: &str, input: &Value) -> Option<bool> {
    if is_broken_off(input) {
        return None;
    }
    let ended = Ended::of(program, input);
    let said = || says(&ended.output);
    match ended.code {
        Some(code) if SAYS_NOTHING.contains(&code) => None,
        Some(0) if hides_its_end(command) => said(),
        Some(code) => Some(code == 0),
        None => ended.went_well.or_else(said),
    }
}

pub(super) fn printed(program: HookProgram, input: &Value) -> String {
    Ended::of(program, input).output
}

/// Interrupted, refused, or sent to the background: nothing has ended.
fn is_broken_off(input: &Value) -> bool {
    let is = |place: &str| input.pointer(place).and_then(Value::as_bool) == Some(true);
    let refused = matches!(
        input["failure_type"].as_str(),
        Some("permission_denied" | "timeout")
    );
    let away = "/tool_response/backgroundTaskId";
    is("/is_interrupt")
        || is("/tool_response/interrupted")
        || refused
        || input.pointer(away).is_some()
}

/// The exit code of `a | b` and `a; b` is that of `b`.
fn hides_its_end(command: &str) -> bool {
    command.trim().contains(['|', ';', '\n'])
}

#[derive(Debug, Default)]
struct Ended {
    code: Option<i64>,
    went_well: Option<bool>,
    output: String,
}

impl Ended {
    fn of(program: HookProgram, input: &Value) -> Self {
        // Cursor has a JSON text, or plain output, for the response.
        let text = input["tool_output"].as_str().unwrap_or_default();
        let inner: Value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        let response = &input["tool_response"];
        let parts = [response, &inner, input];
        let at = |places: &[&str]| -> Vec<&Value> {
            let found = parts.iter().flat_map(|part| {
                let found = places.iter().map(|place| part.pointer(place));
                found.collect::<Vec<_>>()
            });
            found.flatten().collect()
        };
        let mut output: Vec<&str> = parts.iter().filter_map(|part| part.as_str()).collect();
        output.extend(at(&OUTPUTS).into_iter().filter_map(Value::as_str));
        let output = output.join("\n");
        let number = at(&CODES).into_iter().find_map(Value::as_i64);
        let error = at(&["/is_error", "/isError"])
            .into_iter()
            .find_map(Value::as_bool);
        let success = at(&["/success"]).into_iter().find_map(Value::as_bool);
        Self {
            code: number
                .or_else(|| written_code(&output))
                .or_else(|| unwritten_code(program, input)),
            went_well: error.map(|error| !error).or(success),
            output,
        }
    }
}

/// The number on the last line that begins with "exit code".
fn written_code(output: &str) -> Option<i64> {
    output.lines().rev().find_map(|line| {
        let (start, rest) = line.split_at_checked("exit code".len())?;
        let rest = rest.trim_start_matches(':').trim();
        let code = rest.split_whitespace().next()?;
        start
            .eq_ignore_ascii_case("exit code")
            .then(|| code.parse().ok())?
    })
}

/// Claude Code and Gemini CLI say the code of a command that failed, and only of that.
fn unwritten_code(program: HookProgram, input: &Value) -> Option<i64> {
    let response = &input["tool_response"];
    let ended = match program {
        HookProgram::ClaudeCode => {
            input["hook_event_name"] == "PostToolUse" && response["stdout"].is_string()
        }
        HookProgram::Gemini => {
            let said = response["llmContent"].as_str().unwrap_or_default();
            said.contains("Output: ") && response["error"].is_null()
        }
        HookProgram::Codex | HookProgram::Cursor | HookProgram::Opencode => false,
    };
    ended.then_some(0)
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
