//! How far results are to be relied on, in the same words wherever they are shown.

/// What is said of results of which none is likely to be the answer.
pub const WEAK: &str = "weak matches: check before you rely on one";
/// What precedes results that are only related to the question.
pub const RELATED: &str = "related, may not be an answer:";
/// What is said where no result is likely to answer.
pub const UNLIKELY: &str = "nothing here is likely to answer that";

/// Returns a text with a capital letter.
pub(crate) fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let first: String = first.collect();
    first + letters.as_str()
}
