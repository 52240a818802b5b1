//! The one binary: parses what was typed, runs one command, turns its end into an exit code.
//!
//! The command line, its wire forms, directories, progress, exit codes.

mod args;
mod cli;
mod config;
mod env;
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
use cli::Exit;

fn main() -> ExitCode {
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
        Err(error) => return refused(&error, command),
    };
    // Whatever befalls memory, the agent that asked from a hook goes on.
    let is_hook = matches!(arguments.command, args::Command::Hook(_));
    // A hook loads no model, and every prompt waits for it.
    if !is_hook {
        env::begin_without_telemetry();
    }
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

/// Says what is wrong with what was typed, or the help or the version that it asks for.
fn refused(error: &clap::Error, command: clap::Command) -> ExitCode {
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
        let help = args::command().render_help();
        drop(write!(printer::stderr(), "{}", help.ansi()));
        return Exit::Failed.into();
    }
    let Some(hint) = hint(error, typed.as_deref()) else {
        error.exit();
    };
    drop(writeln!(printer::stderr(), "{}", terminal::failure(&hint)));
    Exit::Failed.into()
}

/// The command that was typed, whatever is wrong with the rest.
fn typed(command: clap::Command) -> Option<String> {
    let matches = command.ignore_errors(true);
    let matches = matches.try_get_matches_from(std::env::args_os()).ok()?;
    matches.subcommand_name().map(str::to_owned)
}

/// Nothing but options was typed, be it in the environment.
fn names_no_command(error: &clap::Error) -> bool {
    let of = error.get(ContextKind::InvalidSubcommand);
    error.kind() == ErrorKind::MissingSubcommand
        && matches!(of, Some(ContextValue::String(of)) if !of.contains(' '))
}

/// What was meant by a word that is no command, or by a text that looks like an option, where that
/// is known.
fn hint(error: &clap::Error, typed: Option<&str>) -> Option<anyhow::Error> {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    };
    if let Some(word) = said(ContextKind::InvalidSubcommand) {
        return args::meant(word).map(anyhow::Error::msg);
    }
    let word = said(ContextKind::InvalidArg)?;
    match typed.filter(|_| error.kind() == ErrorKind::UnknownArgument)? {
        "forget" if !word.starts_with('-') => Some(anyhow::anyhow!(
            "`forget` is told what by an option, for one record `--id {word}` or \
             `--external-id {word}`; `reprise delete {word}` takes either"
        )),
        "recall" | "learn" => {
            let alike = said(ContextKind::SuggestedArg);
            let alike = alike.map_or_else(String::new, |alike| format!(" (`{alike}` is one)"));
            Some(anyhow::anyhow!(
                "there is no option `{word}`{alike}; where it belongs to the text, put `--` before \
                 the words"
            ))
        }
        _ => None,
    }
}
