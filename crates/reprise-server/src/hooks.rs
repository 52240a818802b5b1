//! What a hook of an agent's program sends: cleaned where it is read, before it leaves the process.
//!
//! Lives here: the moments of a session, what is reported of one and what is answered. What the
//! programs write and want to read is in `hooks/`. Must never live here: waiting, or a failure that
//! a person sees.

mod clean;
mod fields;
mod output;
mod program;
mod verdict;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use program::{HookProgram, Moment};

/// In a folder, or one above it: nothing there is remembered or recalled.
const IGNORE_FILE: &str = ".reprise-ignore";

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
    /// The agent has said something; its turn may go on.
    Answer,
    /// The agent has finished its answer.
    Stop,
    /// The conversation is about to be shortened.
    PreCompact,
    /// The session is over.
    SessionEnd,
}

impl HookEvent {
    /// Every moment with its name on the command line and its name in Claude Code, where a tool
    /// that has failed is a moment of its own; what that does not have is named as Cursor does.
    pub const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::SessionStart, "session-start", "SessionStart"),
        (Self::UserPrompt, "user-prompt", "UserPromptSubmit"),
        (Self::PostTool, "post-tool", "PostToolUse"),
        (Self::PostTool, "post-tool", "PostToolUseFailure"),
        (Self::Answer, "answer", "AfterAgentResponse"),
        (Self::Stop, "stop", "Stop"),
        (Self::PreCompact, "pre-compact", "PreCompact"),
        (Self::SessionEnd, "session-end", "SessionEnd"),
    ];

    /// Its name in an address.
    #[must_use]
    pub fn host_name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(event, ..)| *event == self);
        named.map_or("", |(_, _, host)| host)
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(event, ..)| *event == self);
        named.map_or("", |(_, own, _)| own)
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
    /// What the user, or the agent, said; of a command what failed in it, or what it committed.
    pub text: String,
    /// The command that ran, for a tool.
    pub command: String,
    /// Whether the command succeeded, or the answer was finished, where that can be told.
    pub succeeded: Option<bool>,
    /// Files that a tool has changed, from the project's folder on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// What a hook prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HookAnswer {
    /// For the prompt; empty for nothing.
    pub context: String,
}

impl HookReport {
    /// Reads what `program` wrote; `None` where nothing is to be done.
    #[must_use]
    pub fn of(program: HookProgram, event: HookEvent, input: &str) -> Option<Self> {
        let input: Value = serde_json::from_str(input).ok()?;
        if program.is_anothers(&input) {
            return None;
        }
        let folders = program.folders(&input);
        let unwanted = |folder: &&str| {
            let mut up = Path::new(folder).ancestors();
            up.any(|up| up.join(IGNORE_FILE).exists())
        };
        if folders.iter().any(unwanted) {
            return None;
        }
        let said = match event {
            HookEvent::UserPrompt => fields::prompt(&input).to_owned(),
            HookEvent::Answer | HookEvent::Stop | HookEvent::PreCompact | HookEvent::SessionEnd => {
                program.answer_of(&input)
            }
            HookEvent::SessionStart | HookEvent::PostTool => String::new(),
        };
        let folder = Path::new(folders.first().copied().unwrap_or_default());
        let mut report = Self {
            session: program.session(&input).to_owned(),
            project: project_of(folder),
            text: clean::clean(&said),
            ..Self::default()
        };
        match event {
            HookEvent::PostTool => report.read_tool(program, &input, folder),
            HookEvent::Stop => report.succeeded = program.finished(&input),
            _ => {}
        }
        Some(report)
    }

    /// What a tool did: a command and how it ended, or an edit.
    fn read_tool(&mut self, program: HookProgram, input: &Value, folder: &Path) {
        let edited = fields::edited(input).into_iter();
        let inside = |file: String| {
            let path = Path::new(&file);
            path.strip_prefix(root_of(folder))
                .map_or(file.clone(), |path| path.display().to_string())
        };
        self.files = edited.map(inside).collect();
        let command = program.command(input);
        if !self.files.is_empty() || command.is_empty() {
            return;
        }
        self.succeeded = verdict::verdict(program, command, input);
        let printed = verdict::printed(program, input);
        let said = match self.succeeded {
            Some(false) => output::failing(&printed),
            _ => output::committed(&printed),
        };
        self.text = clean::clean(&said);
        self.command = clean::clean(command);
    }
}

/// The folder that holds the repository, else the folder itself.
fn root_of(folder: &Path) -> &Path {
    let root = folder.ancestors().find(|up| up.join(".git").exists());
    root.unwrap_or(folder)
}

fn project_of(folder: &Path) -> String {
    let name = root_of(folder).file_name();
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
