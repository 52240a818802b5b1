//! `reprise learn`, `show`, `edit`, `tags` and `doctor review`: commands that turn
//! what was typed into arguments of an operation, and the dialogue about an unknown kind of
//! evidence.

use std::io::{BufRead, IsTerminal as _};

use reprise_knowledge::{guess_evidence, meaning_of_evidence, normalize_evidence};
use reprise_operations::Lesson;
use reprise_operations::operations::links::graph;
use reprise_operations::operations::maintenance::{self, Review};
use reprise_operations::operations::{forgetting, lessons, records, tags};
use reprise_types::{Evidence, remove_frame_lines};

use super::output::{call, print, run};
use crate::args::{
    LearnArguments, OperationArguments, ReviewArguments, ShowArguments, SourcesArguments,
    TagsArguments,
};
use crate::cli::prelude::*;

pub(super) fn learn(context: &Context, arguments: &LearnArguments) -> anyhow::Result<Exit> {
    let lesson = read_named_file(arguments.lesson.clone())?;
    let lesson = fill_typed_text(lesson)?;
    ensure!(
        lesson.text.is_some() || lesson.title.is_some(),
        "nothing to remember: type `reprise learn \"what was learned\"`"
    );
    let lesson = resolve_evidence(context, &arguments.whose, lesson)?;
    let tags = lesson.tags.as_deref().unwrap_or_default();
    let project = project::resolve_project_of_lesson(context, lesson.project.clone(), tags)?;
    let lesson = Lesson { project, ..lesson };
    run::<lessons::Learn>(context, &arguments.whose, lesson)
}

/// Fills in the text of a lesson; `-` reads standard input.
fn fill_typed_text(mut lesson: Lesson) -> anyhow::Result<Lesson> {
    let typed = match &lesson.text {
        Some(text) if lesson.typed.is_empty() => std::slice::from_ref(text),
        _ => &lesson.typed,
    };
    if !typed.is_empty() {
        lesson.text = Some(input::read_typed_text(typed)?);
    }
    Ok(lesson)
}

/// Reads a file where its path is all that was typed.
fn read_named_file(mut lesson: Lesson) -> anyhow::Result<Lesson> {
    if let [name] = &lesson.typed[..]
        && lesson.text.is_none()
        && Path::new(name).is_file()
    {
        note(&format!("`{name}` is a file: its text is the lesson"));
        lesson.typed = vec![input::read_text(Path::new(name))?];
    }
    Ok(lesson)
}

/// Shows a record, and with `--around` the records that are linked to it.
pub(super) fn show(context: &Context, arguments: ShowArguments) -> anyhow::Result<Exit> {
    let around = graph::ClusterArguments {
        id: arguments.asked.id.clone().filter(|_| arguments.around),
        ..graph::ClusterArguments::default()
    };
    let shown = if arguments.all && !context.json {
        let got = call::<records::Get>(context, &arguments.whose.user, arguments.asked)?;
        let text = remove_frame_lines(&records::render_records(&got, true));
        output::line(context, &got, Page::stdout().fit(&text))?
    } else {
        run::<records::Get>(context, &arguments.whose, arguments.asked)?
    };
    if around.id.is_none() {
        return Ok(shown);
    }
    run::<graph::ClusterOf>(context, &arguments.whose, around)
}

pub(super) fn edit(
    context: &Context,
    mut asked: OperationArguments<lessons::UpdateArguments>,
) -> anyhow::Result<Exit> {
    asked.asked.lesson = fill_typed_text(asked.asked.lesson)?;
    ensure!(
        asked.asked.lesson != Lesson::default(),
        "nothing to change: give a new text, or an option such as --tags"
    );
    if let Some(typed) = &mut asked.asked.lesson.project
        && project::is_folder_name(typed)
    {
        *typed = project::project_name_of_folder(context, typed)?;
    }
    run::<lessons::Update>(context, &asked.whose, asked.asked)
}

/// Asks a person at a terminal before one memory with its earlier versions is forgotten, if there
/// is such a memory; the error is a no.
pub(super) fn confirm_forgetting(
    context: &Context,
    whose: &WhoseArguments,
    id: &str,
) -> anyhow::Result<()> {
    let is_person = io::stdin().is_terminal() && !context.json;
    if is_person && is_stored(context, &whose.user, id)? {
        let question =
            format!("`{id}` and its earlier versions are forgotten; this cannot be undone.");
        ensure!(
            confirm(&question, "not a terminal: add --json")?,
            "`{id}` is kept"
        );
    }
    Ok(())
}

/// Returns whether a memory has this id or external id.
fn is_stored(context: &Context, user: &UserId, name: &str) -> anyhow::Result<bool> {
    let look = forgetting::DeleteArguments {
        id: Some(name.to_owned()),
        dry_run: true,
        ..forgetting::DeleteArguments::default()
    };
    let session = Session::open(context, user, Effect::Reads)?;
    match session.call::<forgetting::Delete>(look) {
        Ok(would) => Ok(!would.forgotten.is_empty()),
        Err(problem) if problem.kind == ProblemKind::NotFound => Ok(false),
        Err(problem) => Err(problem.into()),
    }
}

pub(super) fn tags(context: &Context, arguments: &TagsArguments) -> anyhow::Result<Exit> {
    let whose = &arguments.whose;
    ensure!(
        context.json || store::exists(context, &whose.user)?,
        describe_empty_memory(&whose.user)
    );
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

pub(super) fn review(context: &Context, arguments: ReviewArguments) -> anyhow::Result<Exit> {
    let asked = maintenance::ReviewArguments {
        pair: arguments.pair.try_into().ok(),
        answer: arguments.answer,
    };
    let user = &arguments.whose.user;
    let reviewed = call::<Review>(context, user, asked)?;
    let waits = !(reviewed.review.is_empty() && reviewed.contradictions.is_empty());
    print(context, &reviewed, |out| {
        let text = Page::stdout().fit(&remove_frame_lines(&Review::render_text(&reviewed)));
        writeln!(out, "{text}")?;
        if waits {
            writeln!(
                out,
                "decide a pair by its two names: `reprise doctor review A B --answer ANSWER \
                 --user \
                 {user}`\n  newer, older: keep that one; same: merge them; different: keep both"
            )?;
        }
        Ok(())
    })
}

/// Makes sure that a lesson's kind of evidence exists: a person at a terminal chooses a known kind
/// or describes the new one. A program is not asked.
fn resolve_evidence(
    context: &Context,
    whose: &WhoseArguments,
    lesson: Lesson,
) -> anyhow::Result<Lesson> {
    let is_person = io::stdin().is_terminal() && io::stderr().is_terminal();
    let word = lesson.evidence.as_deref().and_then(normalize_evidence);
    let Some(word) = word.filter(|_| is_person && !context.json && !lesson.strict) else {
        return Ok(lesson);
    };
    if word.parse::<Evidence>().is_ok() || is_known_evidence(context, whose, &word)? {
        return Ok(lesson);
    }
    let answer = ask_for_evidence(
        &word,
        &mut io::stdin().lock(),
        &mut crate::printer::stderr(),
    )?;
    match answer {
        EvidenceChoice::Known(evidence) => Ok(Lesson {
            evidence: Some(evidence.name().to_owned()),
            ..lesson
        }),
        EvidenceChoice::New(what) => {
            call::<tags::DefineEvidence>(context, &whose.user, what)?;
            Ok(lesson)
        }
    }
}

fn is_known_evidence(
    context: &Context,
    whose: &WhoseArguments,
    word: &str,
) -> anyhow::Result<bool> {
    let all = tags::EvidenceArguments::default();
    let tables = call::<tags::EvidenceKinds>(context, &whose.user, all)?;
    let mut known = tables.evidence.iter();
    Ok(known.any(|kind| kind.name == word && !kind.needs_review))
}

/// Kind of evidence that a person chose for a word.
#[derive(Debug, PartialEq, Eq)]
enum EvidenceChoice {
    Known(Evidence),
    New(tags::DefineEvidenceArguments),
}

/// Asks which kind of evidence is meant; the answer is its first letters, or `new`.
fn ask_for_evidence(
    word: &str,
    answers: &mut impl BufRead,
    out: &mut impl Write,
) -> anyhow::Result<EvidenceChoice> {
    let mut meant = guess_evidence(word);
    if meant.is_empty() {
        meant = Evidence::ALL.to_vec();
    }
    writeln!(out, "\"{word}\" not found. Did you mean:")?;
    for evidence in &meant {
        let (description, _) = meaning_of_evidence(*evidence);
        writeln!(out, "  - \"{evidence}\" ({description})")?;
    }
    loop {
        let said = ask_line("Or create new? Its first letters, or `new`: ", answers, out)?;
        let Some(said) = said.filter(|said| !said.is_empty()) else {
            anyhow::bail!(
                "nothing was stored; choose an --evidence that `reprise tags sources` lists"
            );
        };
        if said == "new" {
            writeln!(out, "Creating source type \"{word}\"")?;
            let description = ask_line("Description: ", answers, out)?.unwrap_or_default();
            let typical = ask_line("Typical confidence (optional): ", answers, out)?;
            return Ok(EvidenceChoice::New(tags::DefineEvidenceArguments {
                name: word.to_owned(),
                description,
                typical_confidence: typical.filter(|level| !level.is_empty()),
            }));
        }
        let named = Evidence::ALL
            .iter()
            .find(|kind| kind.name().starts_with(said.as_str()));
        if let Some(evidence) = named {
            return Ok(EvidenceChoice::Known(*evidence));
        }
    }
}

fn ask_line(
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

    fn run_dialogue(word: &str, answers: &str) -> (anyhow::Result<EvidenceChoice>, String) {
        let mut out = Vec::new();
        let meant = ask_for_evidence(word, &mut answers.as_bytes(), &mut out);
        (meant, String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_documents_dialogue_is_had() {
        let (meant, said) = run_dialogue("trial-and-error", "new\nTried until it worked\nmedium\n");
        let expected = "\"trial-and-error\" not found. Did you mean:\n  - \"tested\" (Ran code, \
                        verified behavior)\n  - \"observed\" (Saw in logs/output)\nOr create new?";
        assert!(said.starts_with(expected), "{said}");
        let EvidenceChoice::New(what) = meant.unwrap() else {
            panic!("it is new");
        };
        assert_eq!(
            (
                what.description.as_str(),
                what.typical_confidence.as_deref()
            ),
            ("Tried until it worked", Some("medium"))
        );
        let (meant, _) = run_dialogue("trial-and-error", "x\nt\n");
        assert_eq!(meant.unwrap(), EvidenceChoice::Known(Evidence::Tested));
        assert!(run_dialogue("trial-and-error", "").0.is_err());
    }
}
