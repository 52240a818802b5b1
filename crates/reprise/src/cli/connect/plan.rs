//! Which file of which program gets what.

use std::path::{Path, PathBuf};

use reprise_knowledge::ImportKind;
use reprise_server::HookProgram;
use serde_json::json;

use super::edit;
use super::entry::{Entry, SERVER};
use super::hooks::{self, HookForm};
use crate::args::HostProgram;

const SERVERS: [&str; 2] = ["mcpServers", SERVER];
const LOCAL_SERVERS: [&str; 2] = ["mcp", SERVER];

/// For a program's CLAUDE.md or AGENTS.md: what an agent that has our tools should do with them.
pub(super) const SNIPPET: &str = "\
- Before a task: `recall` from the memory server what is known about it.
- After it: tell `outcome` the recall_id, the ids that were of use, and how the task went.
- What took several tries, was unexpected or will be needed again: keep it with `learn`.";

/// What a configuration file gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// JSON with `mcpServers`.
    Servers,
    /// JSON with hooks.
    Hooks(HookForm),
    /// JSON with `mcp`, as `OpenCode` has it.
    OpenCode,
    /// Codex's TOML.
    Toml,
    /// A plugin of ours, which is a whole file.
    Plugin,
}

#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    forms: &'static [Form],
}

/// The files of a program, under this home directory.
pub(super) fn targets(program: HostProgram, home: &Path) -> Vec<Target> {
    let files: &[(&str, &'static [Form])] = match program {
        HostProgram::ClaudeCode => &[
            (".claude.json", &[Form::Servers]),
            (".claude/settings.json", &[Form::Hooks(hooks::CLAUDE_CODE)]),
        ],
        HostProgram::Codex => &[
            (".codex/config.toml", &[Form::Toml]),
            (".codex/hooks.json", &[Form::Hooks(hooks::CODEX)]),
        ],
        HostProgram::Cursor => &[
            (".cursor/mcp.json", &[Form::Servers]),
            (".cursor/hooks.json", &[Form::Hooks(hooks::CURSOR)]),
        ],
        HostProgram::Gemini => &[(
            ".gemini/settings.json",
            &[Form::Servers, Form::Hooks(hooks::GEMINI)],
        )],
        HostProgram::Opencode => &[
            (".config/opencode/opencode.json", &[Form::OpenCode]),
            (".config/opencode/plugins/reprise.js", &[Form::Plugin]),
        ],
        HostProgram::Generic => &[],
    };
    let files = files.iter().map(|(path, forms)| Target {
        path: home.join(path),
        forms,
    });
    files.collect()
}

/// What a program's history is read as.
pub(super) fn history(program: HostProgram) -> Option<ImportKind> {
    match program {
        HostProgram::ClaudeCode => Some(ImportKind::ClaudeCode),
        HostProgram::Codex => Some(ImportKind::Codex),
        HostProgram::Cursor => Some(ImportKind::Cursor),
        HostProgram::Gemini => Some(ImportKind::Gemini),
        HostProgram::Opencode => Some(ImportKind::Opencode),
        HostProgram::Generic => None,
    }
}

/// What is left for a person to do before a program calls us.
pub(super) const fn left_to_do(program: HostProgram) -> Option<&'static str> {
    match program {
        HostProgram::Codex => {
            Some("Codex runs new hooks once you have looked at them: type /hooks in it")
        }
        HostProgram::Cursor => Some("Cursor's command line reads hooks when it starts: restart it"),
        _ => None,
    }
}

/// What a program that we do not know may want.
pub(super) fn generic(entry: &Entry) -> String {
    let servers = json!({ "mcpServers": { SERVER: entry.server() } });
    let program = HookProgram::ClaudeCode;
    let hooks = program.moments().iter().map(|moment| {
        let command = entry.hook(program, moment.event.name());
        format!("# {}: {command}", moment.name)
    });
    let servers = serde_json::to_string_pretty(&servers).unwrap_or_default();
    format!("{servers}\n{}", hooks.collect::<Vec<_>>().join("\n"))
}

impl Target {
    /// Whether nobody else writes into the file.
    pub(super) fn is_ours(&self) -> bool {
        self.forms.contains(&Form::Plugin)
    }

    /// The file's text with us in it.
    pub(super) fn with(&self, text: &str, entry: &Entry) -> anyhow::Result<String> {
        let mut forms = self.forms.iter();
        forms.try_fold(text.to_owned(), |text, form| form.with(&text, entry))
    }

    /// A text without us, with the server that had made way for us.
    pub(super) fn given_back(&self, text: &str, copied: Option<&str>) -> anyhow::Result<String> {
        let mut forms = self.forms.iter();
        forms.try_fold(text.to_owned(), |text, form| {
            match (form.servers(), copied) {
                (Some(names), Some(copied)) => edit::given_back(&text, copied, names),
                _ => Ok(text),
            }
        })
    }

    /// The file's text without us.
    pub(super) fn without(&self, text: &str) -> anyhow::Result<String> {
        let mut forms = self.forms.iter();
        forms.try_fold(text.to_owned(), |text, form| form.without(&text))
    }
}

impl Form {
    /// Where a JSON file has a program's servers, and which is ours.
    const fn servers(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Servers => Some(SERVERS),
            Self::OpenCode => Some(LOCAL_SERVERS),
            Self::Hooks(_) | Self::Toml | Self::Plugin => None,
        }
    }

    fn with(self, text: &str, entry: &Entry) -> anyhow::Result<String> {
        match self {
            Self::Servers => edit::json(text, |file| {
                edit::set_server(file, SERVERS, entry.server(), entry)
            }),
            Self::OpenCode => edit::json(text, |file| {
                edit::set_server(file, LOCAL_SERVERS, entry.local_server(), entry)
            }),
            Self::Hooks(form) => edit::json(text, |file| hooks::add(file, form, entry)),
            Self::Toml => edit::toml_with(text, entry),
            Self::Plugin => edit::plugin_with(text, entry),
        }
    }

    fn without(self, text: &str) -> anyhow::Result<String> {
        match self {
            Self::Toml => Ok(edit::toml_without(text)),
            Self::Plugin => Ok(edit::plugin_without(text)),
            Self::Servers | Self::OpenCode => edit::json(text, |file| {
                if let Some(names) = self.servers() {
                    edit::remove_server(file, names);
                }
                Ok(())
            }),
            Self::Hooks(form) => edit::json(text, |file| {
                hooks::remove(file, form);
                Ok(())
            }),
        }
    }
}
