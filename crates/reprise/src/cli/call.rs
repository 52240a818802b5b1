//! `reprise call`: any operation of the catalogue, with its arguments and its answer as JSON.

use std::io::{Read, Write};

use anyhow::Context as _;
use reprise_operations::{Catalogue, from_json};
use serde_json::{Map, Value};

use super::Context;
use super::session::Session;
use crate::args::CallArguments;
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &CallArguments) -> anyhow::Result<Exit> {
    let catalogue = Catalogue::default();
    let mut out = crate::printer::stdout();
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
        std::io::stdin().read_to_string(&mut text)?;
    }
    let given: Map<String, Value> = from_json(text.as_bytes())
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("the arguments of `{name}` are a JSON object"))?;
    let user = &arguments.whose.user;
    let answer = Session::open(context, user, entry.spec.effect)?.run(entry, given)?;
    writeln!(out, "{answer}")?;
    Ok(Exit::Success)
}
