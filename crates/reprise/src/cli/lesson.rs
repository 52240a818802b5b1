//! `reprise learn`, `related`, `link`, `show`, `edit`, `delete`, `tags`: the tools of an agent,
//! typed.

use std::io::Read;
use std::path::Path;

use anyhow::{bail, ensure};
use reprise_operations::Lesson;
use reprise_operations::operations::{delete, get, learn, link, merge_tags, related, tags, update};

use super::said::run;
use super::{Context, input, sources};
use crate::args::{
    self, Direction, EditArguments, LearnArguments, LinkArguments, NamedArguments,
    RelatedArguments, TagsArguments,
};
use crate::exit::Exit;

/// Most bytes of a lesson that are read; a record keeps fewer, and says so.
const READ_MAX: u64 = 16 * 1024 * 1024;

pub(super) fn learn(context: &Context, arguments: &LearnArguments) -> anyhow::Result<Exit> {
    if let [word] = arguments.text.as_slice()
        && let Some(command) = args::slip_of_learn(word)
    {
        bail!(
            "`learn {word}` is no command; `learn {command}` is one, and `learn --content {word}` \
             keeps the word itself"
        );
    }
    let lesson = typed(arguments.lesson())?;
    let lesson = sources::asked(context, &arguments.whose, lesson)?;
    run::<learn::Learn>(context, &arguments.whose, lesson)
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

pub(super) fn related(context: &Context, arguments: &RelatedArguments) -> anyhow::Result<Exit> {
    let what = related::Arguments {
        id: arguments.named.id.clone(),
        depth: Some(arguments.depth),
        limit: None,
        direction: Some(match arguments.direction {
            Direction::Out => related::Direction::Out,
            Direction::In => related::Direction::In,
            Direction::Both => related::Direction::Both,
        }),
        relations: arguments.relation.clone(),
    };
    run::<related::Related>(context, &arguments.named.whose, what)
}

pub(super) fn link(context: &Context, arguments: &LinkArguments) -> anyhow::Result<Exit> {
    let what = link::Arguments {
        from: arguments.from.clone(),
        to: arguments.to.clone(),
        relation: Some(arguments.relation.clone()),
    };
    run::<link::Link>(context, &arguments.whose, what)
}

pub(super) fn show(context: &Context, arguments: &NamedArguments) -> anyhow::Result<Exit> {
    let what = get::Arguments {
        id: Some(arguments.id.clone()),
        ids: Vec::new(),
    };
    run::<get::Get>(context, &arguments.whose, what)
}

pub(super) fn edit(context: &Context, arguments: &EditArguments) -> anyhow::Result<Exit> {
    let what = update::Arguments {
        id: arguments.named.id.clone(),
        lesson: typed(arguments.lesson.lesson())?,
    };
    run::<update::Update>(context, &arguments.named.whose, what)
}

pub(super) fn delete(context: &Context, arguments: &NamedArguments) -> anyhow::Result<Exit> {
    let what = delete::Arguments {
        id: arguments.id.clone(),
        reason: Some("asked for on the command line".to_owned()),
    };
    run::<delete::Delete>(context, &arguments.whose, what)
}

pub(super) fn tags(context: &Context, arguments: &TagsArguments) -> anyhow::Result<Exit> {
    let whose = &arguments.whose;
    if let Some([from, into]) = arguments.merge.as_deref() {
        let (from, into) = (from.clone(), into.clone());
        return run::<merge_tags::MergeTags>(context, whose, merge_tags::Arguments { from, into });
    }
    let review = arguments.review;
    run::<tags::Tags>(context, whose, tags::Arguments { review })
}
