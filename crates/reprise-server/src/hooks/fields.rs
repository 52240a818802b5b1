//! Where each program's JSON has what we need.
//!
//! Paths into it, and the end of a transcript.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::HookProgram;

/// The end of a transcript that is looked at, in bytes.
const TRANSCRIPT_TAIL: u64 = 256 * 1024;

/// Files of one edit that are reported.
const FILES_MAX: usize = 20;

/// Where a program has what; of several places the first that holds a text counts.
struct Places {
    session: &'static [&'static str],
    /// The project's folder first.
    folders: &'static [&'static str],
    answer: &'static [&'static str],
    command: &'static [&'static str],
}

/// Claude Code, Codex, Copilot and our own plugin for `OpenCode`, which writes as they do.
const CLAUDE_CODE: Places = Places {
    session: &["/session_id"],
    folders: &["/cwd"],
    answer: &["/last_assistant_message"],
    command: &["/tool_input/command"],
};

const CURSOR: Places = Places {
    session: &["/conversation_id", "/session_id"],
    folders: &["/workspace_roots/0", "/cwd"],
    answer: &["/text"],
    command: &["/tool_input/command", "/command"],
};

const GEMINI: Places = Places {
    answer: &["/prompt_response"],
    ..CLAUDE_CODE
};

const WINDSURF: Places = Places {
    session: &["/trajectory_id"],
    folders: &["/tool_info/cwd"],
    answer: &["/tool_info/response"],
    command: &["/tool_info/command_line"],
};

fn texts<'a>(input: &'a Value, places: &[&str]) -> impl Iterator<Item = &'a str> {
    let found = places.iter().filter_map(|place| input.pointer(place));
    let found: Vec<&str> = found.filter_map(Value::as_str).collect();
    found.into_iter().filter(|text| !text.is_empty())
}

fn first<'a>(input: &'a Value, places: &[&str]) -> &'a str {
    texts(input, places).next().unwrap_or_default()
}

impl HookProgram {
    const fn places(self) -> &'static Places {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Copilot | Self::Opencode => &CLAUDE_CODE,
            Self::Cursor => &CURSOR,
            Self::Gemini => &GEMINI,
            Self::Windsurf => &WINDSURF,
        }
    }

    /// Cursor runs the hooks of Claude Code too, in its own words: it has hooks of its own from
    /// us, and both together would say everything twice.
    pub(super) fn is_anothers(self, input: &Value) -> bool {
        self == Self::ClaudeCode && input["cursor_version"].is_string()
    }

    pub(super) fn session(self, input: &Value) -> &str {
        first(input, self.places().session)
    }

    pub(super) fn folders(self, input: &Value) -> Vec<&str> {
        texts(input, self.places().folders).collect()
    }

    pub(super) fn command(self, input: &Value) -> &str {
        first(input, self.places().command)
    }

    /// Whether an answer was finished: Cursor also says when it was broken off or failed.
    pub(super) fn finished(self, input: &Value) -> Option<bool> {
        let status = input["status"].as_str().filter(|_| self == Self::Cursor)?;
        Some(status == "completed")
    }

    /// The agent's last words: those in the event, else those in the transcript (which Copilot and
    /// older versions of Claude Code have nothing else but).
    pub(super) fn answer_of(self, input: &Value) -> String {
        match first(input, self.places().answer) {
            "" if matches!(self, Self::ClaudeCode | Self::Copilot) => {
                let path = first(input, &["/transcript_path"]);
                last_answer(Path::new(path)).unwrap_or_default()
            }
            said => said.to_owned(),
        }
    }
}

/// The files that a tool has changed: one that it names, or those of a patch.
pub(super) fn edited(input: &Value) -> Vec<String> {
    // Of Copilot's tools those that write.
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
    let named = texts(input, &places);
    let mut files: Vec<String> = named.map(str::to_owned).collect();
    let patch = first(
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

/// What the user said: the one thing that all of them name alike.
pub(super) fn prompt(input: &Value) -> &str {
    first(input, &["/prompt", "/tool_info/user_prompt"])
}

/// The agent's last words in a transcript of JSON lines.
pub(super) fn last_answer(path: &Path) -> Option<String> {
    let mut file = reprise_files::open_named(path).ok()??;
    let length = file.metadata().ok()?.len();
    let from = length.saturating_sub(TRANSCRIPT_TAIL);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut tail = Vec::new();
    file.take(TRANSCRIPT_TAIL).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    tail.lines().rev().find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        if line["type"] == "assistant.message" {
            let said = line["data"]["content"].as_str()?;
            return (!said.trim().is_empty()).then(|| said.to_owned());
        }
        if line["type"] != "assistant" {
            return None;
        }
        let parts = line["message"]["content"].as_array()?;
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        let text = texts.collect::<Vec<_>>().join("\n");
        (!text.trim().is_empty()).then_some(text)
    })
}
