//! The start and the end of the process: parses the command line, runs one command, and turns its
//! result into an exit code.

use std::error::Error as _;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::{self, Exit};
use crate::{args, config, env, plugin, printer, process_limits, terminal};

/// More words than `connect` writes for a hook.
const WRITTEN_WORDS: usize = 16;

/// Runs `reprise` with the words of this process.
pub fn main() -> ExitCode {
    process_limits::prepare_process();
    if let Some(exit) = run_written_command() {
        return exit.into();
    }
    env::restart_without_empty_variables();
    let command = args::shorten_global_options(args::build_command());
    let mut command = match config::find_configured_user(std::env::args_os()) {
        Some(user) => args::with_default_user(command, user.leak()),
        None => command,
    };
    if let Some((plugin, words)) = plugin::find_requested_plugin(&command, std::env::args_os()) {
        return plugin.run(words);
    }
    let matches = command.try_get_matches_from_mut(words_of_process());
    if matches.is_err() && typed(command.clone()).is_some_and(|name| is_moment(&name)) {
        env::restart_without_wrong_variables();
    }
    let parsed = matches.and_then(|matches| args::Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return print_refused_command(&error, command),
    };
    // Whatever befalls memory, the agent that asked from a hook goes on.
    let is_hook = matches!(arguments.command, args::Command::Hook(_));
    // A hook loads no model, and every prompt waits for it.
    if !is_hook {
        env::restart_without_telemetry();
        if let Err(error) = process_limits::check_address_space() {
            printer::print_failure(&error);
            return Exit::Failed.into();
        }
    }
    let exit = cli::run(arguments).unwrap_or_else(|(exit, error)| {
        if is_hook || terminal::is_broken_pipe(&error) {
            return Exit::Success;
        }
        printer::print_failure(&error);
        exit
    });
    exit.into()
}

/// Whether a program calls this command at a moment of its session.
fn is_moment(name: &str) -> bool {
    matches!(name, "hook" | "statusline")
}

/// Runs what `connect` or a plugin wrote into a program's settings; `None` if it is anything else.
/// Every prompt waits for it, so the tree of commands is not built.
fn run_written_command() -> Option<Exit> {
    let words = std::env::args_os().skip(1).take(WRITTEN_WORDS);
    let words: Vec<String> = words
        .map(|word| word.into_string().ok())
        .collect::<Option<_>>()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (common, command) = args::parse_written(&words, || {
        config::find_configured_user(std::iter::empty())?
            .parse()
            .ok()
    })?;
    Some(cli::run_written(common, &command))
}

/// Prints what is wrong with the command line, or the help or version that was asked for.
fn print_refused_command(error: &clap::Error, command: clap::Command) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let typed = typed(command);
    // To an agent's program a hook's 2 is a veto: an entry of another version in its configuration
    // must not hold up every prompt.
    if typed.as_deref() == Some("hook") {
        drop(error.print());
        return Exit::Refused.into();
    }
    if names_no_command(error) {
        if let Some(exit) = cli::propose_setup() {
            return exit.into();
        }
        let help = args::build_command().render_help();
        drop(write!(printer::stderr(), "{}", help.ansi()));
        return Exit::Failed.into();
    }
    let Some(hint) = hint(error, typed.as_deref()) else {
        error.exit();
    };
    drop(writeln!(
        printer::stderr(),
        "{}",
        terminal::render_error(&hint)
    ));
    Exit::Failed.into()
}

/// Returns the words of this process. An item of a list (`- item`) is a text and no option: the
/// space before it says so to the parser.
fn words_of_process() -> impl Iterator<Item = OsString> {
    std::env::args_os().map(|word| match word.to_str() {
        Some(text) if text.starts_with("- ") => [" ", text].concat().into(),
        _ => word,
    })
}

/// Returns the command that was typed, even if the rest is wrong.
fn typed(command: clap::Command) -> Option<String> {
    let matches = command.ignore_errors(true);
    let matches = matches.try_get_matches_from(words_of_process()).ok()?;
    matches.subcommand_name().map(str::to_owned)
}

/// Returns whether only options were given, and no command.
fn names_no_command(error: &clap::Error) -> bool {
    // Without any word clap tells of the help that it shows, and not of a command that is missing.
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return std::env::args_os().len() <= 1;
    }
    let of = error.get(ContextKind::InvalidSubcommand);
    error.kind() == ErrorKind::MissingSubcommand
        && matches!(of, Some(ContextValue::String(of)) if !of.contains(' '))
}

/// Words that people type for a command, and what to type.
const OTHER_WORDS: [(&str, &[&str]); 28] = [
    ("reprise recall", &["search", "find", "ask", "query"]),
    ("reprise recall --why", &["why", "explain"]),
    (
        "reprise learn",
        &["add", "remember", "store", "save", "note"],
    ),
    ("reprise forget", &["delete", "remove", "rm", "del"]),
    ("reprise edit", &["update", "correct"]),
    ("reprise show", &["get", "view"]),
    ("reprise show ID", &["history", "versions"]),
    ("reprise list", &["ls", "log", "sessions"]),
    ("reprise setup", &["init", "install", "login", "signup"]),
    ("reprise serve status", &["status"]),
    ("reprise serve stop", &["stop"]),
    ("reprise serve", &["start", "daemon", "server"]),
    ("reprise serve token", &["token", "tokens"]),
    ("reprise share publish", &["publish"]),
    ("reprise share unpublish", &["unpublish"]),
    ("reprise doctor undo", &["undo", "revert"]),
    ("reprise doctor tidy", &["merge", "tidy", "dedupe", "clean"]),
    ("reprise doctor compact", &["compact", "vacuum"]),
    ("reprise doctor audit", &["audit"]),
    ("reprise doctor models", &["model", "models"]),
    ("reprise branch sync", &["sync"]),
    ("reprise branch fork", &["fork"]),
    ("reprise tags link", &["link"]),
    ("reprise connect AGENT --undo", &["disconnect", "uninstall"]),
    ("reprise --version", &["version"]),
    ("reprise doctor check", &["verify"]),
    ("reprise doctor --repair", &["repair"]),
    ("reprise open", &["ui", "web", "page"]),
];

/// Returns what to type for an unknown command. A command that is only spelled alike is named if it
/// begins with the same letter: `merge` is not `forget`.
pub(crate) fn explain_unknown_command(word: &str, similar: Option<&str>) -> String {
    let meant = |(_, words): &&(&str, &[&str])| words.contains(&word);
    if let Some((command, _)) = OTHER_WORDS.iter().find(meant) {
        return format!("unknown command `{word}`; use `{command}`");
    }
    let begins = |text: &str| text.chars().next();
    let similar = similar.filter(|name| begins(name) == begins(word));
    let similar = similar.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    format!("unknown command `{word}`{similar}; `reprise help` lists the commands")
}

/// Returns what to write instead of a value that the standard library refused with these words.
fn describe_expected_value(refusal: &str) -> Option<&'static str> {
    Some(match refusal {
        "invalid digit found in string" => "give a whole number",
        "invalid float literal" => "give a number",
        "invalid socket address syntax" => "give an address and a port, such as 127.0.0.1:7341",
        _ => return None,
    })
}

/// Names the agents that can be connected, those of this machine first.
fn explain_missing_agent() -> anyhow::Error {
    let here = cli::list_agents_here();
    if here.is_empty() {
        return anyhow::anyhow!(
            "`connect` needs the name of an agent, and none is found here; `reprise connect \
             --help` lists all that can be connected"
        );
    }
    anyhow::anyhow!(
        "`connect` needs the name of an agent; on this machine are {}, and `reprise setup` connects \
         all of them",
        here.join(", ")
    )
}

/// Explains a negative number in the place of a value, and an option of a command before its name.
fn explain_misplaced_word(word: &str, typed: Option<&str>) -> Option<anyhow::Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let at = words.iter().position(|other| other == word);
    let before = words.get(at.and_then(|at| at.checked_sub(1)).unwrap_or(usize::MAX));
    if word.parse::<i64>().is_ok()
        && let Some(option) = before.filter(|before| before.starts_with("--"))
    {
        return Some(anyhow::anyhow!(
            "`{word}` is no value for `{option}`; give a number that is not negative"
        ));
    }
    let (at, long) = (at.filter(|_| typed.is_none())?, word.strip_prefix("--")?);
    let tree = args::build_command();
    let after = words.iter().enumerate().skip(at + 1);
    let mut commands = after.filter_map(|(place, name)| Some((place, tree.find_subcommand(name)?)));
    let (place, command) = commands.next()?;
    let mut known = command.get_arguments();
    let is_known = known.any(|argument| argument.get_long() == Some(long));
    let (name, option) = (command.get_name(), words.get(at..place)?.join(" "));
    is_known.then(|| anyhow::anyhow!("write `{word}` after the command: `reprise {name} {option}`"))
}

/// Lists the commands below a command.
fn name_subcommands(name: &str) -> String {
    let command = args::build_command();
    let below = command.find_subcommand(name).into_iter();
    let below = below.flat_map(clap::Command::get_subcommands);
    let names: Vec<&str> = below.map(clap::Command::get_name).collect();
    names.join(", ")
}

/// Returns what to do about another word for a command, a value of another type, or an unknown
/// option within a text.
fn hint(error: &clap::Error, typed: Option<&str>) -> Option<anyhow::Error> {
    let text_of = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    };
    if error.kind() == ErrorKind::InvalidSubcommand && typed.is_none() {
        let word = text_of(ContextKind::InvalidSubcommand)?;
        let similar = match error.get(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::Strings(names)) => {
                let begins = |name: &&String| name.chars().next() == word.chars().next();
                names.iter().rev().find(begins)
            }
            _ => None,
        };
        let similar = similar.map(String::as_str);
        return Some(anyhow::anyhow!(explain_unknown_command(word, similar)));
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && typed == Some("tags")
        && text_of(ContextKind::InvalidSubcommand).is_some_and(|word| word == "list")
    {
        return Some(anyhow::anyhow!(
            "`tags` has no command `list`; `reprise tags` alone lists the tags"
        ));
    }
    if error.kind() == ErrorKind::ArgumentConflict && typed == Some("show") {
        return Some(anyhow::anyhow!(
            "`reprise show` takes one ID; show one memory at a time"
        ));
    }
    if error.kind() == ErrorKind::MissingRequiredArgument && typed == Some("forget") {
        return Some(anyhow::anyhow!(
            "nothing to forget is named; give an ID, --external-id, --session, --before, --tag, \
             --project or --everything"
        ));
    }
    if error.kind() == ErrorKind::MissingRequiredArgument && typed == Some("outcome") {
        return Some(anyhow::anyhow!(
            "`outcome` needs --jsonl FILE with finished runs, or one of its commands: {}",
            name_subcommands("outcome")
        ));
    }
    if error.kind() == ErrorKind::MissingRequiredArgument && typed == Some("connect") {
        return Some(explain_missing_agent());
    }
    let is_text = matches!(typed, Some("recall" | "learn"));
    let word = text_of(ContextKind::InvalidArg)?;
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(hint) = explain_misplaced_word(word, typed)
    {
        return Some(hint);
    }
    if error.kind() == ErrorKind::ValueValidation {
        let value = text_of(ContextKind::InvalidValue)?;
        let expected = describe_expected_value(&error.source()?.to_string())?;
        return Some(anyhow::anyhow!(
            "`{value}` is no value for `{word}`; {expected}"
        ));
    }
    if !is_text || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let similar = text_of(ContextKind::SuggestedArg);
    let similar = similar.map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"));
    Some(anyhow::anyhow!(
        "unknown option `{word}`{similar}; if it is part of the text, put `--` before the text"
    ))
}
