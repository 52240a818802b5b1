//! Measurements as a program of their own: `reprise-lab eval` and `reprise-lab bench`.

mod args;
mod bench;
mod evaluate;
mod prelude;

use std::process::ExitCode;

use clap::Parser;
use reprise::lab::{print_failure, restart_without_telemetry};

use crate::args::{LabArguments, LabCommand};
use crate::prelude::{Context, Exit};

fn main() -> ExitCode {
    let arguments = LabArguments::parse();
    restart_without_telemetry();
    let exit = run(arguments).unwrap_or_else(|error| {
        print_failure(&error);
        Exit::Failed
    });
    exit.into()
}

fn run(arguments: LabArguments) -> anyhow::Result<Exit> {
    let context = Context::new(arguments.common)?;
    let _logging = reprise::lab::start_logging()?;
    match arguments.command {
        LabCommand::Eval(arguments) => evaluate::run(&context, &arguments),
        LabCommand::Bench(command) => bench::run(&context, &command),
    }
}
