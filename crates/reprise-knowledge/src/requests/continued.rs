//! Sentences that only go on with the one before: "Always.", "That goes for the whole repo.", "Not
//! us-east-1!"

use crate::values::is_in_words;

/// Words with which "not" denies no value.
const SOON: &str = "\
    now yet today here really sure again good bad working done jetzt heute hier wirklich gut \
    schlecht mehr";
/// How a sentence begins by which the one before it holds for all work.
const FOR_ALL: [&str; 9] = [
    "that goes for ",
    "this goes for ",
    "that applies to ",
    "this applies to ",
    "that holds for ",
    "this holds for ",
    "das gilt f\u{fc}r ",
    "das gilt \u{fc}berall",
    "das gilt immer",
];
/// Words of all work, behind such a beginning.
const ALL_WORK: &str = "\
    all every each any whole entire everything everybody everyone always future repo project team \
    alle allen jede jedes jeden ganze gesamte \u{fc}berall immer";
/// Sentences that only say when something holds.
const ALWAYS: &str = "always never ever everywhere period immer \u{fc}berall niemals";

/// Whether a sentence in lower case says that the one before it holds for all work.
fn is_for_all(lower: &str) -> bool {
    FOR_ALL.iter().any(|one| lower.starts_with(one))
        && split_words(lower).any(|word| is_in_words(ALL_WORK, word))
}

/// Returns whether a text in lower case ends with what makes a rule of the sentence before it: "add
/// a test for it, please. That goes for the whole repo."
pub(crate) fn ends_for_all(lower: &str) -> bool {
    let ends = lower.match_indices(['.', '!', '?']);
    let mut last = ends.filter_map(|(at, _)| lower.get(at + 1..)?.strip_prefix(' '));
    last.any(is_for_all)
}

/// Returns whether what follows the end of a sentence only says when or for what that holds, or
/// what does not hold instead.
pub(super) fn continues_sentence(rest: &str) -> bool {
    let rest = rest.trim_start();
    let end = rest.find(['!', '?', '\n']).unwrap_or(rest.len());
    let end = rest.find(". ").unwrap_or(end).min(end);
    let lower = rest[..end].to_lowercase();
    let words: Vec<&str> = split_words(&lower).collect();
    match words[..] {
        [always] => is_in_words(ALWAYS, always),
        ["not" | "nicht", what] => !is_in_words(SOON, what),
        ["not" | "nicht", one, what] => !is_in_words(SOON, one) && !is_in_words(SOON, what),
        _ => is_for_all(&lower),
    }
}

/// Splits a text into its words, which may have a hyphen.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    words.filter(|word| !word.is_empty())
}
