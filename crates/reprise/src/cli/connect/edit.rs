//! Changes to configuration files: ours put in, ours taken out, everything else as it was, comments
//! too.

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use toml_edit::DocumentMut;

use super::entry::{ProgramEntry, REPAIR, SERVER};
use crate::cli::prelude::*;

/// Marks around our part of a TOML file.
pub(super) const TOML: [&str; 2] = ["# >>> reprise >>>", "# <<< reprise <<<"];
/// Marks around our part of a Markdown file.
const MARKDOWN: [&str; 2] = ["<!-- >>> reprise >>> -->", "<!-- <<< reprise <<< -->"];
const NO_OBJECT: &str = "it is not a JSON object; repair the file, or use `connect generic`";
/// The packaged plugin for `OpenCode`; it calls the `reprise` of the search path.
const PLUGIN: &str = include_str!("../../../packaging/plugins/opencode/reprise.js");
/// The line of the plugin that says how it calls us.
const CALLED: &str = "const CALLED = { program: \"reprise\", before: [], after: [] }";

/// Edits a JSON text in place; an empty text is an empty object.
pub(super) fn edit_json(
    text: &str,
    change: impl FnOnce(&mut Map<String, Value>) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let mut file = parse_json_object(text)?;
    let before = file.clone();
    change(&mut file)?;
    if file == before {
        return Ok(text.to_owned());
    }
    if text.trim().is_empty() {
        return Ok(serde_json::to_string_pretty(&file)? + "\n");
    }
    let root = CstRootNode::parse(text, &FORM).context(NO_OBJECT)?;
    rewrite_object(&root.object_value_or_set(), &before, &file);
    let after = root.to_string();
    ensure!(
        parse_json_object(&after)? == file,
        "its form is not supported; use `connect generic`"
    );
    Ok(after)
}

/// JSON with comments and trailing commas, as editors allow them.
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

/// Parses a text as a JSON object; an empty text, or only comments, is an empty object.
pub(super) fn parse_json_object(text: &str) -> anyhow::Result<Map<String, Value>> {
    let read = parse_to_serde_value::<Option<Map<String, Value>>>(text, &FORM);
    Ok(read.context(NO_OBJECT)?.unwrap_or_default())
}

/// Rewrites the differing fields and leaves the rest of the text alone.
fn rewrite_object(node: &CstObject, before: &Map<String, Value>, after: &Map<String, Value>) {
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        if let Some(gone) = node.get(name) {
            gone.remove();
        }
    }
    for (name, value) in after {
        let Some(held) = node.get(name) else {
            node.append(name, to_cst_value(value));
            continue;
        };
        match (before.get(name), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => match held.object_value() {
                Some(inner) => rewrite_object(&inner, old, new),
                None => held.set_value(to_cst_value(value)),
            },
            (Some(Value::Array(old)), Value::Array(new)) => match held.array_value() {
                Some(inner) => rewrite_list(&inner, old, new),
                None => held.set_value(to_cst_value(value)),
            },
            _ => held.set_value(to_cst_value(value)),
        }
    }
}

/// Rewrites a list: elements that stay keep their place, new ones are appended.
fn rewrite_list(node: &CstArray, old: &[Value], new: &[Value]) {
    let mut wanted = new.iter().peekable();
    for (held, value) in node.elements().into_iter().zip(old) {
        if wanted.next_if_eq(&value).is_none() {
            held.remove();
        }
    }
    for value in wanted {
        node.append(to_cst_value(value));
    }
}

fn to_cst_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(to_cst_value).collect()),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), to_cst_value(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}

/// Sets our server; another program's server of the same name is replaced only on request.
pub(super) fn set_server(
    file: &mut Map<String, Value>,
    [outer, inner]: [&str; 2],
    server: Value,
    entry: &ProgramEntry,
) -> anyhow::Result<()> {
    let held = file.entry(outer).or_insert_with(|| json!({}));
    let Value::Object(held) = held else {
        bail!("its `{outer}` is not an object; {REPAIR}");
    };
    if held.get(inner).is_some_and(|known| !is_ours(known)) && !entry.replaces {
        bail!(
            "it has an MCP server `{inner}` of another program; rename that, or add `--replace` \
             to replace it until `connect AGENT --undo`"
        );
    }
    held.insert(inner.to_owned(), server);
    Ok(())
}

/// Removes our server, and the object around it if that becomes empty.
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

/// Adds back the foreign server of our name from the copy of the original file.
pub(super) fn restore_server(
    text: &str,
    copied: &str,
    [outer, inner]: [&str; 2],
) -> anyhow::Result<String> {
    let copied = Value::Object(parse_json_object(copied).unwrap_or_default());
    let Some(known) = copied[outer].get(inner).filter(|known| !is_ours(known)) else {
        return Ok(text.to_owned());
    };
    edit_json(text, |file| {
        let held = file.entry(outer).or_insert_with(|| json!({}));
        if let Value::Object(held) = held {
            held.entry(inner).or_insert_with(|| known.clone());
        }
        Ok(())
    })
}

/// Returns whether a server is ours: written by us under any program name, or calling `reprise
/// mcp`.
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
    ProgramEntry::is_own_mcp_command(&arguments)
        || program.ends_with("reprise") && arguments.contains(&"mcp")
}

/// Appends our table between marks to a TOML text.
pub(super) fn add_toml_server(text: &str, entry: &ProgramEntry) -> anyhow::Result<String> {
    let mut rest = remove_marked_block(text, TOML);
    let read: DocumentMut = rest
        .parse()
        .context("it is not TOML; repair the file, or use `connect generic`")?;
    let servers = read.get("mcp_servers");
    if servers.is_some_and(|servers| servers.get(SERVER).is_some()) {
        bail!("it has an MCP server `{SERVER}` of another program; rename that first");
    }
    if !rest.is_empty() && !rest.ends_with('\n') {
        rest.push('\n');
    }
    // A JSON text is a TOML basic string, and a list of them a TOML array.
    let program = Value::from(entry.program.clone());
    let arguments = json!(entry.mcp_arguments());
    let [begin, end] = TOML;
    let after = format!(
        "{rest}{begin}\n[mcp_servers.{SERVER}]\ncommand = {program}\nargs = {arguments}\n{end}\n"
    );
    // No table can be added to a value that is on one line.
    let whole = after.parse::<DocumentMut>();
    whole.context("its `mcp_servers` is no table; write it as `[mcp_servers.NAME]` tables")?;
    Ok(after)
}

/// Appends our rules for agents between marks to a Markdown text.
pub(super) fn add_rules(text: &str, head: &str, rules: &str) -> String {
    let mut rest = remove_rules(text, head);
    if rest.trim().is_empty() {
        head.clone_into(&mut rest);
    } else if !rest.ends_with('\n') {
        rest.push('\n');
    }
    let [begin, end] = MARKDOWN;
    format!("{rest}{begin}\n{rules}\n{end}\n")
}

pub(super) fn remove_rules(text: &str, head: &str) -> String {
    let rest = remove_marked_block(text, MARKDOWN);
    let is_ours = rest.trim() == head.trim() && rest != text;
    if is_ours { String::new() } else { rest }
}

/// Removes the block between two marks from a text.
pub(super) fn remove_marked_block(text: &str, [from, to]: [&str; 2]) -> String {
    match (text.find(from), text.find(to)) {
        (Some(begin), Some(end)) if begin < end => {
            let after = text.get(end + to.len()..).unwrap_or_default();
            let before = text.get(..begin).unwrap_or_default();
            [before, after.strip_prefix('\n').unwrap_or(after)].concat()
        }
        _ => text.to_owned(),
    }
}

/// Returns the plugin file that calls us; another program's plugin is not overwritten.
pub(super) fn build_plugin(text: &str, entry: &ProgramEntry) -> anyhow::Result<String> {
    if !text.trim().is_empty() && !is_plugin(text) {
        bail!("it is another program's plugin; rename it first");
    }
    if !PLUGIN.contains(CALLED) {
        bail!("this build has no plugin for it");
    }
    let called = format!(
        "const CALLED = {{ program: {}, before: {}, after: {} }}",
        Value::from(entry.program.clone()),
        json!(entry.global_options()),
        json!(["--user", entry.user]),
    );
    Ok(PLUGIN.replacen(CALLED, &called, 1))
}

pub(super) fn remove_plugin(text: &str) -> String {
    if is_plugin(text) {
        return String::new();
    }
    text.to_owned()
}

/// Returns whether a plugin begins as the packaged one does.
fn is_plugin(text: &str) -> bool {
    let mark = PLUGIN.lines().next().unwrap_or_default();
    text.starts_with(mark)
}

#[cfg(test)]
mod tests;
