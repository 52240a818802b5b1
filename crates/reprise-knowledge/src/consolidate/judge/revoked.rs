//! Finds rules that revoke others, and what was decided: `use bun, no longer pnpm` against `always
//! use pnpm`, `from now on we use pnpm, npm is gone` against `we decided to stay on npm`. Pure.

use super::super::tokens::{split_lower_words, stem_word};
use crate::sunwell::states_rule;
use crate::values::is_in_words;

/// Words that end what follows them, or forbid it.
const ENDS: &[&[&str]] = &[
    &["no", "longer"],
    &["no", "more"],
    &["never"],
    &["don't"],
    &["do", "not"],
    &["stop"],
    &["instead", "of"],
    &["rather", "than"],
    &["not"],
    &["nicht", "mehr"],
    &["nie"],
    &["statt"],
];
/// Verbs of what is used.
const USES: &str = "\
    use uses using with prefer take verwenden verwende benutzen nutzen nehmen nehme nimm";
/// Words of a rule that say nothing of what it is about.
const PLAIN: &str = "\
    from now on here always only and we i in this our the repo repository project any more anymore \
    please a an all is of than ab jetzt immer nur wir hier are ist sind sofort";
/// Verbs that say of what is before them how it is, and words behind those that end it.
const IS: &str = "is are ist sind";
const GONE: &str = "gone out over dead history obsolete retired weg raus vorbei geschichte passe";
/// Words of a decision, and those with which one keeps to what is behind them.
const DECIDES: &str = "decided decide agreed agree chose entschieden beschlossen geeinigt";
const KEEPS: &str = "stay stays remain stick keep bleiben bleibt";
const KEPT_BEHIND: &str = "on at with bei to";
/// Words before what was decided on.
const DECIDED_FOR: &str = "for on f\u{fc}r fuer";
/// Words that deny what follows them in a rule.
const DENIES: &str = "no not never don't stop instead rather longer nie nicht statt";

/// Longest rule that is looked at, in bytes.
const RULE_BYTES_MAX: usize = 160;

/// Returns why two texts cannot both hold if one is a rule that revokes what the other orders or
/// decides.
pub(super) fn explain_revocation(one: &str, other: &str) -> Option<String> {
    if one.len().max(other.len()) > RULE_BYTES_MAX {
        return None;
    }
    let revokes = |new: &str, old: &str| {
        let (words, old_words) = (split_lower_words(new), split_lower_words(old));
        // Behind a comma may stand why.
        let clause = new.split(", ").next().unwrap_or(new);
        let clause = split_lower_words(clause);
        let words = if list_revoked(&clause).next().is_some() {
            clause
        } else {
            words
        };
        let value = list_revoked(&words).find(|value| is_ordered(&old_words, value))?;
        let used: Vec<&str> = list_used(&words).collect();
        let known: Vec<String> = old_words.iter().map(|word| stem_word(word)).collect();
        let is_about_it = |word: &String| {
            word == value
                || used.contains(&word.as_str())
                || [PLAIN, USES, DENIES, GONE]
                    .iter()
                    .any(|list| is_in_words(list, word))
                || known.contains(&stem_word(word))
        };
        let is_decided = || old_words.iter().any(|word| is_in_words(DECIDES, word));
        let is_new = || states_rule(new) || begins_now(&words);
        (words.iter().all(is_about_it) && is_new() && (states_rule(old) || is_decided()))
            .then(|| format!("they disagree about `{value}`"))
    };
    revokes(one, other).or_else(|| revokes(other, one))
}

/// Whether a text says what is used from now on, as German is worded: "ab sofort" is "now".
fn begins_now(words: &[String]) -> bool {
    let uses = words.get(1).is_some_and(|word| is_in_words(USES, word));
    words.first().is_some_and(|word| word == "now") && uses
}

/// Lists what a rule uses: the word behind such a verb, or behind the time since which it holds.
fn list_used(words: &[String]) -> impl Iterator<Item = &str> {
    let is_since = |at: usize| {
        let time: Vec<&str> = words.iter().take(at + 1).map(String::as_str).collect();
        matches!(time[..], ["from", "now", "on"] | ["ab", "jetzt" | "sofort"])
    };
    let is_use = move |at: &usize| is_in_words(USES, &words[*at]) || is_since(*at);
    let next = |at: usize| {
        let mut behind = words.iter().skip(at + 1).map(String::as_str);
        behind.find(|word| !is_in_words(PLAIN, word) && !is_in_words(USES, word))
    };
    (0..words.len()).filter(is_use).filter_map(next)
}

/// Lists what a text ends or forbids: the word behind, or behind the verb that is behind; or the
/// word before the verb that says that it is over.
fn list_revoked(words: &[String]) -> impl Iterator<Item = &str> {
    let over = words.windows(3).filter_map(|three| {
        let is_over = is_in_words(IS, &three[1]) && is_in_words(GONE, &three[2]);
        is_over.then_some(three[0].as_str())
    });
    let behind = move |at: usize| {
        let rest = words.get(at..)?;
        let is_end = |end: &&&[&str]| rest.iter().take(end.len()).eq(end.iter());
        let end = ENDS.iter().find(is_end)?;
        let mut next = rest.iter().skip(end.len()).map(String::as_str);
        next.find(|word| !is_in_words(USES, word) && !is_in_words(PLAIN, word))
    };
    (0..words.len()).filter_map(behind).chain(over)
}

/// Whether a text orders the use of something: a verb is before it, and nothing denies that.
fn is_ordered(words: &[String], value: &str) -> bool {
    let Some(at) = words.iter().position(|word| word == value) else {
        return false;
    };
    let before = words.get(..at).unwrap_or_default();
    let last = before.last().is_some_and(|word| is_in_words(USES, word));
    let keeps = before
        .last()
        .is_some_and(|word| is_in_words(KEPT_BEHIND, word))
        && words.iter().any(|word| is_in_words(KEEPS, word));
    let is_decided = before
        .last()
        .is_some_and(|word| is_in_words(DECIDED_FOR, word))
        && words.iter().any(|word| is_in_words(DECIDES, word));
    let next = words
        .get(at + 1)
        .is_some_and(|word| is_in_words(USES, word));
    (last || next || keeps || is_decided) && !before.iter().any(|word| is_in_words(DENIES, word))
}
