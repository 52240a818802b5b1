//! The one binary: parses what was typed, runs one command, turns its end into an exit code.
//!
//! The command line, its wire forms, directories, progress, exit codes.

mod args;
mod cli;
mod config;
mod env;
mod exit;
mod lines;
mod outbound;
mod printer;
mod roots;
mod terminal;
mod trace;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use exit::Exit;

fn main() -> ExitCode {
    env::begin_without_telemetry();
    let mut command = match config::user_of(std::env::args_os()) {
        Some(user) => args::for_user(args::command(), user.leak()),
        None => args::command(),
    };
    let mut parse = |words: Vec<OsString>| {
        let matches = command.try_get_matches_from_mut(words);
        matches.and_then(|matches| args::Arguments::from_arg_matches(&matches))
    };
    let parsed = parse(args::only_kept(std::env::args_os())).or_else(|error| {
        let sentence = match error.kind() {
            ErrorKind::UnknownArgument => args::sentence_of_learn(std::env::args_os()),
            _ => None,
        };
        sentence.map_or(Err(error), &mut parse)
    });
    let arguments = match parsed {
        Ok(arguments) => arguments,
        // To an agent's program a hook's 2 is a veto: an entry of another version in its
        // configuration must not hold up every prompt.
        Err(error) if error.use_stderr() && typed(command.clone(), &["hook"]) => {
            drop(error.print());
            return Exit::Refused.into();
        }
        Err(error) if names_no_command(&error) => {
            drop(write!(
                printer::stderr(),
                "{}",
                args::command().render_help().ansi()
            ));
            return Exit::Failed.into();
        }
        Err(error) => {
            if let Some(hint) = hint(&error, command) {
                drop(writeln!(printer::stderr(), "{}", terminal::failure(&hint)));
                return Exit::Failed.into();
            }
            error.exit()
        }
    };
    // Whatever befalls memory, the agent that asked from a hook goes on.
    let is_hook = matches!(arguments.command, args::Command::Hook(_));
    let exit = cli::run(arguments).unwrap_or_else(|(exit, error)| {
        if is_hook || terminal::is_broken_pipe(&error) {
            return Exit::Success;
        }
        // Nothing is left to be done if stderr is gone.
        drop(writeln!(printer::stderr(), "{}", terminal::failure(&error)));
        exit
    });
    exit.into()
}

/// Whether the command that was typed is one of these, whatever is wrong with the rest.
fn typed(command: clap::Command, names: &[&str]) -> bool {
    let matches = command.ignore_errors(true);
    let matches = matches.try_get_matches_from(std::env::args_os());
    matches.is_ok_and(|matches| {
        let name = matches.subcommand_name();
        name.is_some_and(|name| names.contains(&name))
    })
}

/// Nothing but options was typed, be it in the environment.
fn names_no_command(error: &clap::Error) -> bool {
    let of = error.get(ContextKind::InvalidSubcommand);
    error.kind() == ErrorKind::MissingSubcommand
        && matches!(of, Some(ContextValue::String(of)) if !of.contains(' '))
}

/// What was meant by a word that is no command, or by a text that looks like an option, where that
/// is known.
fn hint(error: &clap::Error, command: clap::Command) -> Option<anyhow::Error> {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        return args::meant(word).map(anyhow::Error::msg);
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    if is_unknown && !word.starts_with('-') && typed(command.clone(), &["forget"]) {
        return Some(anyhow::anyhow!(
            "`forget` is told what by an option, for one record `--id {word}` or \
             `--external-id {word}`; `reprise delete {word}` takes either"
        ));
    }
    if !is_unknown || !typed(command, &["recall", "learn"]) {
        return None;
    }
    let alike = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(alike)) => format!(" (`{alike}` is one)"),
        _ => String::new(),
    };
    Some(anyhow::anyhow!(
        "there is no option `{word}`{alike}; where it belongs to the text, put `--` before the words"
    ))
}
