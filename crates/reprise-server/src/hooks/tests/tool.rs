//! Events that a program passes to the tool `hook`.

use super::super::HookCall;
use super::*;

/// Fills in a template as Claude Code 2.1.332 does: an object becomes its JSON, what is missing
/// an empty text.
fn fill_template(template: &Map<String, Value>, input: &Value) -> Map<String, Value> {
    let fill = |value: &Value| {
        let text = value.as_str().unwrap();
        let name = text
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        name.map_or_else(
            || text.to_owned(),
            |name| match &input[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
        )
    };
    let filled = template.iter();
    filled
        .map(|(name, value)| (name.clone(), fill(value).into()))
        .collect()
}

fn report_both_ways(event: HookEvent, input: &Value) -> [Option<HookReport>; 2] {
    let program = HookProgram::ClaudeCode;
    let template = program.tool_arguments(event).unwrap();
    let call = HookCall::parse(fill_template(&template, input)).unwrap();
    assert_eq!((call.program, call.event), (program, event));
    [
        program.parse_report(event, &input.to_string()),
        program.parse_report(event, &call.input),
    ]
}

#[test]
fn a_tool_reports_what_a_command_does() {
    let base = json!({"session_id": "s-1", "cwd": "/work/shop", "transcript_path": "/none"});
    let bash = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "cargo test"}});
    let response = |more: Value| json!({ "tool_response": more });
    for (event, more) in [
        (
            HookEvent::UserPrompt,
            json!({"hook_event_name": "UserPromptSubmit", "prompt": "{\"why\": \"${cwd}\"}"}),
        ),
        (
            HookEvent::PostTool,
            merge_objects(
                &bash,
                &response(json!({"stdout": "test result: ok. 3 passed", "stderr": "",
                    "interrupted": false})),
            ),
        ),
        (
            HookEvent::PostTool,
            merge_objects(&bash, &response(json!({"stdout": "", "interrupted": true}))),
        ),
        (
            HookEvent::PostTool,
            merge_objects(
                &bash,
                &json!({"hook_event_name": "PostToolUseFailure", "is_interrupt": false,
                    "error": "Exit code 101\ntest a::b ... FAILED"}),
            ),
        ),
        (
            HookEvent::PostTool,
            json!({"hook_event_name": "PostToolUse", "tool_name": "Edit",
                "tool_input": {"file_path": "/work/shop/a.rs"}, "tool_response": "done"}),
        ),
        (
            HookEvent::Stop,
            json!({"hook_event_name": "Stop", "last_assistant_message": "Fixed the clock."}),
        ),
    ] {
        let [command, tool] = report_both_ways(event, &merge_objects(&base, &more));
        assert!(command.is_some(), "{more}");
        assert_eq!(command, tool, "{more}");
    }
}

/// Fills in a template as Codex 0.171.0 does: what is the whole of a value keeps its type, and what
/// is missing fails.
fn fill_typed_template(template: &Map<String, Value>, input: &Value) -> Map<String, Value> {
    let fill = |value: &Value| {
        let text = value.as_str().unwrap();
        let name = text
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        name.map_or(value.clone(), |name| {
            input.get(name).expect("the event has it").clone()
        })
    };
    let filled = template.iter();
    filled
        .map(|(name, value)| (name.clone(), fill(value)))
        .collect()
}

#[test]
fn codex_reports_by_a_tool_what_it_does_by_a_command() {
    let base = json!({"session_id": "01a2", "cwd": "/work/shop", "transcript_path": null});
    for (event, more) in [
        (
            HookEvent::UserPrompt,
            json!({"hook_event_name": "UserPromptSubmit", "prompt": "why does it fail: 101"}),
        ),
        (
            HookEvent::PostTool,
            json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
                "tool_input": {"command": "cargo test"},
                "tool_response": "test result: FAILED. 0 passed; 1 failed\n"}),
        ),
        // What a command printed is a text, even where it is JSON.
        (
            HookEvent::PostTool,
            json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
                "tool_input": {"command": "make check"}, "tool_response": "{\"failed\": 3}"}),
        ),
        (
            HookEvent::Stop,
            json!({"hook_event_name": "Stop", "last_assistant_message": "Fixed the clock."}),
        ),
    ] {
        let input = merge_objects(&base, &more);
        let program = HookProgram::Codex;
        let template = program.tool_arguments(event).unwrap();
        let call = HookCall::parse(fill_typed_template(&template, &input)).unwrap();
        assert_eq!((call.program, call.event), (program, event));
        let passed: Value = serde_json::from_str(&call.input).unwrap();
        for (name, value) in passed.as_object().unwrap() {
            assert_eq!(value, &input[name], "{name}");
        }
        let command = program.parse_report(event, &input.to_string());
        assert!(command.is_some(), "{more}");
        assert_eq!(program.parse_report(event, &call.input), command, "{more}");
    }
}

#[test]
fn an_event_outside_of_a_conversation_needs_a_command() {
    for (program, event) in [
        (HookProgram::ClaudeCode, HookEvent::SessionStart),
        (HookProgram::ClaudeCode, HookEvent::SessionEnd),
        (HookProgram::ClaudeCode, HookEvent::PreCompact),
        (HookProgram::Codex, HookEvent::SessionStart),
        (HookProgram::Codex, HookEvent::SessionEnd),
        (HookProgram::Gemini, HookEvent::UserPrompt),
    ] {
        assert_eq!(program.tool_arguments(event), None, "{program:?} {event:?}");
    }
    for bad in [
        json!({}),
        json!({"event": "dance"}),
        json!({"event": 1}),
        json!({"event": "stop", "program": "dance"}),
    ] {
        assert_eq!(HookCall::parse(bad.as_object().unwrap().clone()), None);
    }
}
