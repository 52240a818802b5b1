//! `reprise compact`: a new file without what was forgotten, taken into use by a rename.

use std::io::Write;

use reprise_operations::operations::compact;
use reprise_server::Call;
use reprise_store::Verify;
use serde_json::Value;

use super::Context;
use super::daemon::Daemon;
use super::store::{self, Access};
use crate::args::UserArguments;
use crate::exit::Exit;
use crate::terminal;

pub(super) fn run(context: &Context, arguments: &UserArguments) -> anyhow::Result<Exit> {
    let report = compacted(context, arguments)?;
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
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

fn compacted(context: &Context, arguments: &UserArguments) -> anyhow::Result<compact::Compacted> {
    if let Some(daemon) = Daemon::running(context)? {
        let path = Call::path_of(&arguments.user, &["compact"]);
        return Ok(daemon.ask(&Call::post(path, &Value::Null))?);
    }
    let (mut engine, _) = store::open(context, &arguments.user, Access::Write, Verify::Everything)?;
    let report = engine.compact()?;
    engine.close()?;
    Ok(compact::Compacted {
        bytes_before: report.bytes_before,
        bytes_after: report.bytes_after,
        records: report.records,
        forgotten: report.forgotten,
    })
}
