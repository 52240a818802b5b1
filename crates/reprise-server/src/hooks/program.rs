//! The programs whose hooks we are: at which of their events we want to be called, and how each
//! wants its answer.
//!
//! Names and forms, as their documentation and their sources have them (they are cited in
//! `docs/guide/hooks.md`).

use reprise_operations::{HookAnswer, HookEvent};
use serde_json::json;

/// A program that runs agents and calls hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookProgram {
    /// Claude Code, and what speaks as it does.
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

/// An event of a program that we want to be called at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// What it is to us.
    pub event: HookEvent,
    /// Its name in the program.
    pub name: &'static str,
    /// Which of the program's tools it is wanted for.
    pub matcher: Option<&'static str>,
}

const fn at(event: HookEvent, name: &'static str) -> Moment {
    Moment {
        event,
        name,
        matcher: None,
    }
}

const fn shell(name: &'static str, matcher: &'static str) -> Moment {
    Moment {
        event: HookEvent::PostTool,
        name,
        matcher: Some(matcher),
    }
}

const CLAUDE_CODE: &[Moment] = &[
    at(HookEvent::SessionStart, "SessionStart"),
    at(HookEvent::UserPrompt, "UserPromptSubmit"),
    shell("PostToolUse", "Bash|Edit|MultiEdit|Write|NotebookEdit"),
    // A command that ends with another code than 0 has an event of its own.
    shell("PostToolUseFailure", "Bash"),
    at(HookEvent::Stop, "Stop"),
    at(HookEvent::PreCompact, "PreCompact"),
    at(HookEvent::SessionEnd, "SessionEnd"),
];

const CODEX: &[Moment] = &[
    at(HookEvent::SessionStart, "SessionStart"),
    at(HookEvent::UserPrompt, "UserPromptSubmit"),
    shell("PostToolUse", "^(Bash|apply_patch)$"),
    at(HookEvent::Stop, "Stop"),
    at(HookEvent::SessionEnd, "SessionEnd"),
];

/// Its `preCompact` brings no text, and `afterAgentResponse` has brought it before.
const CURSOR: &[Moment] = &[
    at(HookEvent::SessionStart, "sessionStart"),
    at(HookEvent::UserPrompt, "beforeSubmitPrompt"),
    shell("postToolUse", "Shell"),
    shell("postToolUseFailure", "Shell"),
    at(HookEvent::PostTool, "afterFileEdit"),
    at(HookEvent::Answer, "afterAgentResponse"),
    at(HookEvent::Stop, "stop"),
    at(HookEvent::SessionEnd, "sessionEnd"),
];

/// Its `PreCompress` is called before every call of the model and brings no text.
const GEMINI: &[Moment] = &[
    at(HookEvent::SessionStart, "SessionStart"),
    at(HookEvent::UserPrompt, "BeforeAgent"),
    shell("AfterTool", "run_shell_command|replace|write_file"),
    at(HookEvent::Stop, "AfterAgent"),
    at(HookEvent::SessionEnd, "SessionEnd"),
];

/// What our plugin file calls us at, by the names of our own command line.
const OPENCODE: &[Moment] = &[
    at(HookEvent::SessionStart, "session-start"),
    at(HookEvent::UserPrompt, "user-prompt"),
    at(HookEvent::PostTool, "post-tool"),
    at(HookEvent::Stop, "stop"),
    at(HookEvent::PreCompact, "pre-compact"),
];

/// By these names it sends what VS Code's extension does, which is near to what Claude Code does.
const COPILOT: &[Moment] = &[
    at(HookEvent::SessionStart, "SessionStart"),
    at(HookEvent::UserPrompt, "UserPromptSubmit"),
    at(HookEvent::PostTool, "PostToolUse"),
    at(HookEvent::PostTool, "PostToolUseFailure"),
    at(HookEvent::Stop, "Stop"),
    at(HookEvent::SessionEnd, "SessionEnd"),
];

/// It has no event for a session, and takes nothing into a prompt.
const WINDSURF: &[Moment] = &[
    at(HookEvent::UserPrompt, "pre_user_prompt"),
    at(HookEvent::PostTool, "post_run_command"),
    at(HookEvent::PostTool, "post_write_code"),
    at(HookEvent::Answer, "post_cascade_response"),
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

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(program, _)| *program == self);
        named.map_or("", |(_, name)| name)
    }

    /// The events that we want to be called at.
    #[must_use]
    pub const fn moments(self) -> &'static [Moment] {
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

    /// What is printed for the program; `None` for nothing, which every program takes for consent.
    #[must_use]
    pub fn answer(self, event: HookEvent, answer: &HookAnswer) -> Option<String> {
        let context = answer.context.as_str();
        let heard = match event {
            HookEvent::SessionStart | HookEvent::UserPrompt => true,
            // Of the others none takes anything then.
            HookEvent::PreCompact => self == Self::Opencode,
            _ => false,
        };
        if context.is_empty() || !heard {
            return None;
        }
        let moment = self.moments().iter().find(|moment| moment.event == event)?;
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
