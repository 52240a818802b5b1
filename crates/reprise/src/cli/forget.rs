//! `reprise forget`: a tombstone now; with `--verify` a compaction, and proof that the text is
//! gone.

mod erasure;

use std::collections::BTreeSet;
use std::io::Write;

use reprise_operations::operations::compact::{self, Compact};
use reprise_operations::operations::forget::{self, Forget};
use reprise_operations::operations::rebuild::{self as projected, Rebuild};
use reprise_operations::operations::shared::receipts::{ReceiptsOf, Row};
use reprise_operations::operations::stats;
use reprise_operations::{Effect, Operation};
use reprise_types::RecordId;
use serde_json::json;

use super::session::Session;
use super::{Context, project, rebuild, store};
use crate::args::ForgetArguments;
use crate::exit::Exit;
use crate::terminal;
use erasure::{Gone, KnownCopy, Traces};

struct Proof {
    traces: Traces,
    /// Other files that hold forgotten records.
    copies: Vec<KnownCopy>,
    /// What was made of forgotten records and still stands in the global store.
    published: BTreeSet<RecordId>,
}

pub(super) fn run(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    if arguments.dry_run {
        return preview(context, arguments);
    }
    let file = context.places.file_of(&arguments.user);
    let session = Session::open(context, &arguments.user, Forget::SPEC.effect)?;
    // Others may write, and compact, between any two of these steps.
    let (mut pinned, mut receipts) = (Vec::new(), Vec::new());
    if arguments.verify {
        pinned.extend(store::open_log(&file));
        // They may be among what is forgotten.
        let kept = session.call::<ReceiptsOf>(stats::Arguments {});
        receipts = kept.map(|kept| kept.receipts).unwrap_or_default();
    }
    let body = body(arguments, &session)?;
    let forgotten = session.call::<Forget>(body)?.forgotten;
    let mut proof = None;
    if arguments.verify {
        pinned.push(store::open_log(&file)?);
        session.call::<Compact>(compact::Arguments {})?;
        // What other programs read is written anew before it is looked into.
        for projection in rebuild::written(context, &arguments.user) {
            let refused = session.call::<Rebuild>(projected::Arguments {
                projections: vec![rebuild::of(projection)],
                ..projected::Arguments::default()
            });
            if let Err(error) = refused {
                super::note(&format!("warning: {error}"));
            }
        }
        session.close();
        let gone = Gone::read(&forgotten, &pinned)?;
        proof = Some(Proof {
            traces: gone.traces(&file)?,
            copies: gone.copies(context, &arguments.user),
            published: published(&receipts, &forgotten),
        });
    } else {
        session.close();
    }
    say(context, arguments, &forgotten, proof.as_ref())?;
    let done = !forgotten.is_empty() && proof.is_none_or(|proof| proof.traces.found == 0);
    Ok(if done { Exit::Success } else { Exit::Refused })
}

/// Says what would be forgotten.
fn preview(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let session = Session::open(context, &arguments.user, Effect::Reads)?;
    let body = body(arguments, &session)?;
    let would = session.call::<Forget>(body);
    session.close();
    let would = would?;
    let mut out = anstream::stdout().lock();
    if context.json {
        serde_json::to_writer(&mut out, &would)?;
        writeln!(out)?;
        return Ok(Exit::Success);
    }
    writeln!(out, "{}", Forget::text(&would))?;
    for (id, text) in would.forgotten.iter().zip(&would.texts) {
        writeln!(out, "{id}  {}", terminal::one_line(text, 70))?;
    }
    let more = would.forgotten.len() - would.texts.len();
    if more > 0 {
        writeln!(out, "and {more} more")?;
    }
    Ok(Exit::Success)
}

fn say(
    context: &Context,
    arguments: &ForgetArguments,
    forgotten: &[RecordId],
    proof: Option<&Proof>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if context.json {
        let mut row = json!({ "forgotten": forgotten });
        if let Some(proof) = proof {
            let copies = proof.copies.iter().map(|copy| {
                json!({ "file": copy.file, "kind": copy.kind.name(), "records": copy.records })
            });
            row["traces_in_file"] = json!(proof.traces.found);
            row["said_by"] = json!(proof.traces.said_by);
            row["copies"] = copies.collect();
            row["published"] = json!(proof.published);
        }
        writeln!(out, "{row}")?;
        return Ok(());
    }
    let count = terminal::count(forgotten.len(), "record");
    writeln!(out, "{count} forgotten")?;
    if forgotten.is_empty() {
        return Ok(());
    }
    let Some(proof) = proof else {
        writeln!(out, "their bytes stay on the disk until `reprise compact`")?;
        for (copy, _) in erasure::known_copies(context, &arguments.user) {
            let copy = copy.display();
            writeln!(out, "{copy} may hold them too: `--verify` looks into it")?;
        }
        return Ok(());
    };
    match proof.traces.found {
        0 => writeln!(
            out,
            "compacted: no trace of their texts is left in the file"
        )?,
        count => writeln!(out, "{count} texts can still be found in the file")?,
    }
    for id in &proof.traces.said_by {
        writeln!(out, "{id} says one of them too: forget it by its id")?;
    }
    for id in &proof.published {
        writeln!(
            out,
            "{id} was published of them: `reprise unpublish {id}` takes it back"
        )?;
    }
    for KnownCopy {
        file,
        kind,
        records,
    } in &proof.copies
    {
        let (file, remedy) = (file.display(), kind.remedy());
        match records {
            Some(records) => {
                let held = terminal::count(*records, "forgotten record");
                writeln!(out, "{file} still holds {held}: {remedy}")?;
            }
            None => writeln!(out, "{file} cannot be read, and may hold them: {remedy}")?,
        }
    }
    Ok(())
}

/// What the receipts say was published of these records and was not taken back.
fn published(receipts: &[Row], forgotten: &[RecordId]) -> BTreeSet<RecordId> {
    let mut standing = BTreeSet::new();
    for Row { line, .. } in receipts.iter().rev() {
        match line.act.as_str() {
            "published" if line.record.is_some_and(|id| forgotten.contains(&id)) => {
                standing.insert(line.global_id);
            }
            "unpublished" => {
                standing.remove(&line.global_id);
            }
            _ => {}
        }
    }
    standing
}

fn body(arguments: &ForgetArguments, session: &Session) -> anyhow::Result<forget::Arguments> {
    let what = &arguments.what;
    Ok(forget::Arguments {
        id: what.id,
        external_id: what.external_id.clone(),
        session: what.session.clone(),
        before: what.before.map(|before| before.to_rfc3339()),
        tag: what.tag.clone(),
        project: project::named(session, what.project.as_deref())?,
        dry_run: arguments.dry_run,
        reason: Some(arguments.reason.clone()),
    })
}
