//! What is written for one user, and how it is known again.

use std::ffi::OsStr;

use reprise_operations::HookEvent;
use reprise_server::HookProgram;

use crate::cli::prelude::*;

/// Our name among a program's MCP servers. It prefixes the tools: `memory.recall` reads well.
pub(super) const SERVER: &str = "memory";

/// How a program has a server that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerForm {
    /// A command with arguments.
    Plain,
    /// The same, which says that it talks over stdin and stdout.
    Stdio,
    /// The same, which says which of its tools are wanted.
    Copilot,
    /// All in one list, as `OpenCode` has it.
    OpenCode,
}

/// What keeps a server to one project.
const SCOPE: [&str; 2] = ["--scope", "project"];

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) program: String,
    pub(super) data: String,
    /// The configuration file, where one was named.
    pub(super) config: Option<String>,
    pub(super) user: String,
    /// Whether the program is given the memory of its project alone.
    pub(super) of_project: bool,
    /// Whether a server of our name that is another program's makes way.
    pub(super) replaces: bool,
}

/// How this program is found again after an upgrade: by the name on the search path that leads to
/// it, which a packager's link keeps, rather than by where this version lies.
pub(super) fn lasting(program: &Path, search: Option<&OsStr>) -> PathBuf {
    let Some(name) = program.file_name() else {
        return program.to_owned();
    };
    let folders = search.map(std::env::split_paths).into_iter().flatten();
    let named = folders
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name));
    let mut same = named.filter(|path| {
        let leads_to = std::fs::canonicalize(path);
        leads_to
            .is_ok_and(|leads_to| std::fs::canonicalize(program).is_ok_and(|own| own == leads_to))
    });
    same.next().unwrap_or_else(|| program.to_owned())
}

impl Entry {
    /// What stands before every command.
    pub(super) fn options(&self) -> Vec<&str> {
        let mut options = vec!["--data-dir", &self.data];
        if let Some(config) = &self.config {
            options.extend(["--config", config]);
        }
        options
    }

    pub(super) fn arguments(&self) -> Vec<&str> {
        let mut arguments = self.options();
        arguments.extend(["mcp", "--user", &self.user]);
        if self.of_project {
            arguments.extend(SCOPE);
        }
        arguments
    }

    /// Whether these are arguments that an entry gave a server.
    pub(super) fn has_written(arguments: &[&str]) -> bool {
        let [scope, project] = SCOPE;
        let (["--data-dir", _, "--config", _, arguments @ ..] | ["--data-dir", _, arguments @ ..]) =
            arguments
        else {
            return false;
        };
        match arguments {
            ["mcp", "--user", _] => true,
            ["mcp", "--user", _, one, other] => (*one, *other) == (scope, project),
            _ => false,
        }
    }

    /// Whether this is a command that an entry gave a hook.
    pub(super) fn has_written_hook(command: &str) -> bool {
        let called = command.split_once(" --data-dir ");
        let event = called.and_then(|(_, rest)| rest.rsplit_once(" hook "));
        let event = event.and_then(|(_, rest)| rest.split_once(" --user "));
        event.is_some_and(|(event, _)| event.parse::<HookEvent>().is_ok())
    }

    /// The command of a hook, for a shell.
    pub(super) fn hook(&self, program: HookProgram, event: &str) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let (ours, user) = (quoted(&self.program), quoted(&self.user));
        let options = self.options().into_iter().map(|word| {
            let is_ours = word.starts_with("--");
            if is_ours {
                word.to_owned()
            } else {
                quoted(word)
            }
        });
        let options = options.collect::<Vec<_>>().join(" ");
        let whose = match program {
            HookProgram::ClaudeCode => String::new(),
            other => format!(" --program {}", other.name()),
        };
        format!("{ours} {options} hook {event} --user {user}{whose}")
    }

    pub(super) fn server(&self, form: ServerForm) -> Value {
        let (program, arguments) = (&self.program, self.arguments());
        match form {
            ServerForm::Plain => json!({ "command": program, "args": arguments }),
            ServerForm::Stdio => {
                json!({ "type": "stdio", "command": program, "args": arguments })
            }
            ServerForm::Copilot => json!({
                "type": "local", "command": program, "args": arguments, "tools": ["*"]
            }),
            ServerForm::OpenCode => {
                let mut command = vec![program.as_str()];
                command.extend(arguments);
                json!({ "type": "local", "command": command, "enabled": true })
            }
        }
    }
}
