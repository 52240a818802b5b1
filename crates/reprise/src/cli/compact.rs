//! `reprise compact`: a new file without what was forgotten, taken into use by a rename.

use std::io::Write;

use reprise_store::Verify;
use serde_json::json;

use super::Context;
use super::store::{self, Access};
use crate::args::UserArguments;
use crate::exit::Exit;
use crate::terminal;

pub(super) fn run(context: &Context, arguments: &UserArguments) -> anyhow::Result<Exit> {
    let (mut engine, _) = store::open(context, &arguments.user, Access::Write, Verify::Everything)?;
    let report = engine.compact()?;
    engine.close()?;
    let mut out = anstream::stdout().lock();
    if context.json {
        let report = json!({
            "bytes_before": report.bytes_before,
            "bytes_after": report.bytes_after,
            "records": report.records,
            "forgotten": report.forgotten,
        });
        writeln!(out, "{report}")?;
    } else {
        writeln!(
            out,
            "{} records kept, {} forgotten ones removed: {} became {}",
            report.records,
            report.forgotten,
            terminal::bytes(report.bytes_before),
            terminal::bytes(report.bytes_after)
        )?;
    }
    Ok(Exit::Success)
}
