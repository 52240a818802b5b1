//! `reprise-workspace`, which `reprise workspace` runs, and which serves the governed workspaces of
//! this machine to the daemon (ADR 0054).

mod args;
mod commands;
mod prelude;
mod serve;

use std::process::ExitCode;

use args::WorkspaceArguments;
use clap::CommandFactory;
use reprise::plugin;

fn main() -> ExitCode {
    plugin::main(
        WorkspaceArguments::command(),
        |arguments: &WorkspaceArguments| &arguments.common,
        commands::run,
    )
}
