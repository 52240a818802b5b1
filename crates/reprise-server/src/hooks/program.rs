//! The programs that call our hooks: the events that trigger a hook, and the format of its answer.
//!
//! Names and formats are those of the programs' documentation and sources, which
//! `docs/guide/hooks.md` cites.

use reprise_operations::{HookAnswer, HookEvent};
use serde_json::json;

/// A program that runs agents and calls hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookProgram {
    /// Claude Code, and programs with the same hooks.
    ClaudeCode,
    Codex,
    /// Cursor, the editor and the command line.
    Cursor,
    Gemini,
    /// `OpenCode`, through our plugin file.
    Opencode,
    /// Copilot's command line, and VS Code, which reads the same files.
    Copilot,
    Windsurf,
}

/// An event of a program that calls our hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookTrigger {
    /// The event that we handle it as.
    pub event: HookEvent,
    /// The program's name of the event.
    pub name: &'static str,
    /// Pattern of the program's tools that trigger the hook; every tool if `None`.
    pub matcher: Option<&'static str>,
}

const fn trigger_on(event: HookEvent, name: &'static str) -> HookTrigger {
    HookTrigger {
        event,
        name,
        matcher: None,
    }
}

const fn trigger_on_tools(name: &'static str, matcher: &'static str) -> HookTrigger {
    HookTrigger {
        event: HookEvent::PostTool,
        name,
        matcher: Some(matcher),
    }
}

const CLAUDE_CODE: &[HookTrigger] = &[
    trigger_on(HookEvent::SessionStart, "SessionStart"),
    trigger_on(HookEvent::UserPrompt, "UserPromptSubmit"),
    trigger_on_tools("PostToolUse", "Bash|Edit|MultiEdit|Write|NotebookEdit"),
    // A command that ends with another code than 0 has an event of its own.
    trigger_on_tools("PostToolUseFailure", "Bash"),
    trigger_on(HookEvent::Stop, "Stop"),
    trigger_on(HookEvent::PreCompact, "PreCompact"),
    trigger_on(HookEvent::SessionEnd, "SessionEnd"),
];

const CODEX: &[HookTrigger] = &[
    trigger_on(HookEvent::SessionStart, "SessionStart"),
    trigger_on(HookEvent::UserPrompt, "UserPromptSubmit"),
    trigger_on_tools("PostToolUse", "^(Bash|apply_patch)$"),
    trigger_on(HookEvent::Stop, "Stop"),
    trigger_on(HookEvent::SessionEnd, "SessionEnd"),
];

/// Its `preCompact` brings no text, and `afterAgentResponse` has brought it before.
const CURSOR: &[HookTrigger] = &[
    trigger_on(HookEvent::SessionStart, "sessionStart"),
    trigger_on(HookEvent::UserPrompt, "beforeSubmitPrompt"),
    trigger_on_tools("postToolUse", "Shell"),
    trigger_on_tools("postToolUseFailure", "Shell"),
    trigger_on(HookEvent::PostTool, "afterFileEdit"),
    trigger_on(HookEvent::Answer, "afterAgentResponse"),
    trigger_on(HookEvent::Stop, "stop"),
    trigger_on(HookEvent::SessionEnd, "sessionEnd"),
];

/// Its `PreCompress` is called before every call of the model and brings no text.
const GEMINI: &[HookTrigger] = &[
    trigger_on(HookEvent::SessionStart, "SessionStart"),
    trigger_on(HookEvent::UserPrompt, "BeforeAgent"),
    trigger_on_tools("AfterTool", "run_shell_command|replace|write_file"),
    trigger_on(HookEvent::Stop, "AfterAgent"),
    trigger_on(HookEvent::SessionEnd, "SessionEnd"),
];

/// Our plugin file uses the event names of our own command line.
const OPENCODE: &[HookTrigger] = &[
    trigger_on(HookEvent::SessionStart, "session-start"),
    trigger_on(HookEvent::UserPrompt, "user-prompt"),
    trigger_on(HookEvent::PostTool, "post-tool"),
    trigger_on(HookEvent::Stop, "stop"),
    trigger_on(HookEvent::PreCompact, "pre-compact"),
];

/// By these names it sends what VS Code's extension does, which is near to what Claude Code does.
const COPILOT: &[HookTrigger] = &[
    trigger_on(HookEvent::SessionStart, "SessionStart"),
    trigger_on(HookEvent::UserPrompt, "UserPromptSubmit"),
    trigger_on(HookEvent::PostTool, "PostToolUse"),
    trigger_on(HookEvent::PostTool, "PostToolUseFailure"),
    trigger_on(HookEvent::Stop, "Stop"),
    trigger_on(HookEvent::SessionEnd, "SessionEnd"),
];

/// It has no event for a session, and takes nothing into a prompt.
const WINDSURF: &[HookTrigger] = &[
    trigger_on(HookEvent::UserPrompt, "pre_user_prompt"),
    trigger_on(HookEvent::PostTool, "post_run_command"),
    trigger_on(HookEvent::PostTool, "post_write_code"),
    trigger_on(HookEvent::Answer, "post_cascade_response"),
];

impl HookProgram {
    /// Every program with its name on the command line.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::ClaudeCode, "claude-code"),
        (Self::Codex, "codex"),
        (Self::Cursor, "cursor"),
        (Self::Gemini, "gemini"),
        (Self::Opencode, "opencode"),
        (Self::Copilot, "copilot"),
        (Self::Windsurf, "windsurf"),
    ];

    /// Returns the program's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(program, _)| *program == self);
        named.map_or("", |(_, name)| name)
    }

    /// Returns the events that call our hook.
    #[must_use]
    pub const fn triggers(self) -> &'static [HookTrigger] {
        match self {
            Self::ClaudeCode => CLAUDE_CODE,
            Self::Codex => CODEX,
            Self::Cursor => CURSOR,
            Self::Gemini => GEMINI,
            Self::Opencode => OPENCODE,
            Self::Copilot => COPILOT,
            Self::Windsurf => WINDSURF,
        }
    }

    /// Formats the answer that the hook prints; `None` prints nothing, which every program takes
    /// for consent.
    #[must_use]
    pub fn answer(self, event: HookEvent, answer: &HookAnswer) -> Option<String> {
        let context = answer.context.as_str();
        let is_read = match event {
            HookEvent::SessionStart | HookEvent::UserPrompt => true,
            // Of the others none takes anything then.
            HookEvent::PreCompact => self == Self::Opencode,
            _ => false,
        };
        if context.is_empty() || !is_read {
            return None;
        }
        let moment = self
            .triggers()
            .iter()
            .find(|moment| moment.event == event)?;
        let output = match self {
            Self::ClaudeCode | Self::Codex | Self::Gemini => json!({ "hookSpecificOutput": {
                "hookEventName": moment.name,
                "additionalContext": context,
            } }),
            Self::Cursor if event == HookEvent::UserPrompt => {
                json!({ "continue": true, "additional_context": context })
            }
            Self::Cursor => json!({ "additional_context": context }),
            // The extension reads the one, the command line the other.
            Self::Copilot => json!({
                "hookSpecificOutput": {
                    "hookEventName": moment.name,
                    "additionalContext": context,
                },
                "additionalContext": context,
            }),
            Self::Opencode => return Some(context.to_owned()),
            Self::Windsurf => return None,
        };
        Some(output.to_string())
    }
}

impl std::str::FromStr for HookProgram {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.iter().find(|(_, name)| text == *name);
        named.map(|(program, _)| *program).ok_or_else(|| {
            let names = Self::ALL.map(|(_, name)| name);
            format!("the programs are {}", names.join(", "))
        })
    }
}
