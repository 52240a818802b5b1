//! `reprise export`: every live record, as JSON or YAML. What is tagged `sensitive` stays here
//! unless it is asked for.

use std::io::{BufWriter, Write};

use reprise_operations::{ExportLine, is_sensitive};
use reprise_store::Verify;

use super::Context;
use super::store::{self, Access};
use crate::args::{ExportArguments, ExportFormat};
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &ExportArguments) -> anyhow::Result<Exit> {
    let (engine, _) = store::open(context, &arguments.user, Access::Read, Verify::Tail)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (mut written, mut unreadable, mut sensitive) = (0_u64, 0_u64, 0_u64);
    for record in engine.snapshot().records() {
        match record {
            Ok(record) if !arguments.sensitive && is_sensitive(&record) => sensitive += 1,
            Ok(record) => {
                write(
                    &mut out,
                    arguments.format,
                    written,
                    &ExportLine::new(&record),
                )?;
                written += 1;
            }
            Err(error) => {
                unreadable += 1;
                super::note(&format!("warning: a record was left out: {error}"));
            }
        }
    }
    match arguments.format {
        ExportFormat::Json if written == 0 => out.write_all(b"[]\n")?,
        ExportFormat::Json => out.write_all(b"\n]\n")?,
        ExportFormat::Jsonl | ExportFormat::Yaml => {}
    }
    out.flush()?;
    if sensitive > 0 {
        super::note(&format!(
            "{sensitive} records tagged `sensitive` were left out; --sensitive takes them along"
        ));
    }
    Ok(if unreadable == 0 {
        Exit::Success
    } else {
        Exit::Refused
    })
}

fn write(
    out: &mut impl Write,
    format: ExportFormat,
    place: u64,
    line: &ExportLine<'_>,
) -> anyhow::Result<()> {
    match format {
        ExportFormat::Jsonl => {
            serde_json::to_writer(&mut *out, line)?;
            out.write_all(b"\n")?;
        }
        ExportFormat::Json => {
            out.write_all(if place == 0 { b"[\n" } else { b",\n" })?;
            serde_json::to_writer(&mut *out, line)?;
        }
        ExportFormat::Yaml => {
            let text = serde_saphyr::to_string(line)?;
            let end = if text.ends_with('\n') { "" } else { "\n" };
            write!(out, "---\n{text}{end}")?;
        }
    }
    Ok(())
}
