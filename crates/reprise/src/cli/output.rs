//! One operation run for a command, and what a command prints: JSON to programs, lines to people.
//! Which of them is decided here alone.

use std::fmt::Display;
use std::io::Write;

use anstream::AutoStream;
use clap::Args;
use reprise_operations::{Operation, taken_out};
use reprise_types::{UserId, unframed};
use serde::Serialize;
use serde_json::Value;

use super::Context;
use super::session::Session;
use crate::args::{Ask, WhoseArguments};
use crate::exit::Exit;
use crate::printer::{self, Printer};
use crate::terminal::Page;

/// Standard output.
pub(super) type Out = Printer<AutoStream<std::io::StdoutLock<'static>>>;

/// Runs an operation as it was typed, and prints its answer.
pub(super) fn ask<O>(context: &Context, ask: Ask<O::Arguments>) -> anyhow::Result<Exit>
where
    O: Operation<Arguments: Args>,
{
    run::<O>(context, &ask.whose, ask.asked)
}

/// Runs one operation and prints its answer.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is asked is made for this call"
)]
pub(super) fn run<O: Operation>(
    context: &Context,
    whose: &WhoseArguments,
    arguments: O::Arguments,
) -> anyhow::Result<Exit> {
    let effect = O::effect(&arguments);
    let ran = Session::open(context, &whose.user, effect)?.ran::<O>(&arguments)?;
    if context.json {
        let mut out = printer::stdout();
        out.write_all(&ran.json()?)?;
        writeln!(out)?;
        return Ok(Exit::Success);
    }
    let text = Page::stdout().fit(&unframed(&O::text(&ran.answer)));
    writeln!(printer::stdout(), "{text}")?;
    if !ran.redacted.is_empty() {
        super::note(&taken_out(&ran.redacted));
    }
    Ok(Exit::Success)
}

/// Runs one operation in a session of its own.
pub(super) fn call<O: Operation>(
    context: &Context,
    user: &UserId,
    arguments: O::Arguments,
) -> anyhow::Result<O::Answer> {
    let effect = O::effect(&arguments);
    Ok(Session::open(context, user, effect)?.call::<O>(arguments)?)
}

/// Prints a row to programs, and what `lines` writes to people.
pub(super) fn print(
    context: &Context,
    row: &impl Serialize,
    lines: impl FnOnce(&mut Out) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let mut out = printer::stdout();
    if context.json {
        serde_json::to_writer(&mut out, row)?;
        writeln!(out)?;
    } else {
        lines(&mut out)?;
    }
    Ok(Exit::Success)
}

/// Prints a row to programs, a line to people.
pub(super) fn line(
    context: &Context,
    row: &impl Serialize,
    line: impl Display,
) -> anyhow::Result<Exit> {
    print(context, row, |out| Ok(writeln!(out, "{line}")?))
}

/// The same; a program that reads a pipe gets the row whether it asks for it or not.
pub(super) fn for_pipes(
    context: &Context,
    row: &impl Serialize,
    text: impl Display,
) -> anyhow::Result<Exit> {
    let context = Context {
        json: context.json || !printer::is_read_by_a_person(),
        ..context.clone()
    };
    line(&context, row, text)
}

/// Prints several things, each a row to programs and a line to people.
pub(super) fn rows<T, L: Display>(
    context: &Context,
    all: impl IntoIterator<Item = T>,
    row: impl Fn(&T) -> Value,
    line: impl Fn(&T) -> L,
) -> anyhow::Result<Exit> {
    let mut out = std::io::BufWriter::new(printer::stdout());
    for one in all {
        if context.json {
            writeln!(out, "{}", row(&one))?;
        } else {
            writeln!(out, "{}", line(&one))?;
        }
    }
    out.flush()?;
    Ok(Exit::Success)
}

/// 0 where all was done, 1 where some of it was refused.
pub(super) fn exit(all: bool) -> Exit {
    if all { Exit::Success } else { Exit::Refused }
}
