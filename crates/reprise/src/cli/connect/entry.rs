//! What is written for one user, and how it is known again: servers, and hooks in the forms that
//! the programs' files have.

use std::ffi::OsStr;

use reprise_operations::HookEvent;
use reprise_server::{HOOK_TOOL, HookProgram, HookTrigger};

use crate::cli::prelude::*;

/// What to do about a file that is not what its program reads.
pub(super) const REPAIR: &str = "repair the file, or use `connect generic`";

/// Our name among a program's MCP servers. It prefixes the tools: `memory.recall` reads well.
pub(super) const SERVER: &str = "memory";

/// Form of an MCP server in a program's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerForm {
    /// A command with arguments.
    Plain,
    /// A command with arguments and the type `stdio`.
    Stdio,
    /// A command with arguments and a list of the wanted tools.
    Copilot,
    /// One list with program and arguments, as in `OpenCode`.
    OpenCode,
}

/// Options that limit a server to one project.
const SCOPE: [&str; 2] = ["--scope", "project"];

#[derive(Debug, Clone)]
pub(super) struct ProgramEntry {
    pub(super) program: String,
    pub(super) data: String,
    /// The directory of the models, if one was named.
    pub(super) models: Option<String>,
    /// The configuration file, if one was named.
    pub(super) config: Option<String>,
    pub(super) user: String,
    /// Whether the program sees only the memory of its project.
    pub(super) of_project: bool,
    /// Whether another program's server of our name is replaced.
    pub(super) replaces: bool,
    /// Programs whose installed version can call a tool as a hook.
    pub(super) tool_callers: Vec<HookProgram>,
}

/// The type of a hook that calls a tool of a connected MCP server.
const TOOL_HOOK: &str = "mcp_tool";
/// Programs with hooks of this type: their commands, and the first version known to have them.
pub(super) const TOOL_CALLERS: [(HookProgram, &str, [u32; 3]); 2] = [
    (HookProgram::ClaudeCode, "claude", [2, 1, 118]),
    (HookProgram::Codex, "codex", [0, 155, 0]),
];

/// Returns whether what a program prints of its version names `since` or a later one: `2.1.332
/// (Claude Code)`, `codex-cli 0.171.0`.
pub(super) fn is_version_since(printed: &str, since: [u32; 3]) -> bool {
    printed.split_whitespace().any(|word| {
        let parts = word.split('.').map(|part| part.parse().ok());
        let parts: Option<Vec<u32>> = parts.collect();
        parts.is_some_and(|parts| parts.len() == since.len() && parts[..] >= since[..])
    })
}

/// Returns the path by which this program is found after an upgrade: the link on the search path
/// that leads to it, which a package keeps, or else the path of this version.
pub(super) fn find_lasting_path(program: &Path, search: Option<&OsStr>) -> PathBuf {
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

impl ProgramEntry {
    /// Returns the global options in front of every command.
    pub(super) fn global_options(&self) -> Vec<&str> {
        let mut options = vec!["--data-dir", &self.data];
        if let Some(models) = &self.models {
            options.extend(["--models-dir", models]);
        }
        if let Some(config) = &self.config {
            options.extend(["--config", config]);
        }
        options
    }

    pub(super) fn mcp_arguments(&self) -> Vec<&str> {
        let mut arguments = self.global_options();
        arguments.extend(["mcp", "--user", &self.user]);
        if self.of_project {
            arguments.extend(SCOPE);
        }
        arguments
    }

    /// Returns whether these are the arguments that we write for a server.
    pub(super) fn is_own_mcp_command<'a, 'b>(arguments: &'a [&'b str]) -> bool {
        let [scope, project] = SCOPE;
        let ["--data-dir", _, rest @ ..] = arguments else {
            return false;
        };
        let leave_out = |option: &str, words: &'a [&'b str]| match words {
            [first, _, rest @ ..] if *first == option => rest,
            words => words,
        };
        match leave_out("--config", leave_out("--models-dir", rest)) {
            ["mcp", "--user", _] => true,
            ["mcp", "--user", _, one, other] => (*one, *other) == (scope, project),
            _ => false,
        }
    }

    /// Returns whether this is a command that we write for a hook.
    pub(super) fn is_own_hook_command(command: &str) -> bool {
        let called = command.split_once(" --data-dir ");
        let event = called.and_then(|(_, rest)| rest.rsplit_once(" hook "));
        let event = event.and_then(|(_, rest)| rest.split_once(" --user "));
        event.is_some_and(|(event, _)| event.parse::<HookEvent>().is_ok())
    }

    /// Returns the shell command of a hook.
    pub(super) fn hook_command(&self, program: HookProgram, event: &str) -> String {
        let whose = match program {
            HookProgram::ClaudeCode => String::new(),
            other => format!(" --program {}", other.name()),
        };
        self.shell_command(&format!("hook {event}")) + &whose
    }

    /// Returns the shell command that runs `command` for the user.
    fn shell_command(&self, command: &str) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let (ours, user) = (quoted(&self.program), quoted(&self.user));
        let options = self.global_options().into_iter().map(|word| {
            let is_ours = word.starts_with("--");
            if is_ours {
                word.to_owned()
            } else {
                quoted(word)
            }
        });
        let options = options.collect::<Vec<_>>().join(" ");
        format!("{ours} {options} {command} --user {user}")
    }

    pub(super) fn server_json(&self, form: ServerForm) -> Value {
        let (program, arguments) = (&self.program, self.mcp_arguments());
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

/// Form of the hooks in a program's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HookForm {
    program: HookProgram,
    shape: HookShape,
    /// Longest wait for a hook, in the program's unit: far longer than a hook takes.
    timeout: u32,
    /// The value of `version` in the file.
    version: Option<u32>,
}

/// Shape of the elements in the list of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookShape {
    /// Groups, each with a matcher and a list of commands.
    Groups,
    /// Commands, each with its matcher.
    Commands,
    /// Commands for a shell that is named.
    Shells,
    /// Only commands; their output is not shown.
    Bare,
}

const fn grouped_hook_form(program: HookProgram, timeout: u32) -> HookForm {
    HookForm {
        program,
        shape: HookShape::Groups,
        timeout,
        version: None,
    }
}

pub(super) const CLAUDE_CODE: HookForm = grouped_hook_form(HookProgram::ClaudeCode, 5);
/// More than 3 seconds at a session's end are cut to that, with a warning.
pub(super) const CODEX: HookForm = grouped_hook_form(HookProgram::Codex, 3);
/// In milliseconds.
pub(super) const GEMINI: HookForm = grouped_hook_form(HookProgram::Gemini, 5_000);
pub(super) const CURSOR: HookForm = HookForm {
    program: HookProgram::Cursor,
    shape: HookShape::Commands,
    timeout: 5,
    version: Some(1),
};
pub(super) const COPILOT: HookForm = HookForm {
    program: HookProgram::Copilot,
    shape: HookShape::Shells,
    timeout: 5,
    version: Some(1),
};
pub(super) const WINDSURF: HookForm = HookForm {
    program: HookProgram::Windsurf,
    shape: HookShape::Bare,
    timeout: 0,
    version: None,
};

impl HookForm {
    /// Returns one hook as an element of its event's list.
    fn hook_json(self, moment: &HookTrigger, entry: &ProgramEntry) -> Value {
        let command = entry.hook_command(self.program, moment.event.name());
        let timeout = self.timeout;
        let arguments = self.program.tool_arguments(moment.event);
        let calls_tools = entry.tool_callers.contains(&self.program);
        let hook = || match arguments.filter(|_| calls_tools) {
            Some(arguments) => json!({
                "type": TOOL_HOOK,
                "server": SERVER,
                "tool": HOOK_TOOL,
                "input": arguments,
                "timeout": timeout,
            }),
            None => json!({ "type": "command", "command": command, "timeout": timeout }),
        };
        let mut one = match self.shape {
            HookShape::Groups => json!({ "hooks": [hook()] }),
            HookShape::Commands => hook(),
            HookShape::Shells => {
                json!({ "type": "command", "bash": command, "timeoutSec": timeout })
            }
            HookShape::Bare => json!({ "command": command, "show_output": false }),
        };
        set_matcher(&mut one, moment.matcher.map(Value::from));
        one
    }
}

fn set_matcher(object: &mut Value, matcher: Option<Value>) {
    if let (Some(object), Some(matcher)) = (object.as_object_mut(), matcher) {
        object.insert("matcher".to_owned(), matcher);
    }
}

/// Adds one hook for each event and replaces older ones of ours.
pub(super) fn add_hooks(
    file: &mut Map<String, Value>,
    form: HookForm,
    entry: &ProgramEntry,
) -> anyhow::Result<()> {
    remove_hooks(file, form);
    if let Some(version) = form.version {
        file.entry("version").or_insert_with(|| json!(version));
    }
    let hooks = file.entry("hooks").or_insert_with(|| json!({}));
    let Value::Object(hooks) = hooks else {
        bail!("its `hooks` is not an object; {REPAIR}");
    };
    for moment in form.program.triggers() {
        let list = hooks.entry(moment.name).or_insert_with(|| json!([]));
        let Value::Array(list) = list else {
            bail!("its `hooks.{}` is not a list; {REPAIR}", moment.name);
        };
        list.push(form.hook_json(moment, entry));
    }
    Ok(())
}

/// Removes every hook that calls us, and the lists that become empty.
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
                return !is_own_hook(one);
            };
            let all = inner.len();
            inner.retain(|hook| !is_own_hook(hook));
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

/// Removes the version that came with our hooks, if the file had none before them.
pub(super) fn remove_added_version(
    file: &mut Map<String, Value>,
    form: HookForm,
    copied: &Map<String, Value>,
) {
    let is_added = form.version.is_some() && !copied.contains_key("version");
    if is_added && !file.contains_key("hooks") {
        file.remove("version");
    }
}

/// The name of the status line in Claude Code's settings.
const STATUS_LINE: &str = "statusLine";

/// Adds our status line, or renews it; the line of somebody else stays.
pub(super) fn add_status_line(file: &mut Map<String, Value>, entry: &ProgramEntry) {
    if file.get(STATUS_LINE).is_none_or(is_own_status_line) {
        let command = entry.shell_command("statusline");
        file.insert(
            STATUS_LINE.to_owned(),
            json!({ "type": "command", "command": command }),
        );
    }
}

/// Removes our status line.
pub(super) fn remove_status_line(file: &mut Map<String, Value>) {
    if file.get(STATUS_LINE).is_some_and(is_own_status_line) {
        file.remove(STATUS_LINE);
    }
}

fn is_own_status_line(line: &Value) -> bool {
    let command = line["command"].as_str().unwrap_or_default();
    let called = command.split_once(" --data-dir ");
    called.is_some_and(|(_, rest)| rest.contains(" statusline --user "))
}

fn is_own_hook(hook: &Value) -> bool {
    let named = |field: &str, name: &str| hook[field].as_str() == Some(name);
    if named("type", TOOL_HOOK) {
        return named("server", SERVER) && named("tool", HOOK_TOOL);
    }
    let commands = [&hook["command"], &hook["bash"]];
    let mut commands = commands.into_iter().filter_map(Value::as_str);
    commands.any(ProgramEntry::is_own_hook_command)
}
