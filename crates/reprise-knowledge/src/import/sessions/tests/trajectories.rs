//! Sessions in ATIF, and in Trajectory v1 of Letta, in the forms of their schemas and of the
//! fixtures in letta-ai/trajectory.

use super::*;

const PASSED: &str = "test result: ok. 3 passed; 0 failed";
const TESTED: &str = "`cargo test` passed";

fn write(folder: &Path, name: &str, content: &str) -> std::path::PathBuf {
    let file = folder.join(name);
    fs_err::write(&file, content).unwrap();
    file
}

fn atif() -> Value {
    let at = |second: u32| format!("2026-11-25T10:00:0{second}Z");
    json!({
        "schema_version": "ATIF-v1.7",
        "session_id": "run-1",
        "trajectory_id": "trajectory-1",
        "agent": { "name": "example-agent", "version": "1.0.0" },
        "steps": [
            { "step_id": 1, "timestamp": at(0), "source": "system", "message": "Use the provided tools." },
            { "step_id": 2, "timestamp": at(1), "source": "user", "message": [
                { "type": "text", "text": PROMPT },
                { "type": "image", "source": { "media_type": "image/png", "path": "a.png" } },
            ] },
            { "step_id": 3, "timestamp": at(2), "source": "agent", "message": FIRST,
              "reasoning_content": "secret thoughts",
              "tool_calls": [
                { "tool_call_id": "c1", "function_name": "shell",
                  "arguments": { "command": "cargo test" } },
                { "tool_call_id": "c2", "function_name": "edit_file",
                  "arguments": { "path": "src/session.rs" } },
              ],
              "observation": { "results": [
                { "source_call_id": "c1", "content": [{ "type": "text", "text": PASSED }] },
                { "source_call_id": "c2", "subagent_trajectory_ref": [{ "session_id": "run-2" }] },
              ] } },
            { "step_id": 4, "timestamp": at(3), "source": "agent", "message": LAST },
        ],
        "subagent_trajectories": [{ "schema_version": "ATIF-v1.7", "steps": [
            { "step_id": 1, "source": "user", "message": "Inspect the session store in depth." },
        ] }],
    })
}

fn letta() -> Value {
    let at = |second: u32| format!("2026-11-25T10:00:0{second}.394Z");
    json!([
        { "role": "meta", "source": "claude-code", "cwd": "/work/shop", "git_branch": "main" },
        { "role": "user", "content": PROMPT, "timestamp": at(0) },
        { "role": "reasoning", "content": "secret thoughts", "timestamp": at(1) },
        { "role": "assistant", "content": FIRST, "timestamp": at(1) },
        { "role": "assistant", "content": null, "timestamp": at(2), "tool_calls": [
            { "id": "c1", "name": "Bash", "args": "{\"command\":\"cargo test\"}" },
            { "id": "c2", "name": "Edit", "args": "{\"file_path\":\"/work/shop/src/session.rs\"}" },
        ] },
        { "role": "tool", "tool_call_id": "c1", "content": PASSED, "ok": true, "timestamp": at(3) },
        { "role": "tool", "tool_call_id": "c2", "content": "done", "timestamp": at(3) },
        { "role": "assistant", "content": LAST, "timestamp": at(4) },
    ])
}

#[test]
fn a_trajectory_comes_in_as_a_session_does() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = letta()
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    for (name, content, session) in [
        ("trajectory.json", atif().to_string(), "run-1"),
        ("pretty.json", format!("{:#}", atif()), "run-1"),
        ("e8f91fe5.json", letta().to_string(), "e8f91fe5"),
        ("pretty-2.json", format!("{:#}", letta()), "pretty-2"),
        ("lines.jsonl", lines.join("\n") + "\n", "lines"),
    ] {
        let file = write(folder.path(), name, &content);
        assert_eq!(recognise(&file).unwrap(), ImportKind::Trajectory, "{name}");
        let found = read_all(&file, ImportKind::Trajectory);
        let edited = "Edited src/session.rs";
        assert_eq!(
            texts(&found),
            [PROMPT, FIRST, TESTED, LAST, edited],
            "{name}"
        );
        assert_no_program_text(&found);
        for record in &found.records {
            assert_eq!(record.session_id, session);
            let day = record.timestamp.unwrap().date_naive().to_string();
            assert_eq!(day, "2026-11-25", "{name}");
        }
        assert_eq!(
            read_all(&file, ImportKind::Trajectory).records,
            found.records,
            "twice the same"
        );
    }
    assert_origin(
        &read_all(&folder.path().join("lines.jsonl"), ImportKind::Trajectory).records[0],
        "lines",
        ImportKind::Trajectory,
    );
    // Below a folder, a session is found by the name that Harbor gives it.
    assert_eq!(recognise(folder.path()).unwrap(), ImportKind::Trajectory);
    let all = read_all(folder.path(), ImportKind::Trajectory);
    assert_eq!(all.records.len(), 5);
}

#[test]
fn a_trajectory_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut newer = atif();
    newer["schema_version"] = json!("ATIF-v2.0");
    for (name, content, why) in [
        ("newer.json", newer.to_string(), "`ATIF-v2.0`"),
        ("cut.json", format!("{:#}", atif())[..400].to_owned(), "cut"),
    ] {
        let file = write(folder.path(), name, &content);
        let found = read_all(&file, ImportKind::Trajectory);
        assert!(found.records.is_empty(), "{name}");
        let refused = format!("{:?}", found.refused);
        assert!(refused.contains(why), "{refused}");
    }
    let odd = json!({ "schema_version": "ATIF-v1.0", "steps": [1, null, { "source": "user" },
        { "source": "agent", "message": 7, "tool_calls": 1, "observation": { "results": [2] } }] });
    let file = write(folder.path(), "odd.json", &odd.to_string());
    assert!(read_all(&file, ImportKind::Trajectory).records.is_empty());
}

#[test]
fn a_folder_of_the_open_memory_protocol_is_a_folder_of_notes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        (
            "MEMORY.md",
            "# Memory\n\nThe user is called Ada and works on the shop.\n",
        ),
        (
            "persona.md",
            "I answer in short plain sentences and name my sources.\n",
        ),
        ("projects/MEMORY.md", "- shop.md: the web shop\n"),
        (
            "projects/shop.md",
            "# Shop\n\nThe payment gateway listens on port 8443.\n",
        ),
    ] {
        let file = folder.path().join(name);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(file, content).unwrap();
    }
    assert_eq!(recognise(folder.path()).unwrap(), ImportKind::Markdown);
    let found = read_all(folder.path(), ImportKind::Markdown);
    let all = texts(&found).join("\n");
    for said in [
        "called Ada",
        "short plain sentences",
        "the web shop",
        "port 8443",
    ] {
        assert!(all.contains(said), "{said}: {all}");
    }
}
