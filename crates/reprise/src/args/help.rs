//! Layout of the help: the list of commands, and examples.

use clap::{Command, CommandFactory};

use super::Arguments;
use crate::terminal::Page;

/// Commands in the order in which somebody comes to need them. `help --all` also lists those that
/// programs call.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Begin", &["setup", "demo", "connect", "open", "doctor"]),
    ("Remember", &["learn", "import", "edit", "forget"]),
    ("Find", &["recall", "list", "show", "tags"]),
    (
        "Take care",
        &["stats", "outcome", "backup", "export", "branch"],
    ),
    (
        "Share and serve",
        &["share", "workspace", "global", "serve"],
    ),
];

/// Examples of each command: a block of lines, whose first line names the command.
const EXAMPLES: &str = r#"reprise open --user ada
reprise open --print

reprise ingest records.jsonl
reprise ingest --user ada --jsonl - --ack
reprise ingest --user ada --events /logs/events.jsonl

reprise recall "users are logged out at random"
reprise recall "the build is slow" --user ada --since 2026-01-01T00:00:00Z
reprise recall --queries questions.jsonl --limit 10 --json

reprise learn "the staging database is reset every night"
reprise learn --title "Migrations" --text "Test them on a copy" --tags db,ops

reprise outcome --user ada --jsonl outcomes.jsonl
reprise outcome status --user ada

reprise edit 01JQ8Z3V5N8M6T2R4W7X9YABCD "the corrected text"

reprise show 01JQ8Z3V5N8M6T2R4W7X9YABCD
reprise show how "add a database migration"

reprise tags --merge postgresql postgres
reprise tags link ticket-17 ticket-9 --relation caused_by
reprise tags related ticket-17
reprise tags sources --review

reprise doctor
reprise doctor tidy --dry-run
reprise doctor undo
reprise doctor models pull

reprise forget 01JQ8Z3V5N8M6T2R4W7X9YABCD
reprise forget --user ada --session s-17 --verify
reprise forget --user ada --before 2025-01-01T00:00:00Z

reprise share publish 01JQ8Z3V5N8M6T2R4W7X9YABCD --user ada --dry-run
reprise share repository ticket-17 --folder ~/project

reprise export --user ada --format yaml

reprise backup ada.rvf --user ada
reprise backup backups --all
reprise backup restore ada.rvf --user ada --replace

reprise branch fork idea --user ada
reprise branch merge idea --user ada
reprise branch sync ada.rvf /media/laptop/ada.rvf

reprise serve
reprise serve --replace --http 127.0.0.1:7341
reprise serve token add laptop --user ada

reprise setup
reprise setup --yes --user ada

reprise connect claude-code --show
reprise connect codex --user ada"#;

/// Returns the command line as it is parsed and shown.
pub(crate) fn build_command() -> Command {
    let command = crate::plugin::add_plugins(Arguments::command());
    let mut listed = String::new();
    for (heading, names) in GROUPS {
        listed.push_str(&["\n", heading, "\n"].concat());
        let named = names
            .iter()
            .filter_map(|name| command.find_subcommand(name));
        listed.extend(named.map(render_command_line));
    }
    let more = Page::stdout().fit(MORE_HELP);
    let template = format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{listed}\n{more}");
    let command = command.help_template(template);
    EXAMPLES.split("\n\n").fold(command, |command, lines| {
        let name = lines.split_whitespace().nth(1).unwrap_or_default();
        let text = ["Examples:\n  ", &lines.replace('\n', "\n  ")].concat();
        command.mut_subcommand(name, |sub| sub.after_help(text))
    })
}

/// What the list of commands ends with.
const MORE_HELP: &str = "`reprise COMMAND --help` explains a command. `reprise help --all` also \
lists the commands for programs,\nthe global options, and the exit codes.";

/// Columns before what a command does.
const ABOUT_FROM: usize = 15;

/// Renders a command as a line of the list; on a narrow terminal it goes on below.
fn render_command_line(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    let lines = Page::stdout().wrap(&about.unwrap_or_default(), ABOUT_FROM, ABOUT_FROM);
    let about = lines.join(&format!("\n{:ABOUT_FROM$}", ""));
    format!("  {:<12} {about}\n", command.get_name())
}

/// Commands that are typed by a shorter name, too.
const SHORT_FORMS: &str = "Short forms: `pause` and `resume` of `serve`, `restore` of `backup`, \
`check` of `doctor`";

/// Renders what the short help leaves out: commands for programs, global options, exit codes.
pub(crate) fn render_other_help(command: &Command) -> String {
    const REST: &str = "Global options:\n{options}{after-help}";
    let rest = Arguments::command().help_template(REST).render_help();
    let is_listed = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = command
        .get_subcommands()
        .filter(|sub| !is_listed(sub.get_name()) && !sub.is_hide_set());
    let others: String = others.map(render_command_line).collect();
    format!("\nFor programs\n{others}\n{SHORT_FORMS}\n\n{}", rest.ansi())
}

/// What the help of a command says of the options that every command takes.
const GLOBAL_OPTIONS: &str = "Global options: --json, --data-dir, --models-dir, --config, \
--no-model, --no-daemon\n(`reprise help --all` explains them)";

/// Shows the options that every command takes as one line in the help of each command.
pub(crate) fn shorten_global_options(command: Command) -> Command {
    let command = command.mut_args(|argument| {
        let is_common = argument.get_help_heading() == Some(super::GLOBAL_HEADING);
        if is_common {
            argument.hide(true)
        } else {
            argument
        }
    });
    add_global_options_line(command)
}

fn add_global_options_line(command: Command) -> Command {
    let text = match command.get_after_help() {
        Some(before) => format!("{before}\n\n{GLOBAL_OPTIONS}"),
        None => GLOBAL_OPTIONS.to_owned(),
    };
    command
        .after_help(text)
        .mut_subcommands(add_global_options_line)
}

/// Makes this user the default of every `--user` that has one.
pub(crate) fn with_default_user(command: Command, user: &'static str) -> Command {
    let takes = command
        .get_arguments()
        .any(|argument| argument.get_id() == "user" && !argument.get_default_values().is_empty());
    let command = if takes {
        command.mut_arg("user", |argument| argument.default_value(user))
    } else {
        command
    };
    command.mut_subcommands(|command| with_default_user(command, user))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// Most names at the top level: `workspace` and `global` are plug-ins and not counted.
    const NAMES_MAX: usize = 26;

    #[test]
    fn every_command_is_listed_once_and_there_are_few() {
        let command = build_command();
        let help = command.clone().render_help().to_string();
        let others = render_other_help(&command);
        assert!(help.lines().count() <= 48 && !help.contains("Exit codes"));
        assert!(others.contains("--data-dir") && others.contains("Exit codes"));
        for sub in command.get_subcommands().filter(|sub| sub.is_hide_set()) {
            let name = format!("`{}`", sub.get_name());
            assert!(SHORT_FORMS.contains(&name), "{name}");
        }
        let all = help + &others;
        let mut names = 0;
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let begins = format!("\n  {} ", sub.get_name());
            assert_eq!(all.matches(&begins).count(), 1, "{}", sub.get_name());
            assert_eq!(sub.get_all_aliases().count(), 0, "{}", sub.get_name());
            names += usize::from(!["workspace", "global"].contains(&sub.get_name()));
        }
        assert!(names <= NAMES_MAX, "{names} names");
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
        command.debug_assert();
    }

    /// Complains about every command and argument without a sentence.
    fn collect_silent(command: &Command, silent: &mut Vec<String>) {
        let name = command.get_name();
        if command.get_about().is_none() {
            silent.push(name.to_owned());
        }
        for argument in command.get_arguments() {
            let is_silent = argument.get_help().is_none();
            silent.extend(is_silent.then(|| format!("{name} {}", argument.get_id())));
        }
        for sub in command.get_subcommands() {
            collect_silent(sub, silent);
        }
    }

    #[test]
    fn every_command_and_argument_is_explained() {
        let mut silent = Vec::new();
        collect_silent(&build_command(), &mut silent);
        assert!(silent.is_empty(), "{silent:?}");
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
}
