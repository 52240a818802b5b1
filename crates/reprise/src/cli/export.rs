//! `reprise export`: every live record, a JSON line each.

use std::io::{BufWriter, Write};

use reprise_server::ExportLine;
use reprise_store::Verify;

use super::Context;
use super::store::{self, Access};
use crate::args::ExportArguments;
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &ExportArguments) -> anyhow::Result<Exit> {
    let (engine, _) = store::open(context, &arguments.user, Access::Read, Verify::Tail)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut unreadable = 0_u64;
    for record in engine.snapshot().records() {
        match record {
            Ok(record) => {
                serde_json::to_writer(&mut out, &ExportLine::new(&record))?;
                out.write_all(b"\n")?;
            }
            Err(error) => {
                unreadable += 1;
                super::note(&format!("warning: a record was left out: {error}"));
            }
        }
    }
    out.flush()?;
    Ok(if unreadable == 0 {
        Exit::Success
    } else {
        Exit::Refused
    })
}
