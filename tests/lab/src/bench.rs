//! `reprise-lab bench`: figures of this machine, from the code that users run. Each row is printed
//! next to what it is compared with, measured in the same run.

mod concurrent;
mod consolidate;
mod corpus;
mod figures;
mod forget;
mod global;
mod home;
mod import;
mod interfaces;
mod lessons;
mod list;
mod memory;
mod recall;
mod reembed;
mod supersession;
mod vectors;
mod write;
mod year;

use crate::args::BenchCommand;
use crate::prelude::*;

pub(crate) fn run(context: &Context, command: &BenchCommand) -> anyhow::Result<Exit> {
    match command {
        BenchCommand::Branch { records } => list::run_branch(context, *records),
        BenchCommand::Recall(size) => recall::run(context, size.records),
        BenchCommand::Concurrent(size) => concurrent::run(context, size.records),
        BenchCommand::Consolidate(size) => consolidate::run(context, size.records),
        BenchCommand::Lessons { records } => lessons::run(context, *records),
        BenchCommand::Import { lines } => import::run(context, *lines),
        BenchCommand::List(size) => list::run(context, size.records),
        BenchCommand::Faces(size) => interfaces::run(context, size.records),
        BenchCommand::Ingest { events } => import::run_ingest(context, *events),
        BenchCommand::Forget { records } => forget::run(context, *records),
        BenchCommand::Global(arguments) => global::run(context, arguments),
        BenchCommand::Reembed { records } => reembed::run(context, *records),
        BenchCommand::Supersession { pairs } => supersession::run(context, *pairs),
        BenchCommand::Vectors(size) => vectors::run(context, size.records),
        BenchCommand::Write(size) => write::run(context, size.records),
        BenchCommand::Year { days, events } => year::run(context, *days, *events),
        BenchCommand::Sessions => memory::run_sessions(context),
        BenchCommand::Memory { records, file } => memory::run(context, *records, file.as_deref()),
    }
}
