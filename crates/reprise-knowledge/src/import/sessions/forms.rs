//! The session formats of all programs as tables: which lines are a person's, which the agent's,
//! and where in a line its words, its commands and their results are.

use serde_json::Value;

use super::super::ImportKind;
use crate::command_exit::CommandExit;

/// Who speaks in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Person,
    Agent,
    /// Nobody: it is a call of a tool or its result.
    Tool,
}

/// Rule for one type of line. Places are JSON pointers.
pub(super) struct LineRule {
    /// Pairs of a place and the text that it must hold.
    conditions: &'static [(&'static str, &'static str)],
    pub(super) speaker: Speaker,
    pub(super) id: &'static str,
    /// Places that hold a text, a block or a list of blocks.
    pub(super) blocks: &'static [&'static str],
    /// Place of the words if no block has any.
    pub(super) fallback: &'static str,
}

/// Format of the sessions of one program.
pub(super) struct SessionFormat {
    pub(super) session: &'static [&'static str],
    pub(super) cwd: &'static [&'static str],
    pub(super) at: &'static [&'static str],
    /// Places that must be empty or false for a line to be a turn.
    excluded_by: &'static [&'static str],
    lines: &'static [LineRule],
}

const fn person_line(
    when: &'static [(&'static str, &'static str)],
    id: &'static str,
    blocks: &'static [&'static str],
) -> LineRule {
    LineRule {
        conditions: when,
        speaker: Speaker::Person,
        id,
        blocks,
        fallback: "",
    }
}

const fn agent_line(
    when: &'static [(&'static str, &'static str)],
    id: &'static str,
    blocks: &'static [&'static str],
) -> LineRule {
    let speaker = Speaker::Agent;
    LineRule {
        speaker,
        ..person_line(when, id, blocks)
    }
}

const CONTENT: &[&str] = &["/message/content"];
const REPLY: LineRule = agent_line(&[("/type", "assistant")], "/message/id", CONTENT);

const CLAUDE_CODE_FORMAT: SessionFormat = SessionFormat {
    session: &["/sessionId"],
    cwd: &["/cwd"],
    at: &["/timestamp"],
    excluded_by: &[
        "/isMeta",
        "/isSidechain",
        "/isCompactSummary",
        "/isApiErrorMessage",
    ],
    lines: &[
        person_line(&[("/type", "user")], "/uuid", CONTENT),
        REPLY,
        person_line(
            &[
                ("/type", "attachment"),
                ("/attachment/type", "queued_command"),
            ],
            "/uuid",
            &["/attachment/prompt"],
        ),
    ],
};

/// Format of a helper of Claude Code, which has a file of its own.
pub(super) const HELPER: SessionFormat = SessionFormat {
    excluded_by: &["/isMeta", "/isCompactSummary", "/isApiErrorMessage"],
    lines: &[
        LineRule {
            speaker: Speaker::Tool,
            ..person_line(&[("/type", "user")], "/uuid", CONTENT)
        },
        REPLY,
    ],
    ..CLAUDE_CODE_FORMAT
};

const CODEX_REPLY: LineRule = agent_line(
    &[("/type", "response_item"), ("/payload/role", "assistant")],
    "/payload/id",
    &["/payload/content"],
);
const CODEX_CALL: LineRule = LineRule {
    speaker: Speaker::Tool,
    ..person_line(&[("/type", "response_item")], "/payload/id", &["/payload"])
};

const CODEX_FORMAT: SessionFormat = SessionFormat {
    session: &["/payload/session_id", "/payload/id"],
    cwd: &["/payload/cwd"],
    at: &["/timestamp"],
    excluded_by: &[],
    lines: &[
        person_line(
            &[("/type", "response_item"), ("/payload/role", "user")],
            "/payload/id",
            &["/payload/content"],
        ),
        CODEX_REPLY,
        CODEX_CALL,
    ],
};

/// Format of a rollout of a subagent of Codex, whose prompts come from its agent.
pub(super) const CODEX_SUBAGENT: SessionFormat = SessionFormat {
    lines: &[
        LineRule {
            speaker: Speaker::Tool,
            ..person_line(
                &[("/type", "response_item"), ("/payload/role", "user")],
                "/payload/id",
                &["/payload/content"],
            )
        },
        CODEX_REPLY,
        CODEX_CALL,
    ],
    ..CODEX_FORMAT
};

const GEMINI_REPLY: LineRule =
    agent_line(&[("/type", "gemini")], "/id", &["/content", "/toolCalls"]);

const GEMINI_FORMAT: SessionFormat = SessionFormat {
    session: &["/sessionId"],
    cwd: &[],
    at: &["/timestamp"],
    excluded_by: &[],
    lines: &[
        person_line(&[("/type", "user")], "/id", &["/content"]),
        GEMINI_REPLY,
    ],
};

/// Format of a session of a subagent of Gemini CLI, whose prompts come from its agent.
pub(super) const GEMINI_SUBAGENT: SessionFormat = SessionFormat {
    lines: &[
        LineRule {
            speaker: Speaker::Tool,
            ..person_line(&[("/type", "user")], "/id", &["/content"])
        },
        GEMINI_REPLY,
    ],
    ..GEMINI_FORMAT
};

/// Format of the rows of `OpenCode` and Cursor, which their readers build.
const ROWS_FORMAT: SessionFormat = SessionFormat {
    session: &["/session"],
    cwd: &["/cwd"],
    at: &["/at"],
    excluded_by: &["/block/synthetic", "/block/ignored"],
    lines: &[
        person_line(&[("/role", "user")], "/id", &["/block"]),
        agent_line(&[("/role", "assistant")], "/id", &["/block"]),
    ],
};

/// Format of the transcripts of Cursor's agents, whose lines have neither ids nor times.
pub(super) const CURSOR_TRANSCRIPT: SessionFormat = SessionFormat {
    session: &[],
    cwd: &[],
    at: &[],
    excluded_by: &[],
    lines: &[
        person_line(&[("/role", "user")], "/id", CONTENT),
        agent_line(&[("/role", "assistant")], "/id", CONTENT),
    ],
};

const COPILOT_FORMAT: SessionFormat = SessionFormat {
    session: &["/data/sessionId"],
    cwd: &["/data/context/cwd", "/data/cwd"],
    at: &["/timestamp"],
    excluded_by: &["/data/parentToolCallId"],
    lines: &[
        person_line(&[("/type", "user.message")], "/id", &["/data/content"]),
        agent_line(
            &[("/type", "assistant.message")],
            "/data/messageId",
            &["/data/content", "/data/toolRequests"],
        ),
        LineRule {
            speaker: Speaker::Tool,
            ..person_line(&[("/type", "tool.execution_complete")], "/id", &["/data"])
        },
    ],
};

/// Format of the lines that the reader of trajectories builds.
const TRAJECTORY_FORMAT: SessionFormat = SessionFormat {
    session: &[],
    cwd: &["/cwd"],
    at: &["/at"],
    excluded_by: &[],
    lines: &[
        person_line(&[("/role", "user")], "/id", &["/blocks"]),
        agent_line(&[("/role", "assistant")], "/id", &["/blocks"]),
    ],
};

const CHATGPT_FORMAT: SessionFormat = SessionFormat {
    session: &[],
    cwd: &[],
    at: &["/create_time"],
    excluded_by: &["/metadata/is_visually_hidden_from_conversation"],
    lines: &[
        person_line(
            &[("/author/role", "user"), ("/content/content_type", "text")],
            "/id",
            &["/content/parts"],
        ),
        person_line(
            &[
                ("/author/role", "user"),
                ("/content/content_type", "multimodal_text"),
            ],
            "/id",
            &["/content/parts"],
        ),
        agent_line(
            &[
                ("/author/role", "assistant"),
                ("/content/content_type", "text"),
            ],
            "/id",
            &["/content/parts"],
        ),
    ],
};

const CLAUDE_AI_FORMAT: SessionFormat = SessionFormat {
    session: &[],
    cwd: &[],
    at: &["/created_at"],
    excluded_by: &[],
    lines: &[
        LineRule {
            fallback: "/text",
            ..person_line(
                &[("/sender", "human")],
                "/uuid",
                &["/content", "/attachments"],
            )
        },
        LineRule {
            fallback: "/text",
            ..agent_line(&[("/sender", "assistant")], "/uuid", &["/content"])
        },
    ],
};

impl SessionFormat {
    pub(super) fn find_for_kind(kind: ImportKind) -> Option<&'static Self> {
        Some(match kind {
            ImportKind::ClaudeCode => &CLAUDE_CODE_FORMAT,
            ImportKind::Codex => &CODEX_FORMAT,
            ImportKind::Gemini => &GEMINI_FORMAT,
            ImportKind::Opencode | ImportKind::Cursor => &ROWS_FORMAT,
            ImportKind::Copilot => &COPILOT_FORMAT,
            ImportKind::Chatgpt => &CHATGPT_FORMAT,
            ImportKind::ClaudeAi => &CLAUDE_AI_FORMAT,
            ImportKind::Trajectory => &TRAJECTORY_FORMAT,
            _ => return None,
        })
    }

    /// Finds the rule of a line; `None` if it is no turn.
    pub(super) fn find_rule(&self, value: &Value) -> Option<&'static LineRule> {
        let stands = |place: &&str| {
            let found = value.pointer(place);
            found.is_some_and(|found| !found.is_null() && *found != Value::Bool(false))
        };
        if self.excluded_by.iter().any(stands) {
            return None;
        }
        let is_it = |line: &&LineRule| {
            let mut when = line.conditions.iter();
            when.all(|(place, word)| value.pointer(place).is_some_and(|found| found == word))
        };
        self.lines.iter().find(is_it)
    }
}

/// Rule for one type of block: how it is recognised, and the places of its parts.
struct BlockRule {
    /// The `type` of the block.
    type_name: &'static str,
    has_field: &'static str,
    words: &'static str,
    /// Places of the id that connects a call with its result.
    call: &'static [&'static str],
    tool: &'static str,
    input: &'static [&'static str],
    output: &'static [&'static str],
    code: &'static str,
    failed: &'static [&'static str],
}

const EMPTY_BLOCK: BlockRule = BlockRule {
    type_name: "",
    has_field: "",
    words: "",
    call: &[],
    tool: "",
    input: &[],
    output: &[],
    code: "",
    failed: &[],
};

const fn text_block(is: &'static str, words: &'static str) -> BlockRule {
    BlockRule {
        type_name: is,
        words,
        ..EMPTY_BLOCK
    }
}

const fn call_block(
    is: &'static str,
    call: &'static [&'static str],
    tool: &'static str,
    input: &'static [&'static str],
) -> BlockRule {
    BlockRule {
        type_name: is,
        call,
        tool,
        input,
        ..EMPTY_BLOCK
    }
}

const fn result_block(
    is: &'static str,
    call: &'static [&'static str],
    output: &'static [&'static str],
) -> BlockRule {
    BlockRule {
        type_name: is,
        call,
        output,
        ..EMPTY_BLOCK
    }
}

const BLOCKS: &[BlockRule] = &[
    text_block("text", "/text"),
    text_block("input_text", "/text"),
    text_block("output_text", "/text"),
    // Claude Code.
    call_block("tool_use", &["/id"], "/name", &["/input"]),
    BlockRule {
        failed: &["/is_error"],
        ..result_block("tool_result", &["/tool_use_id"], &["/content"])
    },
    // Codex.
    call_block("function_call", &["/call_id"], "/name", &["/arguments"]),
    call_block("custom_tool_call", &["/call_id"], "/name", &["/input"]),
    call_block("local_shell_call", &["/call_id"], "", &["/action"]),
    result_block("function_call_output", &["/call_id"], &["/output"]),
    result_block("custom_tool_call_output", &["/call_id"], &["/output"]),
    // `OpenCode`.
    BlockRule {
        type_name: "tool",
        call: &["/callID"],
        tool: "/tool",
        input: &["/state/input"],
        output: &["/state/output", "/state/error"],
        code: "/state/metadata/exit",
        failed: &["/state/error"],
        ..EMPTY_BLOCK
    },
    // Copilot CLI: a request, and what came of it.
    call_block("function", &["/toolCallId"], "/name", &["/arguments"]),
    BlockRule {
        has_field: "/toolCallId",
        call: &["/toolCallId"],
        tool: "/name",
        input: &["/arguments"],
        output: &["/result/content", "/error/message"],
        failed: &["/error"],
        ..EMPTY_BLOCK
    },
    // Gemini CLI, and a paste of claude.ai.
    BlockRule {
        has_field: "/args",
        call: &["/id"],
        tool: "/name",
        input: &["/args"],
        output: &["/result/0/functionResponse/response/output"],
        failed: &["/result/0/functionResponse/response/error"],
        ..EMPTY_BLOCK
    },
    BlockRule {
        has_field: "/extracted_content",
        words: "/extracted_content",
        ..EMPTY_BLOCK
    },
    BlockRule {
        has_field: "/text",
        words: "/text",
        ..EMPTY_BLOCK
    },
];

/// The words, call and result of a block.
#[derive(Debug, Default)]
pub(super) struct ParsedBlock {
    pub(super) words: Option<String>,
    pub(super) call: Option<String>,
    pub(super) command: Option<String>,
    pub(super) edited: Vec<String>,
    pub(super) ended: Option<CommandExit>,
}

/// Places of the command in the input of a call.
const COMMANDS: [&str; 3] = ["/command", "/cmd", "/script"];
const FILES: [&str; 6] = [
    "/file_path",
    "/filePath",
    "/path",
    "/notebook_path",
    "/absolute_path",
    "/target_file",
];
/// Names of the tools that change a file, in lower case without punctuation.
const EDITORS: [&str; 12] = [
    "write",
    "edit",
    "multiedit",
    "notebookedit",
    "writefile",
    "replace",
    "editfile",
    "create",
    "strreplace",
    "searchreplace",
    "patch",
    "applypatch",
];
/// Beginnings of the lines of a patch that name a changed file.
const PATCH_MARKS: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];

pub(super) fn parse_block(value: &Value) -> ParsedBlock {
    if let Some(words) = value.as_str() {
        return ParsedBlock {
            words: Some(words.to_owned()),
            ..ParsedBlock::default()
        };
    }
    // The thoughts of a model are not imported.
    if value["thought"] == true {
        return ParsedBlock::default();
    }
    let of_type = value["type"].as_str();
    let is_it = |block: &&BlockRule| match of_type {
        Some(named) if !block.type_name.is_empty() => block.type_name == named,
        None => !block.has_field.is_empty() && value.pointer(block.has_field).is_some(),
        Some(_) => false,
    };
    let Some(block) = BLOCKS.iter().find(is_it) else {
        return ParsedBlock::default();
    };
    let at = |places: &[&str]| places.iter().find_map(|place| value.pointer(place));
    let text = |place: &str| {
        value
            .pointer(place)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut parsed = ParsedBlock {
        words: text(block.words).filter(|_| !block.words.is_empty()),
        call: at(block.call).and_then(Value::as_str).map(str::to_owned),
        ..ParsedBlock::default()
    };
    if let Some(input) = at(block.input) {
        let tool = text(block.tool).unwrap_or_default();
        (parsed.command, parsed.edited) = parse_call(&tool, input);
    }
    let output = at(block.output);
    let failed = at(block.failed).filter(|failed| !failed.is_null());
    if output.is_some() || !block.failed.is_empty() && failed.is_some() {
        let (output, written) = parse_output(output.or(failed).unwrap_or(&Value::Null));
        let code = value.pointer(block.code).filter(|_| !block.code.is_empty());
        let went_well = failed.is_none_or(|failed| *failed == Value::Bool(false));
        let went_well = (!block.failed.is_empty()).then_some(went_well);
        let code = code.and_then(Value::as_i64).or(written);
        // A program that reports failures explicitly names the code of failures only.
        let assumed_code = (went_well == Some(true)).then_some(0);
        parsed.ended = Some(CommandExit::new(code, went_well, output, assumed_code));
    }
    parsed
}

/// Parses the command and the edited files of a call.
fn parse_call(tool: &str, input: &Value) -> (Option<String>, Vec<String>) {
    // Codex writes the arguments as a text of JSON, and a patch as itself.
    let parsed = input
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let input = parsed
        .as_ref()
        .filter(|parsed| parsed.is_object())
        .unwrap_or(input);
    let name: String = tool.chars().filter(char::is_ascii_alphanumeric).collect();
    let edits = EDITORS.contains(&name.to_ascii_lowercase().as_str());
    let mut edited = Vec::new();
    if edits {
        let named = FILES
            .iter()
            .filter_map(|place| input.pointer(place)?.as_str());
        edited.extend(named.take(1).map(str::to_owned));
    }
    let command = COMMANDS.iter().find_map(|place| input.pointer(place));
    let command = command.and_then(|command| match command {
        Value::String(command) => Some(command.clone()),
        // `["bash", "-lc", "cargo test"]`
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, flag, line] if flag.starts_with('-') && flag.ends_with('c') => {
                    Some((*line).to_owned())
                }
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    });
    let patch = input.as_str().or_else(|| input["input"].as_str());
    let patch = patch.or(command.as_deref());
    let patch = patch.filter(|patch| patch.contains("*** Begin Patch"));
    let is_patch = patch.is_some();
    for line in patch.into_iter().flat_map(str::lines) {
        let named = PATCH_MARKS.iter().find_map(|mark| line.strip_prefix(mark));
        edited.extend(named.map(str::to_owned));
    }
    (command.filter(|_| !is_patch), edited)
}

/// Parses the output of a call, and the exit code in it.
fn parse_output(output: &Value) -> (String, Option<i64>) {
    let parsed = output
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let output = parsed
        .as_ref()
        .filter(|parsed| parsed["output"].is_string())
        .unwrap_or(output);
    let code = output
        .pointer("/metadata/exit_code")
        .and_then(Value::as_i64);
    let text = match output {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other["output"].as_str().unwrap_or_default().to_owned(),
    };
    (text, code)
}
