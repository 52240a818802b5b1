//! Inputs of programs bent at random, and fields that have another shape than they should.

use proptest::prelude::*;

use super::*;

const EVENTS: [HookEvent; 8] = [
    HookEvent::SessionStart,
    HookEvent::UserPrompt,
    HookEvent::PostTool,
    HookEvent::Answer,
    HookEvent::PreCompact,
    HookEvent::Stop,
    HookEvent::SessionEnd,
    HookEvent::StatusLine,
];

const PROGRAMS: [HookProgram; 7] = [
    HookProgram::ClaudeCode,
    HookProgram::Codex,
    HookProgram::Copilot,
    HookProgram::Opencode,
    HookProgram::Cursor,
    HookProgram::Gemini,
    HookProgram::Windsurf,
];

/// Fields that one program or another sends.
fn fields_of_all() -> Value {
    json!({
        "session_id": "s-1", "conversation_id": "c-1", "trajectory_id": "t-1", "cwd": "/work/shop",
        "workspace_roots": ["/work/shop"], "prompt": "why is the test flaky", "status": "completed",
        "last_assistant_message": "It waits for the clock.", "prompt_response": "It waits.",
        "text": "It waits.", "command": "cargo test", "exit_code": 1, "duration": 10,
        "tool_name": "bash", "tool_input": {"command": "cargo test", "file_path": "/work/shop/a.rs"},
        "tool_response": {"stdout": "test result: ok. 3 passed; 0 failed", "interrupted": false},
        "tool_output": "{\"exitCode\": 0}", "tool_result": {"result_type": "success"},
        "tool_info": {"cwd": "/work/shop", "user_prompt": "why", "command_line": "ls"},
        "error": "Exit code 1", "is_interrupt": false, "transcript_path": "/none",
    })
}

#[test]
fn a_prompt_is_what_its_parts_say() {
    let text = json!({"type": "text", "text": "why is this test flaky"});
    let picture = json!({"type": "image", "source": {"type": "base64", "data": "aGk="},
        "text": "not typed"});
    for (prompt, expected) in [
        (json!([text, picture]), "why is this test flaky"),
        (json!([picture, text]), "why is this test flaky"),
        (
            json!([text, {"type": "input_text", "text": "on Tuesdays"}]),
            "why is this test flaky\non Tuesdays",
        ),
        (
            json!(["why is this", "test flaky"]),
            "why is this\ntest flaky",
        ),
        (
            json!({"role": "user", "content": [text]}),
            "why is this test flaky",
        ),
        (json!([picture]), ""),
        (json!(null), ""),
    ] {
        for program in PROGRAMS {
            let input = json!({"session_id": "s", "prompt": prompt});
            let report = parse_report(program, HookEvent::UserPrompt, &input);
            assert_eq!(report.text, expected, "{prompt}");
        }
    }
    let said = json!({"session_id": "s", "last_assistant_message": [
        {"type": "thinking", "thinking": "secret thoughts"}, text]});
    let report = parse_report(HookProgram::ClaudeCode, HookEvent::Answer, &said);
    assert_eq!(report.text, "why is this test flaky");
}

#[test]
fn a_failed_tool_has_failed_in_whichever_form_that_is_told() {
    for failed in [
        json!({"error": "Exit code 1\n1 failing: login"}),
        json!({"error": "Command exited with non-zero status code 1"}),
        json!({"hook_event_name": "PostToolUseFailure", "error": "it failed"}),
        json!({"hook_event_name": "PostToolUseFailure", "tool_response": "1 failing: login"}),
        json!({"error": {"message": "exit status 1", "stdout": "1 failing: login"}}),
        json!({"error": "Command failed with exit code 1", "tool_response": {"stderr": "x"}}),
    ] {
        let base = json!({"session_id": "s", "tool_name": "Bash",
            "tool_input": {"command": "npm test"}});
        let input = merge_objects(&base, &failed);
        let report = parse_report(HookProgram::ClaudeCode, HookEvent::PostTool, &input);
        assert_eq!(report.succeeded, Some(false), "{failed}");
    }
    let stopped = json!({"session_id": "s", "hook_event_name": "PostToolUseFailure",
        "tool_input": {"command": "npm test"}, "error": "stopped", "is_interrupt": true});
    let report = parse_report(HookProgram::ClaudeCode, HookEvent::PostTool, &stopped);
    assert_eq!(report.succeeded, None);
}

#[test]
fn a_field_of_another_shape_costs_itself_only() {
    let whole = fields_of_all();
    let names: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
    for shape in [
        json!(1),
        json!(null),
        json!([1]),
        json!({"a": {}}),
        json!(true),
        json!("x"),
    ] {
        for (name, program) in names
            .iter()
            .flat_map(|name| PROGRAMS.map(|one| (name, one)))
        {
            let input = merge_objects(&whole, &json!({ name: shape })).to_string();
            for event in EVENTS {
                assert!(
                    program.parse_report(event, &input).is_some(),
                    "{name}: {shape}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bent_inputs_never_panic(
        changes in prop::collection::vec((0.0..1.0, 0..20_usize, ".{0,6}"), 1..6),
        event in prop::sample::select(&EVENTS[..]),
        program in prop::sample::select(&PROGRAMS[..]),
    ) {
        let mut input: Vec<char> = fields_of_all().to_string().chars().collect();
        for (place, length, piece) in changes {
            let start = (place * input.len() as f64) as usize;
            let end = (start + length).min(input.len());
            input.splice(start..end, piece.chars());
        }
        // It says nothing, or something.
        drop(program.parse_report(event, &input.iter().collect::<String>()));
    }
}
