//! `reprise stats`: a store in numbers.

use std::io::Write;

use reprise_store::Verify;
use reprise_types::{Clock, SystemClock};

use super::Context;
use super::store::{self, Access};
use crate::args::UserArguments;
use crate::exit::Exit;
use crate::terminal;

pub(super) fn run(context: &Context, arguments: &UserArguments) -> anyhow::Result<Exit> {
    let (engine, _) = store::open(context, &arguments.user, Access::Read, Verify::Tail)?;
    let stats = engine.stats();
    let mut out = anstream::stdout().lock();
    if context.json {
        serde_json::to_writer(&mut out, &stats)?;
        writeln!(out)?;
        return Ok(Exit::Success);
    }
    let last = stats.last_ingest.map_or("never".to_owned(), |at| {
        format!(
            "{} ({})",
            at.format("%Y-%m-%d %H:%M:%S"),
            terminal::ago(at, SystemClock.now())
        )
    });
    writeln!(
        out,
        "{}",
        terminal::title(format!("memory of {}", arguments.user))
    )?;
    writeln!(
        out,
        "  records       {} in {} sessions",
        stats.live, stats.sessions
    )?;
    writeln!(out, "  last ingest   {last}")?;
    writeln!(
        out,
        "  forgotten     {}, superseded {}",
        stats.forgotten, stats.superseded
    )?;
    let space = stats.space.as_deref().unwrap_or("no vectors yet");
    writeln!(
        out,
        "  embedding     {space}, {} records waiting",
        stats.unembedded
    )?;
    writeln!(
        out,
        "  file          {} in {} commits, {} reclaimable",
        terminal::bytes(stats.file_bytes),
        stats.commits,
        terminal::bytes(stats.reclaimable_bytes)
    )?;
    writeln!(
        out,
        "  index         {} in memory",
        terminal::bytes(stats.index_bytes as u64)
    )?;
    Ok(Exit::Success)
}
