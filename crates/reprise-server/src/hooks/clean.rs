//! What must not leave a hook: what is private, and what memory itself had said.
//!
//! Lives here: taking that out of a text. Must never live here: a secret's pattern (the agent's
//! redaction has them, and runs where the text is kept).

use reprise_types::without_quoted;

/// Longest text that a hook hands on, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Elements that are taken out. Gemini CLI encloses what a hook had added to a prompt, which it
/// shows to the next hook with its brackets escaped; the last is what older versions of ours wrote.
const TAKEN_OUT: [&str; 3] = ["private", "hook_context", "reprise-memory"];

/// Without what is private and without what memory had put there; cut to the longest text.
pub(super) fn clean(text: &str) -> String {
    let mut text = without_quoted(text);
    for element in TAKEN_OUT {
        text = without(&text, element);
    }
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default().trim().to_owned()
}

/// Without every `element`, whatever the letter case and spaces of its tags; one that is never
/// closed goes to the end.
fn without(text: &str, element: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut depth, mut rest) = (0_usize, text);
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        let (tag, after) = match tag(from, element) {
            Some((closes, after)) => (Some(closes), after),
            None => (None, from.get(1..).unwrap_or_default()),
        };
        if depth == 0 {
            kept.push_str(before);
        }
        match tag {
            Some(true) => depth = depth.saturating_sub(1),
            Some(false) => depth += 1,
            None if depth == 0 => kept.push('<'),
            None => {}
        }
        rest = after;
    }
    if depth == 0 {
        kept.push_str(rest);
    }
    kept
}

/// Whether the tag of `element` at the start of `from` closes it, and what follows; `None` where
/// there is no such tag.
fn tag<'a>(from: &'a str, element: &str) -> Option<(bool, &'a str)> {
    let inner = from.strip_prefix('<')?.trim_start();
    let (closes, name) = match inner.strip_prefix('/') {
        Some(name) => (true, name.trim_start()),
        None => (false, inner),
    };
    let (name, rest) = name.split_at_checked(element.len())?;
    let (attributes, after) = rest.split_once('>')?;
    let ends = attributes.is_empty() || attributes.starts_with(char::is_whitespace);
    (name.eq_ignore_ascii_case(element) && ends && !attributes.contains('<'))
        .then_some((closes, after))
}
