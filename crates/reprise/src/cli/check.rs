//! `reprise check`: every hash of the file, every record, and the index against the log.

use std::io::Write;

use reprise_engine::{CheckReport, Engine, Finding};
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
    let mut findings: Vec<String> = report.findings.iter().map(told).collect();
    // What a rebuilt index does not heal stands in the file.
    let mut left = left_of(&report, opened.recovery.missing_records.is_empty());
    if arguments.repair {
        engine.rebuild()?;
        engine.checkpoint()?;
        let again = engine.check()?;
        left = left_of(&again, opened.recovery.missing_records.is_empty());
    }
    let projected = rebuild::findings(context, &arguments.user, &engine.snapshot())?;
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
            let torn = recovery.torn_bytes;
            writeln!(
                out,
                "the last {torn} bytes are no whole commit: they are not counted"
            )?;
        }
        if let Some(seen) = seen {
            writeln!(out, "{seen} vectors read by stock rvf-runtime")?;
        }
        for finding in &findings {
            writeln!(out, "  {finding}")?;
        }
        writeln!(out, "{}", verdict(arguments, sound, left))?;
    }
    Ok(if sound { Exit::Success } else { Exit::Refused })
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
    let user = &arguments.user;
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
