//! How help is laid out, and what was meant by a word that is no command.

use std::ffi::OsString;

use clap::{Command, CommandFactory};

use super::Arguments;

/// Every command, in the order in which somebody comes to need it.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Begin",
        &["demo", "connect", "disconnect", "open", "doctor", "models"],
    ),
    (
        "Keep and bring back",
        &[
            "ingest", "import", "learn", "recall", "how", "list", "outcome",
        ],
    ),
    (
        "Single records",
        &[
            "show", "edit", "delete", "link", "related", "graph", "tags", "sources",
        ],
    ),
    (
        "Shared knowledge",
        &["publish", "unpublish", "published", "rate", "global"],
    ),
    (
        "Programs and agents",
        &[
            "serve",
            "status",
            "stop",
            "token",
            "mcp",
            "call",
            "hook",
            "events",
            "workspace",
        ],
    ),
    (
        "Care",
        &[
            "stats",
            "check",
            "rebuild",
            "compact",
            "reembed",
            "consolidate",
            "review",
            "undo",
            "audit",
            "diary",
            "forget",
            "export",
            "backup",
            "restore",
            "branch",
            "inspect",
        ],
    ),
    ("This program", &["eval", "bench", "man", "completions"]),
];

/// Of each command what is typed most.
const EXAMPLES: [(&str, &[&str]); 19] = [
    ("open", &["reprise open --user ada", "reprise open --print"]),
    (
        "ingest",
        &[
            "reprise ingest records.jsonl",
            "reprise ingest --user ada --jsonl - --ack",
            "reprise ingest lessons.yaml --user ada",
        ],
    ),
    (
        "recall",
        &[
            "reprise recall \"users are logged out at random\"",
            "reprise recall \"the build is slow\" --user ada --since 2026-01-01T00:00:00Z",
            "reprise recall --queries questions.jsonl --top-k 10 --json",
        ],
    ),
    (
        "learn",
        &[
            "reprise learn \"the staging database is reset every night\"",
            "reprise learn --title \"Migrations\" --content \"Test them on a copy\" --tags db,ops",
            "reprise learn status --user ada",
        ],
    ),
    (
        "outcome",
        &["reprise outcome --user ada --jsonl outcomes.jsonl"],
    ),
    (
        "edit",
        &["reprise edit 01JQ8Z3V5N8M6T2R4W7X9YABCD --content \"corrected\""],
    ),
    (
        "link",
        &["reprise link ticket-17 ticket-9 --relation caused_by"],
    ),
    (
        "tags",
        &[
            "reprise tags --review",
            "reprise tags --merge postgresql postgres",
        ],
    ),
    (
        "sources",
        &[
            "reprise sources --review",
            "reprise sources --merge trial-and-error tested",
        ],
    ),
    (
        "graph",
        &[
            "reprise graph path ticket-17 ticket-9",
            "reprise graph bridges jira rest",
        ],
    ),
    (
        "forget",
        &[
            "reprise forget --user ada --session s-17 --verify",
            "reprise forget --user ada --before 2025-01-01T00:00:00Z",
        ],
    ),
    (
        "publish",
        &[
            "reprise publish 01JQ8Z3V5N8M6T2R4W7X9YABCD --user ada --dry-run",
            "reprise publish 01JQ8Z3V5N8M6T2R4W7X9YABCD --user ada --title \"Slow builds\"",
        ],
    ),
    ("export", &["reprise export --user ada --format yaml"]),
    (
        "backup",
        &[
            "reprise backup ada.rvf --user ada",
            "reprise backup backups --all",
        ],
    ),
    ("restore", &["reprise restore ada.rvf --user ada --replace"]),
    (
        "branch",
        &[
            "reprise branch fork idea --user ada",
            "reprise branch merge idea --user ada",
        ],
    ),
    (
        "serve",
        &[
            "reprise serve",
            "reprise serve --replace --http 127.0.0.1:7341",
        ],
    ),
    (
        "connect",
        &[
            "reprise connect claude-code --show",
            "reprise connect codex --user ada",
        ],
    ),
    ("token", &["reprise token add laptop --user ada"]),
];

/// Words that are no command, and what does it.
const MEANT: [(&[&str], &str); 6] = [
    (
        &["init", "setup", "install"],
        "`reprise connect PROGRAM` wires an agent's program, and memories make themselves",
    ),
    (
        &["download", "pull", "model"],
        "`reprise models pull` brings the embedding model",
    ),
    (
        &["users"],
        "`reprise doctor` names every memory, and `reprise export --user USER` prints one",
    ),
    (
        &["merge", "fork", "diff"],
        "`reprise branch` tries something out on a memory of its own",
    ),
    (
        &["repair", "verify", "fsck"],
        "`reprise check --user USER --repair` verifies a memory and rebuilds what can be rebuilt",
    ),
    (
        &["replay", "relay"],
        "`reprise events replay FILE --user USER` takes a host's event log in",
    ),
];

/// The command line as it is parsed and shown.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let mut listed = String::new();
    for (heading, names) in GROUPS {
        listed.push_str(&["\n", heading, ":\n"].concat());
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let line = format!("  {name:<12} {about}\n");
            listed.push_str(&line);
        }
    }
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n{listed}\nGlobal options:\n{{options}}\n\n\
         `reprise COMMAND --help` explains a command, with examples.\n{{after-help}}"
    );
    let command = command.help_template(template);
    EXAMPLES.iter().fold(command, |command, (name, lines)| {
        let text = ["Examples:\n  ", &lines.join("\n  ")].concat();
        command.mut_subcommand(name, |sub| sub.after_help(text))
    })
}

/// The same with this user wherever `--user` has a default.
pub(crate) fn for_user(command: Command, user: &'static str) -> Command {
    let takes = command
        .get_arguments()
        .any(|argument| argument.get_id() == "user" && !argument.get_default_values().is_empty());
    let command = if takes {
        command.mut_arg("user", |argument| argument.default_value(user))
    } else {
        command
    };
    command.mut_subcommands(|command| for_user(command, user))
}

/// What is said to somebody who typed a word that is no command, where that is known.
pub(crate) fn meant(word: &str) -> Option<String> {
    let found = MEANT.iter().find(|(words, _)| words.contains(&word));
    found.map(|(_, hint)| format!("there is no command `{word}`; {hint}"))
}

/// The same words where a sentence after `learn` begins with the name of one of its commands: the
/// first two of them in one. Two words alone are rather a slip.
pub(crate) fn sentence_of_learn(words: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let mut words: Vec<OsString> = words.collect();
    let command = Arguments::command();
    let learn = command.find_subcommand("learn")?;
    let names: Vec<&str> = learn.get_name_and_visible_aliases();
    let aliases: Vec<&str> = learn.get_all_aliases().collect();
    let is_learn = |word: &OsString| {
        let word = word.to_str();
        word.is_some_and(|word| names.contains(&word) || aliases.contains(&word))
    };
    let at = words.iter().position(is_learn)? + 1;
    let [first, second, third, ..] = words.get(at..)? else {
        return None;
    };
    let is_said = |word: &OsString| word.to_str().is_some_and(|word| !word.starts_with('-'));
    let is_command = learn.get_subcommands().any(|sub| first == sub.get_name());
    if !is_command || !is_said(second) || !is_said(third) {
        return None;
    }
    let said = [first, second].map(|word| word.to_string_lossy().into_owned());
    words.splice(at..at + 2, [said.join(" ").into()]);
    Some(words)
}

/// The command of `learn` that a single word is probably a slip of.
pub(crate) fn slip_of_learn(word: &str) -> Option<String> {
    const ALIKE: usize = 3;
    if word.contains(char::is_whitespace) {
        return None;
    }
    let command = Arguments::command();
    let learn = command.find_subcommand("learn")?;
    let begins = word.get(..ALIKE)?.to_lowercase();
    let mut names = learn.get_subcommands().map(Command::get_name);
    names
        .find(|name| name.starts_with(&begins))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser;

    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            *counts.entry(name).or_default() += 1;
        }
        let command = Arguments::command();
        let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        for sub in visible {
            assert_eq!(counts.remove(sub.get_name()), Some(1), "{}", sub.get_name());
        }
        assert!(counts.is_empty(), "{counts:?}");
        let help = super::command().render_help().to_string();
        assert!(
            help.contains("Care:\n  stats") && help.contains("--data-dir"),
            "{help}"
        );
        super::command().debug_assert();
    }

    #[test]
    fn every_example_can_be_typed() {
        for line in EXAMPLES.iter().flat_map(|(_, lines)| *lines) {
            let words = line.split('"').enumerate().flat_map(|(place, part)| {
                let quoted = place % 2 == 1;
                let parts: Vec<&str> = if quoted {
                    vec![part]
                } else {
                    part.split_whitespace().collect()
                };
                parts
            });
            let parsed = Arguments::try_parse_from(words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn what_people_type_first_is_understood() {
        for line in [
            "search auth race",
            "find x --user ada",
            "remember the port is 8080",
            "add x",
            "learn text --tags a,b",
            "ingest notes.jsonl",
            "import notes.yaml --user ada",
            "get ID",
            "rm ID",
        ] {
            let words = ["reprise"].into_iter().chain(line.split(' '));
            assert!(Arguments::try_parse_from(words).is_ok(), "{line}");
        }
        assert!(meant("init").is_some_and(|hint| hint.contains("connect")));
        assert_eq!(meant("recall"), None);
        assert_eq!(slip_of_learn("statsu").as_deref(), Some("status"));
        assert_eq!(slip_of_learn("tests"), None);
        assert_eq!(slip_of_learn("stats are wrong"), None);
        let names: Vec<String> = Arguments::command()
            .get_subcommands()
            .flat_map(|sub| sub.get_name_and_visible_aliases())
            .map(str::to_owned)
            .collect();
        let taken = |word: &str| names.iter().any(|name| name == word);
        assert!(
            !MEANT
                .iter()
                .any(|(words, _)| words.iter().any(|word| taken(word)))
        );
    }
}
