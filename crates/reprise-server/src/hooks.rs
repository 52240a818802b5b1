//! Reading the input of a hook of an agent's program and removing private text before it leaves the
//! process.
//!
//! The formats of the programs are in `hooks/`. Nothing here waits or shows an error to a person.

mod fields;
mod program;
mod tool;
mod verdict;

use std::path::{Path, PathBuf};

use reprise_knowledge::{extract_commit_line, extract_failure_lines};
use reprise_operations::{HookEvent, HookReport};
use reprise_redact::remove_elements;
use reprise_types::{parse_first_object, remove_quoted_memory};
use serde_json::Value;

pub use program::{HookProgram, HookTrigger};
pub use tool::{HOOK_TOOL, HookCall, HookResponder};

/// A file that turns memory off for its folder and everything below it.
const IGNORE_FILE: &str = ".reprise-ignore";
/// Longest text that a hook sends, in bytes.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Elements that are removed from texts. Gemini CLI encloses what a hook had added to a prompt in
/// the second, with escaped brackets for the next hook; older versions of ours wrote the third.
const PRIVATE_ELEMENTS: [&str; 3] = ["private", "hook_context", "reprise-memory"];

impl HookProgram {
    /// Parses a program's JSON into a report without private text; `None` if there is nothing to
    /// send.
    #[must_use]
    pub fn parse_report(self, event: HookEvent, input: &str) -> Option<HookReport> {
        let (report, _) = self.parse_input(event, input)?;
        Some(report)
    }

    /// Parses a program's JSON into its report and the folder in which the program works.
    #[must_use]
    pub fn parse_input(
        self,
        event: HookEvent,
        input: &str,
    ) -> Option<(HookReport, Option<PathBuf>)> {
        let input = Value::Object(parse_first_object(input)?);
        if self.is_from_cursor(&input) {
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
        let text = match event {
            HookEvent::UserPrompt => fields::prompt(&input),
            HookEvent::Answer | HookEvent::Stop | HookEvent::PreCompact | HookEvent::SessionEnd => {
                self.last_answer_text(&input)
            }
            HookEvent::SessionStart | HookEvent::PostTool | HookEvent::StatusLine => String::new(),
        };
        let folder = Path::new(folders.first().copied().unwrap_or_default());
        let mut report = HookReport {
            session: self.session_id(&input).to_owned(),
            agent: self.name().to_owned(),
            project: project_name(folder),
            text: match event {
                HookEvent::UserPrompt => clean_prompt(&text),
                _ => clean_text(&text),
            },
            ..HookReport::default()
        };
        match event {
            HookEvent::PostTool => fill_tool_fields(&mut report, self, &input, folder),
            HookEvent::Stop => report.succeeded = self.completion_status(&input),
            _ => {}
        }
        Some((report, folders.first().map(PathBuf::from)))
    }
}

/// Fills in what a tool did: a command and how it ended, or the files that it edited.
fn fill_tool_fields(report: &mut HookReport, program: HookProgram, input: &Value, folder: &Path) {
    let edited = fields::edited_files(input).into_iter();
    let inside = |file: String| {
        let path = Path::new(&file);
        path.strip_prefix(repository_root(folder))
            .map_or(file.clone(), |path| path.display().to_string())
    };
    report.files = edited.map(inside).collect();
    let command = program.command(input);
    if !report.files.is_empty() || command.is_empty() {
        return;
    }
    report.succeeded = verdict::judge_command(program, command, input);
    let printed = verdict::command_output(program, input);
    let text = match report.succeeded {
        Some(false) => extract_failure_lines(&printed),
        _ => extract_commit_line(&printed),
    };
    report.text = clean_text(&text);
    report.command = clean_text(command);
    report.printed = clean_text(&printed);
}

/// Removes private elements and quoted memories, and cuts the text to [`TEXT_BYTES_MAX`].
fn clean_text(text: &str) -> String {
    let text = remove_elements(&remove_quoted_memory(text), &PRIVATE_ELEMENTS);
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default().trim().to_owned()
}

/// Does the same with a prompt, and keeps its end as well: a question often follows a log.
fn clean_prompt(text: &str) -> String {
    let text = remove_elements(&remove_quoted_memory(text), &PRIVATE_ELEMENTS);
    let text = text.trim();
    let (head, rest) = text.split_at(text.floor_char_boundary(TEXT_BYTES_MAX));
    if rest.len() < TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let from = rest.ceil_char_boundary(rest.len() - (TEXT_BYTES_MAX - 1));
    [head, "\n", rest.get(from..).unwrap_or_default()].concat()
}

/// Returns the root of the repository around a folder, else the folder itself.
fn repository_root(folder: &Path) -> &Path {
    let root = folder.ancestors().find(|up| up.join(".git").exists());
    root.unwrap_or(folder)
}

fn project_name(folder: &Path) -> String {
    let name = repository_root(folder).file_name();
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
