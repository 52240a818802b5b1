//! Names a tool where an answer names the command of the terminal that does the same: a model has
//! the tool, and perhaps no terminal.

use std::borrow::Cow;

use reprise_types::map_outside_frames;

/// How a command begins where it is named.
const COMMAND: &str = "`reprise ";
/// How an option begins where it is named.
const FLAG: &str = "`--";
/// Commands, and the tools that do the same; of several for one command the first that the profile
/// shows is named.
const TOOLS: [(&str, &str); 19] = [
    ("recall", "recall"),
    ("learn", "learn"),
    ("list", "list"),
    ("show", "get"),
    ("edit", "update"),
    ("forget", "forget"),
    ("forget", "delete"),
    ("outcome", "outcome"),
    ("stats", "stats"),
    ("pause", "pause"),
    ("resume", "resume"),
    ("tags", "tags"),
    ("tags sources", "evidence"),
    ("doctor review", "review"),
    ("doctor tidy", "consolidate"),
    ("doctor undo", "undo"),
    ("doctor audit", "audit"),
    ("doctor diary", "diary"),
    ("share list", "published"),
];
/// Options of commands, and the arguments of tools that mean the same.
const ARGUMENTS: [(&str, &str); 1] = [("--type", "record_type")];
/// Words before or after a command that only a person may run: the tool of its name would not do
/// what is said.
const PERSON_BEFORE: &str = "the user adds it with ";
const PERSON_AFTER: &str = " shows what they say";

/// Names tools in an answer, outside of quoted memory and where it is no JSON.
pub(super) fn name_tools_in_answer(text: String, is_shown: &impl Fn(&str) -> bool) -> String {
    let names_any = text.contains(COMMAND) || text.contains(FLAG);
    if !names_any || text.starts_with(['{', '[']) {
        return text;
    }
    map_outside_frames(&text, |part| name_tools(part, is_shown))
}

/// Names tools in our own words.
pub(super) fn name_tools(text: &str, is_shown: &impl Fn(&str) -> bool) -> String {
    let mut named = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (command, after))) = rest
        .split_once(COMMAND)
        .and_then(|(before, from)| Some((before, from.split_once('`')?)))
    {
        named.push_str(before);
        let is_for_person = before.ends_with(PERSON_BEFORE) || after.starts_with(PERSON_AFTER);
        match find_tool(command, is_shown).filter(|_| !is_for_person) {
            Some(tool) => named.push_str(&tool),
            None => named.push_str(&[COMMAND, command, "`"].concat()),
        }
        rest = after;
    }
    named.push_str(rest);
    name_arguments(&named)
}

/// Names arguments where options of a command are named: `--max-tokens` is `max_tokens`.
fn name_arguments(text: &str) -> String {
    let mut parts = text.split(FLAG);
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (option, rest) = part.split_once('`').unwrap_or(("", part));
        let is_option = |c: char| c.is_ascii_lowercase() || c == '-';
        if option.is_empty() || !option.chars().all(is_option) {
            named.push_str(FLAG);
            named.push_str(part);
        } else {
            named.push_str(&["`", &option.replace('-', "_"), "`", rest].concat());
        }
    }
    named
}

/// Returns the name of the tool that does what a command does, and with what it is called.
fn find_tool(command: &str, is_shown: &impl Fn(&str) -> bool) -> Option<String> {
    let words = |name: &str| {
        let rest = command.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with(' ')).then_some(rest.trim_start())
    };
    let known = TOOLS.iter().filter_map(|(name, tool)| {
        let rest = words(name).filter(|_| is_shown(tool))?;
        Some((name.len(), Cow::Borrowed(*tool), rest))
    });
    // Of a program that adds operations, a tool has both words of its command as its name.
    let added = command.split_once(' ').and_then(|(program, command)| {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let tool = [program, "_", name].concat();
        is_shown(&tool).then_some((0, Cow::Owned(tool), rest))
    });
    // `tags sources` is no `tags`.
    let mut found: Option<(usize, Cow<'_, str>, &str)> = None;
    for one in known.chain(added) {
        if found.as_ref().is_none_or(|found| one.0 > found.0) {
            found = Some(one);
        }
    }
    let (_, tool, rest) = found?;
    // Few options of a command are arguments of a tool.
    let words: Vec<&str> = rest.split(' ').filter(|word| !word.is_empty()).collect();
    let first = words.first().filter(|word| !word.starts_with('-'));
    let mut given: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
    for pair in words.windows(2) {
        let argument = ARGUMENTS.iter().find(|(option, _)| *option == pair[0]);
        given.extend(argument.map(|(_, name)| format!("`{name}` `{}`", pair[1])));
    }
    Some(if given.is_empty() {
        format!("`{tool}`")
    } else {
        format!("`{tool}` ({})", given.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_by_the_tool_that_does_the_same_where_there_is_one() {
        let shown = [
            "list",
            "delete",
            "evidence",
            "tags",
            "undo",
            "learn",
            "workspace_log",
        ];
        let is_shown = |tool: &str| shown.contains(&tool);
        for (said, named) in [
            ("`reprise list` lists them", "`list` lists them"),
            (
                "undo with `reprise doctor undo a1`",
                "undo with `undo` (`a1`)",
            ),
            (
                "use `reprise forget`, or `reprise tags`",
                "use `delete`, or `tags`",
            ),
            ("`reprise tags sources --add x` does", "`evidence` does"),
            ("`reprise workspace log` lists", "`workspace_log` lists"),
            (
                "1 has it: `reprise list rent --type prompt`",
                "1 has it: `list` (`rent`, `record_type` `prompt`)",
            ),
            (
                "and `--new` allows one; `--max-tokens` too",
                "and `new` allows one; `max_tokens` too",
            ),
            ("put `--` before it", "put `--` before it"),
            ("`--answer newer` says", "`--answer newer` says"),
            // There is none, or this profile does not show it.
            ("`reprise doctor check` says", "`reprise doctor check` says"),
            ("`reprise doctor review`", "`reprise doctor review`"),
            ("`reprise listing`", "`reprise listing`"),
            ("`reprise list and no end", "`reprise list and no end"),
            // What only a person may do.
            (
                "1 left out; `reprise list` shows what they say",
                "1 left out; `reprise list` shows what they say",
            ),
            (
                "the user adds it with `reprise learn` or on the page",
                "the user adds it with `reprise learn` or on the page",
            ),
        ] {
            assert_eq!(name_tools(said, &is_shown), named);
        }
    }

    #[test]
    fn what_a_memory_says_stays_as_it_is() {
        let is_shown = |_: &str| true;
        let mut quoted = reprise_types::QuotedMemory::new(7);
        quoted.add_line("- ", "use `reprise list`");
        let frame = quoted.into_text();
        let answer = format!("1 found\n{frame}\nsee `reprise list`");
        let named = name_tools_in_answer(answer, &is_shown);
        assert_eq!(named, format!("1 found\n{frame}\nsee `list`"));
        let json = r#"{"text":"use `reprise list`"}"#;
        assert_eq!(name_tools_in_answer(json.to_owned(), &is_shown), json);
    }
}
