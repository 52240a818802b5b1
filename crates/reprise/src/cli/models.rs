//! `reprise models`: install, list, verify.

use std::io::Write;

use reprise_embed::{FileState, PullRequest, PullSource};
use serde_json::json;

use super::{Context, model};
use crate::args::ModelsCommand;
use crate::exit::Exit;
use crate::terminal;

pub(super) fn run(context: &Context, command: &ModelsCommand) -> anyhow::Result<Exit> {
    match command {
        ModelsCommand::Pull { from } => {
            let source = from.clone().map_or(PullSource::Network, PullSource::Local);
            let request = PullRequest {
                source,
                retry_library: true,
                variants: vec![context.variant()],
                ..PullRequest::default()
            };
            model::pull(context, &request)?;
            list(context)
        }
        ModelsCommand::List => list(context),
        ModelsCommand::Verify => {
            model::models(context).verify()?;
            let mut out = crate::printer::stdout();
            if context.json {
                writeln!(out, "{}", json!({ "verified": true }))?;
            } else {
                writeln!(
                    out,
                    "every file has its pinned hash, and the model embeds as it should"
                )?;
            }
            Ok(Exit::Success)
        }
    }
}

fn list(context: &Context) -> anyhow::Result<Exit> {
    let store = model::models(context);
    let mut out = crate::printer::stdout();
    if !context.json {
        writeln!(out, "{}", terminal::title(store.dir().display()))?;
    }
    for file in store.list() {
        if context.json {
            serde_json::to_writer(&mut out, &file)?;
            writeln!(out)?;
        } else {
            let state = match file.state {
                FileState::Installed => "installed",
                FileState::Missing => "missing",
                FileState::Damaged => "damaged: run `reprise models pull`",
            };
            let size = terminal::bytes(file.size_bytes);
            writeln!(
                out,
                "  {:<34} {:<10} {size:>9}  {state}",
                file.name, file.role
            )?;
        }
    }
    Ok(Exit::Success)
}
