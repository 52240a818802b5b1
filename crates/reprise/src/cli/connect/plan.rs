//! Which file of which program gets what.

use clap::ValueEnum as _;
use reprise_knowledge::ImportKind;
use reprise_server::HookProgram;

use super::edit;
use super::entry::{self, HookForm, ProgramEntry, SERVER, ServerForm};
use crate::args::HostProgram;
use crate::cli::prelude::*;

const SERVERS: SettingsPart = SettingsPart::Servers("mcpServers", ServerForm::Plain);
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

/// One part of our settings in a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingsPart {
    /// JSON with servers, and the name of the object that holds them.
    Servers(&'static str, ServerForm),
    /// JSON with hooks.
    Hooks(HookForm),
    /// Claude Code's line at the bottom of its window; somebody else's stays.
    StatusLine,
    /// Codex's TOML.
    Toml,
    /// Our plugin, which is a whole file.
    Plugin,
    /// Markdown with rules for agents; a new file begins with this text.
    Rules(&'static str),
}

#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    forms: &'static [SettingsPart],
}

/// Returns the files of a program under this home directory.
pub(super) fn targets(program: HostProgram, home: &Path) -> Vec<Target> {
    use ServerForm::{Copilot, OpenCode, Plain, Stdio};
    use SettingsPart::{Hooks, Plugin, Rules, Servers, StatusLine, Toml};
    let files: &[(&str, &'static [SettingsPart])] = match program {
        HostProgram::ClaudeCode => &[
            (".claude.json", &[SERVERS]),
            (
                ".claude/settings.json",
                &[Hooks(entry::CLAUDE_CODE), StatusLine],
            ),
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

/// Returns whether one of a program's files has rules for its agent.
pub(super) fn has_rules_file(program: HostProgram) -> bool {
    let mut targets = targets(program, Path::new("")).into_iter();
    targets.any(|target| {
        target
            .forms
            .iter()
            .any(|form| matches!(form, SettingsPart::Rules(_)))
    })
}

/// Returns a program's name for people.
pub(super) const fn label(program: HostProgram) -> &'static str {
    match program {
        HostProgram::ClaudeCode => "Claude Code",
        HostProgram::Codex => "Codex",
        HostProgram::Cursor => "Cursor",
        HostProgram::Gemini => "Gemini CLI",
        HostProgram::Opencode => "OpenCode",
        HostProgram::Vscode => "VS Code",
        HostProgram::CopilotCli => "Copilot CLI",
        HostProgram::Windsurf => "Windsurf",
        HostProgram::Zed => "Zed",
        HostProgram::Kiro => "Kiro",
        HostProgram::Generic => "another program",
    }
}

/// Returns whether a program is on this machine: it has left files, or is on the search path.
pub(super) fn is_on_machine(program: HostProgram, home: &Path) -> bool {
    let (files, names): (&[&str], &[&str]) = match program {
        HostProgram::ClaudeCode => (&[".claude", ".claude.json"], &["claude"]),
        HostProgram::Codex => (&[".codex"], &["codex"]),
        HostProgram::Cursor => (&[".cursor"], &["cursor", "cursor-agent"]),
        HostProgram::Gemini => (&[".gemini"], &["gemini"]),
        HostProgram::Opencode => (
            &[".config/opencode", ".local/share/opencode"],
            &["opencode"],
        ),
        HostProgram::Vscode => (&[VSCODE], &["code"]),
        HostProgram::CopilotCli => (&[".copilot"], &["copilot"]),
        HostProgram::Windsurf => (&[".codeium/windsurf"], &["windsurf"]),
        HostProgram::Zed => (&[".config/zed"], &["zed"]),
        HostProgram::Kiro => (&[".kiro"], &["kiro", "kiro-cli"]),
        HostProgram::Generic => (&[], &[]),
    };
    files.iter().any(|file| home.join(file).exists())
        || names
            .iter()
            .any(|name| crate::env::find_program(name).is_some())
}

/// Returns the import kind of a program's history.
pub(super) fn find_history_kind(program: HostProgram) -> Option<ImportKind> {
    program.to_possible_value()?.get_name().parse().ok()
}

/// Returns the step that a person has to do before a program calls us.
pub(super) const fn manual_step(program: HostProgram) -> Option<&'static str> {
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

/// Renders the settings for a program that we do not know.
pub(super) fn render_generic_setup(entry: &ProgramEntry) -> String {
    let servers = json!({ "mcpServers": { SERVER: entry.server_json(ServerForm::Plain) } });
    let program = HookProgram::ClaudeCode;
    let hooks = program.triggers().iter().map(|moment| {
        let command = entry.hook_command(program, moment.event.name());
        format!("# {}: {command}", moment.name)
    });
    let servers = serde_json::to_string_pretty(&servers).unwrap_or_default();
    format!("{servers}\n{}", hooks.collect::<Vec<_>>().join("\n"))
}

impl Target {
    /// Describes what we put into the file.
    pub(super) fn describe(&self) -> String {
        let parts: Vec<&str> = self.forms.iter().map(|form| form.label()).collect();
        parts.join(", ")
    }

    /// Returns whether the file's text has something of ours.
    pub(super) fn has_ours(&self, text: &str) -> bool {
        self.forms.iter().any(|form| form.is_in(text))
    }

    /// Returns whether the file's text has our hooks, or our plugin in their place.
    pub(super) fn has_hooks(&self, text: &str) -> bool {
        let mut forms = self.forms.iter();
        forms.any(|form| {
            matches!(form, SettingsPart::Hooks(_) | SettingsPart::Plugin) && form.is_in(text)
        })
    }

    /// Returns whether the file is ours alone.
    pub(super) fn is_ours(&self) -> bool {
        self.forms.contains(&SettingsPart::Plugin)
    }

    /// Returns the file's text with our settings.
    pub(super) fn with(&self, text: &str, entry: &ProgramEntry) -> anyhow::Result<String> {
        let mut forms = self.forms.iter();
        forms.try_fold(text.to_owned(), |text, form| form.with(&text, entry))
    }

    /// Returns the text with the server that ours had replaced, and without the version that the
    /// form of our hooks needed.
    pub(super) fn restore_replaced(
        &self,
        text: &str,
        copied: Option<&str>,
    ) -> anyhow::Result<String> {
        let mut forms = self.forms.iter();
        forms.try_fold(text.to_owned(), |text, form| match (form, copied) {
            (SettingsPart::Servers(outer, _), Some(copied)) => {
                edit::restore_server(&text, copied, [outer, SERVER])
            }
            (SettingsPart::Hooks(form), Some(copied)) => {
                let copied = edit::parse_json_object(copied).unwrap_or_default();
                edit::edit_json(&text, |file| {
                    entry::remove_added_version(file, *form, &copied);
                    Ok(())
                })
            }
            _ => Ok(text),
        })
    }

    /// Returns the file's text without our settings.
    pub(super) fn without(&self, text: &str) -> anyhow::Result<String> {
        let mut forms = self.forms.iter();
        forms.try_fold(text.to_owned(), |text, form| form.without(&text))
    }
}

impl SettingsPart {
    const fn label(self) -> &'static str {
        match self {
            Self::Servers(..) | Self::Toml => "the MCP server `memory`",
            Self::Hooks(_) => "hooks",
            Self::StatusLine => "a status line if there is none",
            Self::Plugin => "a plugin",
            Self::Rules(_) => "rules for its agent",
        }
    }

    fn with(self, text: &str, entry: &ProgramEntry) -> anyhow::Result<String> {
        match self {
            Self::Servers(outer, form) => edit::edit_json(text, |file| {
                edit::set_server(file, [outer, SERVER], entry.server_json(form), entry)
            }),
            Self::Hooks(form) => edit::edit_json(text, |file| entry::add_hooks(file, form, entry)),
            Self::StatusLine => edit::edit_json(text, |file| {
                entry::add_status_line(file, entry);
                Ok(())
            }),
            Self::Toml => edit::add_toml_server(text, entry),
            Self::Plugin => edit::build_plugin(text, entry),
            Self::Rules(head) => Ok(edit::add_rules(text, head, SNIPPET)),
        }
    }

    fn is_in(self, text: &str) -> bool {
        self.without(text).is_ok_and(|without| without != text)
    }

    fn without(self, text: &str) -> anyhow::Result<String> {
        match self {
            Self::Toml => Ok(edit::remove_marked_block(text, edit::TOML)),
            Self::Plugin => Ok(edit::remove_plugin(text)),
            Self::Rules(head) => Ok(edit::remove_rules(text, head)),
            Self::Servers(outer, _) => edit::edit_json(text, |file| {
                edit::remove_server(file, [outer, SERVER]);
                Ok(())
            }),
            Self::Hooks(form) => edit::edit_json(text, |file| {
                entry::remove_hooks(file, form);
                Ok(())
            }),
            Self::StatusLine => edit::edit_json(text, |file| {
                entry::remove_status_line(file);
                Ok(())
            }),
        }
    }
}
