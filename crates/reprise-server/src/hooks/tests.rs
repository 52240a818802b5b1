//! What the programs really send (recorded from them, or from Cursor's documentation), and what
//! they are answered.

mod bent;
mod newer;
mod tool;

use reprise_operations::HookAnswer;
use reprise_operations::operations::sessions::pausing::HOOK_AGENTS;
use serde_json::{Map, Value, json};

use super::fields::read_last_answer;
use super::verdict::judge_command;
use super::*;

fn parse_report(program: HookProgram, event: HookEvent, input: &Value) -> HookReport {
    program
        .parse_report(event, &input.to_string())
        .expect("it is reported")
}

/// An object with the fields of another.
fn merge_objects(base: &Value, more: &Value) -> Value {
    let mut input = base.clone();
    let fields = more.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(fields);
    input
}

#[test]
fn what_is_private_and_what_memory_said_never_leaves() {
    for (text, expected) in [
        ("keep <private>drop</private> keep", "keep  keep"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>never closed", "a"),
        (
            "<reprise-memory>old news</reprise-memory>new question",
            "new question",
        ),
        ("a <PRIVATE>b</Private> c", "a  c"),
        ("a < private >b< / PRIVATE > c", "a  c"),
        ("a <private\n reason=\"x\">b</private> c", "a  c"),
        ("a <privateer> b < c", "a <privateer> b < c"),
        (
            "<reprise-memory-000000000abc>\nold\n</reprise-memory-000000000abc>new question",
            "new question",
        ),
        // As Gemini CLI hands it to the hook that comes next.
        (
            "<hook_context>&lt;reprise-memory&gt;old</hook_context>\n\nwhy is it flaky",
            "why is it flaky",
        ),
        ("plain", "plain"),
    ] {
        assert_eq!(clean_text(text), expected, "{text}");
    }
    assert!(clean_text(&"\u{e9}".repeat(9_000)).len() <= TEXT_BYTES_MAX);
}

#[test]
fn of_a_long_prompt_the_beginning_and_the_end_are_sent() {
    let log = "2026-06-01 12:00:00 ERROR the pool of the worker is exhausted\n";
    for times in [1, 100, 140, 200, 400, 4_000] {
        for question in ["why does the worker restart?", "w\u{e4}r\u{e9}?\u{1f600}"] {
            let logs = log.repeat(times);
            for prompt in [
                format!("{logs}{question}"),
                format!("{question}\n{logs}"),
                format!("\u{e9}{logs}\u{e9}{question}"),
            ] {
                let input = json!({"session_id": "s", "cwd": "/", "prompt": prompt}).to_string();
                let report = HookProgram::ClaudeCode
                    .parse_report(HookEvent::UserPrompt, &input)
                    .unwrap();
                assert!(report.text.contains(question), "{times}");
                assert!(report.text.len() <= 2 * TEXT_BYTES_MAX, "{times}");
            }
        }
    }
}

#[test]
fn a_project_can_want_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("repo/src");
    fs_err::create_dir_all(inside.join("deep")).unwrap();
    fs_err::create_dir_all(folder.path().join("repo/.git")).unwrap();
    let prompt = HookEvent::UserPrompt;
    let claude = json!({"session_id": "s", "cwd": inside, "prompt": "hello"});
    let cursor = json!({"conversation_id": "s", "workspace_roots": [inside], "prompt": "hello"});
    let both = [
        (HookProgram::ClaudeCode, claude.to_string()),
        (HookProgram::Cursor, cursor.to_string()),
    ];
    for (program, input) in &both {
        let report = program.parse_report(prompt, input).unwrap();
        assert_eq!(
            (report.project.as_str(), report.text.as_str()),
            ("repo", "hello")
        );
    }
    fs_err::write(folder.path().join("repo").join(IGNORE_FILE), "").unwrap();
    for (program, input) in &both {
        assert_eq!(program.parse_report(prompt, input), None);
    }
    let (claude, _) = HookProgram::ALL[0];
    assert_eq!(claude.parse_report(HookEvent::Stop, "not json"), None);
}

#[test]
fn claude_code_is_understood() {
    let program = HookProgram::ClaudeCode;
    let prompt = json!({"session_id": "86c1e27e", "transcript_path": "/none.jsonl",
        "cwd": "/work/shop", "prompt_id": "38dd", "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit", "prompt": "why is the login test flaky"});
    let report = parse_report(program, HookEvent::UserPrompt, &prompt);
    assert_eq!(report.session, "86c1e27e");
    assert_eq!(report.project, "shop");
    assert_eq!(report.text, "why is the login test flaky");

    let failed = json!({"session_id": "86c1e27e", "cwd": "/work/shop",
        "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_input": {"command": "cargo test", "description": "x"}, "tool_use_id": "toolu_0",
        "error": "Exit code 101\nerror: could not compile", "is_interrupt": false,
        "duration_ms": 90});
    let report = parse_report(program, HookEvent::PostTool, &failed);
    assert_eq!(report.command, "cargo test");
    assert_eq!(report.succeeded, Some(false));
    assert_eq!(report.text, "Exit code 101\nerror: could not compile");

    let committed = json!({"session_id": "86c1e27e", "cwd": "/work/shop",
        "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "git commit -m 'Freeze the clock'"},
        "tool_response": {"stdout": "[main 1a2b3c4] Freeze the clock\n 1 file changed, 2 \
            insertions(+)", "stderr": "", "interrupted": false}});
    let report = parse_report(program, HookEvent::PostTool, &committed);
    assert!(
        report.text.starts_with("[main 1a2b3c4] Freeze"),
        "{report:?}"
    );

    let edited = json!({"session_id": "86c1e27e", "cwd": "/work/shop",
        "hook_event_name": "PostToolUse", "tool_name": "Edit",
        "tool_input": {"file_path": "/work/shop/src/login.rs", "old_string": "a",
            "new_string": "b"}, "tool_response": {"filePath": "/work/shop/src/login.rs"}});
    let report = parse_report(program, HookEvent::PostTool, &edited);
    assert_eq!(
        (report.files, report.command),
        (vec!["src/login.rs".to_owned()], String::new())
    );

    let passed = json!({"session_id": "86c1e27e", "cwd": "/work/shop",
        "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "cargo test -q"},
        "tool_response": {"stdout": "fine", "stderr": "", "interrupted": false,
            "isImage": false, "noOutputExpected": false}});
    assert_eq!(
        parse_report(program, HookEvent::PostTool, &passed).succeeded,
        Some(true)
    );

    let stop = json!({"session_id": "86c1e27e", "cwd": "/work/shop", "hook_event_name": "Stop",
        "stop_hook_active": false, "last_assistant_message": "I froze its clock."});
    assert_eq!(
        parse_report(program, HookEvent::Stop, &stop).text,
        "I froze its clock."
    );
    // Cursor runs these hooks too, in its own words, and has its own from us.
    let cursor = json!({"conversation_id": "c", "cursor_version": "3.1", "prompt": "hello there"});
    let report = program.parse_report(HookEvent::UserPrompt, &cursor.to_string());
    assert_eq!(report, None);
}

#[test]
fn codex_is_understood() {
    let program = HookProgram::Codex;
    let base = json!({"session_id": "01a1fdf6", "turn_id": "01a1", "cwd": "/work/shop",
        "transcript_path": "/none.jsonl", "model": "m", "permission_mode": "default"});
    let with = |more: Value| merge_objects(&base, &more);
    let ran = with(
        json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "cargo test"}, "tool_use_id": "call_0",
        "tool_response": "test result: FAILED. 0 passed; 1 failed\n"}),
    );
    let report = parse_report(program, HookEvent::PostTool, &ran);
    assert_eq!(
        (report.command.as_str(), report.succeeded),
        ("cargo test", Some(false))
    );
    // It does not say how a command ended: where nothing speaks of it, nothing is known.
    let ran = with(
        json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "make check"}, "tool_response": "fine\n"}),
    );
    assert_eq!(
        parse_report(program, HookEvent::PostTool, &ran).succeeded,
        None
    );
    let patched = with(
        json!({"hook_event_name": "PostToolUse", "tool_name": "apply_patch",
        "tool_input": {"command": "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n\
            *** Add File: src/b.rs\n+x\n*** End Patch"}, "tool_response": "Done"}),
    );
    let report = parse_report(program, HookEvent::PostTool, &patched);
    assert_eq!(report.files, ["src/a.rs", "src/b.rs"]);
    let stop = with(json!({"hook_event_name": "Stop", "stop_hook_active": false,
        "last_assistant_message": "I froze its clock."}));
    assert_eq!(
        parse_report(program, HookEvent::Stop, &stop).text,
        "I froze its clock."
    );
    let end = with(json!({"hook_event_name": "SessionEnd", "reason": "other"}));
    assert_eq!(parse_report(program, HookEvent::SessionEnd, &end).text, "");
}

#[test]
fn cursor_is_understood() {
    let program = HookProgram::Cursor;
    let base = json!({"conversation_id": "conv-1", "generation_id": "gen-2", "model": "m",
        "cursor_version": "3.12.17", "workspace_roots": ["/work/shop"], "user_email": null,
        "transcript_path": null});
    let with = |more: Value| merge_objects(&base, &more);
    let prompt = with(
        json!({"hook_event_name": "beforeSubmitPrompt", "attachments": [],
        "prompt": "why is the login test flaky"}),
    );
    let report = parse_report(program, HookEvent::UserPrompt, &prompt);
    assert_eq!(
        (report.session.as_str(), report.project.as_str()),
        ("conv-1", "shop")
    );
    assert_eq!(report.text, "why is the login test flaky");
    for (output, expected) in [
        (r#"{"exitCode":0,"stdout":"All tests passed"}"#, Some(true)),
        (r#"{"exitCode":1,"stdout":"boom"}"#, Some(false)),
        ("== 3 passed in 0.1s ==", Some(true)),
    ] {
        let ran = with(
            json!({"hook_event_name": "postToolUse", "tool_name": "Shell", "duration": 5432,
            "tool_input": {"command": "npm test"}, "tool_output": output, "cwd": "/work/shop/web"}),
        );
        let report = parse_report(program, HookEvent::PostTool, &ran);
        assert_eq!(
            (report.command.as_str(), report.succeeded),
            ("npm test", expected)
        );
        assert_eq!(report.project, "shop");
    }
    for (kind, message, expected) in [
        ("timeout", "Command timed out after 30s", None),
        ("permission_denied", "the user refused", None),
        (
            "error",
            "it ended badly\nExit code 2\n1 failed",
            Some(false),
        ),
    ] {
        let failed = with(
            json!({"hook_event_name": "postToolUseFailure", "tool_name": "Shell",
            "tool_input": {"command": "npm test"}, "error_message": message,
            "failure_type": kind, "is_interrupt": false}),
        );
        assert_eq!(
            parse_report(program, HookEvent::PostTool, &failed).succeeded,
            expected
        );
    }
    let edited = with(json!({"hook_event_name": "afterFileEdit",
        "file_path": "/work/shop/web/app.ts", "edits": []}));
    assert_eq!(
        parse_report(program, HookEvent::PostTool, &edited).files,
        ["web/app.ts"]
    );
    let answered = with(json!({"hook_event_name": "afterAgentResponse", "text": "Done, frozen."}));
    assert_eq!(
        parse_report(program, HookEvent::Answer, &answered).text,
        "Done, frozen."
    );
    for (status, finished) in [("completed", true), ("aborted", false), ("error", false)] {
        let stop = with(json!({"hook_event_name": "stop", "status": status, "loop_count": 0}));
        let report = parse_report(program, HookEvent::Stop, &stop);
        assert_eq!(
            (report.text.as_str(), report.succeeded),
            ("", Some(finished))
        );
    }
}

#[test]
fn gemini_is_understood() {
    let program = HookProgram::Gemini;
    let prompt = json!({"session_id": "02e8c372", "transcript_path": "/none.jsonl",
        "cwd": "/work/shop", "hook_event_name": "BeforeAgent",
        "timestamp": "2026-11-21T11:56:48.610Z",
        "prompt": "<hook_context>old news</hook_context>\n\nwhy is the login test flaky"});
    let report = parse_report(program, HookEvent::UserPrompt, &prompt);
    assert_eq!(report.text, "why is the login test flaky");
    for (said, expected) in [
        (
            "<untrusted_context>\nOutput: boom\nExit Code: 3\nProcess Group PGID: 13593\n\
             </untrusted_context>",
            Some(false),
        ),
        (
            "<untrusted_context>\nOutput: fine\nProcess Group PGID: 13601\n</untrusted_context>",
            Some(true),
        ),
        ("Command was cancelled by user.", None),
    ] {
        let ran = json!({"session_id": "02e8c372", "cwd": "/work/shop",
            "hook_event_name": "AfterTool", "tool_name": "run_shell_command",
            "tool_input": {"command": "npm test"},
            "tool_response": {"llmContent": said, "returnDisplay": "boom"}});
        let report = parse_report(program, HookEvent::PostTool, &ran);
        assert_eq!(report.succeeded, expected, "{said}");
    }
    let done = json!({"session_id": "02e8c372", "cwd": "/work/shop", "prompt": "why",
        "hook_event_name": "AfterAgent", "prompt_response": "I froze its clock.",
        "stop_hook_active": false});
    assert_eq!(
        parse_report(program, HookEvent::Stop, &done).text,
        "I froze its clock."
    );
}

#[test]
fn every_program_is_answered_in_its_own_form_and_only_where_it_listens() {
    let answer = HookAnswer {
        context: "known".to_owned(),
    };
    let nested = |name: &str| {
        let output = json!({"hookEventName": name, "additionalContext": "known"});
        json!({ "hookSpecificOutput": output })
    };
    let [start, prompt] = [HookEvent::SessionStart, HookEvent::UserPrompt];
    for (program, event, expected) in [
        (HookProgram::ClaudeCode, start, nested("SessionStart")),
        (HookProgram::ClaudeCode, prompt, nested("UserPromptSubmit")),
        (HookProgram::Codex, prompt, nested("UserPromptSubmit")),
        (HookProgram::Gemini, start, nested("SessionStart")),
        (HookProgram::Gemini, prompt, nested("BeforeAgent")),
        (
            HookProgram::Cursor,
            start,
            json!({"additional_context": "known"}),
        ),
        (
            HookProgram::Cursor,
            prompt,
            json!({"continue": true, "additional_context": "known"}),
        ),
    ] {
        let printed = program.answer(event, &answer).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), expected);
    }
    let both = HookProgram::Copilot.answer(prompt, &answer).unwrap();
    let both: Value = serde_json::from_str(&both).unwrap();
    assert_eq!(both["additionalContext"], "known");
    assert_eq!(
        both["hookSpecificOutput"],
        nested("UserPromptSubmit")["hookSpecificOutput"]
    );
    assert_eq!(HookProgram::Windsurf.answer(prompt, &answer), None);
    let plain = HookProgram::Opencode.answer(prompt, &answer);
    assert_eq!(plain.as_deref(), Some("known"));
    for (program, name) in HookProgram::ALL {
        assert!(HOOK_AGENTS.contains(&name), "{name} cannot be paused");
        assert_eq!(name.parse(), Ok(program));
        assert_eq!(program.name(), name);
        assert_eq!(program.answer(prompt, &HookAnswer::default()), None);
        for event in [HookEvent::PostTool, HookEvent::Stop, HookEvent::SessionEnd] {
            assert_eq!(program.answer(event, &answer), None);
        }
    }
    assert!("emacs".parse::<HookProgram>().is_err());
    for (event, own, host) in HookEvent::ALL {
        assert_eq!((own.parse(), host.parse()), (Ok(event), Ok(event)));
        assert_eq!(event.name(), own);
        assert_eq!(event.address_name().parse(), Ok(event));
    }
}

#[test]
fn an_exit_code_counts_before_what_was_printed() {
    let program = HookProgram::Opencode;
    for (command, response, expected) in [
        (
            "cargo test",
            json!({"exitCode": 0, "output": "2 failed logins"}),
            Some(true),
        ),
        (
            "cargo test",
            json!({"exitCode": 101, "output": "3 passed"}),
            Some(false),
        ),
        ("cargo test", json!({"exit_code": 0}), Some(true)),
        ("cargo test", json!({"metadata": {"exit": 3}}), Some(false)),
        ("cargo test", json!({"is_error": true}), Some(false)),
        ("cargo test", json!({"success": true}), Some(true)),
        // Not found, not allowed, interrupted: no test has failed.
        ("cargo test", json!({"exitCode": 127}), None),
        ("cargo test", json!({"exitCode": 130}), None),
        (
            "cargo test",
            json!({"interrupted": true, "exitCode": 1}),
            None,
        ),
        (
            "cargo test",
            json!({"backgroundTaskId": "b1", "stdout": ""}),
            None,
        ),
        // The code is that of `tail`.
        (
            "cargo test | tail -3",
            json!({"exitCode": 0, "output": "test result: FAILED. 3 passed; 1 failed;"}),
            Some(false),
        ),
        // So do `make` and scripts hide it.
        (
            "RUST_LOG=debug cargo test",
            json!({"exitCode": 0, "output": "test result: FAILED. 3 passed; 1 failed;"}),
            Some(false),
        ),
        (
            "make test",
            json!({"success": true, "output": "== 1 failed, 2 passed in 0.1s =="}),
            Some(false),
        ),
        // Names of tests, and those that are to fail.
        (
            "npm test",
            json!({"exitCode": 0, "output": "404 errors\n  \u{2713} says 2 failed, 3 passed"}),
            Some(true),
        ),
        (
            "pytest -v",
            json!({"exitCode": 0, "output": "t.py::t[BUILD FAILED] PASSED [ 50%]"}),
            Some(true),
        ),
        (
            "pytest",
            json!({"exitCode": 0, "output": "== 12 passed, 1 xfailed in 0.1s =="}),
            Some(true),
        ),
        (
            "make check",
            json!({"exitCode": 0, "output": "test cases: 2 | 1 passed | 1 failed as expected"}),
            Some(true),
        ),
        ("cargo test | tail -3", json!({"exitCode": 0}), None),
        (
            "cargo test; true",
            json!({"exitCode": 0, "output": "done"}),
            None,
        ),
        ("cargo test", Value::Null, None),
    ] {
        let input = json!({"tool_response": response});
        let went = judge_command(program, command, &input);
        assert_eq!(went, expected, "{command} {response}");
    }
}

/// What runners print at their end.
const ENDINGS: &[(&str, Option<bool>)] = &[
    (
        "test result: ok. 3 passed; 0 failed; 0 ignored;",
        Some(true),
    ),
    ("test result: FAILED. 3 passed; 1 failed;", Some(false)),
    (
        "     Summary [   0.012s] 3 tests run: 3 passed, 0 skipped",
        Some(true),
    ),
    (
        "     Summary [   0.2s] 3 tests run: 2 passed, 1 failed, 0 skipped",
        Some(false),
    ),
    ("== 3 passed in 0.1s ==", Some(true)),
    ("1 failed, 2 passed in 0.1s", Some(false)),
    ("2 errors in 0.31s", Some(false)),
    ("Ran 4 tests in 0.002s\n\nOK\n", Some(true)),
    (
        "Ran 4 tests in 0.002s\n\nFAILED (failures=1)\n",
        Some(false),
    ),
    (
        "Test Suites: 1 passed, 1 total\nTests:       5 passed, 5 total",
        Some(true),
    ),
    ("Tests:       1 failed, 4 passed, 5 total", Some(false)),
    (
        " Test Files  1 passed (1)\n      Tests  3 passed (3)",
        Some(true),
    ),
    (
        " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)",
        Some(false),
    ),
    ("ok  \tgithub.com/ada/shop\t0.012s\n", Some(true)),
    (
        "?   \tx\t[no test files]\nok  \tgithub.com/ada/shop\t0.012s\n",
        Some(true),
    ),
    (
        "--- FAIL: TestLogin (0.00s)\nFAIL\tgithub.com/ada/shop\t0.012s",
        Some(false),
    ),
    (
        "Tests run: 5, Failures: 0, Errors: 0\n[INFO] BUILD SUCCESS",
        Some(true),
    ),
    (
        "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0",
        Some(false),
    ),
    ("BUILD FAILED in 3s", Some(false)),
    ("BUILD SUCCESSFUL in 3s", Some(true)),
    ("100% tests passed, 0 tests failed out of 5", Some(true)),
    ("80% tests passed, 1 tests failed out of 5", Some(false)),
    ("3 examples, 0 failures", Some(true)),
    ("3 examples, 1 failure", Some(false)),
    ("  2 passing (10ms)\n  1 failing", Some(false)),
    (
        "\u{2139} tests 2\n\u{2139} pass 2\n\u{2139} fail 0",
        Some(true),
    ),
    ("# tests 2\n# pass 1\n# fail 1", Some(false)),
    (" 3 pass\n 0 fail\nRan 3 tests across 1 files.", Some(true)),
    ("ok | 3 passed | 0 failed (12ms)", Some(true)),
    (
        "Failed!  - Failed:     1, Passed:     2, Skipped:     0",
        Some(false),
    ),
    (
        "Passed!  - Failed:     0, Passed:     3, Skipped:     0",
        Some(true),
    ),
    ("OK (3 tests, 4 assertions)", Some(true)),
    ("hello", None),
    ("", None),
];

#[test]
fn test_runners_are_understood_by_their_last_lines() {
    let long = format!("1 failed\n{}3 passed\n", "line\n".repeat(100));
    for (said, expected) in ENDINGS.iter().copied().chain([(long.as_str(), Some(true))]) {
        let input = json!({"tool_response": said});
        assert_eq!(
            judge_command(HookProgram::Codex, "t", &input),
            expected,
            "{said}"
        );
        // What plainly says failed has not passed, whatever the exit is.
        let input = json!({"hook_event_name": "PostToolUse", "tool_response": {"stdout": said}});
        let went = judge_command(HookProgram::ClaudeCode, "make test", &input);
        assert_eq!(went, Some(expected != Some(false)), "{said}");
    }
}

#[test]
fn the_last_words_of_a_transcript_are_the_agents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let said = |part: Value| json!({"type": "assistant", "message": {"content": [part]}});
    let lines = [
        said(json!({"type": "text", "text": "first"})),
        said(json!({"type": "text", "text": "fixed it"})),
        said(json!({"type": "tool_use", "name": "x"})),
        json!({"type": "user", "message": {"content": "thanks"}}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    fs_err::write(&path, text).unwrap();
    assert_eq!(read_last_answer(&path).as_deref(), Some("fixed it"));
    assert_eq!(read_last_answer(&folder.path().join("none")), None);
    // A version that says them nowhere else.
    let stop = json!({"session_id": "s", "cwd": "/", "transcript_path": path});
    let report = parse_report(HookProgram::ClaudeCode, HookEvent::Stop, &stop);
    assert_eq!(report.text, "fixed it");
}
