//! One operation run for a command, and its answer printed.

use std::io::Write;

use reprise_operations::Operation;
use reprise_types::unframed;

use super::Context;
use super::session::Session;
use crate::args::WhoseArguments;
use crate::exit::Exit;

/// Runs one operation and prints what it answers.
pub(super) fn run<O: Operation>(
    context: &Context,
    whose: &WhoseArguments,
    arguments: O::Arguments,
) -> anyhow::Result<Exit> {
    let session = Session::open(context, &whose.user, O::SPEC.effect)?;
    let answer = session.call::<O>(arguments);
    session.close();
    let answer = answer?;
    let mut out = anstream::stdout().lock();
    if context.json {
        serde_json::to_writer(&mut out, &answer)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{}", unframed(&O::text(&answer)))?;
    }
    Ok(Exit::Success)
}
