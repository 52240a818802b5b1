//! Finds two values of one slot: two texts agree in subject and predicate, and give another
//! schedule, tool, environment, state, number or address. Pure.
//!
//! The values of a closed set exclude each other. Names are no closed set: two names are contrary
//! only if one text says that something has changed.

mod claims;
mod kinds;

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{FactWord, Facts, stem_word};
use super::judge::{describes_event, first_clause, is_many_valued, is_verb_of_one_value};
use super::lexicon::meaning_of;
use super::tokens::{TextToken, tokenize};
use crate::values::is_in_words;
use claims::{Claim, explain_claims, read_claims};
use kinds::{NAME, STATE, VALUE_WORDS_MAX, read_value_at};

/// Fewest words that two texts share besides their values.
const SHARED_MIN: usize = 2;
/// Most other words of a text in a pair of which one says that something has changed.
const OTHER_WORDS_MAX: usize = 2;
/// Most words and values of a text that is one statement.
const STATEMENT_MAX: usize = 24;
/// Longest span in which a text differs from one that it changes, in words.
const SPAN_MAX: usize = 3;

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
    /// Whether it says that something has changed.
    changes: bool,
    /// Whether it tells of something that happened.
    is_event: bool,
    /// Whether it says of a subject what it is or does.
    states: bool,
    /// What it says in one of the forms that have several wordings.
    claims: Vec<Claim>,
}

/// Returns why two texts cannot both hold; `None` if nothing says so.
pub(super) fn explain_new_value(one: &Facts, other: &Facts) -> Option<String> {
    if one.asks || other.asks || !may_share_subject(one, other) {
        return None;
    }
    let (a, b) = (one.slots(), other.slots());
    let negated_alike = one.negated == other.negated;
    let tells_state = |text: &SlotText| text.values.keys().any(|(kind, _)| kind.starts_with(STATE));
    let states = |state: &Facts, rest: &SlotText| {
        let both = tells_state(state.slots()) && tells_state(rest);
        let head = first_clause(&state.wording).filter(|_| both)?;
        explain_values(&SlotText::of(&Facts::of(head)), rest, negated_alike)
    };
    explain_rejection(a, b)
        .or_else(|| explain_rejection(b, a))
        .or_else(|| explain_values(a, b, negated_alike))
        .or_else(|| states(one, b).or_else(|| states(other, a)))
        .or_else(|| explain_denial(a, b, negated_alike))
        .or_else(|| explain_span(a, b))
        .or_else(|| explain_claims(&a.claims, &b.claims))
}

/// Whether two texts are short enough, and have enough words in common, to be about one thing.
fn may_share_subject(one: &Facts, other: &Facts) -> bool {
    let (a, b) = (one.words().count(), other.words().count());
    if a.max(b) > STATEMENT_MAX {
        return false;
    }
    let held = |word: &FactWord| other.words().any(|known| known.stem == word.stem);
    let shared = one.words().filter(|word| held(word)).count();
    shared * 4 >= a.min(b) && shared > 0
}

/// One text denies what the other says, and says that it was otherwise.
fn explain_denial(a: &SlotText, b: &SlotText, negated_alike: bool) -> Option<String> {
    let equal =
        count_missing_words(&a.words, &b.words) + count_missing_words(&b.words, &a.words) == 0;
    let plain = |one: &SlotText| -> BTreeSet<(String, String)> {
        let values = one
            .values
            .keys()
            .filter(|(kind, _)| !kind.starts_with(STATE));
        values.cloned().collect()
    };
    let denies = a.changes != b.changes && !negated_alike && equal && plain(a) == plain(b);
    let enough = a.words.len() + a.values.len() >= SHARED_MIN;
    (denies && enough).then(|| "one denies what the other says".to_owned())
}

/// Two values of one kind, where all else agrees.
fn explain_values(a: &SlotText, b: &SlotText, negated_alike: bool) -> Option<String> {
    let changes = a.changes != b.changes;
    if !changes && (a.is_event || b.is_event || !negated_alike) {
        return None;
    }
    let (only_a, only_b) = (
        count_missing_words(&a.words, &b.words),
        count_missing_words(&b.words, &a.words),
    );
    let both = a
        .values
        .keys()
        .filter(|value| b.values.contains_key(*value))
        .count();
    let shared = a.words.len() - only_a + both;
    let enough = if changes {
        let most = OTHER_WORDS_MAX.min(shared);
        shared >= SHARED_MIN - 1 && only_a <= most && only_b <= most && only_a + only_b <= 3
    } else {
        shared >= SHARED_MIN && only_a + only_b == 0
    };
    if !enough {
        return None;
    }
    let differ = |one: &SlotText, other: &SlotText| -> Vec<(String, String, bool)> {
        let own = one
            .values
            .iter()
            .filter(|(value, _)| !other.values.contains_key(*value));
        own.map(|((kind, value), placed)| (kind.clone(), value.clone(), *placed))
            .collect()
    };
    let (new, old) = (differ(a, b), differ(b, a));
    let kinds = |values: &[(String, String, bool)]| -> BTreeSet<String> {
        values.iter().map(|(kind, ..)| kind.clone()).collect()
    };
    let (kinds_a, kinds_b) = (kinds(&new), kinds(&old));
    let kind = kinds_a.intersection(&kinds_b).next()?;
    let placed = |values: &[(String, String, bool)]| values.iter().all(|(.., placed)| *placed);
    let is_single = new.len() == 1 && old.len() == 1 && kinds_a == kinds_b;
    // Who says what is over means this, and no other name.
    let is_meant = |one: &SlotText, old: &[(String, String, bool)]| {
        one.rejected.is_empty() || old.iter().any(|(_, value, _)| one.rejected.contains(value))
    };
    let holds = if changes {
        (kind != NAME || (is_meant(a, &old) && is_meant(b, &new)))
            && kinds_a.len() <= 2
            && kinds_b.len() <= 2
            && (b.has_word(&a.subject) || a.has_word(&b.subject))
    } else {
        is_single && placed(&new) && placed(&old) && kind != NAME
    };
    let named = |values: &[(String, String, bool)]| {
        let found = values.iter().find(|(one, ..)| one == kind);
        found.map_or(String::new(), |(_, value, _)| value.clone())
    };
    holds.then(|| format!("`{}` against `{}`", named(&new), named(&old)))
}

/// One text rejects what the other says.
fn explain_rejection(a: &SlotText, b: &SlotText) -> Option<String> {
    let is_said = |word: &&String| {
        let named = b.values.keys().any(|(_, value)| value == *word);
        (named || b.words.contains(word)) && !b.rejected.contains(*word)
    };
    let word = a.rejected.iter().find(is_said)?;
    let rest: Vec<String> = b.words.iter().filter(|one| *one != word).cloned().collect();
    let missing = count_missing_words(&rest, &a.words);
    let is_exact = word.contains(['@', '.']);
    let agrees = is_exact || missing * 2 <= rest.len() + usize::from(rest.len() == 1);
    let is_known =
        |value: &String| value == word || a.has_word(value) || a.rejected.contains(value);
    let mut names = b.values.keys().filter(|(kind, _)| kind == NAME);
    let agrees = agrees && (is_exact || names.all(|(_, name)| is_known(name)));
    (agrees && b.states && !b.is_event).then(|| format!("they disagree about `{word}`"))
}

/// One text says that something has changed, and both differ in one stretch of words only.
fn explain_span(a: &SlotText, b: &SlotText) -> Option<String> {
    if a.changes == b.changes {
        return None;
    }
    let flat = |one: &SlotText| one.words.clone();
    let (x, y) = (flat(a), flat(b));
    let values = |one: &SlotText| one.values.keys().cloned().collect::<BTreeSet<_>>();
    let before = x.iter().zip(&y).take_while(|(x, y)| x == y).count();
    let ends = x.iter().rev().zip(y.iter().rev());
    let after = ends.take_while(|(x, y)| x == y).count();
    let after = after.min(x.len() - before).min(y.len() - before);
    let spans = [&x, &y].map(|words| words.get(before..words.len() - after).unwrap_or_default());
    let is_short = |span: &&[String]| (1..=SPAN_MAX).contains(&span.len());
    let holds = before + after >= SHARED_MIN
        && before > 0
        && spans.iter().all(is_short)
        && values(a) == values(b);
    holds.then(|| format!("`{}` against `{}`", spans[0].join(" "), spans[1].join(" ")))
}

/// Returns how many words of `one` are missing in `other`.
fn count_missing_words(one: &[String], other: &[String]) -> usize {
    let mut rest: Vec<&String> = other.iter().collect();
    let mut missing = 0;
    for word in one {
        match rest.iter().position(|known| *known == word) {
            Some(place) => {
                rest.swap_remove(place);
            }
            None => missing += 1,
        }
    }
    missing
}

/// A word of a text with what the rules look at.
struct SlotToken {
    lower: String,
    written: String,
    ends: bool,
}

impl SlotText {
    pub(super) fn of(facts: &Facts) -> Self {
        let tokens = tokenize(&without_brackets(&facts.wording));
        let parts: Vec<SlotToken> = tokens.iter().map(SlotToken::of).collect();
        let lower: Vec<String> = parts.iter().map(|part| part.lower.clone()).collect();
        let mut text = Self {
            changes: facts.corrects,
            is_event: describes_event(&lower),
            states: has_subject_and_one_value_verb(&lower),
            claims: read_claims(&tokens),
            ..Self::default()
        };
        let mut rejects = 0_usize;
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            let rest = &lower[at..];
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
            let after = lower.get(at + taken..).unwrap_or_default();
            if let (Some(said), true) = (&said, is_over(after)) {
                text.changes = true;
                text.values.retain(|(_, value), _| value != said);
                text.rejected.insert(said.clone());
            }
            let ended = parts.get(at + taken - 1).is_some_and(|part| part.ends);
            rejects = if ended || said.is_some() {
                rejects.saturating_sub(1)
            } else {
                rejects
            };
            rejects = if ended { 0 } else { rejects };
            at += taken;
        }
        text
    }
}

impl SlotText {
    /// Whether it has a word, as a value or otherwise.
    fn has_word(&self, word: &String) -> bool {
        self.words.contains(word) || self.values.keys().any(|(_, value)| value == word)
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
