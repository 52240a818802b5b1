//! `reprise-global`, which `reprise global` runs: the service of published knowledge, what its
//! operators do, and its store in PostgreSQL (ADR 0052).

mod args;
mod database;
mod grant;
mod invite;
mod open;
mod operate;
mod prelude;
mod review;
mod serve;
mod token;

use std::process::ExitCode;

use args::{GlobalCommand, ServiceProgramArguments};
use clap::CommandFactory;
use prelude::*;
use reprise::plugin;

fn main() -> ExitCode {
    // They are listed where authors and members look: in `reprise share`.
    let command = ["join", "snapshot", "branch", "projects", "submissions"]
        .into_iter()
        .fold(ServiceProgramArguments::command(), |command, name| {
            command.mut_subcommand(name, |one| one.hide(true))
        });
    plugin::main(
        command,
        |arguments: &ServiceProgramArguments| &arguments.common,
        run,
    )
}

#[expect(clippy::needless_pass_by_value, reason = "a command is run once")]
fn run(context: &Context, arguments: ServiceProgramArguments) -> anyhow::Result<Exit> {
    match &arguments.command {
        GlobalCommand::Serve(arguments) => serve::run(context, arguments),
        GlobalCommand::Token(arguments) => token::run(context, arguments),
        GlobalCommand::Members(place) => token::list_members(context, place),
        GlobalCommand::Open(arguments) => open::run(context, arguments),
        GlobalCommand::Operate(command) => operate::run(context, command),
        GlobalCommand::Review(command) => review::run(context, command),
        GlobalCommand::Import(arguments) => operate::import(context, arguments),
        GlobalCommand::Audit { limit, user, which } => operate::audit(context, which, user, *limit),
        GlobalCommand::Catalogue(command) => global::run(context, command),
        GlobalCommand::Man { folder } => {
            plugin::write_manual(ServiceProgramArguments::command(), folder)
        }
    }
}
