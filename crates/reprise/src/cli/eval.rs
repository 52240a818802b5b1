//! `reprise eval`: a public data set through a throw-away store, beside what any memory could do.

use std::io::Write;
use std::sync::Arc;

use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use reprise_engine::{Engine, EngineOptions};
use reprise_eval::{Options, Tools};
use reprise_store::RealDisk;

use super::store::DIMENSIONS;
use super::{Context, model};
use crate::args::{EvalArguments, EvalTarget};
use crate::exit::Exit;
use reprise_server::record_of;

pub(super) fn run(context: &Context, arguments: &EvalArguments) -> anyhow::Result<Exit> {
    let EvalTarget::Set(form) = arguments.set else {
        return learning(context);
    };
    let Some(data) = &arguments.data else {
        bail!(
            "pass --data PATH: the file or folder of the `{}` set",
            form.name()
        );
    };
    let mut dataset = reprise_eval::read(form, data, record_of)?;
    if let Some(count) = arguments.limit {
        dataset.limit(count);
    }
    let factory = model::factory(context);
    let open_embedder = || match &factory {
        Some(factory) => factory.open(),
        None => super::host::open_embedder(None)(),
    };
    let folder = tempfile::tempdir()?;
    let tools = Tools {
        open_engine: &|path, now| {
            // Fixed bits: identifiers decide between equal scores, and a run must repeat.
            let options = EngineOptions::new(DIMENSIONS, 1, now);
            Engine::open(Arc::new(RealDisk), path, &options).map(|(engine, _)| engine)
        },
        open_embedder: factory.is_some().then_some(&open_embedder),
        folder: folder.path(),
    };
    let options = Options {
        top_k: arguments.top_k,
        without: arguments.without.clone(),
    };
    let bar = ProgressBar::new(dataset.corpora.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?);
    let report = reprise_eval::evaluate(&dataset, &options, &tools, &mut |stage| {
        bar.set_position(stage.number as u64 - 1);
        bar.set_message(stage.store.to_owned());
    })?;
    bar.finish_and_clear();
    show(context, &report, |out| reprise_eval::print(&report, out))
}

/// `reprise eval learning`: the proof, on texts of our own with the real model.
fn learning(context: &Context) -> anyhow::Result<Exit> {
    let Some(factory) = model::factory(context) else {
        bail!("the proof needs the model; run `reprise models pull`");
    };
    let bar = ProgressBar::new_spinner();
    let mut embedder = factory.open()?;
    let report = reprise_eval::prove(&mut *embedder, &mut |stage| {
        bar.set_message(stage.to_owned());
        bar.tick();
    })?;
    bar.finish_and_clear();
    show(context, &report, |out| {
        reprise_eval::print_learning(&report, out)
    })
}

fn show(
    context: &Context,
    report: &impl serde::Serialize,
    print: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> anyhow::Result<Exit> {
    let mut out = anstream::stdout().lock();
    if context.json {
        serde_json::to_writer(&mut out, report)?;
        writeln!(out)?;
    } else {
        print(&mut out)?;
    }
    Ok(Exit::Success)
}
