//! `reprise events replay`: a host's exported log, through store, bus and relay into memory.

use reprise_agent::RelayProgress;
use reprise_sandbox::ReplayCounts;

use super::output::Out;
use crate::args::EventsCommand;
use crate::cli::prelude::*;

pub(super) fn run(context: &Context, command: &EventsCommand) -> anyhow::Result<Exit> {
    let EventsCommand::Replay { file, user } = command;
    let factory = model::factory(&context.of_user(user));
    let events = context.places.home_of(user).join("events.db");
    let (counts, progress) = runtime::threaded()?.block_on(async {
        let host = Host::start(context, user, events, factory).await?;
        let done = host.replay(file).await;
        host.shut_down().await?;
        done
    })?;
    for bad in &counts.bad_lines {
        tell!("line {} was passed over: {}", bad.number, bad.why);
    }
    let report = json!({
        "lines": counts.lines,
        "events": counts.inserted,
        "repeated_events": counts.duplicates,
        "bad_lines": counts.bad,
        "records_inserted": progress.inserted,
        "records_duplicate": progress.duplicates,
        "records_rejected": progress.rejected,
        "records_truncated": progress.truncated,
        "unembedded": progress.unembedded,
        "topics": progress.topics,
    });
    output::print(context, &report, |out| table(out, &counts, &progress))?;
    Ok(output::exit(counts.bad == 0))
}

fn table(out: &mut Out, counts: &ReplayCounts, progress: &RelayProgress) -> anyhow::Result<()> {
    writeln!(
        out,
        "{}: {}, {} of them known already, {} unreadable",
        counted(counts.lines, "line"),
        counted(counts.inserted + counts.duplicates, "event"),
        counts.duplicates,
        counts.bad
    )?;
    writeln!(
        out,
        "memory: {} kept, {}, {} refused, {} cut to 64 KiB",
        counted(progress.inserted, "record"),
        counted(progress.duplicates, "duplicate"),
        progress.rejected,
        progress.truncated
    )?;
    for (topic, count) in progress.topics.topics() {
        let fate = match (count.records, count.ignored, count.unknown, count.malformed) {
            (0, _, 1.., _) => "unknown topic, not kept".to_owned(),
            (0, _, _, 1..) => "could not be read".to_owned(),
            (0, ..) => "left out by the table".to_owned(),
            (records, ..) => counted(records, "record"),
        };
        let seen = count.mapped + count.ignored + count.unknown + count.malformed;
        let redacted = match count.redacted {
            0 => String::new(),
            secrets => format!(", {} redacted", counted(secrets, "secret")),
        };
        writeln!(
            out,
            "  {seen:>5} x {topic:<34} {fate}{}",
            terminal::faint(redacted)
        )?;
    }
    Ok(())
}
