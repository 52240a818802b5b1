//! Stored texts as what they are: nothing in them acts on the page, and what cannot be seen is
//! shown by its name; and numbers as a reader says them.

use maud::{Markup, html};
use reprise_engine::{excerpt, matches};
pub(crate) use reprise_operations::size;
use reprise_types::acts;

/// Characters of a text in a list.
const EXCERPT_CHARS: usize = 320;

/// A whole text. Line breaks are kept by the style; the direction of its letters stays its own.
pub(crate) fn whole(text: &str) -> Markup {
    html! { bdi class="text" dir="auto" { (visible(text)) } }
}

/// A text cut to whole sentences around the words of a question, which are marked.
pub(crate) fn cut(text: &str, words: &[String]) -> Markup {
    let fits = |part: &str| part.chars().count() <= EXCERPT_CHARS;
    let shown = excerpt(text, words, &fits).unwrap_or_else(|| one_line(text, EXCERPT_CHARS));
    let mut marked = Vec::new();
    let mut at = 0;
    for range in matches(&shown, words) {
        if let (Some(before), Some(word)) = (shown.get(at..range.start), shown.get(range.clone())) {
            marked.push((before, word));
            at = range.end;
        }
    }
    let rest = shown.get(at..).unwrap_or_default();
    html! {
        bdi class="text" dir="auto" {
            @for (before, word) in marked { (visible(before)) mark { (visible(word)) } }
            (visible(rest))
        }
    }
}

/// The first words of a text, in one line.
pub(crate) fn line(text: &str, chars: usize) -> Markup {
    html! { bdi dir="auto" { (visible(&one_line(text, chars))) } }
}

fn one_line(text: &str, chars: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.chars().count() > chars {
            return line.chars().take(chars - 1).collect::<String>() + "\u{2026}";
        }
    }
    line
}

/// A value as a reader says it: a text without its quotes, a word of a list of somebody's own.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::json!(value) {
        serde_json::Value::String(word) => word,
        other => other.to_string(),
    }
}

/// A text in which what has no shape of its own, or changes the order of others, is named.
pub(crate) fn visible(text: &str) -> Markup {
    let mut parts: Vec<(&str, Option<char>)> = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_unseen(*c)) {
        parts.push((text.get(from..at).unwrap_or_default(), Some(c)));
        from = at + c.len_utf8();
    }
    parts.push((text.get(from..).unwrap_or_default(), None));
    html! {
        @for (part, unseen) in parts {
            (part)
            @if let Some(c) = unseen {
                span class="unseen" { (format!("U+{:04X}", u32::from(c))) }
            }
        }
    }
}

/// What acts or hides anywhere, and joiners and marks of direction.
fn is_unseen(c: char) -> bool {
    acts(c) || matches!(c, '\u{61c}' | '\u{200c}'..='\u{200f}')
}

/// A whole number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// A number and its noun.
pub(crate) fn of(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", count(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_or_hides_is_text() {
        let shown = whole("<script>alert(1)</script>\u{202e}evil\u{0}\r\n").into_string();
        assert!(!shown.contains("<script"), "{shown}");
        for named in ["U+202E", "U+0000", "U+000D"] {
            assert!(shown.contains(named), "{named}: {shown}");
        }
        assert!(!shown.contains('\u{202e}'));
        assert!(shown.contains('\n'));
    }

    #[test]
    fn the_words_that_matched_are_marked_and_nothing_is_lost() {
        let words = ["race".to_owned()];
        let shown = cut("The auth race <b> ended. It did.", &words).into_string();
        assert!(
            shown.contains("<mark>race</mark> &lt;b&gt; ended."),
            "{shown}"
        );
    }

    #[test]
    fn a_text_without_a_break_is_cut() {
        let long = "x".repeat(60_000);
        assert!(cut(&long, &[]).into_string().chars().count() < 500);
        assert!(line(&long, 80).into_string().chars().count() < 200);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(size(900), "900 B");
        assert_eq!(size(114_049), "114.0 KB");
        assert_eq!(size(21_500_000), "21.5 MB");
        assert_eq!(of(1, "record", "records"), "1 record");
        assert_eq!(of(2_000, "record", "records"), "2,000 records");
    }
}
