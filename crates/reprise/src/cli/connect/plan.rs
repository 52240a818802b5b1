//! Which file of which program gets what.

use std::path::{Path, PathBuf};

use reprise_server::HookEvent;
use serde_json::{Value, json};

use super::edit;
use crate::args::HostProgram;

/// Our name among a program's MCP servers. It prefixes the tools: `memory.recall` reads well.
pub(super) const SERVER: &str = "memory";

/// How we are called.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) program: String,
    pub(super) data: String,
    pub(super) user: String,
}

impl Entry {
    pub(super) fn arguments(&self) -> [&str; 5] {
        ["--data-dir", &self.data, "mcp", "--user", &self.user]
    }

    /// The command of a hook, for a shell.
    pub(super) fn hook(&self, event: &str) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let (program, data) = (quoted(&self.program), quoted(&self.data));
        let user = quoted(&self.user);
        format!("{program} --data-dir {data} hook {event} --user {user}")
    }

    fn server(&self) -> Value {
        json!({ "command": self.program, "args": self.arguments() })
    }
}

/// The form of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// JSON with `mcpServers`.
    Servers,
    /// JSON with Claude Code's `hooks`.
    Hooks,
    /// JSON with `mcp`, as `OpenCode` has it.
    OpenCode,
    /// Codex's TOML.
    Toml,
}

/// One file to change.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    form: Form,
}

/// The files of a program, under this home directory.
pub(super) fn targets(program: HostProgram, home: &Path) -> Vec<Target> {
    let files: &[(&str, Form)] = match program {
        HostProgram::ClaudeCode => &[
            (".claude.json", Form::Servers),
            (".claude/settings.json", Form::Hooks),
        ],
        HostProgram::Codex => &[(".codex/config.toml", Form::Toml)],
        HostProgram::Cursor => &[(".cursor/mcp.json", Form::Servers)],
        HostProgram::Gemini => &[(".gemini/settings.json", Form::Servers)],
        HostProgram::Opencode => &[(".config/opencode/opencode.json", Form::OpenCode)],
        HostProgram::Generic => &[],
    };
    let files = files.iter().map(|(path, form)| Target {
        path: home.join(path),
        form: *form,
    });
    files.collect()
}

/// What a program that we do not know may want.
pub(super) fn generic(entry: &Entry) -> String {
    let servers = json!({ "mcpServers": { SERVER: entry.server() } });
    let hooks = HookEvent::ALL.map(|(_, own, host)| format!("# {host}: {}", entry.hook(own)));
    let servers = serde_json::to_string_pretty(&servers).unwrap_or_default();
    format!("{servers}\n{}", hooks.join("\n"))
}

impl Target {
    /// The file's text with us in it.
    pub(super) fn with(&self, text: &str, entry: &Entry) -> anyhow::Result<String> {
        match self.form {
            Form::Servers => edit::json(text, |file| {
                edit::set(file, &["mcpServers", SERVER], entry.server())
            }),
            Form::OpenCode => edit::json(text, |file| {
                let mut command = vec![entry.program.as_str()];
                command.extend(entry.arguments());
                let server = json!({ "type": "local", "command": command, "enabled": true });
                edit::set(file, &["mcp", SERVER], server)
            }),
            Form::Hooks => edit::json(text, |file| edit::add_hooks(file, entry)),
            Form::Toml => edit::toml_with(text, entry),
        }
    }

    /// The file's text without us.
    pub(super) fn without(&self, text: &str) -> anyhow::Result<String> {
        if self.form == Form::Toml {
            return Ok(edit::toml_without(text));
        }
        edit::json(text, |file| {
            match self.form {
                Form::Servers => edit::remove(file, &["mcpServers", SERVER]),
                Form::OpenCode => edit::remove(file, &["mcp", SERVER]),
                Form::Hooks | Form::Toml => edit::remove_hooks(file),
            }
            Ok(())
        })
    }
}
