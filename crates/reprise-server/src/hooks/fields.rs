//! Reading the fields that we need from each program's JSON and from the end of a transcript.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::{Map, Value};

use super::HookProgram;

/// How much of a transcript's end is read, in bytes.
const TRANSCRIPT_TAIL: u64 = 256 * 1024;

/// Most files of one edit that are reported.
const FILES_MAX: usize = 20;

/// JSON pointers to a program's fields; of several the first that holds a text counts.
struct FieldPaths {
    session: &'static [&'static str],
    /// The project's folder first.
    folders: &'static [&'static str],
    answer: &'static [&'static str],
    command: &'static [&'static str],
}

/// Claude Code, Codex, Copilot and our own plugin for `OpenCode`, which writes as they do.
const CLAUDE_CODE: FieldPaths = FieldPaths {
    session: &["/session_id"],
    folders: &["/cwd"],
    answer: &["/last_assistant_message"],
    command: &["/tool_input/command"],
};

const CURSOR: FieldPaths = FieldPaths {
    session: &["/conversation_id", "/session_id"],
    folders: &["/workspace_roots/0", "/cwd"],
    answer: &["/text"],
    command: &["/tool_input/command", "/command"],
};

const GEMINI: FieldPaths = FieldPaths {
    answer: &["/prompt_response"],
    ..CLAUDE_CODE
};

const WINDSURF: FieldPaths = FieldPaths {
    session: &["/trajectory_id"],
    folders: &["/tool_info/cwd"],
    answer: &["/tool_info/response"],
    command: &["/tool_info/command_line"],
};

/// Returns the words at the first place that has some: a text, or what the parts of a message say,
/// each on its own line. Other parts, such as a picture, say nothing.
fn first_words(input: &Value, places: &[&str]) -> String {
    let found = places.iter().filter_map(|place| input.pointer(place));
    let mut words = found.map(message_words);
    words.find(|words| !words.is_empty()).unwrap_or_default()
}

/// Returns the words of a message: a text, a list of parts, or an object that holds either.
fn message_words(message: &Value) -> String {
    match message {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts = parts.iter().map(message_words);
            parts
                .filter(|words| !words.is_empty())
                .collect::<Vec<_>>()
                .join("\n")
        }
        Value::Object(part) => {
            let held = part.get("text").or_else(|| part.get("content"));
            held.filter(|_| is_of_words(part))
                .map(message_words)
                .unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Returns whether a part of a message is said by somebody: `text`, `input_text` or `output_text`.
fn is_of_words(part: &Map<String, Value>) -> bool {
    let kind = part.get("type").and_then(Value::as_str);
    kind.is_none_or(|kind| kind.ends_with("text") || kind == "message")
}

fn texts_at<'a>(input: &'a Value, places: &[&str]) -> impl Iterator<Item = &'a str> {
    let found = places.iter().filter_map(|place| input.pointer(place));
    let found: Vec<&str> = found.filter_map(Value::as_str).collect();
    found.into_iter().filter(|text| !text.is_empty())
}

fn first_text<'a>(input: &'a Value, places: &[&str]) -> &'a str {
    texts_at(input, places).next().unwrap_or_default()
}

impl HookProgram {
    const fn field_paths(self) -> &'static FieldPaths {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Copilot | Self::Opencode => &CLAUDE_CODE,
            Self::Cursor => &CURSOR,
            Self::Gemini => &GEMINI,
            Self::Windsurf => &WINDSURF,
        }
    }

    /// Returns whether Cursor called a hook of Claude Code, which it does too: Cursor has its own
    /// hooks from us, and both together would report everything twice.
    pub(super) fn is_from_cursor(self, input: &Value) -> bool {
        self == Self::ClaudeCode && input["cursor_version"].is_string()
    }

    pub(super) fn session_id(self, input: &Value) -> &str {
        first_text(input, self.field_paths().session)
    }

    pub(super) fn folders(self, input: &Value) -> Vec<&str> {
        texts_at(input, self.field_paths().folders).collect()
    }

    pub(super) fn command(self, input: &Value) -> &str {
        first_text(input, self.field_paths().command)
    }

    /// Returns whether an answer was completed, interrupted or failed; only Cursor reports that.
    pub(super) fn completion_status(self, input: &Value) -> Option<bool> {
        let status = input["status"].as_str().filter(|_| self == Self::Cursor)?;
        Some(status == "completed")
    }

    /// Returns the agent's last answer from the event, else from the transcript: Copilot and older
    /// versions of Claude Code have it only there.
    pub(super) fn last_answer_text(self, input: &Value) -> String {
        let words = first_words(input, self.field_paths().answer);
        if words.is_empty() && matches!(self, Self::ClaudeCode | Self::Copilot) {
            let path = first_text(input, &["/transcript_path"]);
            return read_last_answer(Path::new(path)).unwrap_or_default();
        }
        words
    }
}

/// Lists the files that a tool has changed: the one that it names, or those of a patch.
pub(super) fn edited_files(input: &Value) -> Vec<String> {
    // Copilot's tools that write.
    let written = match input["tool_name"].as_str() {
        Some("edit" | "create") => "/tool_input/path",
        _ => "/tool_input/file_path",
    };
    let places = [
        "/tool_input/file_path",
        "/tool_input/filePath",
        "/tool_input/notebook_path",
        "/file_path",
        "/tool_info/file_path",
        written,
    ];
    let named = texts_at(input, &places);
    let mut files: Vec<String> = named.map(str::to_owned).collect();
    let patch = first_text(
        input,
        &[
            "/tool_input/command",
            "/tool_input/input",
            "/tool_input/patch",
        ],
    );
    if patch.contains("*** Begin Patch") {
        let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
        let named = patch
            .lines()
            .filter_map(|line| heads.iter().find_map(|head| line.strip_prefix(head)));
        files.extend(named.map(|file| file.trim().to_owned()));
    }
    files.dedup();
    files.truncate(FILES_MAX);
    files
}

/// Returns the user's prompt.
pub(super) fn prompt(input: &Value) -> String {
    first_words(input, &["/prompt", "/tool_info/user_prompt"])
}

/// Reads the agent's last answer from a transcript of JSON lines.
pub(super) fn read_last_answer(path: &Path) -> Option<String> {
    let mut file = reprise_files::open_if_exists(path).ok()??;
    let length = file.metadata().ok()?.len();
    let from = length.saturating_sub(TRANSCRIPT_TAIL);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut tail = Vec::new();
    file.take(TRANSCRIPT_TAIL).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    tail.lines().rev().find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        if line["type"] == "assistant.message" {
            let text = line["data"]["content"].as_str()?;
            return (!text.trim().is_empty()).then(|| text.to_owned());
        }
        if line["type"] != "assistant" {
            return None;
        }
        let text = message_words(&line["message"]["content"]);
        (!text.trim().is_empty()).then_some(text)
    })
}
