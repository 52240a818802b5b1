//! `reprise stats`: a store in numbers.

use reprise_engine::EngineStats;
use reprise_operations::operations::care::Stats;

use super::output::Out;
use crate::args::calendar;
use crate::cli::prelude::*;

pub(super) fn run(context: &Context, arguments: &WhoseArguments) -> anyhow::Result<Exit> {
    let stats = output::call::<Stats>(context, &arguments.user, NoArguments {})?;
    output::print(context, &stats, |out| {
        table(out, context, arguments, &stats)
    })
}

fn table(
    out: &mut Out,
    context: &Context,
    arguments: &WhoseArguments,
    stats: &EngineStats,
) -> anyhow::Result<()> {
    let last = stats.last_ingest.map_or("never".to_owned(), |at| {
        let calendar = calendar();
        format!("{} ({})", calendar.minute_of(at), calendar.ago(at))
    });
    writeln!(
        out,
        "{}",
        terminal::title(format!("memory of {}", arguments.user))
    )?;
    writeln!(
        out,
        "  records       {} in {}",
        stats.live,
        counted(stats.sessions, "session")
    )?;
    writeln!(
        out,
        "  form          {:.0} words a record, {:.0} % of their neighbours answer or are answered",
        stats.words_mean,
        100.0 * stats.dialogue
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
        "  embedding     {space}, {} waiting",
        counted(stats.unembedded, "record")
    )?;
    if let Some(proposal) = stats
        .proposal
        .as_ref()
        .filter(|_| context.config.proposes_models())
    {
        writeln!(out, "  language      {proposal}")?;
    }
    if let Some(percent) = stats.re_embedded_percent() {
        let left = stats.other_spaces.iter();
        let left: Vec<_> = left
            .map(|other| format!("{} of {}", other.records, other.space))
            .collect();
        let left = left.join(", ");
        writeln!(out, "  re-embedding  {percent} % done, still {left}")?;
    }
    writeln!(
        out,
        "  file          {} in {}, {} reclaimable",
        size(stats.file_bytes),
        counted(stats.commits, "commit"),
        size(stats.reclaimable_bytes)
    )?;
    writeln!(out, "  compaction    {}", compaction(stats))?;
    writeln!(
        out,
        "  index         {} in memory",
        size(stats.index_bytes as u64)
    )?;
    Ok(())
}

/// How far the file was rewritten, how much of it is dead, and what follows.
fn compaction(stats: &EngineStats) -> String {
    let done = match stats.compacted_to {
        0 => "not yet".to_owned(),
        seq => format!("up to commit {seq}"),
    };
    let dead = stats.reclaimable_bytes * 100 / stats.file_bytes.max(1);
    let next = if stats.compaction_due {
        "a daemon starts one by itself"
    } else {
        "none is due"
    };
    format!("{done}, {dead} % dead, {next}")
}
