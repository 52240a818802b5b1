//! `reprise inspect`: the file's segments, for people who want to see the bytes.

use std::io::Write;

use reprise_store::RealDisk;
use serde_json::json;

use super::Context;
use crate::args::InspectArguments;
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &InspectArguments) -> anyhow::Result<Exit> {
    let path = match (&arguments.user, &arguments.file) {
        (Some(user), _) => context.places.file_of(user),
        (None, Some(file)) => std::path::absolute(file)?,
        (None, None) => anyhow::bail!("name a user or a file"),
    };
    let segments = reprise_store::inspect(&RealDisk, &path)?;
    let mut out = std::io::BufWriter::new(crate::printer::stdout());
    let mut damaged = false;
    for segment in &segments {
        damaged |= !segment.whole;
        if context.json {
            let line = json!({
                "offset": segment.offset,
                "type": segment.name,
                "bytes": segment.bytes,
                "holds": segment.holds,
                "hash_ok": segment.whole,
            });
            writeln!(out, "{line}")?;
        } else {
            let mark = if segment.whole { "" } else { "  DAMAGED" };
            writeln!(
                out,
                "{:>12} {:>12} B  {:<12} {}{mark}",
                segment.offset, segment.bytes, segment.name, segment.holds
            )?;
        }
    }
    out.flush()?;
    Ok(if damaged {
        Exit::Refused
    } else {
        Exit::Success
    })
}
