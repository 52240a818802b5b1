//! Copilot and Windsurf, by their documentation.

use super::*;

#[test]
fn copilot_is_understood() {
    let program = HookProgram::Copilot;
    let with = |event: &str, more: Value| {
        let base = json!({"hook_event_name": event, "session_id": "s-1", "cwd": "/work/shop",
            "timestamp": "2026-11-25T10:00:00Z"});
        merge_objects(&base, &more)
    };
    let prompt = with(
        "UserPromptSubmit",
        json!({"prompt": "why is the test flaky"}),
    );
    let report = parse_report(program, HookEvent::UserPrompt, &prompt);
    let fields = (
        report.session.as_str(),
        report.project.as_str(),
        report.text.as_str(),
    );
    assert_eq!(fields, ("s-1", "shop", "why is the test flaky"));
    for (kind, text, expected) in [
        ("success", "test result: ok. 3 passed; 0 failed", Some(true)),
        (
            "failure",
            "test result: FAILED. 2 passed; 1 failed",
            Some(false),
        ),
    ] {
        let result = json!({"result_type": kind, "text_result_for_llm": text});
        let ran = json!({"tool_name": "bash", "tool_input": {"command": "cargo test"},
            "tool_result": result});
        let report = parse_report(program, HookEvent::PostTool, &with("PostToolUse", ran));
        assert_eq!(
            (report.command.as_str(), report.succeeded),
            ("cargo test", expected)
        );
    }
    for (tool, files) in [("edit", vec!["/work/shop/a.rs"]), ("view", Vec::new())] {
        let input = json!({"tool_name": tool, "tool_input": {"path": "/work/shop/a.rs"}});
        let report = parse_report(program, HookEvent::PostTool, &with("PostToolUse", input));
        assert_eq!(report.files.len(), files.len(), "{tool}");
    }
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events.jsonl");
    let said = json!({"type": "assistant.message", "data": {"content": "The clock was shared."}});
    let other = json!({"type": "assistant.turn_end", "data": {}});
    fs_err::write(&events, format!("{said}\n{other}\n")).unwrap();
    let stop = with(
        "Stop",
        json!({"transcript_path": events, "stop_reason": "end_turn"}),
    );
    assert_eq!(
        parse_report(program, HookEvent::Stop, &stop).text,
        "The clock was shared."
    );
}

#[test]
fn windsurf_is_understood() {
    let program = HookProgram::Windsurf;
    let with = |action: &str, info: Value| {
        json!({"agent_action_name": action, "trajectory_id": "t-1", "execution_id": "e-1",
            "timestamp": "2026-11-25T10:00:00Z", "tool_info": info})
    };
    let prompt = with(
        "pre_user_prompt",
        json!({"user_prompt": "why is the test flaky"}),
    );
    let report = parse_report(program, HookEvent::UserPrompt, &prompt);
    let fields = (report.session.as_str(), report.text.as_str());
    assert_eq!(fields, ("t-1", "why is the test flaky"));
    let ran = json!({"command_line": "npm test", "cwd": "/work/shop"});
    let report = parse_report(program, HookEvent::PostTool, &with("post_run_command", ran));
    let fields = (
        report.command.as_str(),
        report.project.as_str(),
        report.succeeded,
    );
    assert_eq!(fields, ("npm test", "shop", None));
    let wrote = json!({"file_path": "/work/shop/a.rs", "edits": []});
    let report = parse_report(
        program,
        HookEvent::PostTool,
        &with("post_write_code", wrote),
    );
    assert_eq!(report.files, ["/work/shop/a.rs"]);
    let said = with(
        "post_cascade_response",
        json!({"response": "The clock was shared."}),
    );
    assert_eq!(
        parse_report(program, HookEvent::Answer, &said).text,
        "The clock was shared."
    );
}
