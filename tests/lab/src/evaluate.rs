//! `reprise-lab eval`: runs a data set or a clone through a throw-away store, next to plain
//! baselines.

use std::sync::atomic::AtomicBool;

use indicatif::ProgressStyle;
use reprise_engine::{EngineError, EngineOptions};
use reprise_lab::{AnswerOptions, Dataset, EvalError, EvalStage, Format, Options, Tools};
use reprise_operations::read_line;
use reprise_sandbox::{EndpointConfig, ModelEndpoint};

use crate::args::{EvalArguments, EvalTarget};
use crate::prelude::*;

pub(crate) fn run(context: &Context, arguments: &EvalArguments) -> anyhow::Result<Exit> {
    let form = match arguments.set {
        EvalTarget::Set(form) => form,
        EvalTarget::Learning => return run_learning(context),
        EvalTarget::OffTopic => return run_off_topic(context, arguments),
        EvalTarget::Mine => return run_mine(context, arguments),
        EvalTarget::Answer => return run_answer(context, arguments),
    };
    let dataset = read_dataset(arguments, form)?;
    let options = Options {
        top_k: arguments
            .top_k
            .unwrap_or_else(|| arguments.protocol.top_k(form)),
        without: arguments.without.clone(),
    };
    let report = run_with_tools(context, |tools, progress| {
        reprise_lab::evaluate(&dataset, &options, tools, progress)
    })?;
    print_report(context, &report, |out| match form {
        Format::Git => reprise_lab::print_brief(&report, out),
        _ => reprise_lab::print_evaluation(&report, out),
    })
}

fn read_dataset(arguments: &EvalArguments, form: Format) -> anyhow::Result<Dataset> {
    let [data] = arguments.data.as_slice() else {
        bail!(
            "pass --data PATH once: the file or folder of the `{}` set",
            form.name()
        );
    };
    let mut dataset = match (form, &arguments.changelog) {
        (Format::Git, changelog) => reprise_lab::read_git(data, changelog.as_deref())?,
        (_, Some(_)) => bail!("--changelog goes with `git` alone"),
        (_, None) => reprise_lab::read_with_protocol(arguments.protocol, form, data, parse_record)?,
    };
    if let Some(count) = arguments.limit {
        dataset.keep_first_questions(count);
    }
    Ok(dataset)
}

/// `reprise-lab eval answer`: the two models that the configuration names, and no other, are sent
/// the questions, what is recalled and what they answer.
fn run_answer(context: &Context, arguments: &EvalArguments) -> anyhow::Result<Exit> {
    let named = |table: &str, endpoint: Option<EndpointConfig>| {
        let none = || {
            format!(
                "no model is named; put `url = \"https://HOST/v1\"` and `model = \"NAME\"` under \
                 [eval.{table}] into the configuration"
            )
        };
        Ok::<_, anyhow::Error>(ModelEndpoint::new(endpoint.with_context(none)?))
    };
    let [answering, judging] = reprise::lab::find_evaluation_models(context);
    let answering = named("answer", answering)?;
    let judging = named("judge", judging)?;
    let dataset = read_dataset(arguments, Format::LongMemEval)?;
    let runtime = runtime::build_threaded()?;
    let ask = |model: &ModelEndpoint, prompt: &str| {
        let said = runtime.block_on(model.complete_prompt(prompt));
        said.map_err(|error| error.to_string())
    };
    let options = AnswerOptions {
        budget: arguments.budget,
        answering: &|prompt| ask(&answering, prompt),
        judging: &|prompt| ask(&judging, prompt),
    };
    let report = run_with_tools(context, |tools, progress| {
        reprise_lab::answer_questions(&dataset, &options, tools, progress)
    })?;
    print_report(context, &report, |out| {
        reprise_lab::print_answer_report(&report, out)
    })
}

/// A line of a set: the same record on every machine.
fn parse_record(line: &str) -> Result<NewRecord, String> {
    read_line(line, Zone::Utc).map(|(record, _)| record)
}

/// `reprise-lab eval offtopic`: every folder's questions put to the stores of every other.
fn run_off_topic(context: &Context, arguments: &EvalArguments) -> anyhow::Result<Exit> {
    ensure!(
        arguments.data.len() > 1,
        "pass --data FOLDER at least twice: each folder's questions are put to the others' stores"
    );
    let mut sets = Vec::with_capacity(arguments.data.len());
    for folder in &arguments.data {
        let mut dataset = reprise_lab::read(Format::Jsonl, folder, parse_record)?;
        if let Some(count) = arguments.limit {
            dataset.keep_first_questions(count);
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        sets.push((name.into_owned(), dataset));
    }
    let report = run_with_tools(context, |tools, progress| {
        reprise_lab::evaluate_off_topic(&sets, tools, progress)
    })?;
    print_report(context, &report, |out| {
        reprise_lab::print_off_topic(&report, out)
    })
}

/// `reprise-lab eval mine`: each installed model, and the one in use, asked for a memory's own
/// records. No other endpoint is asked.
fn run_mine(context: &Context, arguments: &EvalArguments) -> anyhow::Result<Exit> {
    let user = arguments.user.as_ref().or(context.configured_user());
    let user = user.context("pass --user USER: whose memory is asked")?;
    let engine = open_to_read(context, user)?;
    let records: Vec<_> = engine.snapshot().records().filter_map(Result::ok).collect();
    drop(engine);
    let mut makers = Vec::new();
    let own = context.of_user(user);
    for maker in model::factory(&own)
        .into_iter()
        .chain(model::list_installed_sources(context))
    {
        let space = maker.space();
        if makers.iter().all(|(known, _)| *known != space) {
            makers.push((space, maker));
        }
    }
    ensure!(
        !makers.is_empty(),
        "no model is here; run `reprise doctor models pull`"
    );
    let folder = tempfile::tempdir()?;
    let opened: Vec<_> = makers
        .iter()
        .map(|(space, maker)| {
            let open_engine = store_opener(context, space.dimensions);
            (open_engine, move || maker.open())
        })
        .collect();
    let tools = makers
        .iter()
        .zip(&opened)
        .map(|((space, _), (open_engine, open))| {
            let tools = Tools {
                open_engine,
                open_embedder: Some(open),
                judge: None,
                folder: folder.path(),
            };
            (format!("{}/{}", space.model, space.version), tools)
        });
    let tools: Vec<_> = tools.collect();
    let report =
        run_with_progress_bar(|progress| reprise_lab::compare_models(&records, &tools, progress))?;
    let report = report.map_err(anyhow::Error::msg)?;
    print_report(context, &report, |out| {
        reprise_lab::print_model_comparison(&report, out)
    })
}

/// Never set: an evaluation waits for every judgement.
static NEVER_LEFT: AtomicBool = AtomicBool::new(false);

/// Runs with the model, throw-away stores on the real disk, and a bar that goes on.
fn run_with_tools<T>(
    context: &Context,
    work: impl FnOnce(&Tools<'_>, &mut dyn FnMut(EvalStage<'_>)) -> Result<T, EvalError>,
) -> anyhow::Result<T> {
    let factory = model::factory(context);
    let open = factory.as_ref().map(|factory| move || factory.open());
    let folder = tempfile::tempdir()?;
    let judge = model::judge(context).map(|reranker| {
        move |question: &str, texts: &[String]| {
            let judged = reranker.judge(question, texts, &NEVER_LEFT);
            judged.map_err(|message| EmbedError::Engine { message })
        }
    });
    let tools = Tools {
        open_engine: &store_opener(context, context.dimensions()),
        open_embedder: open.as_ref().map(|open| open as _),
        judge: judge.as_ref().map(|judge| judge as _),
        folder: folder.path(),
    };
    run_with_progress_bar(|progress| work(&tools, progress))
}

/// Makes stores as of an instant. Fixed bits: identifiers decide between equal scores, and a run
/// must repeat.
fn store_opener(
    context: &Context,
    dimensions: u16,
) -> impl Fn(&Path, DateTime<Utc>) -> Result<Engine, EngineError> + use<> {
    let cosines = model::share_cosines(context);
    move |path, now| {
        let mut options = EngineOptions::new(dimensions, 1, now);
        options.ports.cosines = Some(Arc::clone(&cosines));
        Engine::open(Arc::new(RealDisk), path, &options).map(|(engine, _)| engine)
    }
}

/// Works with a bar that goes on from stage to stage.
fn run_with_progress_bar<T>(
    work: impl FnOnce(&mut dyn FnMut(EvalStage<'_>)) -> Result<T, EvalError>,
) -> anyhow::Result<T> {
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?);
    let done = work(&mut |stage| {
        bar.set_length(stage.of as u64);
        bar.set_position(stage.number as u64 - 1);
        bar.set_message(stage.store.to_owned());
    });
    bar.finish_and_clear();
    Ok(done?)
}

/// `reprise-lab eval learning`: the proof, on texts of our own with the real model.
fn run_learning(context: &Context) -> anyhow::Result<Exit> {
    let Some(factory) = model::factory(context) else {
        bail!("the proof needs the model; run `reprise doctor models pull`");
    };
    let bar = ProgressBar::new_spinner();
    let mut embedder = factory.open()?;
    let report = reprise_lab::evaluate_learning(&mut *embedder, &mut |stage| {
        bar.set_message(stage.to_owned());
        bar.tick();
    })?;
    bar.finish_and_clear();
    print_report(context, &report, |out| {
        reprise_lab::print_learning(&report, out)
    })
}

fn print_report(
    context: &Context,
    report: &impl Serialize,
    print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<Exit> {
    output::print(context, report, |out| Ok(print(out)?))
}
