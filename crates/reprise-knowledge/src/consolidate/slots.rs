//! Splits a text into its values and its other words: a schedule, a tool, an environment, a state,
//! a number, an address. Pure.

mod claims;
mod contrary;
mod kinds;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::contrary::explain_new_value;
use super::lexicon::{describes_event, is_many_valued, is_verb_of_one_value, meaning_of};
use super::tokens::{TextToken, stem_word, tokenize};
use crate::values::is_in_words;
use claims::{Claim, read_claims};
use kinds::{VALUE_WORDS_MAX, read_value_at};

/// A text split into its values and its other words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SlotText {
    /// The values, each with its kind and whether it follows a verb that takes one.
    values: BTreeMap<(String, String), bool>,
    /// Stems of the other words, in their order.
    words: Vec<String>,
    /// Its first word or value.
    subject: String,
    /// What the text rejects: `we dropped X`, `X is gone`.
    rejected: BTreeSet<String>,
    /// What of that it says is over, and not what takes its place.
    over: BTreeSet<String>,
    /// What it denies: `not X`, `never X`.
    denied: BTreeSet<String>,
    /// Whether it says that something has changed.
    changes: bool,
    /// Whether it tells of something that happened.
    is_event: bool,
    /// Whether it says of a subject what it is or does.
    states: bool,
    /// What it says in one of the forms that have several wordings.
    claims: Vec<Claim>,
}

/// A word of a text with what the rules look at.
struct SlotToken {
    lower: String,
    written: String,
    ends: bool,
}

impl SlotText {
    /// Splits a text in the form in which texts are compared; `changes` is set if it announces
    /// that it corrects something.
    pub(super) fn of(wording: &str, changes: bool) -> Self {
        let tokens = tokenize(&without_brackets(wording));
        let parts: Vec<SlotToken> = tokens.iter().map(SlotToken::of).collect();
        let lower: Vec<String> = parts.iter().map(|part| part.lower.clone()).collect();
        let mut text = Self {
            changes,
            is_event: describes_event(&lower),
            states: has_subject_and_one_value_verb(&lower),
            claims: read_claims(&tokens),
            ..Self::default()
        };
        let (mut rejects, mut denies) = (0_usize, false);
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            let rest = &lower[at..];
            denies = (denies || meaning_of(&part.lower).negates) && part.lower != "but";
            // `From X to Y` leaves X alone.
            rejects *= usize::from(part.lower != "to");
            let is_new = part.lower == "new" && only_article_precedes(&lower[..at]);
            let left = part.lower == "from" && text.changes && rest.iter().any(|word| word == "to");
            let is_attribute = only_article_precedes(&lower[at.saturating_sub(1)..at]);
            let rejecting = match_rejecting_prefix(rest).filter(|_| !is_attribute);
            if let Some(taken) = rejecting.or(left.then_some(1)) {
                (text.changes, rejects) = (true, 2);
                at += taken;
                continue;
            }
            let last = at.checked_sub(1).and_then(|at| lower.get(at));
            let passing = last.is_some_and(|last| last == "for");
            // Who met again has met before.
            let repeats = part.lower == "again" && text.is_event;
            let change = match_change_prefix(rest).filter(|_| !passing && !repeats);
            if let Some(taken) = change.or(is_new.then_some(1)) {
                text.changes = true;
                at += taken;
                continue;
            }
            let (taken, value) = read_value_at(&parts[at..], &lower[..at], text.words.last());
            let said = match value {
                Some((kind, value)) => {
                    let said = value.clone();
                    let placed = is_said_of_subject(&lower, at);
                    if rejects > 0 {
                        text.rejected.insert(value);
                    } else {
                        text.values.insert((kind, value), placed);
                    }
                    Some(said)
                }
                None => part
                    .content_stem()
                    .inspect(|stem| text.words.push(stem.clone())),
            };
            if text.subject.is_empty() {
                text.subject = said.clone().unwrap_or_default();
            }
            text.denied.extend(said.clone().filter(|_| denies));
            let after = lower.get(at + taken..).unwrap_or_default();
            if let (Some(said), true) = (&said, is_over(after)) {
                text.changes = true;
                text.values.retain(|(_, value), _| value != said);
                text.rejected.insert(said.clone());
                text.over.insert(said.clone());
            }
            let ended = parts.get(at + taken - 1).is_some_and(|part| part.ends);
            rejects = if ended || said.is_some() {
                rejects.saturating_sub(1)
            } else {
                rejects
            };
            rejects = if ended { 0 } else { rejects };
            denies &= !ended;
            at += taken;
        }
        text
    }
}

impl SlotToken {
    fn of(token: &TextToken) -> Self {
        let lower = token.written.to_lowercase();
        Self {
            lower: lower.strip_suffix("'s").unwrap_or(&lower).to_owned(),
            written: token.written.clone(),
            ends: token.ends_clause,
        }
    }

    /// Returns the stem of a word that says something of its own.
    fn content_stem(&self) -> Option<String> {
        let meaning = meaning_of(&self.lower);
        let says = self.lower.contains(char::is_alphanumeric)
            && !meaning.is_function
            && !is_in_words(SILENT, &self.lower);
        says.then(|| stem_word(&self.lower))
    }
}

/// Whether only an article or an owner precedes a word.
fn only_article_precedes(before: &[String]) -> bool {
    let mut before = before.iter().map(String::as_str);
    before.all(|word| matches!(word, "the" | "our" | "my" | "a" | "your"))
}

/// Whether a verb that takes one value, with a subject before it, is among these words.
fn has_subject_and_one_value_verb(words: &[String]) -> bool {
    let is_subject = |word: &String| word.len() > 1 && !meaning_of(word).is_function;
    let Some(subject) = words.iter().position(is_subject) else {
        return false;
    };
    let rest = words.get(subject + 1..).unwrap_or_default();
    let is_verb = |word: &String| {
        let says = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
        says || is_verb_of_one_value(word) || is_in_words(VERBS, word)
    };
    let verb = rest.iter().rev().find(|word| is_verb(word));
    // `We build the app with npm`: the subject is no word of its own.
    let of_us = || {
        matches!(
            words.first().map_or("", String::as_str),
            "we" | "i" | "they"
        )
    };
    verb.map_or_else(of_us, |verb| !is_many_valued(verb))
}

/// Whether a value at a place is what a verb before it says of the subject: not part of the subject
/// itself, as in `the notes for 3 March are out`, and not one of several, as in `also answers at`.
fn is_said_of_subject(words: &[String], at: usize) -> bool {
    let (before, rest) = words.split_at(at.min(words.len()));
    let is_copula = |word: &String| matches!(word.as_str(), "is" | "are" | "was" | "were");
    let is_of_subject = rest.iter().any(is_copula) && !before.iter().any(is_copula);
    has_subject_and_one_value_verb(before)
        && !is_of_subject
        && !before.iter().any(|word| word == "also")
}

/// Returns a text without what is in brackets, and with a verb in place of a colon.
fn without_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    let mut rest = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => rest.push(c),
            _ => {}
        }
    }
    match rest.split_once(": ") {
        Some((name, value)) if value.split_whitespace().count() <= VALUE_WORDS_MAX + 1 => {
            [name, " is ", value].concat()
        }
        _ => rest,
    }
}

/// Returns how many words say that something has changed, beginning with the first.
fn match_change_prefix(words: &[String]) -> Option<usize> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    match (word(0), word(1), word(2)) {
        ("as", "of", _) | ("no", "longer", _) | ("not", "anymore", _) => {
            Some(2 + usize::from(word(0) == "as"))
        }
        ("from", _, "on") | ("until", "further", "notice") => Some(3),
        ("after", "all", _) => Some(2),
        ("has" | "have", "been", done) if done.ends_with("ed") => Some(2),
        ("since", next, _) if next != "it" => Some(2),
        // A bump of something else, without a value behind it, says nothing of this.
        ("bumped", "to", _) => Some(1),
        (first, ..) if is_in_words(CHANGED, first) => Some(1),
        _ => None,
    }
}

/// Returns how many words reject what follows them.
fn match_rejecting_prefix(words: &[String]) -> Option<usize> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    match (word(0), word(1)) {
        ("instead" | "rid", "of") | ("rather", "than") | ("swapped" | "over", "with" | "from") => {
            Some(2)
        }
        ("stopped", "using") | ("no", "longer") => Some(2),
        (first, _) if is_in_words(REJECTS, first) => Some(1),
        _ => None,
    }
}

/// Whether the words after a thing say that it is over.
fn is_over(after: &[String]) -> bool {
    let mut words = after.iter().map(String::as_str);
    let first = words.next().unwrap_or_default();
    let verb = matches!(
        first,
        "is" | "are" | "has" | "have" | "was" | "were" | "got"
    );
    let mut rest = words.take_while(|word| !matches!(*word, "and" | "but"));
    let mut next = || rest.find(|word| *word != "been" && *word != "now");
    if !verb {
        return false;
    }
    match next() {
        Some("not" | "no") => after.ends_with(&["after".to_owned(), "all".to_owned()]),
        Some(word) => is_in_words(OVER, word),
        None => false,
    }
}

/// Verbs in the form of several subjects.
const VERBS: &str = "run go get live listen build pay meet send keep take cost last start end stay \
    sit stand belong depend deploy store prefer speak open close work begin arrive";
/// Words which say that something was otherwise before.
const CHANGED: &str = "now nowadays currently anymore moved postponed rescheduled shifted \
    pushed relocated switched changed migrated raised lowered increased decreased \
    reduced extended shortened renamed rewritten converted ported upgraded downgraded again \
    meanwhile";
/// Words that reject what follows them.
const REJECTS: &str = "dropped replaced abandoned ditched retired removed closed cancelled canceled \
    discontinued left";
/// What is said of a thing that is over.
const OVER: &str = "gone locked dead retired deprecated cancelled canceled closed over left \
    removed discontinued obsolete dropped replaced";
/// Words without a meaning of their own in a text about a change.
const SILENT: &str = "everyone everybody use uses used up back well okay but only already by from within per \
    please still longer more after's we've i've switched";
