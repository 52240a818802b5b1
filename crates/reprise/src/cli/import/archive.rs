//! Imports our own exports: into an empty memory completely, with ids, history and learning; into
//! another memory only what is new there.

use reprise_engine::{ErasedRecord, ExportEntry};
use reprise_knowledge::{Archive, read_archive, to_imported_record};
use reprise_types::limits::TEXT_BYTES_MAX;

use super::report::ImportReport;
use crate::args::ImportArguments;
use crate::cli::prelude::*;
use crate::cli::record_keeper::{GROUP, KeepResult, PATIENCE, RecordKeeper};

pub(super) fn import_archive(
    context: &Context,
    arguments: &ImportArguments,
    mut report: ImportReport,
) -> anyhow::Result<ImportReport> {
    let mut archive = read_archive(&arguments.path)?;
    if !arguments.how.verbatim {
        redact_archive(&mut archive, &mut report);
    }
    let user = &arguments.whose.user;
    let engine = if store::exists(context, user)? {
        store::open_from_daemon(context, user)?
    } else {
        store::open_for_writing(context, user, PATIENCE)?
    };
    let is_empty = engine.snapshot().log_reader().record_count() == 0;
    let mut keeper = RecordKeeper::for_open_memory(context, user, arguments.how, engine)?;
    if is_empty {
        report.links = archive.list_live_links().len() as u64;
        report.inserted = archive.live_records.len() as u64;
        for record in &archive.live_records {
            if record.text.len() > TEXT_BYTES_MAX {
                report.add_truncated(format!("record {}", record.id), record.text.len());
            }
        }
        keeper.engine()?.import_log(archive.log)?;
    } else {
        merge_archive(&mut keeper, archive, &mut report)?;
    }
    keeper.close()?;
    Ok(report)
}

fn redact_archive(archive: &mut Archive, report: &mut ImportReport) {
    for entry in &mut archive.log {
        match entry {
            ExportEntry::Kept(record) => {
                let place = format!("record {}", record.id);
                report.add_redactions(&place, Redactor::new().redact_record(record));
            }
            ExportEntry::Tagged { tags, .. } => {
                for tag in tags {
                    *tag = Redactor::new().redact_text(tag).text;
                }
            }
            ExportEntry::Linked { relation: text, .. }
            | ExportEntry::Unlinked { relation: text, .. }
            | ExportEntry::Forgotten(ErasedRecord { reason: text, .. }) => {
                *text = Redactor::new().redact_text(text).text;
            }
            _ => {}
        }
    }
    for record in &mut archive.live_records {
        Redactor::new().redact_record(record);
    }
}

/// Stores the new records of an archive, and restores their links.
fn merge_archive(
    keeper: &mut RecordKeeper<'_>,
    archive: Archive,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let (joints, corrections) = (archive.list_live_links(), archive.collect_corrections());
    let mut here: HashMap<String, RecordId> = HashMap::new();
    let mut records = archive.live_records.into_iter();
    loop {
        let group: Vec<MemoryRecord> = records.by_ref().take(GROUP).collect();
        if group.is_empty() {
            break;
        }
        let memory = keeper.engine()?.snapshot();
        // What was forgotten stays so.
        let (known, new): (Vec<_>, Vec<_>) = group.into_iter().partition(|record| {
            memory.get_stored(record.id).is_some() || memory.is_forgotten(record.id)
        });
        report.duplicate += known.len() as u64;
        report.known.extend(known.iter().map(|record| record.id));
        here.extend(
            known
                .iter()
                .map(|record| (record.id.to_string(), record.id)),
        );
        let new = new.into_iter();
        let new = new.map(|record| {
            (
                record.id.to_string(),
                to_imported_record(record, &corrections),
            )
        });
        for (name, KeepResult { fate, .. }) in keeper.keep(new.collect())? {
            if let RecordFate::Inserted { id, .. } | RecordFate::Duplicate { of: id, .. } = &fate {
                here.insert(name.clone(), *id);
            }
            report.add_fate(format!("record {name}"), fate);
        }
    }
    let engine = keeper.engine()?;
    let memory = engine.snapshot();
    let place = |name: &ExternalId| memory.current_version(*here.get(&name.id)?);
    let ends = joints.into_iter().filter_map(|joint| {
        let (from, to) = place(&joint.from).zip(place(&joint.to))?;
        Some((from, to, joint.relation))
    });
    let ends: Vec<_> = ends.collect();
    let made = engine.link_all(&ends, SystemClock.now())?;
    report.links = made.into_iter().filter(|new| *new).count() as u64;
    Ok(())
}
