//! Our own exports come in: as a whole into a memory that is empty, with ids, history and learning;
//! into another one as what is new there.

use reprise_engine::{Gone, Said};
use reprise_knowledge::{Archive, moved, read_archive};
use reprise_types::limits::TEXT_BYTES_MAX;

use super::report::Report;
use crate::args::ImportArguments;
use crate::cli::keep::{GROUP, Keeper, Kept, PATIENCE};
use crate::cli::prelude::*;

pub(super) fn take_in(
    context: &Context,
    arguments: &ImportArguments,
    mut report: Report,
) -> anyhow::Result<Report> {
    let mut archive = read_archive(&arguments.path)?;
    if !arguments.how.verbatim {
        redact(&mut archive, &mut report);
    }
    let user = &arguments.whose.user;
    let engine = if store::exists(context, user)? {
        store::take_over(context, user)?
    } else {
        store::open_in_turn(context, user, PATIENCE)?
    };
    let is_empty = engine.snapshot().log().records() == 0;
    let mut keeper = Keeper::over(context, user, arguments.how, engine)?;
    if is_empty {
        report.links = archive.joints().len() as u64;
        report.inserted = archive.present.len() as u64;
        for record in &archive.present {
            if record.text.len() > TEXT_BYTES_MAX {
                report.truncate(format!("record {}", record.id), record.text.len());
            }
        }
        keeper.engine()?.retell(archive.told)?;
    } else {
        join(&mut keeper, archive, &mut report)?;
    }
    keeper.close()?;
    Ok(report)
}

fn redact(archive: &mut Archive, report: &mut Report) {
    for said in &mut archive.told {
        match said {
            Said::Kept(record) => {
                let place = format!("record {}", record.id);
                report.take_out(&place, Redactor::new().redact_record(record));
            }
            Said::Tagged { tags, .. } => {
                for tag in tags {
                    *tag = Redactor::new().redact_text(tag).text;
                }
            }
            Said::Linked { relation: text, .. }
            | Said::Unlinked { relation: text, .. }
            | Said::Forgotten(Gone { reason: text, .. }) => {
                *text = Redactor::new().redact_text(text).text;
            }
            _ => {}
        }
    }
    for record in &mut archive.present {
        Redactor::new().redact_record(record);
    }
}

/// Keeps what is new here, and links it as it was linked there.
fn join(keeper: &mut Keeper<'_>, archive: Archive, report: &mut Report) -> anyhow::Result<()> {
    let (joints, corrections) = (archive.joints(), archive.corrections());
    let mut here: HashMap<String, RecordId> = HashMap::new();
    let mut records = archive.present.into_iter();
    loop {
        let group: Vec<MemoryRecord> = records.by_ref().take(GROUP).collect();
        if group.is_empty() {
            break;
        }
        let memory = keeper.engine()?.snapshot();
        // What was forgotten stays so.
        let (known, new): (Vec<_>, Vec<_>) = group.into_iter().partition(|record| {
            memory.version(record.id).is_some() || memory.is_forgotten(record.id)
        });
        report.duplicate += known.len() as u64;
        report.known.extend(known.iter().map(|record| record.id));
        here.extend(
            known
                .iter()
                .map(|record| (record.id.to_string(), record.id)),
        );
        let new = new.into_iter();
        let new = new.map(|record| (record.id.to_string(), moved(record, &corrections)));
        for (name, Kept { fate, .. }) in keeper.keep(new.collect())? {
            if let Fate::Inserted { id, .. } | Fate::Duplicate { of: id, .. } = &fate {
                here.insert(name.clone(), *id);
            }
            report.count(format!("record {name}"), fate);
        }
    }
    let engine = keeper.engine()?;
    let memory = engine.snapshot();
    let place = |name: &ExternalId| memory.current(*here.get(&name.id)?);
    let ends = joints.into_iter().filter_map(|joint| {
        let (from, to) = place(&joint.from).zip(place(&joint.to))?;
        Some((from, to, joint.relation))
    });
    let ends: Vec<_> = ends.collect();
    let made = engine.link_all(&ends, SystemClock.now())?;
    report.links = made.into_iter().filter(|new| *new).count() as u64;
    Ok(())
}
