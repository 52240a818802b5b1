//! Sessions as the programs themselves wrote them (`tests/fixtures/sessions`), and what spoils one.

mod newer;
mod odd;
mod runs;
mod trajectories;

use std::io::Write;
use std::path::Path;

use reprise_types::{MemorySource, NewRecord};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::super::testing::{ReadSource, fixture, read_all};
use super::super::{ImportKind, recognise};
use crate::project::name_plain_folder;

const PROMPT: &str = "Fix the login test: it fails with a stale cookie.";
const FIRST: &str = "The root cause was a stale cookie in the session store. I will run the tests.";
const LAST: &str = "Fixed: the session store drops a stale cookie now. Always clear the cookie jar \
                    between two logins of one test.";
const COMMAND: &str = "`cargo test --quiet; echo 'test result: ok. 3 passed; 0 failed'; git commit \
                       -qm 'Drop stale cookies' --allow-empty && git log --oneline -1` passed";

fn texts(found: &ReadSource) -> Vec<&str> {
    found
        .records
        .iter()
        .map(|record| record.text.as_str())
        .collect()
}

/// What no kind may keep.
fn assert_no_program_text(found: &ReadSource) {
    for record in &found.records {
        let whole = format!("{}{:?}{:?}", record.text, record.details, record.metadata);
        for put_in in [
            "secret thoughts",
            "environment_context",
            "session_context",
            "rustup",
        ] {
            assert!(!whole.contains(put_in), "{put_in}: {whole}");
        }
    }
    assert!(found.refused.is_empty(), "{:?}", found.refused);
}

fn assert_origin(record: &NewRecord, session: &str, kind: ImportKind) {
    assert_eq!(record.session_id, session);
    let project = name_plain_folder(Path::new("/work/shop")).unwrap();
    assert_eq!(record.tags, [format!("project:{project}")]);
    assert_eq!(record.metadata["cwd"], "/work/shop");
    assert_eq!(record.provenance.actor_id.as_deref(), Some(kind.name()));
    assert_eq!(
        record.timestamp.unwrap().date_naive().to_string(),
        "2026-11-25"
    );
    assert_eq!(record.external_ids[0].namespace, kind.name());
}

#[test]
fn a_transcript_of_claude_code_comes_in_turn_by_turn() {
    let folder = fixture("sessions/claude");
    assert_eq!(recognise(&folder).unwrap(), ImportKind::ClaudeCode);
    let file = folder.join("projects/-work-shop/e8f91fe5-2e92-473f-861a-44c5cc8086cc.jsonl");
    assert_eq!(recognise(&file).unwrap(), ImportKind::ClaudeCode);
    let found = read_all(&folder, ImportKind::ClaudeCode);
    assert_eq!(
        texts(&found),
        [PROMPT, FIRST, COMMAND, LAST, "Edited session.rs"]
    );
    assert_no_program_text(&found);
    for record in &found.records {
        assert_origin(
            record,
            "e8f91fe5-2e92-473f-861a-44c5cc8086cc",
            ImportKind::ClaudeCode,
        );
    }
    let types: Vec<&str> = found
        .records
        .iter()
        .map(|one| one.record_type().name())
        .collect();
    assert_eq!(types, ["prompt", "answer", "test", "answer", "document"]);
    assert_eq!(found.records[0].source, MemorySource::UserInput);
    assert_eq!(
        read_all(&file, ImportKind::ClaudeCode).records,
        found.records,
        "twice the same"
    );
}

#[test]
fn a_rollout_of_codex_comes_in_packed_or_not() {
    let folder = fixture("sessions/codex");
    assert_eq!(recognise(&folder).unwrap(), ImportKind::Codex);
    let found = read_all(&folder, ImportKind::Codex);
    assert_eq!(texts(&found), [PROMPT, FIRST, COMMAND, LAST]);
    assert_no_program_text(&found);
    for record in &found.records {
        assert_origin(
            record,
            "01a21432-28d4-77e1-8330-02b82414e990",
            ImportKind::Codex,
        );
    }
    let name = "rollout-2026-11-25T19-32-41-01a21432-28d4-77e1-8330-02b82414e990.jsonl";
    let plain = fs_err::read(folder.join("sessions/2026/11/25").join(name)).unwrap();
    let packed = tempfile::tempdir().unwrap();
    let file = packed.path().join([name, ".zst"].concat());
    fs_err::write(&file, zstd::encode_all(plain.as_slice(), 3).unwrap()).unwrap();
    assert_eq!(recognise(&file).unwrap(), ImportKind::Codex);
    assert_eq!(read_all(&file, ImportKind::Codex).records, found.records);
    // Of one that is there twice the plain one counts.
    fs_err::write(packed.path().join(name), &plain).unwrap();
    assert_eq!(read_all(packed.path(), ImportKind::Codex).records.len(), 4);
}

#[test]
fn what_codex_wrote_before_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        json!({"timestamp": "2025-09-01T10:00:00Z", "type": "session_meta",
            "payload": {"id": "s1", "cwd": "/work/shop"}}),
        json!({"timestamp": "2025-09-01T10:00:01Z", "type": "response_item", "payload": {
            "type": "message", "role": "user", "content": [{"type": "input_text",
            "text": "<user_instructions>\nBe kind\n</user_instructions>"}]}}),
        json!({"timestamp": "2025-09-01T10:00:02Z", "type": "response_item", "payload": {
            "type": "function_call", "name": "shell", "call_id": "c",
            "arguments": "{\"command\":[\"bash\",\"-lc\",\"cargo test\"]}"}}),
        json!({"timestamp": "2025-09-01T10:00:03Z", "type": "response_item", "payload": {
            "type": "function_call_output", "call_id": "c",
            "output": "{\"output\":\"error: no such test\",\"metadata\":{\"exit_code\":101}}"}}),
        json!({"timestamp": "2025-09-01T10:00:04Z", "type": "response_item", "payload": {
            "type": "function_call", "name": "shell", "call_id": "d", "arguments":
            json!({"command": ["apply_patch", "*** Begin Patch\n*** Update File: a.rs\n*** End Patch"]}).to_string()}}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let file = folder.path().join("rollout-1.jsonl");
    fs_err::write(&file, lines.join("\n")).unwrap();
    let found = read_all(&file, ImportKind::Codex);
    assert_eq!(
        texts(&found),
        ["`cargo test` failed:\nerror: no such test", "Edited a.rs"]
    );
}

#[test]
fn a_session_of_gemini_is_what_its_lines_leave_of_it() {
    let folder = fixture("sessions/gemini");
    assert_eq!(recognise(&folder).unwrap(), ImportKind::Gemini);
    let found = read_all(&folder, ImportKind::Gemini);
    assert_eq!(texts(&found), [PROMPT, LAST, "Edited session.rs"]);
    assert_no_program_text(&found);
    for record in &found.records {
        assert_origin(
            record,
            "d74f5100-c898-4ccd-9c0f-405394aec423",
            ImportKind::Gemini,
        );
    }
    let own = tempfile::tempdir().unwrap();
    let lines = [
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-11-25T00:00:00Z"}"#,
        r#"{"id":"1","type":"user","content":"Keep the first login prompt"}"#,
        r#"{"id":"2","type":"gemini","content":"This login page is taken back"}"#,
        r#"{"$rewindTo":"1"}"#,
        r#"{"id":"1","type":"user","content":"Keep the first login prompt, as it is now"}"#,
        r#"{"id":"3","type":"gemini","content":"And this login page stays then"}"#,
        r#"{"id":"4","type"#,
    ];
    let file = own.path().join("session-1.jsonl");
    fs_err::write(&file, lines.join("\n")).unwrap();
    let found = read_all(&file, ImportKind::Gemini);
    assert_eq!(
        texts(&found),
        [
            "Keep the first login prompt, as it is now",
            "And this login page stays then"
        ]
    );
    assert_eq!(found.refused.len(), 1, "{:?}", found.refused);
}

#[test]
fn opencode_and_cursor_are_read_from_their_databases() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("opencode.db");
    let dump = fs_err::read_to_string(fixture("sessions/opencode.sql")).unwrap();
    Connection::open(&file)
        .unwrap()
        .execute_batch(&dump)
        .unwrap();
    assert_eq!(recognise(&file).unwrap(), ImportKind::Opencode);
    let found = read_all(&file, ImportKind::Opencode);
    let quoted = format!("\"{PROMPT}\"");
    assert_eq!(
        texts(&found),
        [&quoted, FIRST, COMMAND, LAST, "Edited session.rs"]
    );
    assert_no_program_text(&found);
    for record in &found.records {
        assert_origin(
            record,
            "ses_debcdc102ffeL7ibzku1JjS8K1",
            ImportKind::Opencode,
        );
    }
    // As older versions kept the same.
    let storage = folder.path().join("storage");
    let write = |name: String, text: &str| {
        let file = storage.join(name);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(file, text).unwrap();
    };
    let database = Connection::open(&file).unwrap();
    let all_of = |query: &str| -> Vec<[String; 3]> {
        let mut rows = database.prepare(query).unwrap();
        let rows = rows.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]));
        rows.unwrap().map(Result::unwrap).collect()
    };
    for [id, directory, parent] in
        all_of("SELECT id, directory, COALESCE(parent_id, '') FROM session")
    {
        let parent = Some(parent).filter(|parent| !parent.is_empty());
        let text = json!({"id": id, "directory": directory, "parentID": parent}).to_string();
        write(format!("session/p/{id}.json"), &text);
    }
    for [id, session, data] in all_of("SELECT id, session_id, data FROM message") {
        let mut data: Value = serde_json::from_str(&data).unwrap();
        data["id"] = json!(id);
        write(format!("message/{session}/{id}.json"), &data.to_string());
    }
    for [id, message, data] in all_of("SELECT id, message_id, data FROM part") {
        write(format!("part/{message}/{id}.json"), &data);
    }
    write("part/none/prt.json".to_owned(), "{");
    assert_eq!(recognise(&storage).unwrap(), ImportKind::Opencode);
    let older = read_all(&storage, ImportKind::Opencode);
    assert_eq!(texts(&older), texts(&found));
    for (older, newer) in older.records.iter().zip(&found.records) {
        assert_eq!(
            older.external_ids, newer.external_ids,
            "they know each other"
        );
    }
    let file = folder.path().join("state.vscdb");
    let cursor = Connection::open(&file).unwrap();
    cursor
        .execute_batch(
            r#"CREATE TABLE cursorDiskKV(key TEXT UNIQUE, value BLOB);
             INSERT INTO cursorDiskKV VALUES
             ('composerData:c1','{"createdAt":1764000000000,"fullConversationHeadersOnly":
                [{"bubbleId":"b1","type":1},{"bubbleId":"b2","type":2}]}'),
             ('bubbleId:c1:b2','{"bubbleId":"b2","type":2,"text":"Use a cookie jar for each test."}'),
             ('bubbleId:c1:b1','{"bubbleId":"b1","type":1,"text":"How do I keep cookies apart?"}'),
             ('composerData:c2','not json');"#,
        )
        .unwrap();
    assert_eq!(recognise(&file).unwrap(), ImportKind::Cursor);
    let found = read_all(&file, ImportKind::Cursor);
    let expected = [
        "How do I keep cookies apart?",
        "Use a cookie jar for each test.",
    ];
    assert_eq!(texts(&found), expected);
    assert_eq!(found.records[0].session_id, "c1");
}

fn chatgpt_export() -> Value {
    let node = |parent: &str, role: &str, kind: &str, parts: Value| {
        json!({"parent": parent, "message": {"id": parent, "author": {"role": role},
            "create_time": 1_764_000_000.5, "content": {"content_type": kind, "parts": parts}}})
    };
    let mut hidden = node(
        "a",
        "user",
        "text",
        json!(["Hidden words that nobody typed"]),
    );
    hidden["message"]["metadata"] = json!({"is_visually_hidden_from_conversation": true});
    json!([{"id": "chat-1", "current_node": "f", "mapping": {
        "a": {"parent": null, "message": null},
        "b": hidden,
        "c": node("b", "user", "multimodal_text", json!([{"content_type": "image_asset_pointer"},
            "What is on this picture of the login?"])),
        "d": node("c", "assistant", "thoughts", json!(["secret thoughts"])),
        "e": node("c", "assistant", "text", json!(["An answer that was made anew later"])),
        "f": node("d", "assistant", "text", json!(["A login form with two fields."])),
    }}])
}

#[test]
fn an_export_of_chatgpt_is_the_branch_that_it_ended_with_in_its_zip_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.json");
    fs_err::write(&file, chatgpt_export().to_string()).unwrap();
    assert_eq!(recognise(&file).unwrap(), ImportKind::Chatgpt);
    let found = read_all(&file, ImportKind::Chatgpt);
    let expected = [
        "What is on this picture of the login?",
        "A login form with two fields.",
    ];
    assert_eq!(texts(&found), expected);
    assert_eq!(found.records[0].session_id, "chat-1");
    let zipped = folder.path().join("export.zip");
    let mut zip = zip::ZipWriter::new(fs_err::File::create(&zipped).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in [
        ("chat.html", "x".to_owned()),
        ("conversations-000.json", chatgpt_export().to_string()),
    ] {
        zip.start_file(name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    assert_eq!(recognise(&zipped).unwrap(), ImportKind::Chatgpt);
    assert_eq!(texts(&read_all(&zipped, ImportKind::Chatgpt)), expected);
}

#[test]
fn an_export_of_claude_ai_has_its_pastes_and_the_last_branch() {
    let message = |id: &str, parent: &str, sender: &str, text: &str| {
        json!({"uuid": id, "parent_message_uuid": parent, "sender": sender, "text": text,
            "created_at": "2026-01-02T03:04:05Z", "content": [{"type": "text", "text": text}]})
    };
    let root = "00000000-0000-4000-8000-000000000000";
    let mut first = message("1", root, "human", "Look at this log of mine");
    first["attachments"] = json!([{"extracted_content": "panicked at src/login.rs"}]);
    let chats = json!([{"uuid": "c1", "chat_messages": [
        first,
        message("2", "1", "assistant", "An answer that was taken back"),
        message("3", "1", "assistant", "The cookie is stale there."),
    ]}]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.json");
    fs_err::write(&file, chats.to_string()).unwrap();
    assert_eq!(recognise(folder.path()).unwrap(), ImportKind::ClaudeAi);
    let found = read_all(&file, ImportKind::ClaudeAi);
    let pasted = "Look at this log of mine\n\npanicked at src/login.rs";
    assert_eq!(texts(&found), [pasted, "The cookie is stale there."]);
}

fn transcript_line(own: &str, parent: &str, more: Value) -> Value {
    let mut line = json!({"uuid": own, "parentUuid": parent, "sessionId": "s", "cwd": "/work/shop",
        "timestamp": "2026-11-25T10:00:00Z"});
    if let Value::Object(more) = more {
        for (name, value) in more {
            line[name] = value;
        }
    }
    line
}

fn message_line(own: &str, parent: &str, who: &str, content: Value) -> Value {
    let id = ["m", own].concat();
    let mut said = transcript_line(
        own,
        parent,
        json!({"type": who, "message": {"id": id, "role": who}}),
    );
    said["message"]["content"] = content;
    said
}

/// A transcript of which four turns are to be kept.
fn transcript_lines() -> Vec<Value> {
    let reminder = "<system-reminder>Never mention this</system-reminder>";
    let picture = format!(
        "See data:image/png;base64,{} for the broken login page",
        "QUJD".repeat(99)
    );
    let meta = |mut line: Value, name: &str| {
        line[name] = json!(true);
        line
    };
    vec![
        message_line(
            "1",
            "0",
            "user",
            json!(format!("{reminder}Please fix the login test")),
        ),
        message_line(
            "2",
            "1",
            "assistant",
            json!([{"type": "text", "text": "A prompt of mine is taken back"}]),
        ),
        message_line(
            "3",
            "0",
            "user",
            json!("Please fix the login test in src/login.rs"),
        ),
        message_line(
            "4",
            "3",
            "assistant",
            json!([{"type": "thinking", "thinking": "secret thoughts"},
            {"type": "text", "text": "I begin with the session store."}]),
        ),
        transcript_line(
            "5",
            "4",
            json!({"type": "assistant", "message": {"id": "m4", "role": "assistant",
            "content": [{"type": "text", "text": "It is one reply of two lines."}]}}),
        ),
        meta(
            message_line("6", "5", "user", json!("Meta words of the program")),
            "isMeta",
        ),
        meta(
            message_line("7", "6", "user", json!("A summary of what was before")),
            "isCompactSummary",
        ),
        meta(
            message_line("8", "7", "user", json!("A helper is asked something")),
            "isSidechain",
        ),
        message_line(
            "9",
            "8",
            "user",
            json!("<command-name>/clear</command-name>"),
        ),
        message_line(
            "a",
            "9",
            "user",
            json!([{"type": "image", "source": {"data": "QUJD"}},
            {"type": "text", "text": picture}]),
        ),
        transcript_line(
            "b",
            "a",
            json!({"type": "attachment", "attachment": {"type": "queued_command",
            "prompt": "And mind the cookie jar, too"}}),
        ),
        transcript_line(
            "c",
            "b",
            json!({"type": "attachment", "attachment": {"type": "skill_listing",
            "content": "Skills of the program"}}),
        ),
    ]
}

#[test]
fn only_what_was_said_and_stands_is_kept() {
    let lines = transcript_lines();
    let folder = tempfile::tempdir().unwrap();
    let mut text: Vec<String> = lines.iter().map(Value::to_string).collect();
    text.push(r#"{"type":"assistant","sessionId":"s","mess"#.to_owned());
    let file = folder.path().join("s.jsonl");
    fs_err::write(&file, text.join("\n")).unwrap();
    let found = read_all(&file, ImportKind::ClaudeCode);
    assert_eq!(
        texts(&found),
        [
            "Please fix the login test in src/login.rs",
            "I begin with the session store.\n\nIt is one reply of two lines.",
            "See  for the broken login page",
            "And mind the cookie jar, too",
        ]
    );
    assert_eq!(
        found.refused.len(),
        1,
        "the line that is cut: {:?}",
        found.refused
    );
    assert!(found.refused[0].1.contains("cut"), "{:?}", found.refused);
}

#[test]
fn an_older_session_of_opencode_leads_to_nothing_outside_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, what: Value| {
        let file = folder.path().join(name);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(file, what.to_string()).unwrap();
    };
    for (id, place, text) in [
        ("ses_a", "storage/message/ses_a", "The words of a session"),
        ("../../outside", "outside", "The words of no session"),
    ] {
        let name = place.replace('/', "_");
        let session = json!({ "id": id, "directory": "/work/shop" });
        put(&format!("storage/session/p/ses_{name}.json"), session);
        let time = json!({ "created": 1_764_000_000_000_u64 });
        let message = json!({ "id": name, "role": "user", "time": time });
        put(&format!("{place}/msg.json"), message);
        let part = json!({ "type": "text", "text": text });
        put(&format!("storage/part/{name}/prt.json"), part);
    }
    let found = read_all(&folder.path().join("storage"), ImportKind::Opencode);
    assert_eq!(texts(&found), ["The words of a session"]);
}

#[test]
fn of_a_helper_its_own_words_are_kept_and_a_memory_is_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let file = folder.path().join("projects/-work-shop").join(name);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        let text = [
            message_line("1", "0", "user", json!(format!("The words of {name}"))),
            transcript_line(
                "2",
                "1",
                json!({"type": "assistant", "isSidechain": true, "message": {"id": name,
                "role": "assistant", "content": [{"type": "text", "text": format!("Done by {name}")}]}}),
            ),
        ];
        fs_err::write(file, text.map(|line| line.to_string()).join("\n")).unwrap();
    };
    ["s.jsonl", "s/subagents/agent-1.jsonl", "memory/x.jsonl"]
        .into_iter()
        .for_each(put);
    let found = read_all(folder.path(), ImportKind::ClaudeCode);
    assert_eq!(
        texts(&found),
        ["Done by s/subagents/agent-1.jsonl", "The words of s.jsonl"]
    );
    assert_eq!(found.records[0].session_id, found.records[1].session_id);
    // A copy is recognised by its content, whatever its folders are called.
    for depth in ["memory/of/tr", "memory/tr"] {
        let copied = tempfile::tempdir().unwrap();
        let to = copied.path().join(depth);
        fs_err::create_dir_all(to.parent().unwrap()).unwrap();
        fs_err::rename(folder.path().join("projects"), &to).unwrap();
        fs_err::create_dir_all(to.join("-work-shop/memory")).unwrap();
        fs_err::write(to.join("-work-shop/memory/MEMORY.md"), "# A memory").unwrap();
        assert_eq!(recognise(&to).unwrap(), ImportKind::ClaudeCode);
        assert_eq!(texts(&read_all(&to, ImportKind::ClaudeCode)), texts(&found));
        // Somebody's own notes come first, with a transcript among them.
        let own = to.join("Note.md");
        fs_err::write(&own, "# A note").unwrap();
        assert_eq!(recognise(&to).unwrap(), ImportKind::Markdown);
        fs_err::remove_file(&own).unwrap();
        fs_err::rename(&to, folder.path().join("projects")).unwrap();
    }
    // Any folder may be called so.
    let other = tempfile::tempdir().unwrap();
    fs_err::create_dir(other.path().join("projects")).unwrap();
    fs_err::write(other.path().join("projects/x.jsonl"), r#"{"fact":"x"}"#).unwrap();
    assert!(recognise(other.path()).is_err());
}

#[test]
fn a_file_that_is_cut_or_of_something_else_costs_itself_only() {
    let folder = tempfile::tempdir().unwrap();
    let whole = chatgpt_export().to_string();
    let write = |name: &str, text: &str| fs_err::write(folder.path().join(name), text).unwrap();
    write("conversations-000.json", &whole);
    write("conversations-001.json", &whole[..whole.len() - 40]);
    write("conversations-002.json", "[7, 8]");
    write(
        "conversations-003.json",
        r#"[{"mapping":{"a":{"parent":"a"}},"current_node":"a"}]"#,
    );
    let found = read_all(folder.path(), ImportKind::Chatgpt);
    assert_eq!(found.records.len(), 2);
    let whys: Vec<&str> = found.refused.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(whys.len(), 3, "{whys:?}");
    for (why, part) in whys.iter().zip(["cut", "no list", "no id"]) {
        assert!(why.contains(part), "{why}: {part}");
    }
    let none = Path::new("/nonexistent-reprise");
    assert!(recognise(none).is_err());
}
