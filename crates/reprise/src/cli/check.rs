//! `reprise check`: every hash of the file, every record, and the index against the log.

use std::io::Write;

use reprise_engine::Engine;
use reprise_knowledge::compare_stock;
use reprise_store::Verify;
use serde_json::json;

use super::Context;
use super::rebuild;
use super::store::{self, Access};
use crate::args::CheckArguments;
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &CheckArguments) -> anyhow::Result<Exit> {
    // Only a repair needs the lock.
    let access = if arguments.repair {
        Access::Write
    } else {
        Access::Read
    };
    let (mut engine, opened) = store::open(context, &arguments.user, access, Verify::Everything)?;
    let report = engine.check()?;
    if arguments.repair {
        engine.rebuild()?;
        engine.checkpoint()?;
    }
    let projected = rebuild::findings(context, &arguments.user, &engine.snapshot())?;
    let stock = arguments
        .stock
        .then(|| stock(context, arguments, engine))
        .transpose()?;
    let recovery = &opened.recovery;
    let mut findings: Vec<String> = report
        .findings
        .iter()
        .map(|f| format!("{}: {}", f.what, f.detail))
        .collect();
    let is_whole = findings.is_empty() && recovery.missing_records.is_empty();
    findings.extend(projected);
    for (first, last) in &recovery.missing_records {
        findings.push(format!("records {first}..={last} can no longer be read"));
    }
    let seen = stock.map(|(seen, differing)| {
        findings.extend(differing.into_iter().map(|why| format!("stock: {why}")));
        seen
    });
    let sound = findings.is_empty();
    let mut out = crate::printer::stdout();
    if context.json {
        let report = json!({
            "sound": sound,
            "records": report.records_read,
            "torn_bytes": recovery.torn_bytes,
            "findings": findings,
            "repaired": arguments.repair,
            "stock_vectors": seen,
        });
        writeln!(out, "{report}")?;
    } else {
        writeln!(
            out,
            "{} records read, every hash verified",
            report.records_read
        )?;
        if recovery.torn_bytes > 0 {
            writeln!(
                out,
                "{} bytes of an unfinished write at the end: never acknowledged, not counted",
                recovery.torn_bytes
            )?;
        }
        if let Some(seen) = seen {
            writeln!(out, "{seen} vectors read by stock rvf-runtime")?;
        }
        for finding in &findings {
            writeln!(out, "  {finding}")?;
        }
        writeln!(
            out,
            "{}",
            if sound {
                "sound: the index equals the log"
            } else if is_whole {
                "the memory itself is sound; `reprise rebuild` writes its projections anew"
            } else {
                "damaged"
            }
        )?;
    }
    Ok(if sound { Exit::Success } else { Exit::Refused })
}

/// What stock rvf-runtime makes of the file once it is closed: a daemon that has it lets go of it.
fn stock(
    context: &Context,
    arguments: &CheckArguments,
    reader: Engine,
) -> anyhow::Result<(usize, Vec<String>)> {
    drop(reader);
    let mut engine = store::take_over(context, &arguments.user)?;
    engine.checkpoint()?;
    let memory = engine.snapshot();
    let ids = memory
        .records()
        .filter_map(|record| record.ok().map(|record| record.id));
    let own: Vec<Vec<f32>> = ids.filter_map(|id| memory.vector(id)).collect();
    engine.close()?;
    Ok(compare_stock(
        &context.places.file_of(&arguments.user),
        &own,
    ))
}
