//! Whether a command succeeded, from what a program says of its end.
//!
//! Where each program has its exit codes and what was printed.

use reprise_knowledge::Ended;
use serde_json::Value;

use super::HookProgram;

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
const OUTPUTS: [&str; 8] = [
    "/text_result_for_llm",
    "/stdout",
    "/stderr",
    "/output",
    "/llmContent",
    "/content",
    "/error",
    "/error_message",
];
/// Whether the command went well; `None` where that is not said.
pub(super) fn verdict(program: HookProgram, command: &str, input: &Value) -> Option<bool> {
    if is_broken_off(input) {
        return None;
    }
    ended(program, input).verdict(command)
}

pub(super) fn printed(program: HookProgram, input: &Value) -> String {
    ended(program, input).output
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

fn ended(program: HookProgram, input: &Value) -> Ended {
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
    output.extend(at(&OUTPUTS).into_iter().filter_map(Value::as_str));
    let output = output.join("\n");
    let number = at(&CODES).into_iter().find_map(Value::as_i64);
    let error = at(&["/is_error", "/isError"])
        .into_iter()
        .find_map(Value::as_bool);
    let success = at(&["/success"]).into_iter().find_map(Value::as_bool);
    let went_well = error.map(|error| !error).or(success);
    let unsaid = unwritten_code(program, input);
    Ended::new(number, went_well, output, unsaid)
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
        HookProgram::Codex
        | HookProgram::Cursor
        | HookProgram::Opencode
        | HookProgram::Copilot
        | HookProgram::Windsurf => false,
    };
    ended.then_some(0)
}
