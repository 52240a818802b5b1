//! Cuts a prompt into what it asks. A log or stack trace before or behind the question is context;
//! each of several questions is searched as itself; and so is each of the things that a question
//! connects, if the answer to the whole leaves it open.

mod log;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use reprise_types::limits::QUERY_BYTES_MAX;
use reprise_types::{RecallResponse, RecordId, RelevanceVerdict, RetrievedMemory};

use super::compile_pattern;
use crate::answer::{LIKELY_COSINE, decide_shown};
use crate::order::order_results;
use log::{END_BYTES_MAX, question_without_log};

/// Most parts of one prompt.
const PARTS_MAX: usize = 4;
/// Fewest words of a part that say what it is about.
const ABOUT_MIN: usize = 2;
/// Longest question in bytes that is cut into parts; a longer one is a document.
const CUT_BYTES_MAX: usize = 1024;
/// Fewest bytes of a prompt whose one question is searched as itself.
const CONTEXT_BYTES_MIN: usize = 240;
/// Fewest letters of a word that ends a sentence.
const WORD_MIN: usize = 3;
/// Most lines of the answer to one part that join the answer to the whole.
const LINES_OF_PART: usize = 2;
/// Share of the words of a thing that its answer needs where nothing is compared by meaning.
const PHRASE_WORDS: f32 = 0.8;
/// Most characters of a part that a reason names.
const PART_CHARS: usize = 60;

/// What a prompt asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskedParts {
    /// The prompt without the log around its question.
    pub question: String,
    /// Its questions, if it has several, or the one that it has among much else.
    pub questions: Vec<String>,
    /// The things that it connects, if there are several.
    pub things: Vec<String>,
    /// A sentence about what of the prompt was not looked at, if it is too long.
    pub note: Option<String>,
}

impl AskedParts {
    /// Returns the things that an answer leaves open: all of them if it shows no line, and of one
    /// question those of whose words few stand in a line that is shown.
    #[must_use]
    pub fn list_open_things(&self, recall: &RecallResponse) -> Vec<String> {
        let shown = recall.results.iter().filter(|found| found.shown);
        let told: Vec<String> = shown
            .map(|found| found.record.text.to_lowercase())
            .collect();
        if told.is_empty() {
            return self.things.clone();
        }
        let asks = self.question.ends_with('?') || begins_to_ask(&self.question);
        let is_certain = recall.results.iter().any(|found| found.why.is_certain);
        if !asks || is_certain || !self.questions.is_empty() {
            return Vec::new();
        }
        let is_told = |word: &&str| {
            let stem = word_stem(&word.to_lowercase());
            told.iter().any(|text| text.contains(&stem))
        };
        let is_open = |thing: &&String| {
            let words: Vec<&str> = words_about(thing).collect();
            words.iter().filter(|word| is_told(word)).count() * 2 < words.len()
        };
        self.things.iter().filter(is_open).cloned().collect()
    }
}

/// Cuts a prompt into what it asks.
#[must_use]
pub fn split_prompt(prompt: &str) -> AskedParts {
    let question = question_without_log(prompt);
    let (mut questions, mut things) = (Vec::new(), Vec::new());
    if question.len() <= CUT_BYTES_MAX {
        questions = split_questions(&question);
        let clauses = match &questions[..] {
            [] => std::slice::from_ref(&question),
            several => several,
        };
        things = clauses
            .iter()
            .flat_map(|clause| split_before_matches(&THING, clause))
            .collect();
        things.retain(|thing: &String| is_about_something(thing));
        things.truncate(PARTS_MAX);
        if things.len() < 2 {
            things.clear();
        }
    }
    if questions.is_empty() {
        questions.extend(question_within_context(&question));
    }
    AskedParts {
        question,
        questions,
        things,
        note: describe_unread_part(prompt),
    }
}

/// Says what of a prompt is not looked at.
fn describe_unread_part(prompt: &str) -> Option<String> {
    let bytes = prompt.len();
    (bytes > QUERY_BYTES_MAX).then(|| {
        format!(
            "the question has {bytes} bytes; only its first and last {END_BYTES_MAX} were looked at"
        )
    })
}

/// Returns the questions of a text that has several; nothing for any other.
fn split_questions(question: &str) -> Vec<String> {
    let sentences = split_sentences(question);
    let asks = |sentence: &&str| sentence.ends_with('?') || begins_to_ask(sentence);
    let asking: Vec<&str> = sentences.into_iter().filter(asks).collect();
    let mut parts: Vec<String> = Vec::new();
    for sentence in asking {
        // `When X fails, how ...` is one question, and so is `between when X and when Y`.
        let clauses = split_before_matches(&CLAUSE, sentence);
        let each_asks = clauses
            .iter()
            .all(|clause| is_about_something(clause) && begins_to_ask(clause));
        let is_one = begins_with_condition(sentence) || sentence.contains(" between ");
        if each_asks && !is_one {
            parts.extend(clauses);
        } else {
            parts.push(sentence.to_owned());
        }
    }
    parts.retain(|part| is_about_something(part));
    parts.truncate(PARTS_MAX);
    if parts.len() < 2 {
        parts.clear();
    }
    parts
}

/// Returns the question that a text begins or ends with, if it is a small part of it.
fn question_within_context(text: &str) -> Option<String> {
    let sentences = split_sentences(text);
    let mut ends = [sentences.last(), sentences.first()].into_iter().flatten();
    let asks =
        |one: &&&str| (one.ends_with('?') || begins_to_ask(one)) && one.len() * 2 <= text.len();
    let asked = ends.find(asks).filter(|one| is_about_something(one))?;
    (text.len() >= CONTEXT_BYTES_MIN).then(|| (*asked).to_owned())
}

/// Whether a sentence begins with `When X fails` and not with `When does X fail`.
fn begins_with_condition(sentence: &str) -> bool {
    let mut words = sentence.split_whitespace().map(str::to_lowercase);
    let is_when = words.next().is_some_and(|first| first == "when");
    let next = words.next().unwrap_or_default();
    is_when && !ASKING_VERBS.split_whitespace().any(|verb| verb == next)
}

fn split_sentences(text: &str) -> Vec<&str> {
    let lines = text.split_inclusive(['?', '!', '\n', '\u{3002}', '\u{ff1f}']);
    let parts = lines.flat_map(split_at_stops);
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Splits a line behind each full stop that is none of an abbreviation: `the U.S. has`.
fn split_at_stops(line: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, _) in line.match_indices(". ") {
        let before = line.get(from..at).unwrap_or_default();
        let word = before.rsplit([' ', '.']).next().unwrap_or_default();
        if word.chars().count() >= WORD_MIN {
            parts.push(line.get(from..=at).unwrap_or_default());
            from = at + 1;
        }
    }
    parts.push(line.get(from..).unwrap_or_default());
    parts
}

/// Splits a text before each match of the pattern's first group, without what joins it.
fn split_before_matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> Vec<String> {
    let Some(pattern) = pattern.as_ref() else {
        return vec![text.to_owned()];
    };
    let (mut parts, mut from) = (Vec::new(), 0);
    for found in pattern.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        let next = found.get(1).map_or(whole.end(), |first| first.start());
        parts.push(text.get(from..whole.start()).unwrap_or_default());
        from = next;
    }
    parts.push(text.get(from..).unwrap_or_default());
    let around: &[char] = &[',', ';', '.', '?', '!'];
    let parts = parts
        .into_iter()
        .map(|part| part.trim().trim_matches(around).trim());
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn begins_to_ask(text: &str) -> bool {
    ASKS.as_ref().is_some_and(|asks| asks.is_match(text))
}

/// Whether a text has enough words that say what it is about.
fn is_about_something(text: &str) -> bool {
    words_about(text).take(ABOUT_MIN).count() == ABOUT_MIN
}

/// Returns the words that say what a text is about.
fn words_about(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| {
        let is_short = word.chars().count() < 3 && !word.chars().all(char::is_uppercase);
        let lower = word.to_lowercase();
        !is_short && !word.is_empty() && !SILENT.split_whitespace().any(|silent| silent == lower)
    })
}

/// Returns a word without a common ending.
fn word_stem(lower: &str) -> String {
    let without = |ending: &&str| lower.strip_suffix(*ending).filter(|rest| rest.len() > 2);
    let stem = ["ing", "ed", "es", "s"].iter().find_map(without);
    stem.unwrap_or(lower).to_owned()
}

/// Merges the answers to the questions of a prompt into the answer to the whole: the best of each
/// comes first, once.
#[must_use]
pub fn merge_question_answers(
    recall: RecallResponse,
    answers: Vec<(String, RecallResponse)>,
    top_k: usize,
) -> RecallResponse {
    let answers = answers.into_iter().map(|(part, answer)| {
        let shown = answer.results.into_iter().filter(|found| found.shown);
        (part, shown.take(LINES_OF_PART).collect())
    });
    merge_part_answers(recall, answers.collect(), top_k)
}

/// Merges the answers to the things that a prompt connects into an answer that leaves them open: of
/// each the best, if it is likely by itself.
#[must_use]
pub fn merge_thing_answers(
    recall: RecallResponse,
    answers: Vec<(String, RecallResponse)>,
    top_k: usize,
) -> RecallResponse {
    let is_likely = |found: &RetrievedMemory| {
        let cosine = found.why.raw_distance.map(|distance| 1.0 - distance);
        let words = found.why.word_coverage();
        found.shown
            && cosine.map_or(words >= PHRASE_WORDS, |cosine| cosine >= LIKELY_COSINE)
            && found.why.lacks.is_none()
    };
    let answers = answers.into_iter().filter_map(|(part, answer)| {
        let is_relevant = answer.verdict == RelevanceVerdict::Relevant;
        let best = answer.results.into_iter().next();
        let best = best.filter(|best| is_relevant && is_likely(best))?;
        Some((part, vec![best]))
    });
    merge_part_answers(recall, answers.collect(), top_k)
}

fn merge_part_answers(
    mut recall: RecallResponse,
    answers: Vec<(String, Vec<RetrievedMemory>)>,
    top_k: usize,
) -> RecallResponse {
    let mut first: BTreeSet<RecordId> = BTreeSet::new();
    first.extend(recall.results.first().map(|best| best.record.id));
    for (part, lines) in answers {
        let part: String = part.chars().take(PART_CHARS).collect();
        for (place, mut found) in lines.into_iter().enumerate() {
            let id = found.record.id;
            if place == 0 {
                found.why.answers_part = Some(part.clone());
                first.insert(id);
            }
            found.why.reason = format!("for \"{part}\": {}", found.why.reason);
            match recall
                .results
                .iter_mut()
                .find(|known| known.record.id == id)
            {
                Some(known) if known.sona_score >= found.sona_score => {
                    let named = &mut known.why.answers_part;
                    *named = named.take().or(found.why.answers_part);
                }
                Some(known) => *known = found,
                None => recall.results.push(found),
            }
        }
    }
    order_results(&mut recall.results, |found| {
        first.contains(&found.record.id)
    });
    recall.results.truncate(top_k);
    decide_shown(&mut recall);
    recall
}

/// Words that say nothing of what a text is about.
const SILENT: &str = "i the and for with that this these those what which who whom whose when \
    where why how does did was were are has had have can could should would will may might you \
    your our their its his her they them she him from into onto about across between there here \
    please tell show give get got make made want need know look find use using used also just \
    then than any some all not but out off over under after before while during because been \
    being like work works doing";

/// Verbs behind a `when` that asks.
const ASKING_VERBS: &str = "do does did is are was were will would can could should shall must may \
    might has have had";

/// The beginning of a sentence that asks without a question mark.
static ASKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^(?:and |also |so )?(?:how|what|when|where|which|who|why|does|did|is|are|can|could",
        r"|should|wie|was|wann|wo|welche[rsn]?|warum|wer)\b",
    ))
});

/// What joins two questions of one sentence.
static CLAUSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)(?:[,;]|\s(?:and|und)\b)\s*(?:and |also |then |und )*",
        r"((?:how|what|when|where|which|who|why|does|did|is|are|can|should|wie|was|wann|wo|warum|wer",
        r"|welche[rsn]?)\s)",
    ))
});

/// What joins two things.
static THING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)[,;]\s|\s(?:across|with|in|on|for|between|against|inside|from|to|into|using|via",
        r"|through|and|or|by|after|before|during|without|versus|vs|under|over|of|at)\s",
    ))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(ASKS.is_some() && CLAUSE.is_some() && THING.is_some());
    }

    #[test]
    fn a_plain_question_is_one_part_and_stays_as_it_is() {
        for question in [
            "which port does the proxy listen on?",
            "What did Ann paint, and when is it due?",
            "fix the bug in the auth module",
            "",
        ] {
            let asked = split_prompt(question);
            assert_eq!(
                (asked.question.as_str(), asked.questions.len()),
                (question, 0)
            );
        }
    }

    #[test]
    fn several_questions_and_the_things_of_one_are_cut_apart() {
        let asked = split_prompt("how does kube schedule pods across our CI pipeline nodes?");
        assert!(asked.questions.is_empty());
        let things = ["how does kube schedule pods", "our CI pipeline nodes"];
        assert_eq!(asked.things, things);
        let asked = split_prompt(
            "When our React frontend catches error handling exceptions, how do the Kubernetes \
             pods restart?",
        );
        let things = [
            "When our React frontend catches error handling exceptions",
            "how do the Kubernetes pods restart",
        ];
        assert!(asked.questions.is_empty());
        assert_eq!(asked.things, things);
        let asked =
            split_prompt("What areas of the U.S. has John been to or is planning to go to?");
        assert!(asked.questions.is_empty(), "{asked:?}");
        let asked = split_prompt("How are invoices paid, and who signs the release builds?");
        assert_eq!(asked.questions.len(), 2, "{asked:?}");
        for prompt in [
            "Which bank is ours now? And where are the invoices kept?",
            "When do the postgres backups run, and who waters the plants?",
            "wann werden die Rechnungen verschickt und wer leert den Kasten?",
        ] {
            let asked = split_prompt(prompt);
            assert_eq!(asked.questions.len(), 2, "{asked:?}");
        }
    }

    #[test]
    fn the_question_of_a_long_prompt_is_a_part_of_its_own() {
        let context = "We looked at the page about recovery with the new colleagues this morning. \
            It still talks about tapes and about the old rooms, and I want to write it anew. ";
        let question = "Where do the database backups go?";
        for times in [2, 20] {
            let context = context.repeat(times);
            for prompt in [
                format!("{context}{question}"),
                format!("{question} {context}"),
            ] {
                assert_eq!(split_prompt(&prompt).questions, [question]);
            }
            assert!(split_prompt(&context).questions.is_empty());
        }
        let short = format!("We looked at the page. {question}");
        assert!(split_prompt(&short).questions.is_empty());
    }
}
