//! How commands of a session ended, as a hook would have kept it.

use super::*;
use crate::command_exit::hook_request_key;

/// The lines of a call of a command and of how it ended.
fn run_lines(number: usize, command: &str, output: &str, is_error: bool) -> [String; 2] {
    let (call, end) = (format!("c{number}"), format!("e{number}"));
    let at = format!("2026-11-25T10:00:{number:02}Z");
    let line = |uuid: &str, who: &str, content: Value| {
        json!({"type": who, "uuid": uuid, "parentUuid": null, "sessionId": "s",
            "cwd": "/work/shop", "timestamp": at,
            "message": {"id": uuid, "role": who, "content": [content]}})
        .to_string()
    };
    let called = json!({"type": "tool_use", "id": call, "name": "Bash",
        "input": {"command": command}});
    let ended = json!({"type": "tool_result", "tool_use_id": call, "is_error": is_error,
        "content": output});
    [line(&call, "assistant", called), line(&end, "user", ended)]
}

#[test]
fn what_passes_fails_and_passes_again_is_stored_each_time_and_a_build_that_ends_a_failure_too() {
    let folder = tempfile::tempdir().unwrap();
    let ok = "test result: ok. 3 passed; 0 failed";
    let failed = "Exit code 101\ntest cart ... FAILED\ntest result: FAILED. 2 passed; 1 failed";
    let lines: Vec<String> = [
        ("cargo build", "Finished", false),
        ("cargo test", ok, false),
        ("cargo test", ok, false),
        ("cargo test", failed, true),
        ("cargo test", ok, false),
        (
            "cargo build",
            "Exit code 101\nerror[E0425]: no such value",
            true,
        ),
        ("cd /work/shop && cargo build", "Finished", false),
        ("cargo build", "Finished", false),
    ]
    .into_iter()
    .enumerate()
    .flat_map(|(number, (command, output, is_error))| run_lines(number, command, output, is_error))
    .collect();
    let file = folder.path().join("s.jsonl");
    fs_err::write(&file, lines.join("\n")).unwrap();
    let found = read_all(&file, ImportKind::ClaudeCode);
    let passed = "`cargo test` passed";
    let firsts: Vec<&str> = texts(&found)
        .into_iter()
        .map(|text| text.lines().next().unwrap_or_default())
        .collect();
    assert_eq!(
        firsts,
        [
            passed,
            passed,
            "`cargo test` failed:",
            passed,
            "`cargo build` failed:",
            "`cd /work/shop && cargo build` passed",
        ]
    );
    // The second one says nothing new; the third one does.
    let of_hook = |place: usize| {
        let names = &found.records[place].external_ids;
        names.last().map(|name| name.id.clone()).unwrap_or_default()
    };
    let key = |times| hook_request_key("s", passed, times) + "/0";
    assert_eq!([0, 1, 3].map(of_hook), [key(1), key(1), key(2)]);
}
