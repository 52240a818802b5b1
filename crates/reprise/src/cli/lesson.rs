//! `reprise learn`, `show`, `edit`, `delete`, `tags`: what is asked of an operation in other words
//! than its own.

use std::io::{IsTerminal as _, Read};
use std::path::Path;

use anyhow::{bail, ensure};
use reprise_operations::Lesson;
use reprise_operations::operations::{forgetting, graph, lessons, records, tags};

use super::context::agreed;
use super::said::{self, run};
use super::{Context, input, sources};
use crate::args::{self, Ask, LearnArguments, ShowArguments, TagsArguments};
use crate::exit::Exit;

/// Most bytes of a lesson that are read; a record keeps fewer, and says so.
const READ_MAX: u64 = 16 * 1024 * 1024;

pub(super) fn learn(context: &Context, arguments: &LearnArguments) -> anyhow::Result<Exit> {
    if let [word] = arguments.text.as_slice()
        && let Some(command) = args::slip_of_learn(word)
    {
        bail!(
            "`learn {word}` is no command; `learning {command}` is one, and `learn --content {word}` \
             keeps the word itself"
        );
    }
    let lesson = typed(arguments.lesson())?;
    let lesson = sources::asked(context, &arguments.whose, lesson)?;
    run::<lessons::Learn>(context, &arguments.whose, lesson)
}

/// The lesson with its text: `-` is what stands on standard input.
fn typed(mut lesson: Lesson) -> anyhow::Result<Lesson> {
    if lesson.text.as_deref() == Some("-") {
        let mut input = input::open(Path::new("-"))?.take(READ_MAX);
        let mut text = String::new();
        input.read_to_string(&mut text)?;
        let text = text.trim();
        ensure!(
            !text.is_empty(),
            "standard input is empty; write what was learned there"
        );
        lesson.text = Some(text.to_owned());
    }
    Ok(lesson)
}

/// A record, and with `--around` what its links lead to.
pub(super) fn show(context: &Context, arguments: ShowArguments) -> anyhow::Result<Exit> {
    let around = graph::ClusterArguments {
        id: arguments.asked.id.clone().filter(|_| arguments.around),
        ..graph::ClusterArguments::default()
    };
    let shown = run::<records::Get>(context, &arguments.whose, arguments.asked)?;
    if around.id.is_none() {
        return Ok(shown);
    }
    run::<graph::ClusterOf>(context, &arguments.whose, around)
}

pub(super) fn edit(
    context: &Context,
    mut ask: Ask<lessons::UpdateArguments>,
) -> anyhow::Result<Exit> {
    ask.asked.lesson = typed(ask.asked.lesson)?;
    said::ask::<lessons::Update>(context, ask)
}

pub(super) fn delete(
    context: &Context,
    mut ask: Ask<forgetting::DeleteArguments>,
) -> anyhow::Result<Exit> {
    let reason = &mut ask.asked.reason;
    reason.get_or_insert_with(|| "asked for on the command line".to_owned());
    if std::io::stdin().is_terminal() && !context.json {
        let id = ask.asked.id.clone();
        let question = format!("`{id}` and its earlier versions are forgotten; nothing undoes it.");
        if !agreed(&question, "nobody is there to be asked")? {
            anyhow::bail!("`{id}` is kept");
        }
    }
    said::ask::<forgetting::Delete>(context, ask)
}

pub(super) fn tags(context: &Context, arguments: &TagsArguments) -> anyhow::Result<Exit> {
    let whose = &arguments.whose;
    if let Some([from, into]) = arguments.merge.as_deref() {
        let (from, into) = (from.clone(), into.clone());
        return run::<tags::MergeTags>(context, whose, tags::MergeTagsArguments { from, into });
    }
    let review = arguments.review;
    run::<tags::Tags>(context, whose, tags::TagsArguments { review })
}
