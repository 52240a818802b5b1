//! One file per command; this one says which, explains them, and turns their end into an exit code.

mod backup;
mod bench;
mod branch;
mod check;
mod connect;
mod context;
mod copies;
mod daemon;
mod demo;
mod doctor;
pub(crate) mod endpoint;
mod eval;
mod export;
mod forget;
mod global;
mod hook;
pub(crate) mod host;
mod import;
mod ingest;
mod input;
mod keep;
mod learn;
mod lesson;
mod list;
pub(crate) mod model;
mod models;
mod output;
mod prelude;
mod project;
mod rebuild;
mod recall;
pub(crate) mod remote;
mod runtime;
mod sealed;
mod serve;
mod session;
mod status;
pub(crate) mod store;
mod sync;
mod trust;
mod unsent;
mod whole;
mod workspace;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use reprise_operations::operations::tending::{self, Consolidate};
use reprise_operations::operations::{audit, graph, how, links};
use reprise_operations::{Problem, ProblemKind};

use crate::args::{self, Arguments, Command, GraphCommand, LearningCommand, ShareCommand};
use crate::config::Config;
use crate::env::Places;
use crate::roots::AiLessons;
use crate::{printer, trace};

pub(crate) use context::Context;
use context::{agreed, note};
use output::ask;
use remote::Elsewhere;

/// Runs one command to its end.
/// What goes wrong with a daemon elsewhere has exit codes of its own.
pub(crate) fn run(arguments: Arguments) -> Result<Exit, (Exit, anyhow::Error)> {
    let mut is_away = false;
    let done = run_one(arguments, &mut is_away);
    done.map_err(|error| (Exit::of(&error, is_away), error))
}

fn run_one(arguments: Arguments, is_away: &mut bool) -> anyhow::Result<Exit> {
    let common = arguments.common;
    let is_named = common.config.is_some();
    let ai_lessons = crate::env::home().map(|home| AiLessons::read(&home));
    let ai_lessons = ai_lessons.unwrap_or_default();
    let places = Places::new(common.data_dir, common.models_dir, common.config)?;
    let config = Config::read(&places.config, is_named)?.with_ai_lessons(ai_lessons);
    let remote = Elsewhere::find(&config.remote, &places).filter(|_| !common.no_daemon);
    let context = Context {
        config,
        remote,
        places,
        is_config_named: is_named,
        json: common.json,
        no_model: common.no_model,
        no_daemon: common.no_daemon,
        patience: Duration::from_secs(common.daemon_patience.get().into()),
    };
    let collector = match &arguments.command {
        Command::Serve(serve) => serve.otlp.as_ref().or(context.config.serve.otlp.as_ref()),
        _ => None,
    };
    let serves = matches!(&arguments.command, Command::Serve(serve) if serve.command.is_none());
    let _tracing = trace::start(serves, collector.map(String::as_str))?;
    *is_away = context.remote.is_some();
    carry_out(&context, arguments.command)
}

#[expect(clippy::too_many_lines, reason = "an arm for each command")]
fn carry_out(context: &Context, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(arguments) => demo::run(context, &arguments),
        Command::Connect(arguments) if arguments.undo => connect::undo(&arguments),
        Command::Connect(arguments) => connect::run(context, &arguments),
        Command::Disconnect(arguments) => connect::undo(&arguments),
        Command::Open(arguments) => status::open(context, &arguments),
        Command::Doctor(arguments) => doctor::run(context, &arguments),
        Command::Learn(arguments) => match &arguments.command {
            Some(command) => learn::run(context, command),
            None => lesson::learn(context, &arguments),
        },
        Command::Import(arguments) => import::run(context, &arguments),
        Command::Edit(asked) => lesson::edit(context, asked),
        Command::Forget(arguments) => forget::run(context, &arguments),
        Command::Link(asked) => ask::<links::Link>(context, asked),
        Command::Recall(arguments) => recall::run(context, &arguments),
        Command::How(asked) => ask::<how::How>(context, asked),
        Command::List(arguments) => list::run(context, &arguments),
        Command::Show(arguments) => lesson::show(context, arguments),
        Command::Tags(arguments) => lesson::tags(context, &arguments),
        Command::Tend(arguments) => lesson::tend(context, arguments),
        Command::Learning(LearningCommand::Learned(command)) => learn::run(context, &command),
        Command::Learning(LearningCommand::Outcome(arguments)) | Command::Outcome(arguments) => {
            learn::outcome(context, &arguments)
        }
        Command::Stats(arguments) => check::stats(context, &arguments),
        Command::Sync(arguments) => sync::run(context, &arguments),
        Command::Backup(arguments) => backup::run(context, &arguments),
        Command::Restore(arguments) => backup::restore(context, &arguments),
        Command::Export(arguments) => export::run(context, &arguments),
        Command::Branch(command) => branch::run(context, &command),
        Command::Share(ShareCommand::Publish(arguments)) | Command::Publish(arguments) => {
            global::publish(context, &arguments)
        }
        Command::Share(ShareCommand::Unpublish(arguments)) | Command::Unpublish(arguments) => {
            global::unpublish(context, &arguments)
        }
        Command::Share(ShareCommand::List(arguments)) | Command::Published(arguments) => {
            global::published(context, &arguments)
        }
        Command::Share(ShareCommand::Rate(arguments)) | Command::Rate(arguments) => {
            global::rate(context, &arguments)
        }
        Command::Share(ShareCommand::Repository(arguments)) => {
            trust::share_with(context, &arguments)
        }
        Command::Share(ShareCommand::Trust(arguments)) | Command::Trust(arguments) => {
            trust::run(context, &arguments)
        }
        Command::Share(ShareCommand::Global(command)) | Command::Global(command) => {
            global::run(context, &command)
        }
        Command::Workspace(arguments) => workspace::run(context, &arguments),
        Command::Serve(arguments) => match &arguments.command {
            None => serve::run(context, &arguments),
            Some(command) => status::run(context, command),
        },
        Command::Daemon(command) => status::run(context, &command),
        Command::Ingest(arguments) => ingest::run(context, &arguments),
        Command::Related(asked) => ask::<links::Related>(context, asked),
        Command::Delete(asked) => lesson::delete(context, asked),
        Command::Sources(arguments) => lesson::sources(context, arguments),
        Command::Graph(GraphCommand::Path(asked)) => ask::<graph::Path>(context, asked),
        Command::Graph(GraphCommand::Clusters(asked)) => ask::<graph::ClusterOf>(context, asked),
        Command::Graph(GraphCommand::Bridges(asked)) => ask::<graph::BridgesOf>(context, asked),
        Command::Consolidate(asked) => ask::<Consolidate>(context, asked),
        Command::Review(arguments) => lesson::review(context, arguments),
        Command::Undo(asked) => ask::<tending::Undo>(context, asked),
        Command::Audit(asked) => ask::<audit::Audit>(context, asked),
        Command::Diary(asked) => ask::<audit::Diary>(context, asked),
        Command::Mcp(arguments) => serve::mcp(context, &arguments),
        Command::Call(arguments) => output::call_any(context, &arguments),
        Command::Hook(arguments) => Ok(hook::run(context, &arguments)),
        Command::Rebuild(arguments) => rebuild::run(context, &arguments),
        Command::Check(arguments) => check::run(context, &arguments),
        Command::Compact(arguments) => check::compact(context, &arguments),
        Command::Reembed(arguments) => check::reembed(context, &arguments),
        Command::Inspect(arguments) => check::inspect(context, &arguments),
        Command::Events(command) => host::run(context, &command),
        Command::Models(command) => models::run(context, &command),
        Command::Eval(arguments) => eval::run(context, &arguments),
        Command::Bench(command) => bench::run(context, &command),
        Command::Man { folder } => man(&folder),
        Command::Completions { shell } => completions(shell),
        Command::Help { all, command } => help(all, &command),
    }
}

/// A command explained, or every one listed.
fn help(all: bool, names: &[String]) -> anyhow::Result<Exit> {
    let mut command = args::command();
    let mut asked = &mut command;
    for name in names {
        asked = match asked.find_subcommand_mut(name) {
            Some(found) => found,
            None => anyhow::bail!("there is no command `{name}`; `reprise help --all` lists them"),
        };
    }
    let mut text = asked.render_long_help().ansi().to_string();
    if all && names.is_empty() {
        text.push_str(&args::others(&command));
    }
    write!(printer::stdout(), "{text}")?;
    Ok(Exit::Success)
}

/// The manual, a page for each command.
fn man(folder: &Path) -> anyhow::Result<Exit> {
    fs_err::create_dir_all(folder)?;
    clap_mangen::generate_to(args::command(), folder)?;
    Ok(Exit::Success)
}

/// A script for the user's shell.
fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "reprise", &mut script);
    printer::stdout_of_bytes().write_all(&script)?;
    Ok(Exit::Success)
}

/// Exit codes, the whole list from 0 on: scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Success = 0,
    /// Some of what the caller gave was refused; the rest was done. Also: `check` found damage.
    Refused,
    /// The request as a whole could not be carried out.
    Failed,
    /// The daemon of another machine cannot be reached,
    Unreachable,
    /// does not know the token,
    Unknown,
    /// does not let it into this memory, or is not the one that was there before,
    Forbidden,
    /// or is of another version.
    OtherVersion,
}

impl Exit {
    /// Of a command that failed; `is_away`: its memory is on another machine.
    fn of(error: &anyhow::Error, is_away: bool) -> Self {
        let problem = error.downcast_ref::<Problem>().filter(|_| is_away);
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
