//! Hooks that a program calls as a tool of our MCP server, which runs already: no process starts at
//! a prompt. The tool is in no list of tools, since no agent is to call it.

use reprise_operations::HookEvent;
use serde_json::{Map, Value};

use super::HookProgram;

/// Name of the tool.
pub const HOOK_TOOL: &str = "hook";

/// Names of the arguments that say which event it is, and whose if it is not Claude Code's.
const EVENT: &str = "event";
const PROGRAM: &str = "program";
/// Fields that Claude Code puts into a template as JSON text.
const JSON_FIELDS: [&str; 3] = ["tool_input", "tool_response", "is_interrupt"];

/// An event that a program has passed to the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    pub program: HookProgram,
    pub event: HookEvent,
    /// The JSON that a command of the same event would get.
    pub input: String,
}

/// What answers events that are passed to the tool.
#[async_trait::async_trait]
pub trait HookResponder: std::fmt::Debug + Send + Sync {
    /// Returns what a command of the same event would print.
    async fn respond(&self, call: HookCall) -> String;
}

impl HookProgram {
    /// Returns the arguments of the tool for an event, as a template that the program fills in;
    /// `None` if it needs a command: another program, or an event before its servers are connected
    /// or after they have ended. Codex fails a hook whose template names a field that is missing.
    #[must_use]
    pub fn tool_arguments(self, event: HookEvent) -> Option<Map<String, Value>> {
        let fields: &[&str] = match (self, event) {
            (Self::ClaudeCode | Self::Codex, HookEvent::UserPrompt) => &["prompt"],
            (Self::Codex, HookEvent::PostTool) => &["tool_name", "tool_input", "tool_response"],
            (Self::ClaudeCode, HookEvent::PostTool) => &[
                "tool_name",
                "tool_input",
                "tool_response",
                "error",
                "is_interrupt",
            ],
            (Self::ClaudeCode | Self::Codex, HookEvent::Stop) => {
                &["last_assistant_message", "transcript_path"]
            }
            _ => return None,
        };
        let common = ["session_id", "cwd", "hook_event_name"];
        let fields = common.iter().chain(fields);
        let template = fields.map(|name| ((*name).to_owned(), format!("${{{name}}}").into()));
        let event = (EVENT.to_owned(), event.name().into());
        let program = (self != Self::ClaudeCode).then_some((PROGRAM, self.name()));
        let program = program.map(|(name, value)| (name.to_owned(), value.into()));
        Some([event].into_iter().chain(program).chain(template).collect())
    }
}

impl HookCall {
    /// Reads the arguments of the tool; `None` if they name no event, or a program that is unknown.
    #[must_use]
    pub fn parse(mut arguments: Map<String, Value>) -> Option<Self> {
        let event = arguments.remove(EVENT)?;
        let program = match arguments.remove(PROGRAM) {
            Some(named) => named.as_str()?.parse().ok()?,
            None => HookProgram::ClaudeCode,
        };
        // A field that an event does not have is an empty text.
        arguments.retain(|_, value| value.as_str() != Some(""));
        let is_text = program == HookProgram::ClaudeCode;
        for name in JSON_FIELDS.iter().filter(|_| is_text) {
            let text = arguments.get(*name).and_then(Value::as_str);
            if let Some(value) = text.and_then(|text| serde_json::from_str(text).ok()) {
                arguments.insert((*name).to_owned(), value);
            }
        }
        Some(Self {
            program,
            event: event.as_str()?.parse().ok()?,
            input: Value::Object(arguments).to_string(),
        })
    }
}
