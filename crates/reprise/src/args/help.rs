//! How help is laid out, and what was meant by a word that is no command.

use std::ffi::OsString;

use clap::{Command, CommandFactory};

use super::Arguments;

/// What `learn` is called besides.
pub(super) const KEEPS: [&str; 5] = ["remember", "add", "keep", "note", "save"];

/// What people come for, in the order in which somebody comes to need it. `help --all` has the
/// rest: what programs call, and what is part of another command now.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Begin", &["demo", "connect", "open", "doctor"]),
    ("Keep", &["learn", "import", "edit", "forget", "link"]),
    ("Find", &["recall", "how", "list", "show", "tags"]),
    (
        "Care",
        &[
            "tend", "learning", "stats", "backup", "restore", "export", "branch",
        ],
    ),
    ("Share and serve", &["share", "workspace", "serve"]),
];

/// Of each command what is typed most: a block of lines, of which the first names it.
const EXAMPLES: &str = r#"reprise open --user ada
reprise open --print

reprise ingest records.jsonl
reprise ingest --user ada --jsonl - --ack
reprise ingest lessons.yaml --user ada

reprise recall "users are logged out at random"
reprise recall "the build is slow" --user ada --since 2026-01-01T00:00:00Z
reprise recall --queries questions.jsonl --limit 10 --json

reprise learn "the staging database is reset every night"
reprise learn --title "Migrations" --content "Test them on a copy" --tags db,ops
reprise learning status --user ada

reprise outcome --user ada --jsonl outcomes.jsonl

reprise edit 01JQ8Z3V5N8M6T2R4W7X9YABCD "the text as it should be"

reprise link ticket-17 ticket-9 --relation caused_by

reprise tags --review
reprise tags --merge postgresql postgres

reprise sources --review
reprise sources --merge trial-and-error tested

reprise graph path ticket-17 ticket-9
reprise graph bridges jira rest

reprise forget --user ada --session s-17 --verify
reprise forget --user ada --before 2025-01-01T00:00:00Z

reprise publish 01JQ8Z3V5N8M6T2R4W7X9YABCD --user ada --dry-run
reprise publish 01JQ8Z3V5N8M6T2R4W7X9YABCD --user ada --title "Slow builds"

reprise export --user ada --format yaml

reprise backup ada.rvf --user ada
reprise backup backups --all

reprise restore ada.rvf --user ada --replace

reprise branch fork idea --user ada
reprise branch merge idea --user ada

reprise sync ada.rvf /media/laptop/ada.rvf
reprise sync --folder ~/Sync/memory --user ada

reprise serve
reprise serve --replace --http 127.0.0.1:7341

reprise connect claude-code --show
reprise connect codex --user ada

reprise token add laptop --user ada"#;

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
        listed.push_str(&["\n", heading, "\n"].concat());
        let named = names
            .iter()
            .filter_map(|name| command.find_subcommand(name));
        listed.extend(named.map(line));
    }
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n{listed}\n\
         `reprise COMMAND --help` explains a command, with examples. `reprise help --all` lists what\n\
         programs call, too, with the options of every command and the exit codes."
    );
    let command = command.help_template(template);
    // They are `learning` now, and keep working here.
    let command =
        command.mut_subcommand("learn", |learn| learn.mut_subcommands(|sub| sub.hide(true)));
    EXAMPLES.split("\n\n").fold(command, |command, lines| {
        let name = lines.split_whitespace().nth(1).unwrap_or_default();
        let text = ["Examples:\n  ", &lines.replace('\n', "\n  ")].concat();
        command.mut_subcommand(name, |sub| sub.after_help(text))
    })
}

/// A command on a line of the list.
fn line(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    format!(
        "  {:<12} {}\n",
        command.get_name(),
        about.unwrap_or_default()
    )
}

/// What the help leaves out: the other commands, the options of every one, the exit codes.
pub(crate) fn others(command: &Command) -> String {
    const REST: &str = "Global options:\n{options}{after-help}";
    let rest = command.clone().help_template(REST).render_help();
    let is_listed = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = command
        .get_subcommands()
        .filter(|sub| !is_listed(sub.get_name()));
    let others: String = others.map(line).collect();
    format!(
        "\nFor programs, and by their own names\n{others}\n{}",
        rest.ansi()
    )
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

/// The same words where one is a former name of `learn`, which only ever keeps a lesson: `note off`
/// is one of a word.
pub(crate) fn only_kept(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let former = words
        .iter()
        .position(|word| KEEPS.iter().any(|former| word == former));
    let next = former.and_then(|at| words.get(at + 1));
    // The tree of commands is built for such a word alone: a hook does not wait for it.
    let is_command = next.is_some_and(|next| {
        let command = Arguments::command();
        let learn = command.find_subcommand("learn");
        learn.is_some_and(|learn| learn.get_subcommands().any(|sub| next == sub.get_name()))
    });
    if let Some(at) = former.filter(|_| is_command) {
        let said = words.iter().skip(at + 1);
        let count = said.take_while(|word| !word.to_string_lossy().starts_with('-'));
        let end = at + 1 + count.count();
        let said: Vec<OsString> = words.drain(at + 1..end).collect();
        words.push("--".into());
        words.extend(said);
    }
    words
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
        .find(|name| *name != word && name.starts_with(&begins))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn every_command_is_listed_once() {
        let command = command();
        let help = command.clone().render_help().to_string();
        let others = others(&command);
        assert!(help.lines().count() <= 48 && !help.contains("Exit codes"));
        assert!(others.contains("--data-dir") && others.contains("Exit codes"));
        let all = help + &others;
        for sub in command.get_subcommands() {
            let begins = format!("\n  {} ", sub.get_name());
            assert_eq!(all.matches(&begins).count(), 1, "{}", sub.get_name());
        }
        let names = GROUPS.iter().flat_map(|(_, names)| *names);
        assert!(names.clone().count() <= 24);
        for name in names {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
        command.debug_assert();
    }

    #[test]
    fn every_example_can_be_typed() {
        for line in EXAMPLES.lines().filter(|line| !line.is_empty()) {
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
