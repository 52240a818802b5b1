//! What was published, as a command says it.

use std::io::Write;

use reprise_operations::counted;
use reprise_operations::operations::shared::publish;

use crate::cli::Context;
use crate::terminal;

/// `titles` are those of what was asked for, in its order, where they are known.
pub(super) fn print(
    context: &Context,
    titles: &[&str],
    done: &publish::Done,
) -> anyhow::Result<()> {
    let mut out = crate::printer::stdout();
    if context.json {
        writeln!(out, "{}", serde_json::to_string(done)?)?;
        return Ok(());
    }
    for (place, done) in done.published.iter().enumerate() {
        let title = titles.get(place).copied().unwrap_or_default();
        let title = terminal::one_line(title, 60);
        let (id, version, bytes) = (done.id, done.version, done.bytes);
        let said = if done.unchanged { ", as it stood" } else { "" };
        writeln!(out, "{id}  version {version}, {bytes} bytes{said}  {title}")?;
        if !done.overlaps.is_empty() {
            let others = counted(done.overlaps.len(), "published thing");
            writeln!(out, "  it says nearly the same as {others}:")?;
            for near in &done.overlaps {
                let title = terminal::one_line(&near.title, 60);
                let (id, percent) = (near.id, near.similarity * 100.0);
                writeln!(out, "    {id}  {percent:.0} %  {title}")?;
            }
        }
    }
    if let Some(receipt) = done.receipt {
        writeln!(out, "receipt {receipt}")?;
    }
    Ok(())
}
