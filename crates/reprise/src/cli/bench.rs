//! `reprise bench`: figures of this machine, from the code that users run. Each row stands beside
//! what it is compared with, taken in the same run.

mod branch;
mod concurrent;
mod consolidate;
mod corpus;
mod faces;
mod facts;
mod figures;
mod forget;
mod global;
mod import;
mod ingest;
mod lessons;
mod list;
mod memory;
mod names;
mod recall;
mod reembed;
mod sessions;
mod supersession;
mod write;
mod year;

use super::Context;
use crate::args::BenchCommand;
use crate::exit::Exit;

pub(super) fn run(context: &Context, command: &BenchCommand) -> anyhow::Result<Exit> {
    match command {
        BenchCommand::Branch { records } => branch::run(context, *records),
        BenchCommand::Recall { records } => recall::run(context, *records),
        BenchCommand::Concurrent { records } => concurrent::run(context, *records),
        BenchCommand::Consolidate { records } => consolidate::run(context, *records),
        BenchCommand::Lessons { records } => lessons::run(context, *records),
        BenchCommand::Import { lines } => import::run(context, *lines),
        BenchCommand::List { records } => list::run(context, *records),
        BenchCommand::Faces { records } => faces::run(context, *records),
        BenchCommand::Ingest { events } => ingest::run(context, *events),
        BenchCommand::Forget { records } => forget::run(context, *records),
        BenchCommand::Global(arguments) => global::run(context, arguments),
        BenchCommand::Reembed { records } => reembed::run(context, *records),
        BenchCommand::Supersession { pairs } => supersession::run(context, *pairs),
        BenchCommand::Write { records } => write::run(context, *records),
        BenchCommand::Year { days, events } => year::run(context, *days, *events),
        BenchCommand::Sessions => sessions::run(context),
        BenchCommand::Memory { records, file } => memory::run(context, *records, file.as_deref()),
    }
}
