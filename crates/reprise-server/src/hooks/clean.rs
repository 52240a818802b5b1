//! What must not leave a hook: what is private, and what memory itself had said.
//!
//! Lives here: taking that out of a text. Must never live here: a secret's pattern (the agent's
//! redaction has them, and runs where the text is kept).

/// Encloses what memory puts into a prompt, so that it is known again and never remembered.
pub(crate) const MEMORY_OPEN: &str = "<reprise-memory>";
pub(crate) const MEMORY_CLOSE: &str = "</reprise-memory>";
/// Longest text that a hook hands on, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 8 * 1024;
/// What is taken out. Gemini CLI encloses what a hook had added to a prompt, which it shows to the
/// next hook with its brackets escaped.
const TAKEN_OUT: [(&str, &str); 3] = [
    ("<private>", "</private>"),
    (MEMORY_OPEN, MEMORY_CLOSE),
    ("<hook_context>", "</hook_context>"),
];

/// Without what is private and without what memory had put there; cut to the longest text.
pub(super) fn clean(text: &str) -> String {
    let mut text = text.to_owned();
    for (open, close) in TAKEN_OUT {
        text = without(&text, open, close);
    }
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default().trim().to_owned()
}

/// Without every part from `open` to `close`; one that is never closed goes to the end.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, from)) = rest.split_once(open) {
        kept.push_str(before);
        // One within another: what stands between the first close and the last is private too.
        rest = match from.split_once(close) {
            Some((inside, after)) if !inside.contains(open) => after,
            Some(_) => from.rsplit_once(close).map_or("", |(_, after)| after),
            None => "",
        };
    }
    kept.push_str(rest);
    kept
}
