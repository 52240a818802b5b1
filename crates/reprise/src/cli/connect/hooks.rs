//! Hooks in the configuration files of the programs: ours put in, ours taken out.
//!
//! The forms that such a file has.

use reprise_server::{HookProgram, Moment};

use super::entry::Entry;
use crate::cli::prelude::*;

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
pub(super) fn add(
    file: &mut Map<String, Value>,
    form: HookForm,
    entry: &Entry,
) -> anyhow::Result<()> {
    remove(file, form);
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
pub(super) fn remove(file: &mut Map<String, Value>, form: HookForm) {
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
