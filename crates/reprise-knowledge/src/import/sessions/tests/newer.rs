//! What a version that nobody here knows writes besides, and pictures, wherever they stand.

use super::*;

/// Nobody says this: it stands where only another version would read it.
const UNKNOWN: &str = "words of a kind that is not known here";

fn rollout(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": "2026-11-25T10:00:00Z", "type": kind, "payload": payload})
}

fn kept(name: &str, lines: &[Value], kind: ImportKind) -> All {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs_err::write(&file, lines.join("\n")).unwrap();
    assert_eq!(recognise(&file).unwrap(), kind);
    let found = all(&file, kind);
    assert!(found.refused.is_empty(), "{:?}", found.refused);
    found
}

#[test]
fn a_transcript_of_another_version_costs_what_is_not_known_of_it_alone() {
    let mut prompt = said(
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
        line(
            "2",
            "1",
            json!({"type": "thought-tree", "nodes": [{"text": UNKNOWN}]}),
        ),
        said("3", "2", "assistant", answer),
        said(
            "4",
            "3",
            "user",
            json!({"type": "rich", "parts": [UNKNOWN]}),
        ),
        line(
            "5",
            "4",
            json!({"type": "user", "turn": {"content": UNKNOWN}}),
        ),
    ];
    let found = kept("s.jsonl", &lines, ImportKind::ClaudeCode);
    assert_eq!(
        texts(&found),
        ["Please fix the login test", "It was the session store."]
    );
}

#[test]
fn a_rollout_of_another_version_costs_what_is_not_known_of_it_alone() {
    let message = |role: &str, content: Value| {
        rollout(
            "response_item",
            &json!({"type": "message", "role": role, "content": content}),
        )
    };
    let lines = [
        rollout(
            "session_meta",
            &json!({"id": "s1", "cwd": "/work/shop", "cli_version": "9.0.0"}),
        ),
        rollout("world_state", &json!({"text": UNKNOWN, "role": "user"})),
        rollout(
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
    let found = kept("rollout-1.jsonl", &lines, ImportKind::Codex);
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
        rollout("session_meta", &json!({"id": "s1", "cwd": "/work/shop"})),
        rollout(
            "response_item",
            &json!({"type": "message", "role": "user", "content": user}),
        ),
        rollout("response_item", &call),
        rollout("response_item", &ended),
        rollout(
            "response_item",
            &json!({"type": "function_call_output", "call_id": "v", "output": output}),
        ),
    ];
    let found = kept("rollout-1.jsonl", &lines, ImportKind::Codex);
    assert_eq!(texts(&found)[0], "See  for the broken page");
    assert_eq!(found.records.len(), 2, "{:?}", texts(&found));
    for record in &found.records {
        let whole = format!("{}{:?}{:?}", record.text, record.details, record.metadata);
        assert!(!whole.contains("QUJD"), "{whole}");
    }
}
