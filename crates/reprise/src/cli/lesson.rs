//! `reprise learn`, `show`, `edit`, `delete`, `tags`, `sources`, `tend`: what is asked of an
//! operation in other words than its own; and the dialogue about a kind of evidence that is new.

use std::io::{BufRead, IsTerminal as _, Read};

use reprise_knowledge::{meaning_of_evidence, meant_by, normal_evidence};
use reprise_operations::Lesson;
use reprise_operations::operations::tending::{self, Consolidate, Review, Undo};
use reprise_operations::operations::{audit, forgetting, graph, lessons, records, tags};
use reprise_types::{Evidence, unframed};

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
    let lesson = with_evidence(context, &arguments.whose, lesson)?;
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
    let is_person = io::stdin().is_terminal() && !context.json;
    // Of one that is not there nobody is asked.
    if is_person && would_go(context, &asked.whose.user, &asked.asked.id)? {
        let id = asked.asked.id.clone();
        let question = format!("`{id}` and its earlier versions are forgotten; nothing undoes it.");
        if !agreed(&question, "nobody is there to be asked")? {
            anyhow::bail!("`{id}` is kept");
        }
    }
    ask::<forgetting::Delete>(context, asked)
}

/// Whether a record goes by this name.
fn would_go(context: &Context, user: &UserId, name: &str) -> anyhow::Result<bool> {
    let look = forgetting::ForgetArguments {
        dry_run: true,
        ..forgetting::ForgetArguments::default()
    };
    let by_id = name.parse().ok().map(|id| forgetting::ForgetArguments {
        id: Some(id),
        ..look.clone()
    });
    let by_name = forgetting::ForgetArguments {
        external_id: Some(name.to_owned()),
        ..look
    };
    for asked in by_id.into_iter().chain([by_name]) {
        let would = call::<forgetting::Forget>(context, user, asked)?;
        if !would.forgotten.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
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

/// A lesson whose kind of evidence is there: a person at a terminal says which one is meant, or
/// what the new one means. A program is asked nothing.
fn with_evidence(
    context: &Context,
    whose: &WhoseArguments,
    lesson: Lesson,
) -> anyhow::Result<Lesson> {
    let is_person = io::stdin().is_terminal() && io::stderr().is_terminal();
    let word = lesson.evidence.as_deref().and_then(normal_evidence);
    let Some(word) = word.filter(|_| is_person && !context.json && !lesson.strict) else {
        return Ok(lesson);
    };
    if word.parse::<Evidence>().is_ok() || is_known(context, whose, &word)? {
        return Ok(lesson);
    }
    let answer = dialogue(
        &word,
        &mut io::stdin().lock(),
        &mut crate::printer::stderr(),
    )?;
    match answer {
        Meant::Known(evidence) => Ok(Lesson {
            evidence: Some(evidence.name().to_owned()),
            ..lesson
        }),
        Meant::New(what) => {
            call::<tags::DefineEvidence>(context, &whose.user, what)?;
            Ok(lesson)
        }
    }
}

fn is_known(context: &Context, whose: &WhoseArguments, word: &str) -> anyhow::Result<bool> {
    let all = tags::EvidenceArguments::default();
    let tables = call::<tags::EvidenceKinds>(context, &whose.user, all)?;
    let mut known = tables.evidence.iter();
    Ok(known.any(|kind| kind.name == word && !kind.needs_review))
}

/// What somebody meant by a word.
#[derive(Debug, PartialEq, Eq)]
enum Meant {
    Known(Evidence),
    New(tags::DefineEvidenceArguments),
}

/// Asks which kind is meant; by its number, its word or its first letters, or `new`.
fn dialogue(word: &str, answers: &mut impl BufRead, out: &mut impl Write) -> anyhow::Result<Meant> {
    let mut meant = meant_by(word);
    if meant.is_empty() {
        meant = Evidence::ALL.to_vec();
    }
    writeln!(out, "\"{word}\" not found. Did you mean:")?;
    for evidence in &meant {
        let (description, _) = meaning_of_evidence(*evidence);
        writeln!(out, "  - \"{evidence}\" ({description})")?;
    }
    loop {
        let said = prompt("Or create new? Its first letters, or `new`: ", answers, out)?;
        let Some(said) = said.filter(|said| !said.is_empty()) else {
            anyhow::bail!(
                "nothing was kept; say --source with a kind that `reprise sources` lists"
            );
        };
        if said == "new" {
            writeln!(out, "Creating source type \"{word}\"")?;
            let description = prompt("Description: ", answers, out)?.unwrap_or_default();
            let typical = prompt("Typical confidence (optional): ", answers, out)?;
            return Ok(Meant::New(tags::DefineEvidenceArguments {
                name: word.to_owned(),
                description,
                typical_confidence: typical.filter(|level| !level.is_empty()),
            }));
        }
        let named = Evidence::ALL
            .iter()
            .find(|kind| kind.name().starts_with(said.as_str()));
        if let Some(evidence) = named {
            return Ok(Meant::Known(*evidence));
        }
    }
}

fn prompt(
    question: &str,
    answers: &mut impl BufRead,
    out: &mut impl Write,
) -> anyhow::Result<Option<String>> {
    write!(out, "{question}")?;
    out.flush()?;
    let mut line = String::new();
    let read = answers.read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(word: &str, answers: &str) -> (anyhow::Result<Meant>, String) {
        let mut out = Vec::new();
        let meant = dialogue(word, &mut answers.as_bytes(), &mut out);
        (meant, String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_documents_dialogue_is_had() {
        let (meant, said) = answered("trial-and-error", "new\nTried until it worked\nmedium\n");
        let expected = "\"trial-and-error\" not found. Did you mean:\n  - \"tested\" (Ran code, \
                        verified behavior)\n  - \"observed\" (Saw in logs/output)\nOr create new?";
        assert!(said.starts_with(expected), "{said}");
        let Meant::New(what) = meant.unwrap() else {
            panic!("it is new");
        };
        assert_eq!(
            (
                what.description.as_str(),
                what.typical_confidence.as_deref()
            ),
            ("Tried until it worked", Some("medium"))
        );
        let (meant, _) = answered("trial-and-error", "x\nt\n");
        assert_eq!(meant.unwrap(), Meant::Known(Evidence::Tested));
        assert!(answered("trial-and-error", "").0.is_err());
    }
}
