//! `reprise check`, `compact`, `reembed`, `inspect` and `stats`: the file of a memory looked at,
//! rewritten and counted.

use indicatif::ProgressStyle;
use reprise_engine::{CheckReport, EngineStats, Finding};
use reprise_knowledge::compare_stock;
use reprise_operations::operations::care::{Compact, Reembed, Reembedded, Stats};
use reprise_store::{RecoveryReport, SegmentInfo};

use super::rebuild;
use crate::args::{CheckArguments, InspectArguments, calendar};
use crate::cli::prelude::*;

pub(super) fn run(context: &Context, arguments: &CheckArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    // Only a repair needs the lock.
    let access = if arguments.repair {
        Access::Write
    } else {
        Access::Read
    };
    let (mut engine, opened) = store::open(context, user, access, Verify::Everything)?;
    let report = engine.check()?;
    let mut findings: Vec<String> = report.findings.iter().map(told).collect();
    // What a rebuilt index does not heal stands in the file.
    let mut left = left_of(&report, opened.recovery.missing_records.is_empty());
    if arguments.repair {
        engine.rebuild()?;
        engine.checkpoint()?;
        let again = engine.check()?;
        left = left_of(&again, opened.recovery.missing_records.is_empty());
    }
    let projected = rebuild::findings(context, user, &engine.snapshot())?;
    let stock = arguments
        .stock
        .then(|| stock(context, arguments, engine))
        .transpose()?;
    let recovery = &opened.recovery;
    findings.extend(projected);
    for (first, last) in &recovery.missing_records {
        findings.push(format!("records {first}..={last} can no longer be read"));
    }
    let seen = stock.map(|(seen, differing)| {
        findings.extend(differing.into_iter().map(|why| format!("stock: {why}")));
        seen
    });
    if has_nothing(recovery) {
        findings.push(format!(
            "no whole commit is left of the file; `reprise restore FILE --user {user} --replace` puts \
             a backup in its place"
        ));
        left = Left::File;
    }
    let sound = findings.is_empty();
    let row = json!({
        "sound": sound,
        "records": report.records_read,
        "torn_bytes": recovery.torn_bytes,
        "findings": findings,
        "repaired": arguments.repair,
        "stock_vectors": seen,
    });
    output::print(context, &row, |out| {
        let (records, torn) = (report.records_read, recovery.torn_bytes);
        let records = counted(records, "record");
        writeln!(out, "{records} read, every hash verified")?;
        if torn > 0 {
            writeln!(
                out,
                "the last {torn} bytes are no whole commit and are not counted: a write that did \
                 not end, or a file that was cut short; if records are missing, restore a backup"
            )?;
        }
        if let Some(seen) = seen {
            writeln!(out, "{seen} vectors read by stock rvf-runtime")?;
        }
        for finding in &findings {
            writeln!(out, "  {finding}")?;
        }
        Ok(writeln!(out, "{}", verdict(arguments, sound, left))?)
    })?;
    Ok(output::exit(sound))
}

/// Whether a file that was read wholly ends within its first commit.
pub(super) fn has_nothing(recovery: &RecoveryReport) -> bool {
    recovery.torn_bytes > 0 && recovery.commits_read == 0
}

fn told(finding: &Finding) -> String {
    format!("{}: {}", finding.what, finding.detail)
}

/// Where damage stands, which says what heals it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    /// In what is built from the log.
    Index,
    /// In the log itself.
    File,
}

fn left_of(report: &CheckReport, is_all_there: bool) -> Left {
    let in_file = |finding: &Finding| matches!(finding.what.as_str(), "file" | "record");
    match &report.findings[..] {
        [] if is_all_there => Left::Nothing,
        findings if !is_all_there || findings.iter().any(in_file) => Left::File,
        _ => Left::Index,
    }
}

/// What it comes to, and what to do.
fn verdict(arguments: &CheckArguments, sound: bool, left: Left) -> String {
    let user = &arguments.whose.user;
    match left {
        Left::Nothing if sound => "sound: the index equals the log".to_owned(),
        Left::Nothing if arguments.repair => {
            "repaired: the index was built anew and equals the log".to_owned()
        }
        Left::Nothing => {
            "the memory itself is sound; `reprise rebuild` writes its projections anew".to_owned()
        }
        Left::Index => format!(
            "damaged: `reprise check --repair --user {user}` builds the index anew from the log"
        ),
        Left::File => format!(
            "damaged: `reprise compact --user {user}` writes the file anew with all that can be \
             read; a backup has what cannot"
        ),
    }
}

/// What stock rvf-runtime makes of the file once it is closed: a daemon that has it lets go of it.
fn stock(
    context: &Context,
    arguments: &CheckArguments,
    reader: Engine,
) -> anyhow::Result<(usize, Vec<String>)> {
    drop(reader);
    let mut engine = store::take_over(context, &arguments.whose.user)?;
    engine.checkpoint()?;
    let memory = engine.snapshot();
    let ids = memory
        .records()
        .filter_map(|record| record.ok().map(|record| record.id));
    let own: Vec<Vec<f32>> = ids.filter_map(|id| memory.vector(id)).collect();
    engine.close()?;
    Ok(compare_stock(
        &context.places.file_of(&arguments.whose.user),
        &own,
    ))
}

/// A new file without what was forgotten, taken into use by a rename.
pub(super) fn compact(context: &Context, whose: &WhoseArguments) -> anyhow::Result<Exit> {
    let report = output::call::<Compact>(context, &whose.user, NoArguments {})?;
    // As `stats` counts them: without the earlier versions, which stay too.
    let live = output::call::<Stats>(context, &whose.user, NoArguments {})?.live;
    let versions = if report.records > live {
        format!(" ({} with their earlier versions)", report.records)
    } else {
        String::new()
    };
    let line = format!(
        "{}{versions} kept, {} of what was forgotten removed: {} became {}",
        counted(live, "record"),
        counted(report.forgotten, "version"),
        size(report.bytes_before),
        size(report.bytes_after)
    );
    output::line(context, &report, line)
}

/// The vectors that wait for the model in use, made now, with progress.
pub(super) fn reembed(context: &Context, whose: &WhoseArguments) -> anyhow::Result<Exit> {
    let done = embedded(&Session::open(context, &whose.user, Reembed::SPEC.effect)?)?;
    output::print(context, &done, |out| {
        let space = done.space.as_deref().unwrap_or("no space yet");
        let (user, embedded, waiting) = (&whose.user, done.embedded, done.waiting);
        writeln!(
            out,
            "{user}: {embedded} records have a vector of {space}, {waiting} wait for one"
        )?;
        for other in &done.other_spaces {
            writeln!(out, "  {} have theirs in {}", other.records, other.space)?;
        }
        Ok(())
    })?;
    let is_done = done.waiting == 0 && done.other_spaces.is_empty();
    if !is_done {
        note("some have no vector yet; `reprise doctor` says whether the model is there");
    }
    Ok(output::exit(is_done))
}

/// Asks until nothing is left or nothing more is made.
fn embedded(session: &Session) -> anyhow::Result<Reembedded> {
    let bar = ProgressBar::no_length();
    bar.set_style(ProgressStyle::with_template(
        "{bar:40} {pos} of {len} records, {eta} left",
    )?);
    let done = loop {
        let done = session.call::<Reembed>(NoArguments {})?;
        bar.set_length(u64::from(done.embedded + done.waiting));
        bar.set_position(u64::from(done.embedded));
        if !done.goes_on {
            break done;
        }
    };
    bar.finish_and_clear();
    Ok(done)
}

/// The segments of a file, for people who want to see the bytes.
pub(super) fn inspect(context: &Context, arguments: &InspectArguments) -> anyhow::Result<Exit> {
    let path = match (&arguments.user, &arguments.file) {
        (Some(user), _) => context.places.file_of(user),
        (None, Some(file)) => std::path::absolute(file)?,
        (None, None) => anyhow::bail!("name a user or a file"),
    };
    let segments = reprise_store::inspect(&RealDisk, &path)?;
    let row = |one: &&SegmentInfo| {
        json!({ "offset": one.offset, "type": one.name, "bytes": one.bytes, "holds": one.holds,
            "hash_ok": one.whole })
    };
    output::rows(context, &segments, row, |one| {
        let mark = if one.whole { "" } else { "  DAMAGED" };
        let (offset, bytes, name, holds) = (one.offset, one.bytes, one.name, &one.holds);
        format!("{offset:>12} {bytes:>12} B  {name:<12} {holds}{mark}")
    })?;
    Ok(output::exit(segments.iter().all(|segment| segment.whole)))
}

/// `reprise stats`: a store in numbers.
pub(super) fn stats(context: &Context, arguments: &WhoseArguments) -> anyhow::Result<Exit> {
    let stats = output::call::<Stats>(context, &arguments.user, NoArguments {})?;
    output::print(context, &stats, |out| {
        let title = format!("memory of {}", arguments.user);
        writeln!(out, "{}", terminal::title(title))?;
        for (name, fact) in facts(context, &stats) {
            writeln!(out, "  {name:<13} {fact}")?;
        }
        Ok(())
    })
}

fn facts(context: &Context, stats: &EngineStats) -> Vec<(&'static str, String)> {
    let (live, sessions) = (stats.live, counted(stats.sessions, "session"));
    let (words, answered) = (stats.words_mean, 100.0 * stats.dialogue);
    let last = stats.last_ingest.map_or("never".to_owned(), |at| {
        let calendar = calendar();
        format!("{} ({})", calendar.minute_of(at), calendar.ago(at))
    });
    let (forgotten, superseded) = (stats.forgotten, stats.superseded);
    let space = stats.space.as_deref().unwrap_or("no vectors yet");
    let waiting = counted(stats.unembedded, "record");
    let form = format!(
        "{words:.0} words a record, {answered:.0} % of their neighbours answer or are answered"
    );
    let mut facts = vec![
        ("records", format!("{live} in {sessions}")),
        ("form", form),
        ("last ingest", last),
        ("forgotten", format!("{forgotten}, superseded {superseded}")),
        ("embedding", format!("{space}, {waiting} waiting")),
    ];
    let proposal = stats.proposal.clone();
    let proposal = proposal.filter(|_| context.config.proposes_models());
    facts.extend(proposal.map(|proposal| ("language", proposal)));
    if let Some(percent) = stats.re_embedded_percent() {
        let left = stats.other_spaces.iter();
        let left = left.map(|other| format!("{} of {}", other.records, other.space));
        let left = left.collect::<Vec<_>>().join(", ");
        facts.push(("re-embedding", format!("{percent} % done, still {left}")));
    }
    let (file, commits) = (size(stats.file_bytes), counted(stats.commits, "commit"));
    let reclaimable = size(stats.reclaimable_bytes);
    let index = size(stats.index_bytes as u64);
    facts.extend([
        (
            "file",
            format!("{file} in {commits}, {reclaimable} reclaimable"),
        ),
        ("compaction", compaction(stats)),
        ("index", format!("{index} in memory")),
    ]);
    facts
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
