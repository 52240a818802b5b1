//! Runs operations for commands, and prints results: JSON to programs, lines to people. Only this
//! file decides between them.

use std::fmt::Display;
use std::io::Read;

use anstream::AutoStream;
use clap::Args;
use reprise_operations::{
    Catalogue, describe_redactions, encode_answer, find_meant_name, parse_lenient_json,
};
use reprise_types::remove_frame_lines;

use crate::args::{CallArguments, OperationArguments, OperationRunner};
use crate::cli::prelude::*;
use crate::printer::{self, Printer};

/// Standard output.
pub type Out = Printer<AutoStream<io::StdoutLock<'static>>>;

impl OperationRunner for Context {
    type Done = anyhow::Result<Exit>;

    /// Runs an operation as it was typed, and prints its answer.
    fn run_operation<O>(&self, asked: OperationArguments<O::Arguments>) -> anyhow::Result<Exit>
    where
        O: Operation<Arguments: Args>,
    {
        run::<O>(self, &asked.whose, asked.asked)
    }
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
    let session = Session::open(context, &whose.user, effect)?;
    let (answer, redacted) = session.call_with_redactions::<O>(&arguments)?;
    if context.json {
        let mut out = printer::stdout();
        out.write_all(&encode_answer(&answer, &redacted)?)?;
        writeln!(out)?;
        return Ok(Exit::Success);
    }
    let text = Page::stdout().fit(&remove_frame_lines(&O::render_text(&answer)));
    writeln!(printer::stdout(), "{text}")?;
    if !redacted.is_empty() {
        note(&describe_redactions(&redacted));
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

/// Runs any operation of the catalogue with JSON arguments and prints its JSON answer.
pub(super) fn call_by_name(
    context: &Context,
    catalogue: &Catalogue,
    arguments: &CallArguments,
) -> anyhow::Result<Exit> {
    let Some(name) = &arguments.operation else {
        let mut entries: Vec<_> = catalogue.entries().map(|entry| &entry.spec).collect();
        entries.sort_by_key(|spec| spec.name);
        let width = entries.iter().map(|spec| spec.name.len()).max();
        let width = width.unwrap_or_default();
        for spec in entries {
            let row = json!({ "name": spec.name, "summary": spec.summary });
            print(context, &row, |out| {
                Ok(writeln!(out, "{:<width$}  {}", spec.name, spec.summary)?)
            })?;
        }
        return Ok(Exit::Success);
    };
    let entry = catalogue.find_operation(name).with_context(|| {
        let names = catalogue.entries().map(|entry| entry.spec.name);
        let names: Vec<&str> = names.collect();
        let similar = find_meant_name(name, names.iter().copied());
        let similar =
            similar.map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"));
        format!("unknown operation `{name}`{similar}; `reprise call` lists them")
    })?;
    let mut text = arguments.arguments.clone();
    if text == "-" {
        text.clear();
        io::stdin().read_to_string(&mut text)?;
    }
    let given: Map<String, Value> = parse_lenient_json(text.as_bytes())
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("the arguments of `{name}` must be a JSON object"))?;
    let given = project::name_project_of_call(context, entry.spec.name, given)?;
    let user = &arguments.whose.user;
    let answer = Session::open(context, user, entry.spec.effect)?.run(entry, given)?;
    writeln!(printer::stdout(), "{answer}")?;
    Ok(Exit::Success)
}

/// Columns before the facts of a list of facts.
const FACTS_FROM: usize = 16;

/// Writes a fact behind its name; what does not fit into the terminal goes on below it.
pub(super) fn write_fact(out: &mut Out, name: &str, fact: &str) -> io::Result<()> {
    let width = FACTS_FROM - 3;
    let mut name = name;
    for line in fact.lines() {
        for line in Page::stdout().wrap(line, FACTS_FROM, FACTS_FROM) {
            writeln!(out, "  {name:<width$} {line}")?;
            name = "";
        }
    }
    Ok(())
}

/// Prints a row to programs, and what `lines` writes to people.
pub fn print(
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
pub fn line(context: &Context, row: &impl Serialize, line: impl Display) -> anyhow::Result<Exit> {
    print(context, row, |out| Ok(writeln!(out, "{line}")?))
}

/// Prints several things, each a row to programs and a line to people.
pub fn rows<T, L: Display>(
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

/// Prints several values that are their own rows, each with a line for people.
pub fn list<T: Serialize>(
    context: &Context,
    all: &[T],
    line: impl Fn(&T) -> String,
) -> anyhow::Result<Exit> {
    rows(context, all, |one| json!(one), |one| line(one))
}

/// Says on stderr that there is nothing to list; a program sees it from the empty output.
pub fn note_if_empty<T>(context: &Context, all: &[T], text: &str) {
    if all.is_empty() && !context.json {
        note(text);
    }
}

/// Returns exit code 0 if everything was done, and 1 if a part was refused.
pub fn exit(all: bool) -> Exit {
    if all { Exit::Success } else { Exit::Refused }
}
