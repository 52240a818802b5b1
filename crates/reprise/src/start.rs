//! The start and the end of the process: parses the command line, runs one command, and turns its
//! result into an exit code.

pub(crate) mod refusal;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::{self, Exit};
use crate::{args, config, env, plugin, printer, process_limits, terminal};

/// Runs `reprise` with the words of this process.
pub fn main() -> ExitCode {
    process_limits::prepare_process();
    if let Some(exit) = cli::run_written_command() {
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
    let empty = matches
        .as_ref()
        .ok()
        .and_then(|matches| refusal::explain_empty_option(matches, &command));
    if let Some(refused) = empty {
        printer::print_failure(&refused);
        return Exit::Failed.into();
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
    // Who calls an operation by its name typed it.
    let is_call = matches!(arguments.command, args::Command::Call(_));
    let exit = cli::run(arguments).unwrap_or_else(|(exit, error)| {
        if is_hook || terminal::is_broken_pipe(&error) {
            return Exit::Success;
        }
        let error = if is_call {
            error
        } else {
            refusal::without_operation_name(error)
        };
        printer::print_failure(&error);
        exit
    });
    exit.into()
}

/// Whether a program calls this command at a moment of its session.
fn is_moment(name: &str) -> bool {
    matches!(name, "hook" | "statusline")
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
        printer::print_failure(&refusal::explain(error, args::build_command()));
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
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    printer::print_failure(&refusal::explain(error, args::build_command()));
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
    ("reprise stats` or `reprise serve status", &["status"]),
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
