//! Tells what a sentence teaches: a decision, a fix, a cause, a pattern, or nothing.

use reprise_types::RecordType;

use super::rules::{fold_umlauts, is_rule, split_words};
use super::{LearningCategory, states_correction};
use crate::prelude::*;
use crate::requests::{asks_for_work, split_sentences};
use crate::values::is_in_words;

/// Words that begin a sentence worth keeping, with the category of that sentence, in English and in
/// German without umlauts.
const CUES: [(LearningCategory, &[&str]); 5] = [
    (
        LearningCategory::Decision,
        &[
            "we decided",
            "decided to",
            "decision:",
            "we chose",
            "chose to",
            "we will use",
            "we use ",
            "we agreed ",
            "we settled on",
            "we opted for",
            "we went with",
            "we are going with",
            "we're going with",
            "we go with ",
            "we'll go with ",
            "let's go with ",
            "agreed, ",
            "agreed: ",
            "einverstanden, ",
            "wir bleiben bei ",
            "we stay with ",
            "we stay on ",
            "wir haben entschieden",
            "haben uns entschieden",
            "haben wir entschieden",
            "wir haben beschlossen",
            "haben wir beschlossen",
            "entscheidung:",
            "wir entscheiden uns",
            "wir einigten uns",
            "haben uns geeinigt",
        ],
    ),
    (
        LearningCategory::Fix,
        &[
            "fixed by",
            "fixed it by",
            "the fix is",
            "the fix was",
            "solved by",
            "the solution is",
            "works after",
            "it works once",
            "did the trick",
            "hat geholfen",
            "abhilfe schafft",
            "behoben, indem",
            "behoben durch",
            "behoben habe ich",
            "geloest, indem",
            "geloest durch",
            "die loesung ist",
            "die loesung war",
            "der fix ist",
            "der fix war",
        ],
    ),
    (
        LearningCategory::Failure,
        &[
            "root cause",
            "failed because",
            "fails because",
            "does not work because",
            "broke because",
            "was caused by",
            "is caused by",
            "the problem was",
            "the issue was",
            "the culprit was",
            "the reason was",
            "dead end",
            "die ursache war",
            "die ursache ist",
            "ursache:",
            "der grund war",
            "der grund ist",
            "das problem war",
            "schuld war",
            "lag daran, dass",
            "liegt daran, dass",
            "lag an einem",
            "lag an einer",
            "verursacht durch",
            "wurde verursacht",
            "scheiterte, weil",
            "scheitert, weil",
            "schlug fehl, weil",
            "fehl, weil",
            "sackgasse",
        ],
    ),
    (
        LearningCategory::Pattern,
        &[
            "turned out",
            "turns out",
            "the trick is",
            "lesson:",
            "learned that",
            "always ",
            "never ",
            "must be ",
            "make sure",
            "note that",
            "remember to",
            "instead of ",
            "stellte sich heraus",
            "hat sich herausgestellt",
            "der trick ist",
            "lektion:",
            "beachte, dass",
            "zu beachten ist",
            "wichtig ist, dass",
        ],
    ),
    (
        LearningCategory::Api,
        &[
            "the endpoint",
            "the api returns",
            "the api expects",
            "the api takes",
            "the header",
            "der endpunkt",
            "die api liefert",
            "die api erwartet",
        ],
    ),
];

/// Length of a sentence that is kept as a learning, in characters.
pub(super) const SENTENCE: std::ops::RangeInclusive<usize> = 30..=400;
/// Fewest characters and words of a decision of a person: "we decided to use kelvin".
const DECISION_CHARS_MIN: usize = 18;
const DECISION_WORDS_MIN: usize = 4;
/// Who says a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpokenBy {
    /// Somebody who asks for something, and says what goes wrong.
    Person,
    Agent,
}

impl SpokenBy {
    pub(super) fn of(record: &MemoryRecord) -> Self {
        if record.record_type() == RecordType::Prompt {
            Self::Person
        } else {
            Self::Agent
        }
    }
}

/// Words that say how something behaves as often as how it is to be done: "it never loads", "in
/// cents instead of euros".
const WEAK_CUES: [&str; 4] = ["always ", "never ", "must be ", "instead of "];
/// Verbs of what is done on purpose, which make a rule of what is done instead of something.
const ON_PURPOSE: &str = "\
    use uses used using prefer take takes call calls set write run read keep pass store send choose \
    chose pick build do";

/// Verbs of what made something work, and what they are said of.
const CURED: &str = "fixed fixes solved solves resolved resolves cured behoben geloest repariert";
const TROUBLE: &str = "it that this them the es das den die";
/// Who does something, which alone is no lesson: "I fixed it".
const DOERS: &str = "i i've we we've you they ich wir du";
/// Words that begin what is only imagined.
const IMAGINED: [&str; 6] = [
    "if ",
    "suppose ",
    "assuming ",
    "wenn ",
    "falls ",
    "angenommen",
];
/// Words of a sentence that imagines.
const WOULD: &str = "would could might wuerde wuerden koennte koennten waere waeren haette haetten";
/// How a sentence begins that offers or announces work.
pub(super) const OFFERS: [&str; 26] = [
    "please ",
    "let me",
    "let us",
    "let's",
    "i will",
    "i'll",
    "i can ",
    "i could ",
    "i would ",
    "i'm going to",
    "i am going to",
    "we can ",
    "next ",
    "next, ",
    "if you like",
    "if you want",
    "bitte ",
    "lass ",
    "ich werde ",
    "ich kann ",
    "ich koennte ",
    "als naechstes ",
    "wenn du ",
    "soll ich ",
    "moechtest du ",
    "wir koennen ",
];

/// Whether a cue in a sentence makes a rule of it. In a prompt a rule begins with its cue, or with
/// what is done on purpose.
fn makes_rule(cue: &str, lower: &str, by: SpokenBy) -> bool {
    let is_weak = WEAK_CUES.contains(&cue);
    if !is_weak || by == SpokenBy::Agent && cue != "instead of " {
        return true;
    }
    // What a person always wants is a rule, and what always happens is none.
    if ["always ", "never "].contains(&cue) {
        return false;
    }
    let before = lower.split(cue).next().unwrap_or_default();
    let mut before = before.split(|c: char| !c.is_alphanumeric());
    let is_on_purpose = match by {
        SpokenBy::Person => is_in_words(ON_PURPOSE, before.next().unwrap_or_default()),
        SpokenBy::Agent => before.any(|word| is_in_words(ON_PURPOSE, word)),
    };
    lower.starts_with(cue) || is_on_purpose
}

/// Whether a sentence says what made something work: "pinning openssl fixed it", "das Update hat
/// den Fehler behoben".
fn names_cure(lower: &str) -> bool {
    let clauses = lower.split([',', ';', ':']);
    let mut clauses = clauses.map(|clause| split_words(clause).collect::<Vec<_>>());
    clauses.any(|words| {
        let Some(at) = words.iter().position(|word| is_in_words(CURED, word)) else {
            return false;
        };
        let doer = words.first().is_none_or(|word| is_in_words(DOERS, word));
        let next = words.get(at + 1).copied().unwrap_or_default();
        let is_german = words.contains(&"hat") && at + 1 == words.len();
        let is_denied = words
            .iter()
            .any(|word| is_in_words("not nicht never didn't", word));
        at > 0 && !doer && !is_denied && (is_in_words(TROUBLE, next) || is_german)
    })
}

/// Whether a sentence only imagines something: "if we decided to use Kafka, we would need more".
fn imagines(lower: &str, category: LearningCategory) -> bool {
    let begins = IMAGINED.iter().any(|one| lower.starts_with(one));
    let would = split_words(lower).any(|word| is_in_words(WOULD, word));
    begins && (would || category == LearningCategory::Decision)
}

/// Whether a German decision is told by two words: "wir haben uns fuer X entschieden".
fn decides_in_german(lower: &str) -> bool {
    let words: Vec<&str> = split_words(lower).collect();
    let is_ours = ["haben uns", "haben wir uns"]
        .iter()
        .any(|one| lower.contains(one));
    is_ours
        && words
            .iter()
            .any(|word| is_in_words("entschieden geeinigt", word))
}

/// Returns whether a text has a sentence of a person that says what was decided.
pub fn states_decision(text: &str) -> bool {
    let decided = Some(LearningCategory::Decision);
    split_sentences(text).any(|sentence| classify_sentence(sentence, SpokenBy::Person) == decided)
}

/// Returns whether a sentence says what was decided.
pub(super) fn is_decision(sentence: &str) -> bool {
    let found = classify_sentence(sentence, SpokenBy::Agent);
    found == Some(LearningCategory::Decision)
        || classify_sentence(sentence, SpokenBy::Person) == Some(LearningCategory::Decision)
}

/// Tells what a sentence of somebody teaches; `None` if that is nothing.
pub(super) fn classify_sentence(sentence: &str, by: SpokenBy) -> Option<LearningCategory> {
    if by == SpokenBy::Person && (is_rule(sentence) || states_correction(sentence)) {
        return Some(LearningCategory::Pattern);
    }
    let length = sentence.chars().count();
    // Questions, orders, offers and code are no learnings.
    let plain = length <= *SENTENCE.end() && !sentence.contains("```");
    let lower = fold_umlauts(&sentence.to_lowercase());
    let offers = OFFERS.iter().any(|offer| lower.starts_with(offer));
    if !plain || offers || asks_for_work(sentence) {
        return None;
    }
    let starts = |cue: &&str| {
        lower.match_indices(*cue).any(|(at, _)| {
            let before = lower
                .get(..at)
                .and_then(|before| before.chars().next_back());
            before.is_none_or(|c| !c.is_alphanumeric())
        })
    };
    let is_cue = |cue: &&str| starts(cue) && makes_rule(cue, &lower, by);
    let found = CUES.iter().find(|(_, cues)| cues.iter().any(is_cue));
    let found = found.map(|(category, _)| *category);
    let is_decided = || decides_in_german(&lower).then_some(LearningCategory::Decision);
    let is_cured = || names_cure(&lower).then_some(LearningCategory::Fix);
    let category = found.or_else(is_decided).or_else(is_cured)?;
    if imagines(&lower, category) {
        return None;
    }
    let is_short_decision = by == SpokenBy::Person
        && category == LearningCategory::Decision
        && length >= DECISION_CHARS_MIN
        && sentence.split_whitespace().count() >= DECISION_WORDS_MIN;
    (length >= *SENTENCE.start() || is_short_decision).then_some(category)
}
