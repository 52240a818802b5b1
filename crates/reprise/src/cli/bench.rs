//! `reprise bench`: figures of this machine, from the code that users run. Each row stands beside
//! what it is compared with, taken in the same run.

mod concurrent;
mod corpus;
mod faces;
mod forget;
mod ingest;
mod list;
mod memory;
mod recall;
mod sessions;

use std::path::Path;

use super::Context;
use crate::args::BenchCommand;
use crate::exit::Exit;

pub(super) fn run(context: &Context, command: &BenchCommand) -> anyhow::Result<Exit> {
    match command {
        BenchCommand::Recall { records } => recall::run(context, *records),
        BenchCommand::Concurrent { records } => concurrent::run(context, *records),
        BenchCommand::List { records } => list::run(context, *records),
        BenchCommand::Faces { records } => faces::run(context, *records),
        BenchCommand::Ingest { events } => ingest::run(context, *events),
        BenchCommand::Forget { records } => forget::run(context, *records),
        BenchCommand::Sessions => sessions::run(context),
        BenchCommand::Memory { records, file } => memory::run(*records, file.as_deref()),
    }
}

/// Resident memory of this process, in bytes; 0 where the machine does not say.
fn resident_bytes() -> u64 {
    resident_bytes_of(Path::new("/proc/self/status"))
}

/// The same of the process with this status file.
fn resident_bytes_of(status: &Path) -> u64 {
    let status = fs_err::read_to_string(status).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The value below which `share` (0..1) of the sorted values lie.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((share * last as f64).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}
