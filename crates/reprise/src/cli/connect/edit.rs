//! Changes to configuration files: ours put in, ours taken out, everything else as it was, comments
//! too.

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{ParseOptions, parse_to_serde_value};

use super::entry::{Entry, SERVER};
use crate::cli::prelude::*;

/// Around our part of a TOML file.
pub(super) const TOML: [&str; 2] = ["# >>> reprise >>>", "# <<< reprise <<<"];
/// Around our part of a Markdown file.
const MARKDOWN: [&str; 2] = ["<!-- >>> reprise >>> -->", "<!-- <<< reprise <<< -->"];
/// The plugin that `OpenCode` gets, as it is packaged: it calls whatever `reprise` is in the path.
const PLUGIN: &str = include_str!("../../../packaging/plugins/opencode/reprise.js");
/// The line of it that says how we are called.
const CALLED: &str = "const CALLED = { program: \"reprise\", before: [], after: [] }";

/// Changes a JSON text, of which an empty one is an empty object.
pub(super) fn json(
    text: &str,
    change: impl FnOnce(&mut Map<String, Value>) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let mut file = read(text)?;
    let before = file.clone();
    change(&mut file)?;
    if file == before {
        return Ok(text.to_owned());
    }
    if text.trim().is_empty() {
        return Ok(serde_json::to_string_pretty(&file)? + "\n");
    }
    let root = CstRootNode::parse(text, &FORM).context("it is not a JSON object")?;
    rewrite(&root.object_value_or_set(), &before, &file);
    let after = root.to_string();
    ensure!(
        read(&after)? == file,
        "it cannot be changed in the form that it has"
    );
    Ok(after)
}

/// JSON, with the comments and the last commas that editors let their owners write.
const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The object that a text is; an empty text, or one of comments alone, is an empty one.
pub(super) fn read(text: &str) -> anyhow::Result<Map<String, Value>> {
    let read = parse_to_serde_value::<Option<Map<String, Value>>>(text, &FORM);
    Ok(read.context("it is not a JSON object")?.unwrap_or_default())
}

/// Changes what differs and nothing around it.
fn rewrite(node: &CstObject, before: &Map<String, Value>, after: &Map<String, Value>) {
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        if let Some(gone) = node.get(name) {
            gone.remove();
        }
    }
    for (name, value) in after {
        let Some(held) = node.get(name) else {
            node.append(name, input(value));
            continue;
        };
        match (before.get(name), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => match held.object_value() {
                Some(inner) => rewrite(&inner, old, new),
                None => held.set_value(input(value)),
            },
            (Some(Value::Array(old)), Value::Array(new)) => match held.array_value() {
                Some(inner) => rewrite_list(&inner, old, new),
                None => held.set_value(input(value)),
            },
            _ => held.set_value(input(value)),
        }
    }
}

/// What stays keeps its place, what is new comes after it.
fn rewrite_list(node: &CstArray, old: &[Value], new: &[Value]) {
    let mut wanted = new.iter().peekable();
    for (held, value) in node.elements().into_iter().zip(old) {
        if wanted.next_if_eq(&value).is_none() {
            held.remove();
        }
    }
    for value in wanted {
        node.append(input(value));
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
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
    let copied = Value::Object(read(copied).unwrap_or_default());
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
    let mut rest = unmarked(text, TOML);
    if rest.contains(&format!("[mcp_servers.{SERVER}]")) {
        bail!("it has an MCP server `{SERVER}` of another program; rename that first");
    }
    if !rest.is_empty() && !rest.ends_with('\n') {
        rest.push('\n');
    }
    // A JSON text is a TOML basic string, and a list of them a TOML array.
    let program = Value::from(entry.program.clone());
    let arguments = json!(entry.arguments());
    let [begin, end] = TOML;
    Ok(format!(
        "{rest}{begin}\n[mcp_servers.{SERVER}]\ncommand = {program}\nargs = {arguments}\n{end}\n"
    ))
}

/// A Markdown text with what an agent is told at its end, between marks.
pub(super) fn rules_with(text: &str, head: &str, rules: &str) -> String {
    let mut rest = rules_without(text, head);
    if rest.trim().is_empty() {
        head.clone_into(&mut rest);
    } else if !rest.ends_with('\n') {
        rest.push('\n');
    }
    let [begin, end] = MARKDOWN;
    format!("{rest}{begin}\n{rules}\n{end}\n")
}

pub(super) fn rules_without(text: &str, head: &str) -> String {
    let rest = unmarked(text, MARKDOWN);
    let is_ours = rest.trim() == head.trim() && rest != text;
    if is_ours { String::new() } else { rest }
}

/// A text without what stands between two marks.
pub(super) fn unmarked(text: &str, [from, to]: [&str; 2]) -> String {
    match (text.find(from), text.find(to)) {
        (Some(begin), Some(end)) if begin < end => {
            let after = text.get(end + to.len()..).unwrap_or_default();
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
