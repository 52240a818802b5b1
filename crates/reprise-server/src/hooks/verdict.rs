//! Deciding whether a command succeeded, from the exit code and output that a program reports.

use reprise_knowledge::CommandExit;
use serde_json::Value;

use super::HookProgram;

/// JSON pointers to exit codes.
const EXIT_CODE_PATHS: [&str; 6] = [
    "/exit_code",
    "/exitCode",
    "/exit",
    "/code",
    "/metadata/exit",
    "/metadata/exit_code",
];

/// JSON pointers to the output of a command.
const OUTPUT_PATHS: [&str; 11] = [
    "/text_result_for_llm",
    "/stdout",
    "/stderr",
    "/output",
    "/llmContent",
    "/content",
    "/error",
    "/error_message",
    // Where the error is an object.
    "/error/message",
    "/error/stdout",
    "/error/stderr",
];

/// Returns whether the command succeeded; `None` if the program does not report it.
pub(super) fn judge_command(program: HookProgram, command: &str, input: &Value) -> Option<bool> {
    if is_interrupted(input) {
        return None;
    }
    read_exit(program, input).verdict(command)
}

pub(super) fn command_output(program: HookProgram, input: &Value) -> String {
    read_exit(program, input).output
}

/// Returns whether the command was interrupted, refused or sent to the background.
fn is_interrupted(input: &Value) -> bool {
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

fn read_exit(program: HookProgram, input: &Value) -> CommandExit {
    // Cursor has a JSON text, or plain output, for the response.
    let text = input["tool_output"].as_str().unwrap_or_default();
    let inner: Value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
    let response = &input["tool_response"];
    let parts = [response, &input["tool_result"], &inner, input];
    let at = |places: &[&str]| -> Vec<&Value> {
        let found = parts.iter().flat_map(|part| {
            let found = places.iter().map(|place| part.pointer(place));
            found.collect::<Vec<_>>()
        });
        found.flatten().collect()
    };
    let mut output: Vec<&str> = parts.iter().filter_map(|part| part.as_str()).collect();
    output.extend(at(&OUTPUT_PATHS).into_iter().filter_map(Value::as_str));
    let output = output.join("\n");
    let number = at(&EXIT_CODE_PATHS).into_iter().find_map(Value::as_i64);
    let error = at(&["/is_error", "/isError"])
        .into_iter()
        .find_map(Value::as_bool);
    let success = at(&["/success"]).into_iter().find_map(Value::as_bool);
    let is_failure = input["hook_event_name"] == "PostToolUseFailure";
    let went_well = error.map(|error| !error).or(success);
    let went_well = went_well.or(is_failure.then_some(false));
    let unsaid = implied_exit_code(program, input);
    CommandExit::new(number, went_well, output, unsaid)
}

/// Returns exit code 0 if it is implied: Claude Code and Gemini CLI report only codes of failures.
fn implied_exit_code(program: HookProgram, input: &Value) -> Option<i64> {
    let response = &input["tool_response"];
    let ended = match program {
        HookProgram::ClaudeCode => {
            input["hook_event_name"] == "PostToolUse" && response["stdout"].is_string()
        }
        HookProgram::Gemini => {
            let text = response["llmContent"].as_str().unwrap_or_default();
            text.contains("Output: ") && response["error"].is_null()
        }
        HookProgram::Codex
        | HookProgram::Cursor
        | HookProgram::Opencode
        | HookProgram::Copilot
        | HookProgram::Windsurf => false,
    };
    ended.then_some(0)
}
