//! What is written for one user, and how it is known again: servers, and hooks in the forms that
//! the programs' files have.

use std::ffi::OsStr;

use reprise_operations::HookEvent;
use reprise_server::{HookProgram, Moment};

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

/// How a program has its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HookForm {
    program: HookProgram,
    shape: Shape,
    /// How long it waits for a hook, in its own unit: far longer than a hook takes.
    timeout: u32,
    /// The `version` that the file says it has.
    version: Option<u32>,
}

/// What stands in the list of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Groups, each with a matcher and a list of commands.
    Groups,
    /// Commands, each with its matcher.
    Commands,
    /// Commands for a shell that is named.
    Shells,
    /// Commands alone, nothing of which is shown.
    Bare,
}

const fn grouped(program: HookProgram, timeout: u32) -> HookForm {
    HookForm {
        program,
        shape: Shape::Groups,
        timeout,
        version: None,
    }
}

pub(super) const CLAUDE_CODE: HookForm = grouped(HookProgram::ClaudeCode, 5);
/// More than 3 seconds at a session's end are cut to that, with a warning.
pub(super) const CODEX: HookForm = grouped(HookProgram::Codex, 3);
/// In milliseconds.
pub(super) const GEMINI: HookForm = grouped(HookProgram::Gemini, 5_000);
pub(super) const CURSOR: HookForm = HookForm {
    program: HookProgram::Cursor,
    shape: Shape::Commands,
    timeout: 5,
    version: Some(1),
};
pub(super) const COPILOT: HookForm = HookForm {
    program: HookProgram::Copilot,
    shape: Shape::Shells,
    timeout: 5,
    version: Some(1),
};
pub(super) const WINDSURF: HookForm = HookForm {
    program: HookProgram::Windsurf,
    shape: Shape::Bare,
    timeout: 0,
    version: None,
};

impl HookForm {
    /// One hook, as it stands in the list of its event.
    fn hook(self, moment: &Moment, entry: &Entry) -> Value {
        let command = entry.hook(self.program, moment.event.name());
        let timeout = self.timeout;
        let hook = || json!({ "type": "command", "command": command, "timeout": timeout });
        let mut one = match self.shape {
            Shape::Groups => json!({ "hooks": [hook()] }),
            Shape::Commands => hook(),
            Shape::Shells => json!({ "type": "command", "bash": command, "timeoutSec": timeout }),
            Shape::Bare => json!({ "command": command, "show_output": false }),
        };
        set(&mut one, moment.matcher.map(Value::from));
        one
    }
}

fn set(object: &mut Value, matcher: Option<Value>) {
    if let (Some(object), Some(matcher)) = (object.as_object_mut(), matcher) {
        object.insert("matcher".to_owned(), matcher);
    }
}

/// One hook for each event, in place of an older one of ours.
pub(super) fn add_hooks(
    file: &mut Map<String, Value>,
    form: HookForm,
    entry: &Entry,
) -> anyhow::Result<()> {
    remove_hooks(file, form);
    if let Some(version) = form.version {
        file.entry("version").or_insert_with(|| json!(version));
    }
    let hooks = file.entry("hooks").or_insert_with(|| json!({}));
    let Value::Object(hooks) = hooks else {
        bail!("its `hooks` is not an object");
    };
    for moment in form.program.moments() {
        let list = hooks.entry(moment.name).or_insert_with(|| json!([]));
        let Value::Array(list) = list else {
            bail!("its `hooks.{}` is not a list", moment.name);
        };
        list.push(form.hook(moment, entry));
    }
    Ok(())
}

/// Takes out every hook that calls us, and what is empty then.
pub(super) fn remove_hooks(file: &mut Map<String, Value>, form: HookForm) {
    let Some(Value::Object(hooks)) = file.get_mut("hooks") else {
        return;
    };
    let had = !hooks.is_empty();
    hooks.retain(|_, list| {
        let Some(list) = list.as_array_mut().filter(|list| !list.is_empty()) else {
            return true;
        };
        list.retain_mut(|one| {
            let Some(inner) = one.get_mut("hooks").and_then(Value::as_array_mut) else {
                return !is_ours(one);
            };
            let all = inner.len();
            inner.retain(|hook| !is_ours(hook));
            !inner.is_empty() || all == 0
        });
        !list.is_empty()
    });
    if had && hooks.is_empty() {
        file.remove("hooks");
        if form.version.is_some() && file.keys().all(|key| key == "version") {
            file.clear();
        }
    }
}

fn is_ours(hook: &Value) -> bool {
    let commands = [&hook["command"], &hook["bash"]];
    let mut commands = commands.into_iter().filter_map(Value::as_str);
    commands.any(Entry::has_written_hook)
}
