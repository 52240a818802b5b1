//! One operation run for a command, `reprise call` any of them, and what a command prints: JSON to
//! programs, lines to people. Which of them is decided here alone.

use std::fmt::Display;
use std::io::Read;

use anstream::AutoStream;
use clap::Args;
use reprise_operations::{Catalogue, from_json, taken_out};
use reprise_types::unframed;

use crate::args::{Ask, CallArguments};
use crate::cli::prelude::*;
use crate::printer::{self, Printer};

/// Standard output.
pub(super) type Out = Printer<AutoStream<io::StdoutLock<'static>>>;

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
        note(&taken_out(&ran.redacted));
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

/// Any operation of the catalogue, with its arguments and its answer as JSON.
pub(super) fn call_any(context: &Context, arguments: &CallArguments) -> anyhow::Result<Exit> {
    let catalogue = Catalogue::default();
    let mut out = printer::stdout();
    let Some(name) = &arguments.operation else {
        for entry in catalogue.entries() {
            writeln!(out, "{:<12} {}", entry.spec.name, entry.spec.summary)?;
        }
        return Ok(Exit::Success);
    };
    let entry = catalogue.operation(name);
    let entry = entry
        .with_context(|| format!("there is no operation `{name}`; `reprise call` lists them"))?;
    let mut text = arguments.arguments.clone();
    if text == "-" {
        text.clear();
        io::stdin().read_to_string(&mut text)?;
    }
    let given: Map<String, Value> = from_json(text.as_bytes())
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("the arguments of `{name}` are a JSON object"))?;
    let user = &arguments.whose.user;
    let answer = Session::open(context, user, entry.spec.effect)?.run(entry, given)?;
    writeln!(out, "{answer}")?;
    Ok(Exit::Success)
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
    let mut out = io::BufWriter::new(printer::stdout());
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

/// The same of things that are rows as they are.
pub(super) fn list<T: Serialize>(
    context: &Context,
    all: &[T],
    line: impl Fn(&T) -> String,
) -> anyhow::Result<Exit> {
    rows(context, all, |one| json!(one), |one| line(one))
}

/// 0 where all was done, 1 where some of it was refused.
pub(super) fn exit(all: bool) -> Exit {
    if all { Exit::Success } else { Exit::Refused }
}
