//! Changes to configuration files: ours put in, ours taken out, everything else as it was.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

use super::plan::{Entry, SERVER};

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
        json!(["--data-dir", entry.data]),
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
