//! What a hook of an agent's program sends: cleaned where it is read, before it leaves the process.
//!
//! Lives here: reading the program's JSON, taking out what is private and what memory itself said,
//! where a project wants no memory. Must never live here: waiting, or a failure that a person sees.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Encloses what memory puts into a prompt, so that it is known again and never remembered.
pub(crate) const MEMORY_OPEN: &str = "<reprise-memory>";
pub(crate) const MEMORY_CLOSE: &str = "</reprise-memory>";
/// In a folder, or one above it: nothing there is remembered or recalled.
const IGNORE_FILE: &str = ".reprise-ignore";
/// Longest text that a hook hands on, in bytes.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// The end of a transcript that is looked at, in bytes.
const TRANSCRIPT_TAIL: u64 = 256 * 1024;

/// The moments of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// A session begins, or goes on after a compaction.
    SessionStart,
    /// The user has said something.
    UserPrompt,
    /// A tool has run.
    PostTool,
    /// The agent has finished its answer.
    Stop,
    /// The conversation is about to be shortened.
    PreCompact,
    /// The session is over.
    SessionEnd,
}

impl HookEvent {
    /// Every moment with its name on the command line and its name in Claude Code, where a tool that
    /// has failed is a moment of its own.
    pub const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::SessionStart, "session-start", "SessionStart"),
        (Self::UserPrompt, "user-prompt", "UserPromptSubmit"),
        (Self::PostTool, "post-tool", "PostToolUse"),
        (Self::PostTool, "post-tool", "PostToolUseFailure"),
        (Self::Stop, "stop", "Stop"),
        (Self::PreCompact, "pre-compact", "PreCompact"),
        (Self::SessionEnd, "session-end", "SessionEnd"),
    ];

    /// Its name in Claude Code.
    #[must_use]
    pub fn host_name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(event, ..)| *event == self);
        named.map_or("", |(_, _, host)| host)
    }
}

impl std::str::FromStr for HookEvent {
    type Err = String;

    /// Either name.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL
            .iter()
            .find(|(_, own, host)| text == *own || text == *host);
        named.map(|(event, ..)| *event).ok_or_else(|| {
            let mut names: Vec<&str> = Self::ALL.iter().map(|(_, own, _)| *own).collect();
            names.dedup();
            format!("the events are {}", names.join(", "))
        })
    }
}

/// What the daemon needs of an event, and nothing else of what the program said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HookReport {
    /// The program's session.
    pub session: String,
    /// The project's name: the folder that holds its repository.
    pub project: String,
    /// What the user, or the agent, said.
    pub text: String,
    /// The command that ran, for a tool.
    pub command: String,
    /// Whether it succeeded, where that can be told.
    pub succeeded: Option<bool>,
}

/// What a hook prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HookAnswer {
    /// For the prompt; empty for nothing.
    pub context: String,
}

impl HookReport {
    /// Reads what the program wrote; `None` where nothing is to be done.
    #[must_use]
    pub fn of(event: HookEvent, input: &str) -> Option<Self> {
        let input: Value = serde_json::from_str(input).ok()?;
        let text = |name: &str| input[name].as_str().unwrap_or_default();
        let folder = Path::new(text("cwd"));
        if folder.ancestors().any(|up| up.join(IGNORE_FILE).exists()) {
            return None;
        }
        let said = match event {
            HookEvent::UserPrompt => text("prompt").to_owned(),
            // The transcript may lag behind: what the program says itself goes first.
            HookEvent::Stop if !text("last_assistant_message").is_empty() => {
                text("last_assistant_message").to_owned()
            }
            HookEvent::Stop | HookEvent::PreCompact | HookEvent::SessionEnd => {
                last_answer(Path::new(text("transcript_path"))).unwrap_or_default()
            }
            HookEvent::SessionStart | HookEvent::PostTool => String::new(),
        };
        let command = input["tool_input"]["command"].as_str().unwrap_or_default();
        Some(Self {
            session: text("session_id").to_owned(),
            project: project_of(folder),
            text: clean(&said),
            command: clean(command),
            succeeded: match text("hook_event_name") {
                "PostToolUseFailure" => Some(false),
                _ => succeeded(&input["tool_response"]),
            },
        })
    }
}

/// The folder that holds the repository, else the folder itself.
fn project_of(folder: &Path) -> String {
    let root = folder.ancestors().find(|up| up.join(".git").exists());
    let name = root.unwrap_or(folder).file_name();
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Without what is private and without what memory had put there; cut to the longest text.
fn clean(text: &str) -> String {
    let text = without(text, "<private>", "</private>");
    let text = without(&text, MEMORY_OPEN, MEMORY_CLOSE);
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default().trim().to_owned()
}

/// Without every part from `open` to `close`; one that is never closed goes to the end.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, from)) = rest.split_once(open) {
        kept.push_str(before);
        // One within another: what stands between the first close and the last is private too.
        rest = match from.split_once(close) {
            Some((inside, after)) if !inside.contains(open) => after,
            Some(_) => from.rsplit_once(close).map_or("", |(_, after)| after),
            None => "",
        };
    }
    kept.push_str(rest);
    kept
}

/// Whether a tool's answer says that it went well; `None` where it does not say.
fn succeeded(response: &Value) -> Option<bool> {
    for name in ["exit_code", "exitCode", "code"] {
        if let Some(code) = response[name].as_i64() {
            return Some(code == 0);
        }
    }
    if let Some(error) = response["is_error"].as_bool() {
        return Some(!error);
    }
    if let Some(success) = response["success"].as_bool() {
        return Some(success);
    }
    let text = match response {
        Value::String(text) => text.clone(),
        response => {
            let part = |name: &str| response[name].as_str().unwrap_or_default();
            [part("stdout"), part("stderr")].concat()
        }
    };
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // What the common test runners print at their end.
    if says(&[
        "test result: FAILED",
        " failed,",
        " failed in ",
        "FAILED (",
        "--- FAIL",
        "npm ERR!",
    ]) {
        return Some(false);
    }
    if says(&[
        "test result: ok",
        " passed in ",
        "\nOK\n",
        "\nok  \t",
        "PASS\n",
    ]) {
        return Some(true);
    }
    None
}

/// The agent's last words in a transcript of JSON lines.
fn last_answer(path: &Path) -> Option<String> {
    let mut file = fs_err::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let from = length.saturating_sub(TRANSCRIPT_TAIL);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut tail = Vec::new();
    file.take(TRANSCRIPT_TAIL).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    tail.lines().rev().find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        if line["type"] != "assistant" {
            return None;
        }
        let parts = line["message"]["content"].as_array()?;
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        let text = texts.collect::<Vec<_>>().join("\n");
        (!text.trim().is_empty()).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            ("plain", "plain"),
        ] {
            assert_eq!(clean(text), expected, "{text}");
        }
        assert!(clean(&"\u{e9}".repeat(9_000)).len() <= TEXT_BYTES_MAX);
    }

    #[test]
    fn a_project_can_want_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("repo/src");
        fs_err::create_dir_all(inside.join("deep")).unwrap();
        fs_err::create_dir_all(folder.path().join("repo/.git")).unwrap();
        let input = json!({"session_id": "s", "cwd": inside, "prompt": "hello"}).to_string();
        let report = HookReport::of(HookEvent::UserPrompt, &input).unwrap();
        assert_eq!(
            (report.project.as_str(), report.text.as_str()),
            ("repo", "hello")
        );
        fs_err::write(folder.path().join("repo").join(IGNORE_FILE), "").unwrap();
        assert_eq!(HookReport::of(HookEvent::UserPrompt, &input), None);
        assert_eq!(HookReport::of(HookEvent::Stop, "not json"), None);
    }

    #[test]
    fn a_tool_says_how_it_went_in_many_ways() {
        for (response, expected) in [
            (json!({"exit_code": 0}), Some(true)),
            (json!({"exitCode": 101}), Some(false)),
            (json!({"is_error": true}), Some(false)),
            (
                json!({"stdout": "test result: ok. 3 passed; 0 failed;"}),
                Some(true),
            ),
            (
                json!({"stdout": "test result: FAILED. 3 passed; 1 failed;"}),
                Some(false),
            ),
            (json!("== 3 passed in 0.1s =="), Some(true)),
            (json!("1 failed, 2 passed in 0.1s"), Some(false)),
            (json!({"stdout": "hello"}), None),
            (Value::Null, None),
        ] {
            assert_eq!(succeeded(&response), expected, "{response}");
        }
    }

    #[test]
    fn a_tool_that_failed_and_a_last_answer_are_taken_as_the_program_tells_them() {
        let failed = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
            "tool_input": {"command": "npm test"}, "error": "Exit code 1"});
        let event: HookEvent = "PostToolUseFailure".parse().unwrap();
        let report = HookReport::of(event, &failed.to_string()).unwrap();
        assert_eq!(
            (event, report.succeeded),
            (HookEvent::PostTool, Some(false))
        );
        let stop = json!({"last_assistant_message": "done", "transcript_path": "/nowhere"});
        let report = HookReport::of(HookEvent::Stop, &stop.to_string()).unwrap();
        assert_eq!(report.text, "done");
    }

    #[test]
    fn the_last_words_of_a_transcript_are_the_agents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let lines = [
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "first"}]}}),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "fixed it"}]}}),
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "x"}]}}),
            json!({"type": "user", "message": {"content": "thanks"}}),
        ];
        let text = lines.map(|line| line.to_string()).join("\n");
        fs_err::write(&path, text).unwrap();
        assert_eq!(last_answer(&path).as_deref(), Some("fixed it"));
        assert_eq!(last_answer(&folder.path().join("none")), None);
    }
}
