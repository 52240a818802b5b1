//! Events that a question names as a time: `before the release`, `since our move to Berlin`.

use std::ops::Range;

/// Most words of an event's name.
const NAME_WORDS: usize = 5;

/// The side of an event that is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
    Since,
    Until,
}

/// A time told by what happened then.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event<'q> {
    /// `before the release`
    pub(super) phrase: &'q str,
    /// `release`
    pub(super) name: &'q str,
    pub(super) side: Side,
}

impl Side {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "before" => Self::Before,
            "after" => Self::After,
            "since" => Self::Since,
            "until" | "till" => Self::Until,
            _ => return None,
        })
    }

    /// As a person says it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Since => "since",
            Self::Until => "until",
        }
    }

    /// The microseconds on this side of an instant, both ends included.
    pub(super) fn range(self, at: i64) -> (i64, i64) {
        match self {
            Self::Before => (i64::MIN, at.saturating_sub(1)),
            Self::After => (at.saturating_add(1), i64::MAX),
            Self::Since => (at, i64::MAX),
            Self::Until => (i64::MIN, at),
        }
    }
}

impl<'q> Event<'q> {
    /// The first event that a question tells a time by: one of these sides, `the` or whose it is,
    /// and a name that ends with the clause.
    pub(super) fn of(question: &'q str) -> Option<Self> {
        let words = words(question);
        let lower: Vec<String> = words
            .iter()
            .map(|word| {
                question
                    .get(word.clone())
                    .unwrap_or_default()
                    .to_lowercase()
            })
            .collect();
        for (at, word) in lower.iter().enumerate() {
            let Some(side) = Side::of(word) else {
                continue;
            };
            let Some(first) = at.checked_add(2).filter(|_| is_given(lower.get(at + 1))) else {
                continue;
            };
            let mut last = first;
            while last < words.len() && last - first < NAME_WORDS && !ends_name(&lower[last]) {
                let gap = words[last - 1].end..words[last].start;
                if question.get(gap).is_none_or(|gap| !gap.trim().is_empty()) {
                    break;
                }
                last += 1;
            }
            if last == first {
                continue;
            }
            let (start, end) = (words[at].start, words[last - 1].end);
            return Some(Self {
                phrase: question.get(start..end)?,
                name: question.get(words[first].start..end)?,
                side,
            });
        }
        None
    }
}

/// Whether the event that follows is one that both sides know.
fn is_given(word: Option<&String>) -> bool {
    word.is_some_and(|word| {
        matches!(
            word.as_str(),
            "the" | "our" | "my" | "your" | "his" | "her" | "their" | "its" | "that" | "this"
        )
    })
}

/// Words with which the next clause begins.
fn ends_name(word: &str) -> bool {
    const NEXT: &str = "i we you he she it they who what which that when where why how did do does \
        was were is are had has have will would could should can and or but to so if because";
    NEXT.split_whitespace().any(|next| next == word)
}

fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = c.is_alphanumeric() || matches!(c, '-' | '_' | '\'' | '\u{2019}');
        match (start, inside) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                words.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_named_by_its_side_and_ends_with_its_clause() {
        for (question, phrase, name, side) in [
            (
                "what broke before the release?",
                "before the release",
                "release",
                Side::Before,
            ),
            (
                "after our move to Berlin, who called",
                "after our move",
                "move",
                Side::After,
            ),
            (
                "Since the Outage of Friday what changed",
                "Since the Outage of Friday",
                "Outage of Friday",
                Side::Since,
            ),
        ] {
            let expected = Event { phrase, name, side };
            assert_eq!(Event::of(question), Some(expected), "{question}");
        }
        for question in [
            "stop after the",
            "before lunch",
            "since then",
            "after the, well",
            "how I looked after it before we went",
            "",
            "after",
            "\u{130} before the",
        ] {
            assert_eq!(Event::of(question), None, "{question}");
        }
    }

    #[test]
    fn an_instant_belongs_to_since_and_until_alone() {
        assert_eq!(Side::Before.range(7), (i64::MIN, 6));
        assert_eq!(Side::After.range(7), (8, i64::MAX));
        assert_eq!(Side::Since.range(7), (7, i64::MAX));
        assert_eq!(Side::Until.range(i64::MIN), (i64::MIN, i64::MIN));
    }
}
