//! A kind of evidence that is new: a person at a terminal is asked what it means.

use std::io::{BufRead, IsTerminal};

use reprise_knowledge::{meaning_of_evidence, meant_by, normal_evidence};
use reprise_operations::Lesson;
use reprise_operations::operations::tags;
use reprise_types::Evidence;

use crate::cli::prelude::*;

/// A lesson whose kind of evidence is there: a person at a terminal says which one is meant, or
/// what the new one means. A program is asked nothing.
pub(super) fn asked(
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
            output::call::<tags::DefineEvidence>(context, &whose.user, what)?;
            Ok(lesson)
        }
    }
}

fn is_known(context: &Context, whose: &WhoseArguments, word: &str) -> anyhow::Result<bool> {
    let all = tags::EvidenceArguments::default();
    let tables = output::call::<tags::EvidenceKinds>(context, &whose.user, all)?;
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
        let said = ask("Or create new? Its first letters, or `new`: ", answers, out)?;
        let Some(said) = said.filter(|said| !said.is_empty()) else {
            anyhow::bail!(
                "nothing was kept; say --source with a kind that `reprise sources` lists"
            );
        };
        if said == "new" {
            writeln!(out, "Creating source type \"{word}\"")?;
            let description = ask("Description: ", answers, out)?.unwrap_or_default();
            let typical = ask("Typical confidence (optional): ", answers, out)?;
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

fn ask(
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
