//! `reprise import` of notes: changed notes replace their memories, deleted ones are forgotten
//! after a question, and `--sync` writes changes in memory back to the notes that it wrote.

use std::io::IsTerminal as _;
use std::thread::sleep;

use reprise_knowledge::{
    ImportItem, ItemContent, MissingNote, NoteChanges, compare_notes, find_deleted_notes,
    has_written_notes, read_notes_state, read_source,
};
use reprise_operations::operations::care::{ProjectionRequest, Rebuild, RebuildArguments};
use reprise_operations::operations::forgetting::{Forget, ForgetArguments};
use reprise_operations::operations::records::{Revise, ReviseArguments};

use super::ImportSource;
use super::report::{GoneRow, ImportReport};
use crate::args::ImportArguments;
use crate::cli::prelude::*;

/// Interval of `--watch`; it acts when nothing has changed for that long.
const TICK: Duration = Duration::from_millis(500);
/// Most characters that are printed of a deleted text.
const SHOWN: usize = 60;

/// Compares notes with the memory; `None` for a source that is not notes.
pub(super) fn read_note_changes(source: ImportSource<'_>) -> anyhow::Result<Option<NoteChanges>> {
    let (context, arguments) = (source.context, source.arguments);
    if !source.kind.is_of_notes() {
        return Ok(None);
    }
    let mut items = Vec::new();
    let done = read_source(&arguments.path, source.kind, source.zone, &mut |item| {
        items.push(item);
        true
    });
    match done {
        Err(error) if items.is_empty() => return Err(error.into()),
        Err(error) => items.push(ImportItem {
            place: arguments.path.display().to_string(),
            content: ItemContent::Refused(error.to_string()),
        }),
        Ok(()) => {}
    }
    if !store::exists(context, &arguments.whose.user)? {
        return Ok(Some(NoteChanges {
            items,
            ..NoteChanges::default()
        }));
    }
    let engine = store::open_for_reading(context, &arguments.whose.user)?;
    let clean = |text: &str| Redactor::new().redact_text(text).text;
    let mut renewal = compare_notes(&engine.snapshot(), items, &clean);
    let home = context.places.home_of(&arguments.whose.user);
    let gone = find_deleted_notes(&engine.snapshot(), &notes_folder(arguments), &home)?;
    renewal.missing.extend(gone);
    Ok(Some(renewal))
}

/// Stores new versions of memories whose notes have changed.
pub(super) fn replace_changed_notes(
    context: &Context,
    arguments: &ImportArguments,
    renewal: &mut NoteChanges,
    report: &mut ImportReport,
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
        match session.call_with_redactions::<Revise>(&asked) {
            Ok((_, redacted)) => {
                report.replaced += 1;
                report.add_redactions(&replacement.place, redacted);
            }
            Err(problem) => report.add_refused(replacement.place, problem.to_string()),
        }
    }
    drop(session);
    Ok(())
}

/// Forgets memories of deleted notes if a flag or a person says so. With `--sync` it then writes
/// the memory to the folder that it wrote before.
pub(super) fn forget_deleted_notes(
    context: &Context,
    arguments: &ImportArguments,
    gone: Vec<MissingNote>,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let count = format_count(gone.len(), "memory");
    let is_asked = !gone.is_empty() && !arguments.forget_gone && !arguments.watch && !context.json;
    let forgets = arguments.forget_gone
        || is_asked && io::stdin().is_terminal() && {
            for one in gone.iter().take(super::SAID_MAX) {
                tell!("{}: {}", one.path, terminal::one_line(&one.text, SHOWN));
            }
            confirm(&format!("forget {count} whose notes were deleted?"), "")?
        };
    if forgets && !gone.is_empty() {
        let session = Session::open(context, &arguments.whose.user, Forget::SPEC.effect)?;
        for one in &gone {
            session.call::<Forget>(ForgetArguments {
                id: Some(one.record),
                reason: Some(format!("its note {} was deleted", one.path)),
                ..ForgetArguments::default()
            })?;
        }
        drop(session);
    } else if !gone.is_empty() {
        tell!("{count} of deleted notes or sections; --forget-gone forgets them");
    }
    let is_decided = forgets || gone.is_empty();
    report.gone = gone
        .into_iter()
        .map(|one| to_gone_row(one, forgets))
        .collect();
    if arguments.sync && is_decided {
        update_written_notes(context, arguments)?;
    }
    Ok(())
}

pub(super) fn to_gone_row(one: MissingNote, forgotten: bool) -> GoneRow {
    GoneRow {
        record: one.record.to_string(),
        text: terminal::one_line(&one.text, SHOWN),
        path: one.path,
        forgotten,
    }
}

/// Returns the path of the notes without the slash that a shell appends, as memory recorded it.
fn notes_folder(arguments: &ImportArguments) -> PathBuf {
    arguments.path.components().collect()
}

/// Updates the notes that memory wrote into this folder; a person's own folder is not changed.
fn update_written_notes(context: &Context, arguments: &ImportArguments) -> anyhow::Result<()> {
    let place = notes_folder(arguments);
    if !has_written_notes(&place, &context.places.home_of(&arguments.whose.user)) {
        return Ok(());
    }
    let session = Session::open(context, &arguments.whose.user, Effect::Reads)?;
    let done = session.call::<Rebuild>(RebuildArguments {
        projections: vec![ProjectionRequest {
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
        // The conflict was already reported, and the note stays as it is.
        Err(problem) => tell!("warning: {problem}"),
    }
    Ok(())
}

/// Imports again whenever notes have changed, or memory with `--sync`, until Ctrl-C.
pub(super) fn watch(
    context: &Context,
    arguments: &ImportArguments,
    mut once: impl FnMut() -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let file = context.places.memory_file_of(&arguments.whose.user);
    let state = |path: &Path| -> anyhow::Result<_> {
        let memory = fs_err::metadata(&file).ok().filter(|_| arguments.sync);
        let memory = memory.map(|found| (found.len(), found.modified().ok()));
        Ok((read_notes_state(path)?, memory))
    };
    let mut done = None;
    let mut before = state(&arguments.path)?;
    note("watching; Ctrl-C ends it");
    loop {
        let now = state(&arguments.path)?;
        if now == before && done.as_ref() != Some(&now) {
            once()?;
            // The state before the import: edits during it, and its own writes, count as changes.
            done = Some(now);
        } else {
            before = now;
        }
        sleep(TICK);
    }
}
