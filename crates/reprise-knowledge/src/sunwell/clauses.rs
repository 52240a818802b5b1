//! How a sentence that ends a rule or corrects a fact is read: its letters, its first clause, and
//! the forms of its words.

use super::rules::{fold_umlauts, mend_spelling};

/// Ends of the clause that says what a sentence is about.
const CLAUSE_ENDS: [&str; 9] = [
    ", ",
    "; ",
    ": ",
    " - ",
    " because ",
    " since ",
    " weil ",
    " but ",
    " sondern ",
];
/// Letters that two forms of a word have in common at least.
const COMMON_LETTERS_MIN: usize = 4;

/// Returns a text in lower case, without umlauts, with plain apostrophes, and with those words
/// spelled that make or end a rule.
pub(super) fn fold(text: &str) -> String {
    mend_spelling(&fold_umlauts(&text.to_lowercase().replace('\u{2019}', "'")))
}

/// Returns a folded text up to its next clause.
pub(super) fn first_clause(folded: &str) -> &str {
    let ends = CLAUSE_ENDS.iter().filter_map(|end| folded.find(end));
    ends.min().map_or(folded, |at| &folded[..at])
}

/// Whether two words are one, or begin alike: in so much of the longer one, as `(part, whole)`.
pub(super) fn begin_alike(one: &str, other: &str, (part, whole): (usize, usize)) -> bool {
    let pairs = one.chars().zip(other.chars());
    let common = pairs.take_while(|(a, b)| a == b).count();
    let longest = one.chars().count().max(other.chars().count());
    one == other || common >= COMMON_LETTERS_MIN && common * whole >= longest * part
}
