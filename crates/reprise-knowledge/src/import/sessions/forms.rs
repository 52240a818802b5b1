//! How each program writes a session, as a table: which lines are of a person, which of the agent,
//! and where in a line its words, its commands and their ends stand.

use serde_json::Value;

use super::super::ImportKind;
use crate::ended::Ended;

/// Who speaks in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Person,
    Agent,
    /// Nobody: it is a call of a tool or its end.
    Tool,
}

/// Lines of one sort. Places are JSON pointers.
pub(super) struct Line {
    /// What has to stand where.
    when: &'static [(&'static str, &'static str)],
    pub(super) speaker: Speaker,
    pub(super) id: &'static str,
    /// A text, a block or a list of blocks each.
    pub(super) blocks: &'static [&'static str],
    /// The words where no block has any.
    pub(super) instead: &'static str,
}

/// The lines of one program.
pub(super) struct Form {
    pub(super) session: &'static [&'static str],
    pub(super) cwd: &'static [&'static str],
    pub(super) at: &'static [&'static str],
    /// Where something stands, a line is no turn.
    not: &'static [&'static str],
    lines: &'static [Line],
}

const fn person(
    when: &'static [(&'static str, &'static str)],
    id: &'static str,
    blocks: &'static [&'static str],
) -> Line {
    Line {
        when,
        speaker: Speaker::Person,
        id,
        blocks,
        instead: "",
    }
}

const fn agent(
    when: &'static [(&'static str, &'static str)],
    id: &'static str,
    blocks: &'static [&'static str],
) -> Line {
    let speaker = Speaker::Agent;
    Line {
        speaker,
        ..person(when, id, blocks)
    }
}

const CONTENT: &[&str] = &["/message/content"];
const REPLY: Line = agent(&[("/type", "assistant")], "/message/id", CONTENT);

const CLAUDE_CODE: Form = Form {
    session: &["/sessionId"],
    cwd: &["/cwd"],
    at: &["/timestamp"],
    not: &[
        "/isMeta",
        "/isSidechain",
        "/isCompactSummary",
        "/isApiErrorMessage",
    ],
    lines: &[
        person(&[("/type", "user")], "/uuid", CONTENT),
        REPLY,
        person(
            &[
                ("/type", "attachment"),
                ("/attachment/type", "queued_command"),
            ],
            "/uuid",
            &["/attachment/prompt"],
        ),
    ],
};

/// A helper of Claude Code, in a file of its own.
pub(super) const HELPER: Form = Form {
    not: &["/isMeta", "/isCompactSummary", "/isApiErrorMessage"],
    lines: &[
        Line {
            speaker: Speaker::Tool,
            ..person(&[("/type", "user")], "/uuid", CONTENT)
        },
        REPLY,
    ],
    ..CLAUDE_CODE
};

const CODEX: Form = Form {
    session: &["/payload/session_id", "/payload/id"],
    cwd: &["/payload/cwd"],
    at: &["/timestamp"],
    not: &[],
    lines: &[
        person(
            &[("/type", "response_item"), ("/payload/role", "user")],
            "/payload/id",
            &["/payload/content"],
        ),
        agent(
            &[("/type", "response_item"), ("/payload/role", "assistant")],
            "/payload/id",
            &["/payload/content"],
        ),
        Line {
            speaker: Speaker::Tool,
            ..person(&[("/type", "response_item")], "/payload/id", &["/payload"])
        },
    ],
};

const GEMINI: Form = Form {
    session: &["/sessionId"],
    cwd: &[],
    at: &["/timestamp"],
    not: &[],
    lines: &[
        person(&[("/type", "user")], "/id", &["/content"]),
        agent(&[("/type", "gemini")], "/id", &["/content", "/toolCalls"]),
    ],
};

/// Rows of `OpenCode`'s and Cursor's stores, put together by their readers.
const ROWS: Form = Form {
    session: &["/session"],
    cwd: &["/cwd"],
    at: &["/at"],
    not: &["/block/synthetic", "/block/ignored"],
    lines: &[
        person(&[("/role", "user")], "/id", &["/block"]),
        agent(&[("/role", "assistant")], "/id", &["/block"]),
    ],
};

const CHATGPT: Form = Form {
    session: &[],
    cwd: &[],
    at: &["/create_time"],
    not: &["/metadata/is_visually_hidden_from_conversation"],
    lines: &[
        person(
            &[("/author/role", "user"), ("/content/content_type", "text")],
            "/id",
            &["/content/parts"],
        ),
        person(
            &[
                ("/author/role", "user"),
                ("/content/content_type", "multimodal_text"),
            ],
            "/id",
            &["/content/parts"],
        ),
        agent(
            &[
                ("/author/role", "assistant"),
                ("/content/content_type", "text"),
            ],
            "/id",
            &["/content/parts"],
        ),
    ],
};

const CLAUDE_AI: Form = Form {
    session: &[],
    cwd: &[],
    at: &["/created_at"],
    not: &[],
    lines: &[
        Line {
            instead: "/text",
            ..person(
                &[("/sender", "human")],
                "/uuid",
                &["/content", "/attachments"],
            )
        },
        Line {
            instead: "/text",
            ..agent(&[("/sender", "assistant")], "/uuid", &["/content"])
        },
    ],
};

impl Form {
    pub(super) fn of(kind: ImportKind) -> Option<&'static Self> {
        Some(match kind {
            ImportKind::ClaudeCode => &CLAUDE_CODE,
            ImportKind::Codex => &CODEX,
            ImportKind::Gemini => &GEMINI,
            ImportKind::Opencode | ImportKind::Cursor => &ROWS,
            ImportKind::Chatgpt => &CHATGPT,
            ImportKind::ClaudeAi => &CLAUDE_AI,
            _ => return None,
        })
    }

    /// The sort of a line; `None` for what is no turn.
    pub(super) fn line(&self, value: &Value) -> Option<&'static Line> {
        let stands = |place: &&str| {
            let found = value.pointer(place);
            found.is_some_and(|found| !found.is_null() && *found != Value::Bool(false))
        };
        if self.not.iter().any(stands) {
            return None;
        }
        let is_it = |line: &&Line| {
            let mut when = line.when.iter();
            when.all(|(place, word)| value.pointer(place).is_some_and(|found| found == word))
        };
        self.lines.iter().find(is_it)
    }
}

/// A block of a line: what it calls itself, and where its parts stand.
struct Block {
    /// Its `type`; of those without one what they have.
    is: &'static str,
    has: &'static str,
    words: &'static str,
    /// Ties a call to its end.
    call: &'static [&'static str],
    tool: &'static str,
    input: &'static [&'static str],
    output: &'static [&'static str],
    code: &'static str,
    failed: &'static [&'static str],
}

const NOTHING: Block = Block {
    is: "",
    has: "",
    words: "",
    call: &[],
    tool: "",
    input: &[],
    output: &[],
    code: "",
    failed: &[],
};

const fn said(is: &'static str, words: &'static str) -> Block {
    Block {
        is,
        words,
        ..NOTHING
    }
}

const fn calls(
    is: &'static str,
    call: &'static [&'static str],
    tool: &'static str,
    input: &'static [&'static str],
) -> Block {
    Block {
        is,
        call,
        tool,
        input,
        ..NOTHING
    }
}

const fn ends(
    is: &'static str,
    call: &'static [&'static str],
    output: &'static [&'static str],
) -> Block {
    Block {
        is,
        call,
        output,
        ..NOTHING
    }
}

const BLOCKS: &[Block] = &[
    said("text", "/text"),
    said("input_text", "/text"),
    said("output_text", "/text"),
    // Claude Code.
    calls("tool_use", &["/id"], "/name", &["/input"]),
    Block {
        failed: &["/is_error"],
        ..ends("tool_result", &["/tool_use_id"], &["/content"])
    },
    // Codex.
    calls("function_call", &["/call_id"], "/name", &["/arguments"]),
    calls("custom_tool_call", &["/call_id"], "/name", &["/input"]),
    calls("local_shell_call", &["/call_id"], "", &["/action"]),
    ends("function_call_output", &["/call_id"], &["/output"]),
    ends("custom_tool_call_output", &["/call_id"], &["/output"]),
    // `OpenCode`.
    Block {
        is: "tool",
        call: &["/callID"],
        tool: "/tool",
        input: &["/state/input"],
        output: &["/state/output", "/state/error"],
        code: "/state/metadata/exit",
        failed: &["/state/error"],
        ..NOTHING
    },
    // Gemini CLI, and a paste of claude.ai.
    Block {
        has: "/args",
        call: &["/id"],
        tool: "/name",
        input: &["/args"],
        output: &["/result/0/functionResponse/response/output"],
        failed: &["/result/0/functionResponse/response/error"],
        ..NOTHING
    },
    Block {
        has: "/extracted_content",
        words: "/extracted_content",
        ..NOTHING
    },
    Block {
        has: "/text",
        words: "/text",
        ..NOTHING
    },
];

/// What a block says or does.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) words: Option<String>,
    pub(super) call: Option<String>,
    pub(super) command: Option<String>,
    pub(super) edited: Vec<String>,
    pub(super) ended: Option<Ended>,
}

/// Where an input names a command, and where a file.
const COMMANDS: [&str; 3] = ["/command", "/cmd", "/script"];
const FILES: [&str; 6] = [
    "/file_path",
    "/filePath",
    "/path",
    "/notebook_path",
    "/absolute_path",
    "/target_file",
];
/// What the tools that change a file are called, without case and marks.
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
/// How a patch names the files that it changes.
const PATCHED: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];

pub(super) fn told(value: &Value) -> Told {
    if let Some(words) = value.as_str() {
        return Told {
            words: Some(words.to_owned()),
            ..Told::default()
        };
    }
    // A model's thoughts are nobody's words.
    if value["thought"] == true {
        return Told::default();
    }
    let of_type = value["type"].as_str();
    let is_it = |block: &&Block| match of_type {
        Some(named) if !block.is.is_empty() => block.is == named,
        None => !block.has.is_empty() && value.pointer(block.has).is_some(),
        Some(_) => false,
    };
    let Some(block) = BLOCKS.iter().find(is_it) else {
        return Told::default();
    };
    let at = |places: &[&str]| places.iter().find_map(|place| value.pointer(place));
    let text = |place: &str| {
        value
            .pointer(place)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut told = Told {
        words: text(block.words).filter(|_| !block.words.is_empty()),
        call: at(block.call).and_then(Value::as_str).map(str::to_owned),
        ..Told::default()
    };
    if let Some(input) = at(block.input) {
        let tool = text(block.tool).unwrap_or_default();
        (told.command, told.edited) = called(&tool, input);
    }
    let output = at(block.output);
    let failed = at(block.failed).filter(|failed| !failed.is_null());
    if output.is_some() || !block.failed.is_empty() && failed.is_some() {
        let (output, written) = printed(output.or(failed).unwrap_or(&Value::Null));
        let code = value.pointer(block.code).filter(|_| !block.code.is_empty());
        let went_well = failed.is_none_or(|failed| *failed == Value::Bool(false));
        let went_well = (!block.failed.is_empty()).then_some(went_well);
        let code = code.and_then(Value::as_i64).or(written);
        // Who says of each end whether it failed says the code of those alone.
        let unsaid = (went_well == Some(true)).then_some(0);
        told.ended = Some(Ended::new(code, went_well, output, unsaid));
    }
    told
}

/// The command and the edited files of a call.
fn called(tool: &str, input: &Value) -> (Option<String>, Vec<String>) {
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
        let named = PATCHED.iter().find_map(|mark| line.strip_prefix(mark));
        edited.extend(named.map(str::to_owned));
    }
    (command.filter(|_| !is_patch), edited)
}

/// What a call printed, and the code that stands in it.
fn printed(output: &Value) -> (String, Option<i64>) {
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
