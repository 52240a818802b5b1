//! Dispatches each command to its file, prints help, and turns results into exit codes.

mod atomic_files;
mod backup;
mod branch;
mod check;
mod connect;
mod context;
mod copies;
mod daemon;
mod demo;
mod doctor;
pub(crate) mod endpoint;
mod export;
mod forget;
pub(crate) mod global;
mod hook;
pub(crate) mod host;
mod import;
mod ingest;
pub mod input;
mod learn;
mod lesson;
mod list;
pub mod model;
mod models;
pub mod output;
mod prelude;
mod progress;
mod project;
mod rebuild;
mod recall;
mod record_keeper;
pub(crate) mod remote;
pub mod runtime;
mod sealed;
pub(crate) mod serve;
mod session;
mod status;
pub(crate) mod store;
mod sync;
mod trust;
mod unsent;
mod workspace;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use reprise_operations::{Problem, ProblemKind, find_meant_name};

use crate::args::{
    self, Arguments, BackupCommand, Command, DoctorCommand, ServeCommand, ShareCommand,
    TagsArguments, TagsCommand, WrittenCommand,
};
use crate::{config, printer, trace};

pub use context::Context;
pub use context::{confirm, note};

/// More words than `connect` writes for a hook.
const WRITTEN_WORDS: usize = 16;

/// Runs one command to its end. Failures of a daemon on another machine have their own exit codes.
pub(crate) fn run(arguments: Arguments) -> Result<Exit, (Exit, anyhow::Error)> {
    let mut is_remote = false;
    let done = run_in_context(arguments, &mut is_remote);
    done.map_err(|error| (Exit::from_error(&error, is_remote), error))
}

fn run_in_context(arguments: Arguments, is_remote: &mut bool) -> anyhow::Result<Exit> {
    let is_never_stopped = match &arguments.command {
        Command::Hook(_) | Command::Statusline(_) => true,
        Command::Doctor(doctor) => doctor.command.is_none() && !doctor.repair,
        _ => false,
    };
    let context = if is_never_stopped {
        Context::for_moment(arguments.common)?
    } else {
        Context::new(arguments.common)?
    };
    let collector = match &arguments.command {
        Command::Serve(serve) => serve.otlp.as_ref().or(context.config.serve.otlp.as_ref()),
        _ => None,
    };
    let serves = matches!(&arguments.command, Command::Serve(serve) if serve.command.is_none());
    let _tracing = trace::start(serves, collector.map(String::as_str))?;
    *is_remote = context.remote.is_some();
    let speaks = is_for_person(&arguments.command);
    let done = dispatch(&context, arguments.command);
    if speaks {
        store::torn_tails::tell_of_new_tails(&context);
    }
    done
}

/// Returns whether a person reads the notes that a command prints before its answer.
fn is_for_person(command: &Command) -> bool {
    match command {
        Command::Hook(_) | Command::Statusline(_) | Command::Mcp(_) | Command::Help { .. } => false,
        // It lists what it finds itself.
        Command::Doctor(doctor) => doctor.command.is_some(),
        Command::Serve(serve) => serve.command.is_some(),
        _ => true,
    }
}

fn dispatch(context: &Context, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(arguments) => demo::run(context, &arguments),
        Command::Setup(arguments) => connect::setup(context, &arguments),
        Command::Connect(arguments) if arguments.undo => connect::undo(context, &arguments),
        Command::Connect(arguments) => connect::run(context, &arguments),
        Command::Open(arguments) => status::open_page(context, &arguments),
        Command::Doctor(arguments) => match arguments.command {
            Some(command) => run_doctor_command(context, command),
            None => doctor::run(context, &arguments),
        },
        Command::Learn(arguments) => lesson::learn(context, &arguments),
        Command::Import(arguments) => import::run(context, &arguments),
        Command::Edit(asked) => lesson::edit(context, asked),
        Command::Forget(arguments) => forget::run(context, &arguments),
        Command::Recall(arguments) => recall::run(context, &arguments),
        Command::List(arguments) => list::run(context, &arguments),
        Command::Show(arguments) => match arguments.command {
            Some(command) => command.run_with(context),
            None => lesson::show(context, arguments),
        },
        Command::Tags(arguments) => run_tags_command(context, arguments),
        Command::Stats(arguments) => check::stats(context, &arguments),
        Command::Outcome(arguments) => learn::run(context, arguments),
        Command::Backup(arguments) => match &arguments.command {
            Some(BackupCommand::Restore(asked)) => backup::restore(context, asked),
            None => backup::run(context, &arguments),
        },
        Command::Export(arguments) => export::run(context, &arguments),
        Command::Branch(command) => branch::run(context, &command),
        Command::Share(command) => run_share_command(context, &command),
        Command::Serve(arguments) => match arguments.command {
            None => serve::run(context, &arguments),
            Some(command) => run_serve_command(context, command),
        },
        Command::Ingest(arguments) => match &arguments.input.events {
            Some(file) => host::replay(context, &arguments.whose.user, file),
            None => ingest::run(context, &arguments),
        },
        Command::Mcp(arguments) => serve::run_mcp(context, &arguments),
        Command::Hook(arguments) => Ok(hook::run(context, &arguments)),
        Command::Statusline(whose) => Ok(hook::print_status_line(context, &whose)),
        Command::Call(arguments) => {
            let catalogue = args::assemble_catalogue(&workspace::governed_workspaces(context));
            output::call_by_name(context, &catalogue, &arguments)
        }
        Command::Check(arguments) => run_doctor_command(context, DoctorCommand::Check(arguments)),
        Command::Restore(arguments) => backup::restore(context, &arguments),
        Command::Pausing(command) => command.run_with(&project::FolderRunner(context)),
        Command::Help {
            man: Some(folder), ..
        } => write_manual(&folder),
        Command::Help {
            completions: Some(shell),
            ..
        } => print_completions(shell),
        Command::Help { all, command, .. } => print_help(all, &command),
    }
}

/// Lists the agents on this machine by the names that `connect` takes.
pub(crate) fn list_agents_here() -> Vec<String> {
    let here = connect::list_agent_programs().into_iter();
    here.map(|agent| agent.name).collect()
}

/// Runs a command of `serve`.
fn run_serve_command(context: &Context, command: ServeCommand) -> anyhow::Result<Exit> {
    match command {
        ServeCommand::Status => status::print_daemon_status(context),
        ServeCommand::Stop => status::stop_daemon(context),
        ServeCommand::Pausing(command) => command.run_with(&project::FolderRunner(context)),
        ServeCommand::Token(command) => status::run_token_command(context, &command),
    }
}

/// Runs a command of `doctor`.
fn run_doctor_command(context: &Context, command: DoctorCommand) -> anyhow::Result<Exit> {
    match command {
        DoctorCommand::Check(arguments) => check::run(context, &arguments),
        DoctorCommand::Tidying(command) => command.run_with(context),
        DoctorCommand::Review(arguments) => lesson::review(context, arguments),
        DoctorCommand::LookingBack(command) => command.run_with(context),
        DoctorCommand::Compact(arguments) => check::compact(context, &arguments),
        DoctorCommand::Reembed(arguments) => check::reembed(context, &arguments),
        DoctorCommand::Rebuild(arguments) => rebuild::run(context, &arguments),
        DoctorCommand::Inspect(arguments) => check::inspect(context, &arguments),
        DoctorCommand::Models(command) => models::run(context, &command),
    }
}

/// Runs `tags` or one of its commands.
fn run_tags_command(context: &Context, arguments: TagsArguments) -> anyhow::Result<Exit> {
    match arguments.command {
        None => lesson::tags(context, &arguments),
        Some(TagsCommand::Links(command)) => command.run_with(context),
        Some(TagsCommand::Sources(arguments)) => lesson::sources(context, arguments),
    }
}

/// Runs a command of `share`.
fn run_share_command(context: &Context, command: &ShareCommand) -> anyhow::Result<Exit> {
    match command {
        ShareCommand::Publish(arguments) => global::publish(context, arguments),
        ShareCommand::Unpublish(arguments) => global::unpublish(context, arguments),
        ShareCommand::List(arguments) => global::print_published(context, arguments),
        ShareCommand::Rate(arguments) => global::rate(context, arguments),
        ShareCommand::Repository(arguments) => trust::share_in_repository(context, arguments),
        ShareCommand::Trust(arguments) => trust::run(context, arguments),
        ShareCommand::Catalogue(command) => global::run(context, command),
    }
}

/// Runs what `connect` or a plugin wrote into a program's settings; `None` if it is anything else.
/// Every prompt waits for it, so the tree of commands is not built. Whatever befalls memory, the
/// agent that asked goes on.
pub(crate) fn run_written_command() -> Option<Exit> {
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
    let Ok(context) = Context::for_moment(common) else {
        return Some(Exit::Success);
    };
    let _tracing = trace::start_for_hook();
    Some(match command {
        WrittenCommand::Hook(arguments) => hook::run(&context, &arguments),
        WrittenCommand::StatusLine(whose) => hook::print_status_line(&context, &whose),
    })
}

/// Proposes `setup` to a person at a terminal who has no memory yet; `None` if there is one, or if
/// nobody is asked.
pub(crate) fn propose_setup() -> Option<Exit> {
    let arguments = Arguments::try_parse_from(["reprise", "setup"]).ok()?;
    let context = Context::new(arguments.common).ok()?;
    let is_empty = context.remote.is_none() && store::list_users(&context).ok()?.is_empty();
    let is_person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !is_empty || !is_person || std::env::args_os().len() > 1 {
        return None;
    }
    note("There is no memory here yet. Enter sets it up; `n` shows the commands.");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok()?;
    if line.trim().eq_ignore_ascii_case("n") {
        return None;
    }
    let done = dispatch(&context, arguments.command);
    Some(done.unwrap_or_else(|error| {
        printer::print_failure(&error);
        Exit::Failed
    }))
}

/// Prints the help of a command, or lists every command.
fn print_help(all: bool, names: &[String]) -> anyhow::Result<Exit> {
    let mut command = args::shorten_global_options(args::build_command());
    // Only a built command names its whole path in its usage.
    command.build();
    let mut asked = &mut command;
    for name in names {
        let known = asked.get_subcommands().map(|sub| sub.get_name().to_owned());
        let known: Vec<String> = known.collect();
        let Some(found) = asked.find_subcommand_mut(name) else {
            let similar = find_meant_name(name, known.iter().map(String::as_str));
            anyhow::bail!(crate::start::explain_unknown_command(name, similar))
        };
        asked = found;
    }
    let mut text = asked.render_long_help().ansi().to_string();
    if all && names.is_empty() {
        text.push_str(&args::render_other_help(&command));
    }
    write!(printer::stdout(), "{text}")?;
    Ok(Exit::Success)
}

/// Writes the manual, one page per command.
fn write_manual(folder: &Path) -> anyhow::Result<Exit> {
    fs_err::create_dir_all(folder)?;
    clap_mangen::generate_to(args::build_command(), folder)?;
    Ok(Exit::Success)
}

/// Prints a completion script for a shell.
fn print_completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::build_command(), "reprise", &mut script);
    printer::stdout_of_bytes().write_all(&script)?;
    Ok(Exit::Success)
}

/// Every exit code, from 0 on; scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Success = 0,
    /// Some of what the caller gave was refused; the rest was done. Also: `check` found damage.
    Refused,
    /// The request as a whole could not be carried out.
    Failed,
    /// The daemon of another machine cannot be reached.
    Unreachable,
    /// The daemon of another machine does not know the token.
    Unknown,
    /// The daemon of another machine denies access to this memory, or its certificate changed.
    Forbidden,
    /// The daemon of another machine has another version.
    OtherVersion,
}

impl Exit {
    /// Returns the exit code for an error; `is_remote` means the memory is on another machine.
    fn from_error(error: &anyhow::Error, is_remote: bool) -> Self {
        let problem = error.downcast_ref::<Problem>().filter(|_| is_remote);
        match problem.map(|problem| problem.kind) {
            Some(ProblemKind::Unavailable | ProblemKind::TimedOut) => Self::Unreachable,
            Some(ProblemKind::Unauthorized) => Self::Unknown,
            Some(ProblemKind::Forbidden) => Self::Forbidden,
            Some(ProblemKind::Method) => Self::OtherVersion,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
