//! What a version that nobody here knows writes besides, and pictures, wherever they stand.

use super::*;

/// Words that no version known here would read.
const UNKNOWN: &str = "words of a kind that is not known here";

fn rollout_line(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": "2026-11-25T10:00:00Z", "type": kind, "payload": payload})
}

fn read_kept(name: &str, lines: &[Value], kind: ImportKind) -> ReadSource {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs_err::write(&file, lines.join("\n")).unwrap();
    assert_eq!(recognise(&file).unwrap(), kind);
    let found = read_all(&file, kind);
    assert!(found.refused.is_empty(), "{:?}", found.refused);
    found
}

#[test]
fn a_transcript_of_another_version_costs_what_is_not_known_of_it_alone() {
    let mut prompt = message_line(
        "1",
        "0",
        "user",
        json!([{"type": "text", "text": "Please fix the login test"},
            {"type": "hologram", "text": UNKNOWN}]),
    );
    prompt["version"] = json!("9.0.0");
    prompt["origin"] = json!({"surface": UNKNOWN});
    let answer = json!([{"type": "plan_tree", "text": UNKNOWN},
        {"type": "text", "text": "It was the session store."}]);
    let lines = [
        json!({"type": "file-history-snapshot", "messageId": "x", "snapshot": {"text": UNKNOWN}}),
        json!({"kind": "session", "format": 2, "note": UNKNOWN}),
        prompt,
        transcript_line(
            "2",
            "1",
            json!({"type": "thought-tree", "nodes": [{"text": UNKNOWN}]}),
        ),
        message_line("3", "2", "assistant", answer),
        message_line(
            "4",
            "3",
            "user",
            json!({"type": "rich", "parts": [UNKNOWN]}),
        ),
        transcript_line(
            "5",
            "4",
            json!({"type": "user", "turn": {"content": UNKNOWN}}),
        ),
    ];
    let found = read_kept("s.jsonl", &lines, ImportKind::ClaudeCode);
    assert_eq!(
        texts(&found),
        ["Please fix the login test", "It was the session store."]
    );
}

#[test]
fn a_rollout_of_another_version_costs_what_is_not_known_of_it_alone() {
    let message = |role: &str, content: Value| {
        rollout_line(
            "response_item",
            &json!({"type": "message", "role": role, "content": content}),
        )
    };
    let lines = [
        rollout_line(
            "session_meta",
            &json!({"id": "s1", "cwd": "/work/shop", "cli_version": "9.0.0"}),
        ),
        rollout_line("world_state", &json!({"text": UNKNOWN, "role": "user"})),
        rollout_line(
            "response_item",
            &json!({"type": "quantum_call", "call_id": "q", "text": UNKNOWN}),
        ),
        message(
            "user",
            json!([{"type": "input_audio", "text": UNKNOWN},
                {"type": "input_text", "text": "Please fix the login test"}]),
        ),
        message("critic", json!([{"type": "output_text", "text": UNKNOWN}])),
        message(
            "assistant",
            json!([{"type": "output_text", "text": "It was the session store."}]),
        ),
        json!({"timestamp": "2026-11-25T10:00:00Z", "event": UNKNOWN}),
    ];
    let found = read_kept("rollout-1.jsonl", &lines, ImportKind::Codex);
    assert_eq!(
        texts(&found),
        ["Please fix the login test", "It was the session store."]
    );
}

#[test]
fn no_picture_of_a_rollout_comes_in() {
    let picture = format!("data:image/png;base64,{}", "QUJD".repeat(99));
    let user = json!([{"type": "input_image", "image_url": picture},
        {"type": "input_text", "text": format!("See {picture} for the broken page")}]);
    let output = json!([{"type": "input_image", "image_url": picture},
        {"type": "input_text", "text": format!("error: it looks like {picture} now")}]);
    let call = json!({"type": "function_call", "name": "shell", "call_id": "c",
        "arguments": "{\"command\":[\"bash\",\"-lc\",\"cargo test\"]}"});
    let printed = json!({"output": format!("error: {picture} differs"),
        "metadata": {"exit_code": 101}});
    let ended = json!({"type": "function_call_output", "call_id": "c",
        "output": printed.to_string()});
    let lines = [
        rollout_line("session_meta", &json!({"id": "s1", "cwd": "/work/shop"})),
        rollout_line(
            "response_item",
            &json!({"type": "message", "role": "user", "content": user}),
        ),
        rollout_line("response_item", &call),
        rollout_line("response_item", &ended),
        rollout_line(
            "response_item",
            &json!({"type": "function_call_output", "call_id": "v", "output": output}),
        ),
    ];
    let found = read_kept("rollout-1.jsonl", &lines, ImportKind::Codex);
    assert_eq!(texts(&found)[0], "See  for the broken page");
    assert_eq!(found.records.len(), 2, "{:?}", texts(&found));
    for record in &found.records {
        let whole = format!("{}{:?}{:?}", record.text, record.details, record.metadata);
        assert!(!whole.contains("QUJD"), "{whole}");
    }
}

#[test]
fn sessions_of_copilot_and_transcripts_of_cursor_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &[Value]| {
        let file = folder.path().join(name);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs_err::write(file, lines.join("\n")).unwrap();
    };
    let at = "2026-11-25T10:00:00Z";
    let event = |kind: &str, id: &str, data: Value| json!({ "type": kind, "id": id, "timestamp": at, "parentId": null, "data": data });
    let call = json!({ "toolCallId": "c1", "name": "bash", "type": "function",
        "arguments": { "command": "cargo test --quiet" } });
    let ended = json!({ "toolCallId": "c1", "success": true,
        "result": { "content": "test result: ok. 3 passed; 0 failed" } });
    write(
        "session-state/s-1/events.jsonl",
        &[
            event(
                "session.start",
                "e0",
                json!({ "sessionId": "s-1",
                "context": { "cwd": "/work/shop" } }),
            ),
            event(
                "user.message",
                "e1",
                json!({ "content": PROMPT,
                "transformedContent": "<system_notification>not theirs</system_notification>" }),
            ),
            event(
                "assistant.message",
                "e2",
                json!({ "messageId": "m1", "content": FIRST,
                "toolRequests": [call] }),
            ),
            event("tool.execution_complete", "e3", ended),
            event(
                "assistant.message",
                "e4",
                json!({ "messageId": "m2", "content": LAST }),
            ),
        ],
    );
    let copilot = folder.path().join("session-state");
    assert_eq!(recognise(&copilot).unwrap(), ImportKind::Copilot);
    let found = read_all(&copilot, ImportKind::Copilot);
    assert!(found.refused.is_empty(), "{:?}", found.refused);
    assert_eq!(
        texts(&found),
        [PROMPT, FIRST, "`cargo test --quiet` passed", LAST]
    );
    assert_origin(&found.records[0], "s-1", ImportKind::Copilot);

    let said = |role: &str, text: &str| json!({ "role": role, "message": { "content": [{ "type": "text", "text": text }] } });
    let query = format!("<timestamp>Wednesday</timestamp>\n<user_query>\n{PROMPT}\n</user_query>");
    let lines = [said("user", &query), said("assistant", LAST)];
    write(
        "projects/work-shop/agent-transcripts/7c9e6679/7c9e6679.jsonl",
        &lines,
    );
    write(
        "projects/work-shop/agent-transcripts/7c9e6679/subagents/1.jsonl",
        &lines,
    );
    let cursor = folder.path().join("projects");
    assert_eq!(recognise(&cursor).unwrap(), ImportKind::Cursor);
    let found = read_all(&cursor, ImportKind::Cursor);
    assert_eq!(texts(&found), [PROMPT, LAST]);
    assert_eq!(found.records[0].session_id, "7c9e6679");
    assert!(found.records[0].timestamp.is_some());
}

#[test]
fn the_prompts_of_a_subagent_of_gemini_are_its_agents() {
    let lines = |kind: &str, id: &str| {
        [
            json!({"sessionId": id, "projectHash": "x", "startTime": "2026-05-01T10:00:00Z",
                "lastUpdated": "2026-05-01T10:01:00Z", "kind": kind}),
            json!({"id": "1", "timestamp": "2026-05-01T10:00:01Z", "type": "user",
                "content": [{"text": "List every file of the harbour."}]}),
            json!({"id": "2", "timestamp": "2026-05-01T10:00:02Z", "type": "gemini",
                "content": "They are nine."}),
        ]
    };
    let folder = tempfile::tempdir().unwrap();
    // The subagent's file is read first; what it says of itself holds for it alone.
    for (file, kind, id) in [
        ("tmp/shop/chats/aa/0la501.jsonl", "subagent", "0la501"),
        (
            "tmp/shop/chats/session-2026-05-01T10-00-d5c7438f.jsonl",
            "main",
            "d5c7438f",
        ),
    ] {
        let file = folder.path().join(file);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        let lines: Vec<String> = lines(kind, id).iter().map(Value::to_string).collect();
        fs_err::write(&file, lines.join("\n")).unwrap();
    }
    let found = read_all(&folder.path().join("tmp"), ImportKind::Gemini);
    let told = found.records.iter();
    let told = told.filter(|one| one.source == MemorySource::UserInput);
    let told: Vec<&str> = told.map(|one| one.session_id.as_str()).collect();
    assert_eq!(told, ["d5c7438f"]);
}

#[test]
fn a_subagent_of_codex_is_known_by_its_source_too() {
    for source in [
        json!({ "subagent": { "thread_spawn": { "parent_thread_id": "p", "depth": 1 } } }),
        json!({ "subagent": "review" }),
    ] {
        let item = |role: &str, kind: &str, text: &str| {
            json!({ "timestamp": "2026-08-19T10:00:01Z", "type": "response_item",
                "payload": { "type": "message", "role": role, "id": role,
                    "content": [{ "type": kind, "text": text }] } })
        };
        let meta = json!({ "id": "one", "cwd": "/work/shop", "source": source });
        let lines = [
            json!({ "timestamp": "2026-08-19T10:00:00Z", "type": "session_meta", "payload": meta }),
            item("user", "input_text", "look for the missing fence"),
            item(
                "assistant",
                "output_text",
                "The fence is missing at the east gate.",
            ),
        ];
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rollout-2026-08-19T10-00-00-one.jsonl");
        fs_err::write(&file, lines.map(|line| line.to_string()).join("\n")).unwrap();
        let found = read_all(&file, ImportKind::Codex);
        assert_eq!(texts(&found), ["The fence is missing at the east gate."]);
    }
}

#[test]
fn an_older_state_of_a_message_of_gemini_takes_no_call_away() {
    let call = r#"[{"name":"write_file","args":{"file_path":"/work/shop/session.rs"},"status":"success"}]"#;
    let lines = [
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-11-25T00:00:00Z"}"#.to_owned(),
        format!(r#"{{"id":"1","type":"gemini","content":"","toolCalls":{call}}}"#),
        r#"{"id":"1","type":"gemini","content":"","thoughts":[]}"#.to_owned(),
        r#"{"id":"2","type":"user","content":[{"text":"Keep the fence whole."}]}"#.to_owned(),
        r#"{"id":"2","type":"user","content":[{"te":"Keep"}]}"#.to_owned(),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session-1.jsonl");
    fs_err::write(&file, lines.join("\n")).unwrap();
    let found = read_all(&file, ImportKind::Gemini);
    let texts = texts(&found);
    assert!(texts.contains(&"Keep the fence whole."), "{texts:?}");
    assert_eq!(texts.len(), 2, "{texts:?}");
}

#[test]
fn a_transcript_of_cursor_is_known_by_its_lines() {
    let line = |role: &str, text: &str| {
        json!({ "role": role, "message": { "content": [{ "type": "text", "text": text }] } })
            .to_string()
    };
    let lines = [
        line("user", "Keep the fence whole."),
        line("assistant", "The fence was cut at the east gate."),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copied/one.jsonl");
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(&file, lines.join("\n")).unwrap();
    for place in [&*file, folder.path()] {
        assert_eq!(recognise(place).unwrap(), ImportKind::Cursor);
        let found = read_all(place, ImportKind::Cursor);
        assert_eq!(texts(&found).len(), 2, "{:?}", texts(&found));
    }
}

#[test]
fn an_odd_name_of_a_session_costs_no_row_of_it() {
    let long = "9".repeat(600);
    let folder = tempfile::tempdir().unwrap();
    let gemini = folder.path().join("session-1.jsonl");
    let prompt = r#"{"id":"1","type":"user","content":"Keep the fence whole."}"#;
    let header = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-11-25T00:00:00Z"}"#;
    let odd = header.replace("\"s\"", &format!("\"{long}\""));
    fs_err::write(&gemini, [header, &odd, prompt].join("\n")).unwrap();
    let claude = folder.path().join("one.jsonl");
    let row = json!({ "type": "user", "uuid": "u-1", "sessionId": long, "cwd": "/work/shop",
        "message": { "role": "user", "content": "Keep the gate shut." } });
    fs_err::write(&claude, row.to_string()).unwrap();
    for (file, kind, text) in [
        (&gemini, ImportKind::Gemini, "Keep the fence whole."),
        (&claude, ImportKind::ClaudeCode, "Keep the gate shut."),
    ] {
        let found = read_all(file, kind);
        assert_eq!(texts(&found), [text]);
        assert!(found.records[0].validate().is_ok(), "{kind}");
    }
}
