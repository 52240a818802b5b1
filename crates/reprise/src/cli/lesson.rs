//! `reprise learn`, `show`, `edit`, `delete`, `tags`, `sources`, `tend`: what is asked of an
//! operation in other words than its own.

mod evidence;

use std::io::{IsTerminal as _, Read};

use reprise_operations::Lesson;
use reprise_operations::operations::tending::{self, Consolidate, Review, Undo};
use reprise_operations::operations::{audit, forgetting, graph, lessons, records, tags};
use reprise_types::unframed;

use super::output::{ask, call, print, run};
use crate::args::{
    self, Ask, LearnArguments, ReviewArguments, ShowArguments, SourcesArguments, TagsArguments,
    TendArguments, TendCommand,
};
use crate::cli::prelude::*;

/// Most bytes of a lesson that are read; a record keeps fewer, and says so.
const READ_MAX: u64 = 16 * 1024 * 1024;

pub(super) fn learn(context: &Context, arguments: &LearnArguments) -> anyhow::Result<Exit> {
    if let [word] = arguments.lesson.typed.as_slice()
        && let Some(command) = args::slip_of_learn(word)
    {
        bail!(
            "`learn {word}` is no command; `learning {command}` is one, and `learn --content {word}` \
             keeps the word itself"
        );
    }
    let lesson = typed(arguments.lesson.clone())?;
    let lesson = evidence::asked(context, &arguments.whose, lesson)?;
    run::<lessons::Learn>(context, &arguments.whose, lesson)
}

/// The lesson with its text: `-` is what stands on standard input.
fn typed(mut lesson: Lesson) -> anyhow::Result<Lesson> {
    if !lesson.typed.is_empty() {
        lesson.text = Some(lesson.typed.join(" "));
    }
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
    mut asked: Ask<lessons::UpdateArguments>,
) -> anyhow::Result<Exit> {
    asked.asked.lesson = typed(asked.asked.lesson)?;
    ask::<lessons::Update>(context, asked)
}

pub(super) fn delete(
    context: &Context,
    mut asked: Ask<forgetting::DeleteArguments>,
) -> anyhow::Result<Exit> {
    let reason = &mut asked.asked.reason;
    reason.get_or_insert_with(|| "asked for on the command line".to_owned());
    if io::stdin().is_terminal() && !context.json {
        let id = asked.asked.id.clone();
        let question = format!("`{id}` and its earlier versions are forgotten; nothing undoes it.");
        if !agreed(&question, "nobody is there to be asked")? {
            anyhow::bail!("`{id}` is kept");
        }
    }
    ask::<forgetting::Delete>(context, asked)
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

pub(super) fn sources(context: &Context, arguments: SourcesArguments) -> anyhow::Result<Exit> {
    let whose = &arguments.whose;
    if let Some([from, into]) = arguments.merge.as_deref() {
        let (from, into) = (from.clone(), into.clone());
        let what = tags::MergeEvidenceArguments { from, into };
        return run::<tags::MergeEvidence>(context, whose, what);
    }
    if let Some(name) = arguments.add {
        let what = tags::DefineEvidenceArguments {
            name,
            description: arguments.description,
            typical_confidence: arguments.typical_confidence,
        };
        return run::<tags::DefineEvidence>(context, whose, what);
    }
    let review = arguments.review;
    run::<tags::EvidenceKinds>(context, whose, tags::EvidenceArguments { review })
}

pub(super) fn tend(context: &Context, arguments: TendArguments) -> anyhow::Result<Exit> {
    match arguments.command {
        None => ask::<Consolidate>(context, arguments.now),
        Some(TendCommand::Review(arguments)) => review(context, arguments),
        Some(TendCommand::Undo(asked)) => ask::<Undo>(context, asked),
        Some(TendCommand::Audit(asked)) => ask::<audit::Audit>(context, asked),
        Some(TendCommand::Log(asked)) => ask::<audit::Diary>(context, asked),
    }
}

pub(super) fn review(context: &Context, arguments: ReviewArguments) -> anyhow::Result<Exit> {
    let asked = tending::ReviewArguments {
        pair: arguments.pair.try_into().ok(),
        answer: arguments.answer,
    };
    let user = &arguments.whose.user;
    let reviewed = call::<Review>(context, user, asked)?;
    let waits = !(reviewed.review.is_empty() && reviewed.contradictions.is_empty());
    print(context, &reviewed, |out| {
        let text = Page::stdout().fit(&unframed(&Review::text(&reviewed)));
        writeln!(out, "{text}")?;
        if waits {
            writeln!(
                out,
                "answer a pair by its two names: `reprise tend review A B --answer ANSWER --user \
                 {user}`\n  newer, older: that one holds; same: they say the same; different: both \
                 hold"
            )?;
        }
        Ok(())
    })
}
