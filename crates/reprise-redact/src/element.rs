//! Elements that mark private text: `<private>...</private>`, in any letter case and with spaces in
//! the tags.

use std::ops::Range;

/// Longest tag.
const TAG_BYTES_MAX: usize = 512;

/// How to treat an element that is never closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnclosedElement {
    /// It is plain text, since texts mention tags, too.
    KeepAsText,
    /// It extends to the end, for text that was just typed.
    ExtendToEnd,
}

/// Finds the ranges of the outermost elements called `name`, tags included.
pub fn find_elements(text: &str, name: &str, unclosed: UnclosedElement) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut depth, mut start, mut at) = (0_usize, 0, 0);
    while let Some(more) = text.get(at..).and_then(|rest| rest.find('<')) {
        at += more;
        let Some((closes, length)) = text.get(at..).and_then(|from| parse_tag(from, name)) else {
            at += 1;
            continue;
        };
        match (closes, depth) {
            (false, _) => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            (true, 0) => {}
            (true, _) => {
                depth -= 1;
                if depth == 0 {
                    found.push(start..at + length);
                }
            }
        }
        at += length;
    }
    if depth > 0 && unclosed == UnclosedElement::ExtendToEnd {
        found.push(start..text.len());
    }
    found
}

/// Removes the elements called by one of `names`; one that is never closed extends to the end.
pub fn remove_elements(text: &str, names: &[&str]) -> String {
    let mut text = text.to_owned();
    for name in names {
        let mut remaining = String::with_capacity(text.len());
        let mut at = 0;
        for range in find_elements(&text, name, UnclosedElement::ExtendToEnd) {
            remaining.push_str(&text[at..range.start]);
            at = range.end;
        }
        remaining.push_str(&text[at..]);
        text = remaining;
    }
    text
}

/// Parses the tag of an element called `name` at the start of `from`. Returns whether it closes the
/// element, and its length.
fn parse_tag(from: &str, name: &str) -> Option<(bool, usize)> {
    let from = &from[..from.floor_char_boundary(TAG_BYTES_MAX)];
    let inner = from.strip_prefix('<')?.trim_start();
    let (closes, name_and_rest) = match inner.strip_prefix('/') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, inner),
    };
    let (start, rest) = name_and_rest.split_at_checked(name.len())?;
    let is_named = start.eq_ignore_ascii_case(name);
    let (attributes, after) = is_named.then(|| rest.split_once('>')).flatten()?;
    let ends = attributes.is_empty() || attributes.starts_with(char::is_whitespace);
    (ends && !attributes.contains('<')).then_some((closes, from.len() - after.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_in_any_spelling_and_nested() {
        for (text, expected) in [
            ("keep <private>drop</private> keep", "keep  keep"),
            ("a <PRIVATE>b</Private> c", "a  c"),
            ("a < private >b< / PRIVATE > c", "a  c"),
            ("a <private\n why=\"x\">b\nc</private> d", "a  d"),
            ("a <private>b <private>c</private> d</private> e", "a  e"),
            ("a <private>never closed", "a "),
            (
                "a <privateer> b < c </private>",
                "a <privateer> b < c </private>",
            ),
            ("\u{e9}<private>\u{e9}</private>\u{e9}", "\u{e9}\u{e9}"),
        ] {
            assert_eq!(remove_elements(text, &["private"]), expected, "{text}");
        }
        assert!(
            find_elements("the <private> tag", "private", UnclosedElement::KeepAsText).is_empty()
        );
        assert!(find_elements("<b>x</b>", "private", UnclosedElement::ExtendToEnd).is_empty());
    }
}
