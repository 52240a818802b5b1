//! Finds two values of one slot: two texts agree in subject and predicate, and give another
//! schedule, tool, environment, state, number or address. Pure.
//!
//! The values of a closed set exclude each other. Names are no closed set: two names are contrary
//! only if one text says that something has changed.

use std::collections::BTreeSet;

use super::super::facts::{FactWord, Facts};
use super::super::tokens::first_clause;
use super::SlotText;
use super::claims::explain_claims;
use super::kinds::{NAME, STATE};

/// Fewest words that two texts share besides their values.
const SHARED_MIN: usize = 2;
/// Most other words of a text in a pair of which one says that something has changed.
const OTHER_WORDS_MAX: usize = 2;
/// Most words and values of a text that is one statement.
const STATEMENT_MAX: usize = 24;
/// Longest span in which a text differs from one that it changes, in words.
const SPAN_MAX: usize = 3;

/// Returns why two texts cannot both hold; `None` if nothing says so.
pub(in super::super) fn explain_new_value(one: &Facts, other: &Facts) -> Option<String> {
    if one.asks || other.asks || !may_share_subject(one, other) {
        return None;
    }
    let (a, b) = (one.slots(), other.slots());
    let negated_alike = one.negated == other.negated;
    let tells_state = |text: &SlotText| text.values.keys().any(|(kind, _)| kind.starts_with(STATE));
    let states = |state: &Facts, rest: &SlotText| {
        let both = tells_state(state.slots()) && tells_state(rest);
        let head = first_clause(&state.wording).filter(|_| both)?;
        explain_values(Facts::of(head).slots(), rest, negated_alike)
    };
    explain_rejection(a, other)
        .or_else(|| explain_rejection(b, one))
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
    // Who says what is no longer so, and says also what is, denies that alone.
    let is_meant = |one: &SlotText, other: &SlotText| {
        let mut rejected = one.rejected.iter();
        rejected.all(|word| other.has_word(word))
    };
    let denies = denies && is_meant(a, b) && is_meant(b, a);
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
fn explain_rejection(a: &SlotText, other: &Facts) -> Option<String> {
    let b = other.slots();
    let is_value =
        |one: &SlotText, word: &String| one.values.keys().any(|(_, value)| value == word);
    let is_said = |word: &&String| {
        let denies_too = b.rejected.contains(*word)
            || b.denied.contains(*word)
            || (other.negated && a.over.contains(*word));
        (is_value(b, word) || b.words.contains(word)) && !denies_too && !is_value(a, word)
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
    let sorted = spans.map(|span| span.iter().collect::<BTreeSet<_>>());
    let holds = before + after >= SHARED_MIN
        && before > 0
        && spans.iter().all(is_short)
        && sorted[0] != sorted[1]
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

impl SlotText {
    /// Whether it has a word, as a value or otherwise.
    fn has_word(&self, word: &String) -> bool {
        self.words.contains(word) || self.values.keys().any(|(_, value)| value == word)
    }
}
