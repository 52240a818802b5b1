//! What real programs and crashes leave in a file: bytes that are no text, lines that ran together,
//! updates, forks, and conversations that are there twice.

use super::*;

fn write_file(folder: &Path, name: &str, lines: &[String]) -> std::path::PathBuf {
    let file = folder.join(name);
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(&file, lines.join("\n")).unwrap();
    file
}

fn user_line(uuid: &str, session: &str, text: &str) -> String {
    json!({"type": "user", "uuid": uuid, "parentUuid": null, "sessionId": session,
        "cwd": "/work/shop", "timestamp": "2026-11-25T10:00:00Z",
        "message": {"role": "user", "content": text}})
    .to_string()
}

#[test]
fn odd_bytes_and_lines_that_ran_together_cost_themselves_only() {
    let folder = tempfile::tempdir().unwrap();
    let good = user_line("1", "s", "The first prompt is whole");
    let surrogate = user_line("2", "s", "cut HERE in the middle").replace("HERE", "\\ud83d");
    let nul = format!("\0\0{}", user_line("3", "s", "NULs stand before it"));
    let both = format!(
        "{}{}",
        user_line("4", "s", "one of two on a line"),
        user_line("5", "s", "two of two on a line")
    );
    let cut = format!(
        "{}{}",
        user_line("6", "s", "this one is cut")
            .split_once(" cut")
            .unwrap()
            .0,
        user_line("7", "s", "whole behind a cut one")
    );
    let end = user_line("8", "s", "this one is cut at the end");
    let lines = [
        format!("\u{feff}{good}"),
        surrogate,
        nul,
        both,
        cut,
        end[..end.len() - 20].to_owned(),
    ];
    let file = write_file(folder.path(), "s.jsonl", &lines);
    let mut bytes = fs_err::read(&file).unwrap();
    let at = bytes.windows(5).position(|part| part == b"first").unwrap();
    bytes[at] = 0xe9;
    fs_err::write(&file, bytes).unwrap();
    let found = read_all(&file, ImportKind::ClaudeCode);
    assert_eq!(
        texts(&found),
        [
            "The \u{fffd}irst prompt is whole",
            "cut \u{fffd} in the middle",
            "NULs stand before it",
            "one of two on a line",
            "two of two on a line",
            "whole behind a cut one",
        ]
    );
    let places: Vec<&str> = found
        .refused
        .iter()
        .map(|(place, _)| place.as_str())
        .collect();
    assert_eq!(places, ["s.jsonl:5", "s.jsonl:6"], "{:?}", found.refused);
}

#[test]
fn an_update_amends_a_message_and_does_not_replace_it() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-11-25T00:00:00Z"}"#,
        r#"{"id":"1","type":"user","content":"Which port does staging use?"}"#,
        r#"{"id":"2","type":"gemini","content":"Staging listens on port 8443."}"#,
        r#"{"type":"message_update","id":"2","tokens":{"input":1}}"#,
        r#"{"id":"1","tokens":{"input":2}}"#,
        // Its type is bent.
        r#"{"id":"2","ty?pe":"gemini","content":"","tokens":{"input":1}}"#,
        r#"{"type":"message_update","id":"9","tokens":{"input":1}}"#,
    ];
    let file = write_file(folder.path(), "session-1.jsonl", &lines.map(str::to_owned));
    let found = read_all(&file, ImportKind::Gemini);
    assert_eq!(
        texts(&found),
        [
            "Which port does staging use?",
            "Staging listens on port 8443."
        ]
    );
}

#[test]
fn a_chat_without_its_current_node_gives_its_newest_branch() {
    let message = |text: &str, time: u32| {
        json!({"id": text, "author": {"role": "user"}, "create_time": time,
            "content": {"content_type": "text", "parts": [text]}})
    };
    let mapping = json!({
        "root": {"message": null, "parent": null},
        "a": {"message": message("the question that both have", 1), "parent": "root"},
        "b": {"message": message("the older branch of it", 2), "parent": "a"},
        "c": {"message": message("the newer branch of it", 3), "parent": "a"},
        "shell": {"message": {"content": null}, "parent": "c"},
        "gone": null,
    });
    for current in [
        json!(null),
        json!("missing"),
        json!("gone"),
        json!("c"),
        json!("shell"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let chat = json!({"conversation_id": "x", "mapping": mapping, "current_node": current});
        let list = json!([null, chat, {"conversation_id": "y", "mapping": null}]).to_string();
        let file = write_file(folder.path(), "conversations.json", &[list]);
        let found = read_all(&file, ImportKind::Chatgpt);
        assert_eq!(
            texts(&found),
            ["the question that both have", "the newer branch of it"],
            "{current}"
        );
        assert!(found.refused.is_empty(), "{:?}", found.refused);
    }
}

#[test]
fn what_a_slash_command_was_given_is_kept_and_the_programs_words_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        user_line(
            "1",
            "s",
            "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n<command-args>the login of Ada</command-args>",
        ),
        user_line(
            "2",
            "s",
            "<task-notification>the build of the shop ended</task-notification>",
        ),
        user_line(
            "3",
            "s",
            "[SYSTEM NOTIFICATION - NOT USER INPUT] a task of the shop ended",
        ),
        user_line(
            "4",
            "s",
            "\u{751f}\u{4ea7}\u{5e93}\u{7981}\u{6b62}\u{76f4}\u{63a5}\u{6539}",
        ),
        user_line(
            "5",
            "s",
            "The wire form is application/pdf;base64,then a newline",
        ),
    ];
    let file = write_file(folder.path(), "s.jsonl", &lines);
    let found = read_all(&file, ImportKind::ClaudeCode);
    assert_eq!(
        texts(&found),
        [
            "the login of Ada",
            "\u{751f}\u{4ea7}\u{5e93}\u{7981}\u{6b62}\u{76f4}\u{63a5}\u{6539}",
            "The wire form is application/pdf;base64,then a newline",
        ]
    );
}

#[test]
fn rows_that_a_fork_copied_come_once_and_its_own_stand_in_the_fork() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| format!("projects/shop/{name}.jsonl");
    let shared = |session: &str| {
        [
            user_line("1", session, "the first shared prompt"),
            user_line("2", session, "the second shared prompt"),
        ]
    };
    let mut fork = shared("fork").to_vec();
    fork.push(user_line("4", "fork", "the fork goes its own way"));
    let mut original = shared("original").to_vec();
    original.push(user_line("3", "original", "the original goes on"));
    write_file(folder.path(), &path("original"), &original);
    // Its name comes first, and it was written later.
    let fork = write_file(folder.path(), &path("a-fork"), &fork);
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(1_000_000);
    fs_err::File::options()
        .write(true)
        .open(&fork)
        .unwrap()
        .set_modified(later)
        .unwrap();
    let found = read_all(folder.path(), ImportKind::ClaudeCode);
    let told: Vec<(&str, &str)> = found
        .records
        .iter()
        .map(|record| (record.session_id.as_str(), record.text.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("original", "the first shared prompt"),
            ("original", "the second shared prompt"),
            ("original", "the original goes on"),
            ("fork", "the fork goes its own way"),
        ]
    );
}

fn codex_item(role: &str, text: &str) -> String {
    let block = if role == "user" {
        "input_text"
    } else {
        "output_text"
    };
    json!({"timestamp": "2026-11-25T10:00:00Z", "type": "response_item", "payload":
        {"type": "message", "role": role, "content": [{"type": block, "text": text}]}})
    .to_string()
}

fn codex_session_meta(payload: &Value) -> String {
    json!({"timestamp": "2026-11-25T10:00:00Z", "type": "session_meta", "payload": payload})
        .to_string()
}

#[test]
fn forks_and_subagents_of_codex_say_nothing_twice_and_nothing_for_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let path = |day: &str, id: &str| format!("sessions/rollout-2026-11-{day}T00-00-00-{id}.jsonl");
    let shared = [
        codex_item("user", "which database does the shop use"),
        codex_item("assistant", "The shop uses PostgreSQL 15."),
    ];
    let mut original = vec![codex_session_meta(
        &json!({"id": "one", "cwd": "/work/shop"}),
    )];
    original.extend(shared.clone());
    let mut fork = vec![codex_session_meta(
        &json!({"id": "two", "forked_from_id": "one", "cwd": "/work/shop"}),
    )];
    fork.push(codex_session_meta(
        &json!({"id": "one", "cwd": "/work/shop"}),
    ));
    fork.extend(shared);
    fork.push(codex_item("user", "and which version of it is that"));
    let subagent = vec![
        codex_session_meta(
            &json!({"id": "three", "thread_source": "subagent", "cwd": "/work/shop"}),
        ),
        codex_item("user", "you are a reviewer, look at the diff"),
        codex_item("assistant", "The diff has no test of the rounding."),
    ];
    let taken_over = vec![
        codex_session_meta(&json!({"id": "four", "cwd": "/work/shop"})),
        codex_item("user", "it is in Claude Code as well"),
    ];
    write_file(folder.path(), &path("01", "one"), &original);
    write_file(folder.path(), &path("02", "two"), &fork);
    write_file(folder.path(), &path("03", "three"), &subagent);
    let kept = write_file(folder.path(), &path("04", "four"), &taken_over);
    let list = json!({"imports": [
        {"imported_thread_id": "four", "source_path": kept},
        {"imported_thread_id": "one", "source_path": "/nowhere/at/all.jsonl"},
    ]});
    write_file(
        folder.path(),
        "external_agent_session_imports.json",
        &[list.to_string()],
    );
    let found = read_all(&folder.path().join("sessions"), ImportKind::Codex);
    let told: Vec<(&str, &str)> = found
        .records
        .iter()
        .map(|record| (record.session_id.as_str(), record.text.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("one", "which database does the shop use"),
            ("one", "The shop uses PostgreSQL 15."),
            ("two", "and which version of it is that"),
            ("three", "The diff has no test of the rounding."),
        ]
    );
}
