//! `reprise publish`, `unpublish`, `published`: what of a memory others may find, shown byte by
//! byte before it leaves.

mod receipt;
mod remote;
mod serve;
mod store;
mod token;
mod widen;

use std::io::{BufRead, IsTerminal, Write};

use anyhow::{Context as _, bail};
use reprise_engine::{Engine, Snapshot};
use reprise_global::{GlobalRecord, Leaving, Proposal, Published, leave};
use reprise_store::Verify;
use reprise_types::{ExternalId, MemoryRecord, RecordId};
use serde_json::{Value, json};

use super::Context;
use super::store::{self as memory, Access};
use crate::args::{GlobalCommand, PublishArguments, PublishedArguments, UnpublishArguments};
use crate::exit::Exit;
use crate::terminal;
use receipt::{Act, Receipts};

pub(super) use widen::Others;

/// A record about to be published, and the name under which its versions are one thing.
struct Wanted {
    record: MemoryRecord,
    origin: RecordId,
    leaving: Leaving,
}

pub(super) fn run(context: &Context, command: &GlobalCommand) -> anyhow::Result<Exit> {
    match command {
        GlobalCommand::Serve(arguments) => serve::run(context, arguments),
        GlobalCommand::Token(command) => token::run(context, command),
        GlobalCommand::Snapshot { name, user } => {
            let (global, caller) = store::open(context, user)?;
            let at = store::wait(global.snapshot(&caller, name))??;
            let mut out = anstream::stdout().lock();
            if context.json {
                writeln!(out, "{}", json!({ "snapshot": name, "at": at }))?;
            } else {
                writeln!(out, "{name} is the store as of {at}")?;
            }
            Ok(Exit::Success)
        }
    }
}

pub(super) fn publish(context: &Context, arguments: &PublishArguments) -> anyhow::Result<Exit> {
    if arguments.ids.len() > 1 && (arguments.title.is_some() || arguments.summary.is_some()) {
        bail!("a title and a summary are for one record; publish them one by one");
    }
    let wanted = wanted(context, arguments)?;
    if arguments.dry_run {
        show(context, &wanted)?;
        return Ok(Exit::Success);
    }
    if !arguments.yes {
        show_to_person(&wanted)?;
        if !agreed()? {
            super::note("nothing left");
            return Ok(Exit::Refused);
        }
    }
    let (global, caller) = store::open(context, &arguments.user)?;
    let mut published = Vec::new();
    let mut failed = None;
    for one in &wanted {
        let publication = one.leaving.publication.clone();
        match store::wait(global.publish(&caller, publication))? {
            Ok(done) => published.push((one, done)),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    // Said in the user's own log, also of what was published before one failed.
    let acts: Vec<Act<'_>> = published
        .iter()
        .map(|(one, done)| Act::Published {
            record: one.record.id,
            origin: one.origin,
            publication: &one.leaving.publication,
            done,
        })
        .collect();
    let receipt = match acts.as_slice() {
        [] => None,
        acts => Some(receipt::keep(context, &arguments.user, acts)?),
    };
    if receipt.is_some() {
        print(context, &published, receipt)?;
    }
    match failed {
        None => Ok(Exit::Success),
        Some(error) => Err(error.into()),
    }
}

/// The records named, each as it would leave; nothing leaves where one of them may not.
fn wanted(context: &Context, arguments: &PublishArguments) -> anyhow::Result<Vec<Wanted>> {
    let user = &arguments.user;
    let (engine, _) = memory::open(context, user, Access::Read, Verify::Tail)?;
    let snapshot = engine.snapshot();
    let receipts = Receipts::read(&snapshot);
    let proposal = Proposal {
        content_type: arguments.content_type.into(),
        title: arguments.title.clone(),
        summary: arguments.summary.clone(),
        access_policy: arguments.policy.into(),
        licence: arguments.licence.clone(),
    };
    let mut wanted: Vec<Wanted> = Vec::new();
    for id in &arguments.ids {
        let record = named(&engine, &snapshot, id)?;
        if wanted.iter().any(|other| other.record.id == record.id) {
            continue;
        }
        let origin = receipts.origin_of(&snapshot, record.id);
        let leaving = leave(user, &record, origin, &proposal)?;
        wanted.push(Wanted {
            record,
            origin,
            leaving,
        });
    }
    Ok(wanted)
}

fn named(engine: &Engine, snapshot: &Snapshot, id: &str) -> anyhow::Result<MemoryRecord> {
    let parsed = id.parse().ok();
    let external = || engine.duplicate_of(&ExternalId::new(ExternalId::BATCH, id));
    let known = parsed
        .and_then(|id| snapshot.current(id))
        .or_else(|| snapshot.current(external()?));
    let record = known.and_then(|id| snapshot.get(id));
    let record = record.with_context(|| {
        format!("there is no record `{id:.64}`; a recall or `reprise list` gives ids")
    })?;
    Ok(record?)
}

fn show(context: &Context, wanted: &[Wanted]) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    for one in wanted {
        let bytes = one.leaving.publication.bytes();
        if context.json {
            let publication: Value = serde_json::from_slice(&bytes)?;
            let line = json!({
                "record": one.record.id,
                "leaves": publication,
                "exact": String::from_utf8_lossy(&bytes),
                "bytes": bytes.len(),
                "sha256": one.leaving.publication.checksum(),
                "redacted": one.leaving.redacted,
            });
            writeln!(out, "{line}")?;
        } else {
            out.write_all(&bytes)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn show_to_person(wanted: &[Wanted]) -> anyhow::Result<()> {
    let mut err = anstream::stderr().lock();
    for one in wanted {
        let publication = &one.leaving.publication;
        let bytes = publication.bytes();
        writeln!(
            err,
            "{}",
            terminal::title(format!(
                "{}: these {} bytes would leave, for {} readers",
                one.record.id,
                bytes.len(),
                publication.access_policy.name()
            ))
        )?;
        err.write_all(&bytes)?;
        writeln!(err)?;
        if one.leaving.redacted > 0 {
            let found = terminal::count(one.leaving.redacted as usize, "secret");
            writeln!(err, "{found} taken out")?;
        }
    }
    Ok(())
}

/// Whether a person says yes; without one nothing leaves.
fn agreed() -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        bail!(
            "nothing leaves without a yes; read what would leave with --dry-run, then pass --yes"
        );
    }
    super::note("Publish this? Type yes:");
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}

fn print(
    context: &Context,
    published: &[(&Wanted, Published)],
    receipt: Option<RecordId>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if context.json {
        let rows: Vec<&Published> = published.iter().map(|(_, done)| done).collect();
        writeln!(out, "{}", json!({ "published": rows, "receipt": receipt }))?;
        return Ok(());
    }
    for (one, done) in published {
        let title = terminal::one_line(&one.leaving.publication.title, 60);
        let (id, version, bytes) = (done.id, done.version, done.bytes);
        let said = if done.unchanged { ", as it stood" } else { "" };
        writeln!(out, "{id}  version {version}, {bytes} bytes{said}  {title}")?;
        if !done.overlaps.is_empty() {
            let others = terminal::count(done.overlaps.len(), "published thing");
            writeln!(out, "  it says nearly the same as {others}:")?;
            for near in &done.overlaps {
                let title = terminal::one_line(&near.title, 60);
                let (id, percent) = (near.id, near.similarity * 100.0);
                writeln!(out, "    {id}  {percent:.0} %  {title}")?;
            }
        }
    }
    if let Some(receipt) = receipt {
        writeln!(out, "receipt {receipt}")?;
    }
    Ok(())
}

pub(super) fn unpublish(context: &Context, arguments: &UnpublishArguments) -> anyhow::Result<Exit> {
    let (global, caller) = store::open(context, &arguments.user)?;
    let done = store::wait(global.unpublish(&caller, arguments.id))??;
    let receipt = receipt::keep(context, &arguments.user, &[Act::Unpublished(done)])?;
    let mut out = anstream::stdout().lock();
    if context.json {
        let row = json!({ "unpublished": done.id, "versions": done.versions,
            "verified": done.verified, "receipt": receipt });
        writeln!(out, "{row}")?;
    } else {
        let versions = terminal::count(done.versions as usize, "version");
        writeln!(
            out,
            "{} is in no answer any more: {versions} taken back",
            done.id
        )?;
        if done.verified {
            writeln!(
                out,
                "asked for it again, by its id and its words: nothing is left"
            )?;
        }
        writeln!(out, "receipt {receipt}")?;
    }
    Ok(if done.verified {
        Exit::Success
    } else {
        Exit::Refused
    })
}

pub(super) fn published(context: &Context, arguments: &PublishedArguments) -> anyhow::Result<Exit> {
    let (global, caller) = store::open(context, &arguments.user)?;
    let records = store::wait(global.published(&caller))??;
    let mut out = anstream::stdout().lock();
    if context.json {
        let rows: Vec<Value> = records.iter().map(row).collect();
        writeln!(out, "{}", json!({ "published": rows }))?;
        return Ok(Exit::Success);
    }
    if records.is_empty() {
        writeln!(out, "nothing is published; `reprise publish ID` does that")?;
    }
    for record in &records {
        let publication = &record.publication;
        writeln!(
            out,
            "{}  version {}, {}, for {} readers, used {} times  {}",
            record.id,
            record.version,
            publication.content_type.name(),
            publication.access_policy.name(),
            record.quality_metrics.usage_count,
            terminal::one_line(&publication.title, 60),
        )?;
    }
    Ok(Exit::Success)
}

fn row(record: &GlobalRecord) -> Value {
    let publication = &record.publication;
    json!({
        "id": record.id,
        "version": record.version,
        "type": publication.content_type,
        "title": publication.title,
        "policy": publication.access_policy,
        "bytes": publication.bytes().len(),
        "checksum": record.checksum,
        "published_at": record.published_at,
        "quality": record.quality_metrics,
    })
}
