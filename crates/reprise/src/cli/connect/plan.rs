//! Which file of which program gets what.

use clap::ValueEnum as _;
use reprise_knowledge::ImportKind;
use reprise_server::HookProgram;

use super::edit;
use super::entry::{self, Entry, HookForm, SERVER, ServerForm};
use crate::args::HostProgram;
use crate::cli::prelude::*;

const SERVERS: Form = Form::Servers("mcpServers", ServerForm::Plain);
/// The folder of VS Code's settings.
const VSCODE: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Code/User"
} else {
    ".config/Code/User"
};

/// For a program's CLAUDE.md or AGENTS.md: what an agent that has our tools should do with them.
pub(super) const SNIPPET: &str = "\
- Before a task: `recall` from the memory server what is known about it.
- After it: tell `outcome` the recall_id, the ids that were of use, and how the task went.
- What took several tries, was unexpected or will be needed again: keep it with `learn`.";

/// What a configuration file gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// JSON with servers, by the name of what holds them.
    Servers(&'static str, ServerForm),
    /// JSON with hooks.
    Hooks(HookForm),
    /// Codex's TOML.
    Toml,
    /// A plugin of ours, which is a whole file.
    Plugin,
    /// Markdown with what an agent is told; a file of our own begins with this.
    Rules(&'static str),
}

#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    forms: &'static [Form],
}

/// The files of a program, under this home directory.
pub(super) fn targets(program: HostProgram, home: &Path) -> Vec<Target> {
    use Form::{Hooks, Plugin, Rules, Servers, Toml};
    use ServerForm::{Copilot, OpenCode, Plain, Stdio};
    let files: &[(&str, &'static [Form])] = match program {
        HostProgram::ClaudeCode => &[
            (".claude.json", &[SERVERS]),
            (".claude/settings.json", &[Hooks(entry::CLAUDE_CODE)]),
        ],
        HostProgram::Codex => &[
            (".codex/config.toml", &[Toml]),
            (".codex/hooks.json", &[Hooks(entry::CODEX)]),
        ],
        HostProgram::Cursor => &[
            (".cursor/mcp.json", &[SERVERS]),
            (".cursor/hooks.json", &[Hooks(entry::CURSOR)]),
        ],
        HostProgram::Gemini => &[(".gemini/settings.json", &[SERVERS, Hooks(entry::GEMINI)])],
        HostProgram::Opencode => &[
            (
                ".config/opencode/opencode.json",
                &[Servers("mcp", OpenCode)],
            ),
            (".config/opencode/plugins/reprise.js", &[Plugin]),
        ],
        HostProgram::Vscode => &[
            ("VSCODE/mcp.json", &[Servers("servers", Stdio)]),
            (
                "VSCODE/prompts/reprise.instructions.md",
                &[Rules("---\napplyTo: \"**\"\n---\n")],
            ),
        ],
        HostProgram::CopilotCli => &[
            (
                ".copilot/mcp-config.json",
                &[Servers("mcpServers", Copilot)],
            ),
            (".copilot/hooks/reprise.json", &[Hooks(entry::COPILOT)]),
            (".copilot/copilot-instructions.md", &[Rules("")]),
        ],
        HostProgram::Windsurf => &[
            (".codeium/windsurf/mcp_config.json", &[SERVERS]),
            (".codeium/windsurf/hooks.json", &[Hooks(entry::WINDSURF)]),
            (".codeium/windsurf/memories/global_rules.md", &[Rules("")]),
        ],
        HostProgram::Zed => &[
            (
                ".config/zed/settings.json",
                &[Servers("context_servers", Plain)],
            ),
            (".config/zed/AGENTS.md", &[Rules("")]),
        ],
        HostProgram::Kiro => &[
            (".kiro/settings/mcp.json", &[SERVERS]),
            (
                ".kiro/steering/reprise.md",
                &[Rules("---\ninclusion: always\n---\n")],
            ),
        ],
        HostProgram::Generic => &[],
    };
    let files = files.iter().map(|(path, forms)| Target {
        path: home.join(path.replace("VSCODE", VSCODE)),
        forms,
    });
    files.collect()
}

/// Whether one of a program's files tells its agent of us.
pub(super) fn tells(program: HostProgram) -> bool {
    let mut targets = targets(program, Path::new("")).into_iter();
    targets.any(|target| {
        target
            .forms
            .iter()
            .any(|form| matches!(form, Form::Rules(_)))
    })
}

/// What a program's history is read as: by the program's own name.
pub(super) fn history(program: HostProgram) -> Option<ImportKind> {
    program.to_possible_value()?.get_name().parse().ok()
}

/// What is left for a person to do before a program calls us.
pub(super) const fn left_to_do(program: HostProgram) -> Option<&'static str> {
    match program {
        HostProgram::Codex => {
            Some("Codex runs new hooks once you have looked at them: type /hooks in it")
        }
        HostProgram::Cursor => Some("Cursor's command line reads hooks when it starts: restart it"),
        HostProgram::Vscode => Some(
            "VS Code keeps sessions by the hooks of Copilot's command line: `connect copilot-cli` \
             writes them",
        ),
        HostProgram::Windsurf => {
            Some("press Refresh in Cascade's list of MCP servers, and restart it for the hooks")
        }
        _ => None,
    }
}

/// What a program that we do not know may want.
pub(super) fn generic(entry: &Entry) -> String {
    let servers = json!({ "mcpServers": { SERVER: entry.server(ServerForm::Plain) } });
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
        forms.try_fold(text.to_owned(), |text, form| match (form, copied) {
            (Form::Servers(outer, _), Some(copied)) => {
                edit::given_back(&text, copied, [outer, SERVER])
            }
            _ => Ok(text),
        })
    }

    /// The file's text without us.
    pub(super) fn without(&self, text: &str) -> anyhow::Result<String> {
        let mut forms = self.forms.iter();
        forms.try_fold(text.to_owned(), |text, form| form.without(&text))
    }
}

impl Form {
    fn with(self, text: &str, entry: &Entry) -> anyhow::Result<String> {
        match self {
            Self::Servers(outer, form) => edit::json(text, |file| {
                edit::set_server(file, [outer, SERVER], entry.server(form), entry)
            }),
            Self::Hooks(form) => edit::json(text, |file| entry::add_hooks(file, form, entry)),
            Self::Toml => edit::toml_with(text, entry),
            Self::Plugin => edit::plugin_with(text, entry),
            Self::Rules(head) => Ok(edit::rules_with(text, head, SNIPPET)),
        }
    }

    fn without(self, text: &str) -> anyhow::Result<String> {
        match self {
            Self::Toml => Ok(edit::unmarked(text, edit::TOML)),
            Self::Plugin => Ok(edit::plugin_without(text)),
            Self::Rules(head) => Ok(edit::rules_without(text, head)),
            Self::Servers(outer, _) => edit::json(text, |file| {
                edit::remove_server(file, [outer, SERVER]);
                Ok(())
            }),
            Self::Hooks(form) => edit::json(text, |file| {
                entry::remove_hooks(file, form);
                Ok(())
            }),
        }
    }
}
