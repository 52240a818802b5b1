//! One change in the list of changes: what was done, by whom and when, the difference that it made,
//! and its undo.

use similar::ChangeTag;

use crate::prelude::*;

/// Most characters of a text that is compared for a line.
const COMPARED_CHARS: usize = 1_500;
/// Most characters of a part that did not change, and how many stay at each end of a longer one.
const EQUAL_CHARS: usize = 120;
const EQUAL_END_CHARS: usize = 50;

/// One line of the list of changes.
pub(crate) struct ChangeLine<'a> {
    pub(crate) at: DateTime<Utc>,
    /// What was done, in a word or a sentence.
    pub(crate) what: &'a str,
    /// Who did it, or from where.
    pub(crate) from: Option<&'a str>,
    pub(crate) body: Markup,
    /// The button that takes it back; empty if nothing can.
    pub(crate) undo: Markup,
}

impl ChangeLine<'_> {
    pub(crate) fn render(&self, calendar: &Calendar) -> Markup {
        html! {
            div class="card change" {
                b { (text::shorten(self.what, 200)) }
                @if let Some(from) = self.from {
                    span class="by" title=(from) { (text::shorten(from, 120)) }
                }
                div class="what" { (self.body) }
                time datetime=(self.at.to_rfc3339()) title=(calendar.format_to_minute(self.at)) {
                    (calendar.format_time_of_day(self.at))
                }
                @if !self.undo.0.is_empty() { div class="acts" { (self.undo) } }
            }
        }
    }
}

/// Renders how a new text differs from an old one: what went is struck out, what came is marked.
pub(crate) fn render_difference(before: &str, after: &str) -> Markup {
    let [before, after] = [before, after].map(|text| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words
            .join(" ")
            .chars()
            .take(COMPARED_CHARS)
            .collect::<String>()
    });
    // What only the look says is said to those who hear the page, too.
    let label = |said: &str| html! { span class="unseen-text" { (said) } };
    html! {
        bdi class="diff" dir="auto" {
            @for (tag, part) in text::diff_words(&before, &after) {
                @match tag {
                    ChangeTag::Equal => { (text::render_revealed(&shorten_equal(&part))) }
                    ChangeTag::Delete => { del { (label("removed: ")) (text::render_revealed(&part)) } }
                    ChangeTag::Insert => { ins { (label("added: ")) (text::render_revealed(&part)) } }
                }
            }
        }
    }
}

/// Leaves out the middle of a long part that did not change.
fn shorten_equal(part: &str) -> String {
    let letters: Vec<char> = part.chars().collect();
    if letters.len() <= EQUAL_CHARS {
        return part.to_owned();
    }
    let (first, last) = (
        &letters[..EQUAL_END_CHARS],
        &letters[letters.len() - EQUAL_END_CHARS..],
    );
    let [first, last] = [first, last].map(|part| part.iter().collect::<String>());
    format!("{first} \u{2026} {last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_strikes_the_old_marks_the_new_and_leaves_out_what_is_long_and_equal() {
        let shown = render_difference("it takes ten\nminutes", "it takes 15 minutes").into_string();
        let [removed, added] = ["removed: ten</del>", "added: 15</ins>"].map(|part| {
            let bare = shown
                .replace("<span class=\"unseen-text\">", "")
                .replace("</span>", "");
            bare.find(part).unwrap()
        });
        assert!(
            removed < added && shown.contains("it takes <del>"),
            "{shown}"
        );
        let long = "word ".repeat(200);
        let shown = render_difference(&format!("{long} ten"), &format!("{long} <b>"));
        let shown = shown.into_string();
        assert!(shown.contains("\u{2026}") && shown.len() < 500, "{shown}");
        assert!(shown.contains("&lt;b&gt;</ins>"), "{shown}");
    }
}
