//! `reprise import` of notes: what was changed there takes the place of what stood here, what is
//! gone is asked about, and with `--sync` what memory says by now goes out to the notes it wrote.

use std::io::IsTerminal as _;
use std::thread::sleep;

use reprise_knowledge::{
    Found, Gone, Item, Renewal, deleted, is_written, read, renew, state_of_notes,
};
use reprise_operations::Ran;
use reprise_operations::operations::care::{Rebuild, RebuildArguments, Wanted};
use reprise_operations::operations::forgetting::{Forget, ForgetArguments};
use reprise_operations::operations::records::{Revise, ReviseArguments};

use super::Source;
use super::report::Report;
use crate::args::ImportArguments;
use crate::cli::prelude::*;

/// How often `--watch` looks, and how long nothing may change before it acts.
const TICK: Duration = Duration::from_millis(500);
/// Columns of a text that is gone.
const SHOWN: usize = 60;

/// A record that stands for what is no longer in its note.
#[derive(Debug, Serialize)]
pub(super) struct GoneRow {
    record: String,
    #[serde(rename = "where")]
    pub(super) path: String,
    pub(super) text: String,
    pub(super) forgotten: bool,
}

/// What notes do to a memory; `None` for what is no note.
pub(super) fn renewal(source: Source<'_>) -> anyhow::Result<Option<Renewal>> {
    let (context, arguments) = (source.context, source.arguments);
    if !source.kind.is_of_notes() {
        return Ok(None);
    }
    let mut items = Vec::new();
    let done = read(&arguments.path, source.kind, source.zone, &mut |item| {
        items.push(item);
        true
    });
    match done {
        Err(error) if items.is_empty() => return Err(error.into()),
        Err(error) => items.push(Item {
            place: arguments.path.display().to_string(),
            found: Found::Refused(error.to_string()),
        }),
        Ok(()) => {}
    }
    if !store::exists(context, &arguments.whose.user)? {
        return Ok(Some(Renewal {
            items,
            ..Renewal::default()
        }));
    }
    let engine = store::read(context, &arguments.whose.user)?;
    let clean = |text: &str| Redactor::new().redact_text(text).text;
    let mut renewal = renew(&engine.snapshot(), items, &clean);
    let home = context.places.home_of(&arguments.whose.user);
    let gone = deleted(&engine.snapshot(), &place(arguments), &home)?;
    renewal.gone.extend(gone);
    Ok(Some(renewal))
}

/// New versions of what was changed in its note.
pub(super) fn replace(
    context: &Context,
    arguments: &ImportArguments,
    renewal: &mut Renewal,
    report: &mut Report,
) -> anyhow::Result<()> {
    if renewal.replaced.is_empty() {
        return Ok(());
    }
    let session = Session::open(context, &arguments.whose.user, Revise::SPEC.effect)?;
    for replacement in std::mem::take(&mut renewal.replaced) {
        let asked = ReviseArguments {
            id: replacement.record.to_string(),
            changes: replacement.changes,
        };
        match session.ran::<Revise>(&asked) {
            Ok(Ran { redacted, .. }) => {
                report.replaced += 1;
                report.take_out(&replacement.place, redacted);
            }
            Err(problem) => report.refuse(replacement.place, problem.to_string()),
        }
    }
    drop(session);
    Ok(())
}

/// What is gone is forgotten where that was said, or is agreed to. Then memory goes out to a folder
/// that it wrote, with `--sync`.
pub(super) fn settle(
    context: &Context,
    arguments: &ImportArguments,
    gone: Vec<Gone>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let count = counted(gone.len(), "record");
    let is_asked = !gone.is_empty() && !arguments.forget_gone && !arguments.watch && !context.json;
    let forgets = arguments.forget_gone
        || is_asked && io::stdin().is_terminal() && {
            for one in gone.iter().take(super::SAID_MAX) {
                tell!("{}: {}", one.path, terminal::one_line(&one.text, SHOWN));
            }
            agreed(&format!("forget {count} whose notes are gone?"), "")?
        };
    if forgets && !gone.is_empty() {
        let session = Session::open(context, &arguments.whose.user, Forget::SPEC.effect)?;
        for one in &gone {
            session.call::<Forget>(ForgetArguments {
                id: Some(one.record),
                reason: Some(format!("its note {} is gone", one.path)),
                ..ForgetArguments::default()
            })?;
        }
        drop(session);
    } else if !gone.is_empty() {
        tell!("{count} of notes or sections that are gone; --forget-gone forgets them");
    }
    let is_decided = forgets || gone.is_empty();
    report.gone = gone.into_iter().map(|one| row(one, forgets)).collect();
    if arguments.sync && is_decided {
        write_out(context, arguments)?;
    }
    Ok(())
}

pub(super) fn row(one: Gone, forgotten: bool) -> GoneRow {
    GoneRow {
        record: one.record.to_string(),
        text: terminal::one_line(&one.text, SHOWN),
        path: one.path,
        forgotten,
    }
}

/// The path by which memory knows what it wrote there: a shell ends the name of a folder with a
/// slash.
fn place(arguments: &ImportArguments) -> PathBuf {
    arguments.path.components().collect()
}

/// Brings the notes up to date that memory wrote into this folder; a folder of a person's own is
/// left alone.
fn write_out(context: &Context, arguments: &ImportArguments) -> anyhow::Result<()> {
    let place = place(arguments);
    if !is_written(&place, &context.places.home_of(&arguments.whose.user)) {
        return Ok(());
    }
    let session = Session::open(context, &arguments.whose.user, Effect::Reads)?;
    let done = session.call::<Rebuild>(RebuildArguments {
        projections: vec![Wanted {
            kind: reprise_knowledge::ProjectionKind::Markdown
                .name()
                .to_owned(),
            path: std::path::absolute(place)?,
            project: None,
        }],
        ..RebuildArguments::default()
    });
    drop(session);
    match done {
        Ok(done) => {
            for one in done
                .projections
                .iter()
                .filter(|one| one.written + one.removed > 0)
            {
                let (written, removed) = (one.written, one.removed);
                tell!("{written} notes written, {removed} removed");
            }
        }
        // A conflict has been told, and the note stays as it is.
        Err(problem) => tell!("warning: {problem}"),
    }
    Ok(())
}

/// Imports again whenever notes have changed, or with `--sync` memory, until it is stopped.
pub(super) fn watch(
    context: &Context,
    arguments: &ImportArguments,
    mut once: impl FnMut() -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let file = context.places.file_of(&arguments.whose.user);
    let state = |path: &Path| -> anyhow::Result<_> {
        let memory = fs_err::metadata(&file).ok().filter(|_| arguments.sync);
        let memory = memory.map(|found| (found.len(), found.modified().ok()));
        Ok((state_of_notes(path)?, memory))
    };
    let mut done = None;
    let mut before = state(&arguments.path)?;
    note("watching; Ctrl-C ends it");
    loop {
        let now = state(&arguments.path)?;
        if now == before && done.as_ref() != Some(&now) {
            once()?;
            // As it was before: what was edited meanwhile is seen, and so is what it wrote.
            done = Some(now);
        } else {
            before = now;
        }
        sleep(TICK);
    }
}
