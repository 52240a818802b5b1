//! One file per command; this one only says which.

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
mod events;
mod export;
mod forget;
mod global;
mod help;
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
mod reranker;
mod runtime;
mod sealed;
mod serve;
mod session;
mod stats;
mod status;
pub(crate) mod store;
mod sync;
mod trust;
mod unsent;
mod whole;
mod workspace;

use std::time::Duration;

use reprise_operations::operations::tending::{self, Consolidate};
use reprise_operations::operations::{audit, graph, how, links};

use crate::args::{Arguments, Command, GraphCommand, LearningCommand, ServeCommand, ShareCommand};
use crate::config::Config;
use crate::env::Places;
use crate::exit::Exit;
use crate::roots::AiLessons;
use crate::trace;

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
        Command::Connect(arguments) if arguments.undo => connect::undo(context, &arguments),
        Command::Connect(arguments) => connect::run(context, &arguments),
        Command::Disconnect(arguments) => connect::undo(context, &arguments),
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
        Command::Stats(arguments) => stats::run(context, &arguments),
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
            Some(ServeCommand::Status) => status::run(context),
            Some(ServeCommand::Stop) => status::stop(context),
            Some(ServeCommand::Token(command)) => status::token(context, command),
        },
        Command::Status => status::run(context),
        Command::Stop => status::stop(context),
        Command::Token(command) => status::token(context, &command),
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
        Command::Events(command) => events::run(context, &command),
        Command::Models(command) => models::run(context, &command),
        Command::Eval(arguments) => eval::run(context, &arguments),
        Command::Bench(command) => bench::run(context, &command),
        Command::Man { folder } => help::man(&folder),
        Command::Completions { shell } => help::completions(shell),
        Command::Help { all, command } => help::run(all, &command),
    }
}
