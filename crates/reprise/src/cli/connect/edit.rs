//! Changes to configuration files: ours put in, ours taken out, everything else as it was.

use anyhow::{Context as _, bail};
use reprise_server::HookEvent;
use serde_json::{Map, Value, json};

use super::plan::{Entry, SERVER};

/// Around our part of a TOML file.
const BEGIN: &str = "# >>> reprise >>>";
const END: &str = "# <<< reprise <<<";
/// How long a program waits for a hook, in seconds: far longer than the hook takes.
const HOOK_SECONDS: u32 = 5;

/// Changes a JSON text, of which an empty one is an empty object.
pub(super) fn json(
    text: &str,
    change: impl FnOnce(&mut Map<String, Value>) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let mut file = match text.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).context("it is not a JSON object")?,
    };
    let before = file.clone();
    change(&mut file)?;
    if file == before {
        return Ok(text.to_owned());
    }
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

/// Sets what the two names lead to.
pub(super) fn set(
    file: &mut Map<String, Value>,
    [outer, inner]: &[&str; 2],
    value: Value,
) -> anyhow::Result<()> {
    let held = file.entry(*outer).or_insert_with(|| json!({}));
    let Value::Object(held) = held else {
        bail!("its `{outer}` is not an object");
    };
    held.insert((*inner).to_owned(), value);
    Ok(())
}

/// Takes out what the two names lead to, and the outer one where it is empty then.
pub(super) fn remove(file: &mut Map<String, Value>, [outer, inner]: &[&str; 2]) {
    if let Some(Value::Object(held)) = file.get_mut(*outer)
        && held.remove(*inner).is_some()
        && held.is_empty()
    {
        file.remove(*outer);
    }
}

/// One hook for each event, in place of an older one of ours.
pub(super) fn add_hooks(file: &mut Map<String, Value>, entry: &Entry) -> anyhow::Result<()> {
    remove_hooks(file);
    let hooks = file.entry("hooks").or_insert_with(|| json!({}));
    let Value::Object(hooks) = hooks else {
        bail!("its `hooks` is not an object");
    };
    for (_, own, host) in HookEvent::ALL {
        let hook = json!({
            "type": "command",
            "command": entry.hook(own),
            "timeout": HOOK_SECONDS,
        });
        let list = hooks.entry(host).or_insert_with(|| json!([]));
        let Value::Array(list) = list else {
            bail!("its `hooks.{host}` is not a list");
        };
        list.push(json!({ "hooks": [hook] }));
    }
    Ok(())
}

/// Takes out every hook that calls us, and what is empty then.
pub(super) fn remove_hooks(file: &mut Map<String, Value>) {
    let Some(Value::Object(hooks)) = file.get_mut("hooks") else {
        return;
    };
    let had = !hooks.is_empty();
    for list in hooks.values_mut().filter_map(Value::as_array_mut) {
        list.retain_mut(|group| match group["hooks"].as_array_mut() {
            Some(inner) => {
                let all = inner.len();
                inner.retain(|hook| !is_ours(hook));
                !inner.is_empty() || all == 0
            }
            None => true,
        });
    }
    hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
    if had && hooks.is_empty() {
        file.remove("hooks");
    }
}

fn is_ours(hook: &Value) -> bool {
    let command = hook["command"].as_str().unwrap_or_default();
    let program = command.split(" --data-dir ").next().unwrap_or_default();
    program.trim_matches('\'').ends_with("reprise") && command.contains(" hook ")
}

/// A TOML text with our table at its end, between marks.
pub(super) fn toml_with(text: &str, entry: &Entry) -> anyhow::Result<String> {
    let mut rest = toml_without(text);
    if rest.contains(&format!("[mcp_servers.{SERVER}]")) {
        bail!("it has an `mcp_servers.{SERVER}` of its own");
    }
    if !rest.is_empty() && !rest.ends_with('\n') {
        rest.push('\n');
    }
    // A JSON text is a TOML basic string, and a list of them a TOML array.
    let program = Value::from(entry.program.clone());
    let arguments = json!(entry.arguments());
    Ok(format!(
        "{rest}{BEGIN}\n[mcp_servers.{SERVER}]\ncommand = {program}\nargs = {arguments}\n{END}\n"
    ))
}

pub(super) fn toml_without(text: &str) -> String {
    match (text.find(BEGIN), text.find(END)) {
        (Some(begin), Some(end)) if begin < end => {
            let after = text.get(end + END.len()..).unwrap_or_default();
            let before = text.get(..begin).unwrap_or_default();
            [before, after.strip_prefix('\n').unwrap_or(after)].concat()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::args::HostProgram;
    use crate::cli::connect::plan;

    fn entry() -> Entry {
        Entry {
            program: "/opt/it's here/reprise".to_owned(),
            data: "/home/ada/data".to_owned(),
            user: "ada".to_owned(),
        }
    }

    #[test]
    fn what_is_connected_twice_stands_once_and_disconnect_leaves_no_trace() {
        let own = r#"{
  "theme": "dark",
  "mcpServers": {
    "files": {
      "command": "files"
    }
  },
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "say done"
          }
        ]
      }
    ]
  }
}
"#;
        let toml = "model = \"x\"\n";
        for program in [
            HostProgram::ClaudeCode,
            HostProgram::Codex,
            HostProgram::Cursor,
            HostProgram::Gemini,
            HostProgram::Opencode,
        ] {
            for target in plan::targets(program, Path::new("/home/ada")) {
                let is_toml = target.path.extension().is_some_and(|e| e == "toml");
                let before = if is_toml { toml } else { own };
                let once = target.with(before, &entry()).unwrap();
                assert!(once.contains("here/reprise"), "{once}");
                assert_eq!(target.with(&once, &entry()).unwrap(), once, "{program:?}");
                let after = target.without(&once).unwrap();
                if is_toml {
                    assert_eq!(after, before);
                } else {
                    // Objects are sorted by key when they are written; their content is the same.
                    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                    assert_eq!(read(&after), read(before));
                }
                let fresh = target.with("", &entry()).unwrap();
                let empty = target.without(&fresh).unwrap();
                assert!(["", "{}"].contains(&empty.trim()), "{empty}");
                assert_eq!(target.without(before).unwrap(), before);
            }
        }
    }

    #[test]
    fn a_file_that_is_something_else_is_left_alone() {
        for target in plan::targets(HostProgram::ClaudeCode, Path::new("/home/ada")) {
            assert!(target.with("[1]", &entry()).is_err());
            assert!(
                target
                    .with("{\"hooks\":1,\"mcpServers\":1}", &entry())
                    .is_err()
            );
        }
        let codex = plan::targets(HostProgram::Codex, Path::new("/home/ada")).remove(0);
        assert!(codex.with("[mcp_servers.memory]\n", &entry()).is_err());
    }
}
