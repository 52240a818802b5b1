//! Changes to configuration files: ours put in, ours taken out, everything else as it was.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

use super::entry::{Entry, SERVER};

/// Around our part of a TOML file.
const BEGIN: &str = "# >>> reprise >>>";
const END: &str = "# <<< reprise <<<";
/// The plugin that `OpenCode` gets, as it is packaged: it calls whatever `reprise` is in the path.
const PLUGIN: &str = include_str!("../../../packaging/plugins/opencode/reprise.js");
/// The line of it that says how we are called.
const CALLED: &str = "const CALLED = { program: \"reprise\", before: [], after: [] }";

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

/// Sets our server; another program's of the same name makes way only where that is wanted.
pub(super) fn set_server(
    file: &mut Map<String, Value>,
    [outer, inner]: [&str; 2],
    server: Value,
    entry: &Entry,
) -> anyhow::Result<()> {
    let held = file.entry(outer).or_insert_with(|| json!({}));
    let Value::Object(held) = held else {
        bail!("its `{outer}` is not an object");
    };
    if held.get(inner).is_some_and(|known| !is_ours(known)) && !entry.replaces {
        bail!(
            "it has an MCP server `{inner}` of another program; rename that, or pass `--replace` \
             to put ours in its place until `disconnect`"
        );
    }
    held.insert(inner.to_owned(), server);
    Ok(())
}

/// Takes out our server, and what holds it where that is empty then.
pub(super) fn remove_server(file: &mut Map<String, Value>, [outer, inner]: [&str; 2]) {
    if let Some(Value::Object(held)) = file.get_mut(outer)
        && held.get(inner).is_some_and(is_ours)
    {
        held.remove(inner);
        if held.is_empty() {
            file.remove(outer);
        }
    }
}

/// A text without us, with the server of our name that stands in the copy of the file as it was.
pub(super) fn given_back(
    text: &str,
    copied: &str,
    [outer, inner]: [&str; 2],
) -> anyhow::Result<String> {
    let copied: Value = serde_json::from_str(copied).unwrap_or_default();
    let Some(known) = copied[outer].get(inner).filter(|known| !is_ours(known)) else {
        return Ok(text.to_owned());
    };
    json(text, |file| {
        let held = file.entry(outer).or_insert_with(|| json!({}));
        if let Value::Object(held) = held {
            held.entry(inner).or_insert_with(|| known.clone());
        }
        Ok(())
    })
}

/// A server as we write it, whatever our file is called, or one that calls `reprise mcp`.
fn is_ours(server: &Value) -> bool {
    let command = &server["command"];
    let words = |list: &Value| -> Vec<String> {
        let words = list.as_array().into_iter().flatten();
        words
            .map(|word| word.as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let (program, arguments) = if let Some(program) = command.as_str() {
        (program.to_owned(), words(&server["args"]))
    } else {
        let mut words = words(command).into_iter();
        (words.next().unwrap_or_default(), words.collect())
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Entry::has_written(&arguments) || program.ends_with("reprise") && arguments.contains(&"mcp")
}

/// A TOML text with our table at its end, between marks.
pub(super) fn toml_with(text: &str, entry: &Entry) -> anyhow::Result<String> {
    let mut rest = toml_without(text);
    if rest.contains(&format!("[mcp_servers.{SERVER}]")) {
        bail!("it has an MCP server `{SERVER}` of another program; rename that first");
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

/// The plugin file that calls us; one that is not ours is not written over.
pub(super) fn plugin_with(text: &str, entry: &Entry) -> anyhow::Result<String> {
    if !text.trim().is_empty() && !is_plugin(text) {
        bail!("it is a plugin of somebody else");
    }
    if !PLUGIN.contains(CALLED) {
        bail!("this build has no plugin for it");
    }
    let called = format!(
        "const CALLED = {{ program: {}, before: {}, after: {} }}",
        Value::from(entry.program.clone()),
        json!(entry.options()),
        json!(["--user", entry.user]),
    );
    Ok(PLUGIN.replacen(CALLED, &called, 1))
}

pub(super) fn plugin_without(text: &str) -> String {
    if is_plugin(text) {
        return String::new();
    }
    text.to_owned()
}

/// Ours begins as the packaged one does.
fn is_plugin(text: &str) -> bool {
    let mark = PLUGIN.lines().next().unwrap_or_default();
    text.starts_with(mark)
}

#[cfg(test)]
mod tests;
