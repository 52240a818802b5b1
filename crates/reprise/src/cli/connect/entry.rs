//! What is written for one user, and how it is known again.

use reprise_operations::HookEvent;
use reprise_server::HookProgram;
use serde_json::{Value, json};

/// Our name among a program's MCP servers. It prefixes the tools: `memory.recall` reads well.
pub(super) const SERVER: &str = "memory";

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

    pub(super) fn server(&self) -> Value {
        json!({ "command": self.program, "args": self.arguments() })
    }

    /// The same as `OpenCode` has it.
    pub(super) fn local_server(&self) -> Value {
        let mut command = vec![self.program.as_str()];
        command.extend(self.arguments());
        json!({ "type": "local", "command": command, "enabled": true })
    }
}
