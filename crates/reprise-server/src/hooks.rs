//! What a hook of an agent's program sends: cleaned where it is read, before it leaves the process.
//!
//! What the programs write and want to read is in `hooks/`. Nothing here waits or fails where a
//! person would see it.

mod fields;
mod program;
mod verdict;

use std::path::{Path, PathBuf};

use reprise_knowledge::{committed, failing};
use reprise_operations::{HookEvent, HookReport};
use reprise_redact::without_elements;
use reprise_types::without_quoted;
use serde_json::Value;

pub use program::{HookProgram, Moment};

/// In a folder, or one above it: nothing there is remembered or recalled.
const IGNORE_FILE: &str = ".reprise-ignore";
/// Longest text that a hook hands on, in bytes.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Elements that are taken out. Gemini CLI encloses what a hook had added to a prompt, which it
/// shows to the next hook with its brackets escaped; the last is what older versions of ours wrote.
const TAKEN_OUT: [&str; 3] = ["private", "hook_context", "reprise-memory"];

impl HookProgram {
    /// The folder in which the program works, by what it wrote.
    #[must_use]
    pub fn folder(self, input: &str) -> Option<PathBuf> {
        let input: Value = serde_json::from_str(input).ok()?;
        self.folders(&input).first().map(PathBuf::from)
    }

    /// What the program wrote, cleaned; `None` where nothing is to be done.
    #[must_use]
    pub fn report(self, event: HookEvent, input: &str) -> Option<HookReport> {
        let input: Value = serde_json::from_str(input).ok()?;
        if self.is_anothers(&input) {
            return None;
        }
        let folders = self.folders(&input);
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
                self.answer_of(&input)
            }
            HookEvent::SessionStart | HookEvent::PostTool => String::new(),
        };
        let folder = Path::new(folders.first().copied().unwrap_or_default());
        let mut report = HookReport {
            session: self.session(&input).to_owned(),
            agent: self.name().to_owned(),
            project: project_of(folder),
            text: clean(&said),
            ..HookReport::default()
        };
        match event {
            HookEvent::PostTool => read_tool(&mut report, self, &input, folder),
            HookEvent::Stop => report.succeeded = self.finished(&input),
            _ => {}
        }
        Some(report)
    }
}

/// What a tool did: a command and how it ended, or an edit.
fn read_tool(report: &mut HookReport, program: HookProgram, input: &Value, folder: &Path) {
    let edited = fields::edited(input).into_iter();
    let inside = |file: String| {
        let path = Path::new(&file);
        path.strip_prefix(root_of(folder))
            .map_or(file.clone(), |path| path.display().to_string())
    };
    report.files = edited.map(inside).collect();
    let command = program.command(input);
    if !report.files.is_empty() || command.is_empty() {
        return;
    }
    report.succeeded = verdict::verdict(program, command, input);
    let printed = verdict::printed(program, input);
    let said = match report.succeeded {
        Some(false) => failing(&printed),
        _ => committed(&printed),
    };
    report.text = clean(&said);
    report.command = clean(command);
}

/// Without what is private and without what memory had put there; cut to the longest text.
fn clean(text: &str) -> String {
    let text = without_elements(&without_quoted(text), &TAKEN_OUT);
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default().trim().to_owned()
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
