//! The words in which texts differ. What only joins words, how a word is inflected, and punctuation
//! are no difference.

use std::collections::HashSet;

use reprise_engine::matches;

use crate::prelude::*;

/// Words that join others. Those that deny, limit or order are not among them: they change what is
/// said.
const JOINING: &str = "a about also an and any are as at be been being by can could did do does for \
    from had has have he her here his i if in into is it its just me my of on or our she so some \
    such than that the their them then there these they this those to too us use used uses using \
    was we were what when where which while who will with would you your";

/// A word of a text, between what surrounds it.
struct Word<'a> {
    /// The whole text up to the next word.
    whole: &'a str,
    /// The word without punctuation around it, which is empty if there is no letter or digit.
    core: &'a str,
}

/// Splits a text into words, each with the space that follows it.
fn split_words(text: &str) -> Vec<Word<'_>> {
    let pieces = text.split_inclusive(char::is_whitespace);
    let words = pieces.map(|whole| Word {
        whole,
        core: whole.trim_matches(|c: char| !c.is_alphanumeric()),
    });
    words.collect()
}

/// The words of a text in lower case, and the text, in which forms of a word are looked for.
struct OtherText<'a> {
    text: &'a str,
    words: HashSet<String>,
}

impl<'a> OtherText<'a> {
    fn new(text: &'a str) -> Self {
        let words = split_words(text).into_iter();
        let words = words.map(|word| word.core.to_lowercase()).collect();
        Self { text, words }
    }

    /// Returns whether the text has a word, in this form or in another one.
    fn has(&self, word: &str) -> bool {
        let is_number = word.contains(|c: char| c.is_ascii_digit());
        self.words.contains(&word.to_lowercase())
            || !is_number && !matches(self.text, &[word.to_owned()]).is_empty()
    }
}

/// Finds for each text which of its words another text lacks.
fn find_own_words(texts: &[&str]) -> Vec<Vec<bool>> {
    let others: Vec<OtherText<'_>> = texts.iter().map(|text| OtherText::new(text)).collect();
    let joining: HashSet<&str> = JOINING.split_whitespace().collect();
    let own = texts.iter().enumerate().map(|(at, text)| {
        let others = || others.iter().enumerate().filter(|(other, _)| *other != at);
        let is_own = |word: &Word<'_>| {
            !word.core.is_empty()
                && !joining.contains(word.core.to_lowercase().as_str())
                && others().any(|(_, other)| !other.has(word.core))
        };
        split_words(text).iter().map(is_own).collect()
    });
    own.collect()
}

/// Finds for two texts of equal words which of them stand elsewhere in the other.
fn find_moved_words([one, other]: [&str; 2]) -> [Vec<bool>; 2] {
    let cores = |text| -> Vec<String> {
        let words = split_words(text).into_iter();
        words.map(|word| word.core.to_lowercase()).collect()
    };
    let (one, other) = (cores(one), cores(other));
    let mut moved = [vec![false; one.len()], vec![false; other.len()]];
    for change in similar::capture_diff_slices(similar::Algorithm::Myers, &one, &other) {
        if change.tag() != similar::DiffTag::Equal {
            let [first, second] = &mut moved;
            first[change.old_range()].fill(true);
            second[change.new_range()].fill(true);
        }
    }
    for (words, moved) in [&one, &other].into_iter().zip(&mut moved) {
        for (word, is_moved) in words.iter().zip(moved) {
            *is_moved &= !word.is_empty();
        }
    }
    moved
}

/// Whether more than half of some words differ, where there are more than a few.
fn is_mostly(words: &[bool]) -> bool {
    const FEW: usize = 8;
    let count = words.iter().filter(|is_own| **is_own).count();
    words.len() > FEW && 2 * count > words.len()
}

/// Finds which words of each text to mark.
fn find_marked_words(texts: &[&str]) -> Vec<Vec<bool>> {
    let own = find_own_words(texts);
    // Of texts about different things all words differ, and a mark at each says nothing.
    if own.iter().all(|words| is_mostly(words)) {
        return own.iter().map(|words| vec![false; words.len()]).collect();
    }
    let is_any = own.iter().flatten().any(|is_own| *is_own);
    match texts {
        [one, other] if !is_any => find_moved_words([one, other]).into(),
        _ => own,
    }
}

/// Renders each text with the words marked that another one lacks; if all have the same words, with
/// those marked that are elsewhere in the other. Each has the length of the title that it begins
/// with, which is a line of its own.
pub(super) fn mark_differences(texts: &[&str], title_lengths: &[usize]) -> Vec<Markup> {
    let marked = find_marked_words(texts);
    let all = texts.iter().zip(title_lengths).zip(&marked);
    let rendered = all.map(|((text, title_length), marked)| {
        let words = split_words(text).into_iter().zip(marked.iter().copied());
        let words: Vec<(Word<'_>, bool)> = words.collect();
        let mut length = 0;
        let is_of_title = |(word, _): &&(Word<'_>, bool)| {
            let begins_before = length < *title_length;
            length += word.whole.len();
            begins_before
        };
        let count = words.iter().take_while(is_of_title).count();
        let (title, rest) = words.split_at(count);
        html! {
            @if !title.is_empty() { b class="said-title" { (render_words(title)) } }
            (render_words(rest))
        }
    });
    rendered.collect()
}

/// Renders words, those marked of which that is said.
fn render_words(words: &[(Word<'_>, bool)]) -> Markup {
    html! {
        @for (word, is_marked) in words {
            @match word.whole.split_once(word.core) {
                Some((before, after)) if *is_marked => {
                    (text::render_revealed(before))
                    mark { (text::render_revealed(word.core)) }
                    (text::render_revealed(after))
                }
                _ => { (text::render_revealed(word.whole)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the marked words of each text.
    fn list_marked_words(texts: &[&str]) -> Vec<Vec<String>> {
        let all = texts.iter().zip(find_marked_words(texts));
        all.map(|(text, marked)| {
            let words = split_words(text).into_iter().zip(marked);
            let words = words.filter(|(_, is_marked)| *is_marked);
            words.map(|(word, _)| word.core.to_owned()).collect()
        })
        .collect()
    }

    #[test]
    fn only_words_with_a_meaning_of_their_own_are_marked() {
        let texts = [
            "We deploy the shop on Tuesdays, after the standup, with the blue script.",
            "The shop is deployed on Thursdays after the standup, using the blue script",
        ];
        assert_eq!(list_marked_words(&texts), [["Tuesdays"], ["Thursdays"]]);
        let cased = ["The limit is 100/s.", "the limit: 250/s"];
        assert_eq!(list_marked_words(&cased), [["100/s"], ["250/s"]]);
        let denied = [
            "Deploys on Fridays are allowed",
            "Never deploy on Fridays: not allowed",
        ];
        assert_eq!(list_marked_words(&denied), [vec![], vec!["Never", "not"]]);
        let unrelated = [
            "Reconnect with jitter between one and five seconds, no exponential back-off",
            "Order links carry a token, which ends after one day at midnight sharp",
        ];
        assert!(list_marked_words(&unrelated).iter().all(Vec::is_empty));
    }

    #[test]
    fn what_only_one_of_three_says_is_marked_in_each() {
        let texts = [
            "it takes 30 seconds",
            "It takes 60 seconds.",
            "it takes 90 s",
        ];
        assert_eq!(
            list_marked_words(&texts),
            [
                vec!["30", "seconds"],
                vec!["60", "seconds"],
                vec!["90", "s"]
            ]
        );
    }

    #[test]
    fn words_that_changed_their_places_are_marked_if_all_words_are_equal() {
        let texts = [
            "30 s for login, 60 s for logout",
            "60 s for login, 30 s for logout",
        ];
        assert_eq!(list_marked_words(&texts), [["30", "60"], ["60", "30"]]);
        assert_eq!(
            list_marked_words(&["A text.", "a text"]),
            [[""; 0], [""; 0]]
        );
    }

    #[test]
    fn a_title_is_a_line_of_its_own() {
        let texts = ["Reset time It is 2 am.", "Reset time It is 3 am."];
        let shown = mark_differences(&texts, &["Reset time".len(), 0]);
        let [first, second] = [&shown[0], &shown[1]].map(|text| text.clone().into_string());
        let expected = "<b class=\"said-title\">Reset time </b>It is <mark>2</mark> am.";
        assert_eq!(first, expected);
        assert_eq!(second, "Reset time It is <mark>3</mark> am.");
    }

    #[test]
    fn nothing_of_a_text_is_lost() {
        let shown = mark_differences(&["a <b> \u{202e}30\u{a0}s\n", "a <b> 90 s"], &[0, 0]);
        let first = shown[0].clone().into_string();
        assert!(
            first.contains("&lt;b&gt;") && first.contains("U+202E"),
            "{first}"
        );
    }
}
