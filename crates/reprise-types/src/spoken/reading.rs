//! A time as it was read at the beginning of some words.

use crate::calendar::TimeSpan;

/// A time that was read at the beginning of some words.
#[derive(Debug)]
pub(super) struct TimeReading {
    /// Number of words that belong to it.
    pub(super) word_count: usize,
    /// The spans that it may mean, the likeliest first; or why there is no such day.
    pub(super) spans: Result<Vec<TimeSpan>, String>,
    pub(super) is_relative: bool,
    /// Whether it is a weekday's name alone, which may mean a day in the future.
    pub(super) is_bare_weekday: bool,
}

impl TimeReading {
    pub(super) fn absolute(words: usize, spans: Result<Vec<TimeSpan>, String>) -> Self {
        Self {
            word_count: words,
            spans,
            is_relative: false,
            is_bare_weekday: false,
        }
    }

    pub(super) fn relative_to_now(words: usize, span: TimeSpan) -> Self {
        Self {
            is_relative: true,
            ..Self::absolute(words, Ok(vec![span]))
        }
    }

    /// Returns the time with each span changed; `None` if no span is left.
    pub(super) fn map_spans(
        &self,
        words: usize,
        change: impl FnMut(TimeSpan) -> Option<TimeSpan>,
    ) -> Option<Self> {
        let spans = self.spans.iter().flatten().copied();
        let spans: Vec<TimeSpan> = spans.filter_map(change).collect();
        (!spans.is_empty()).then_some(Self {
            word_count: words,
            spans: Ok(spans),
            is_bare_weekday: false,
            ..*self
        })
    }
}

pub(super) fn skip_article<'a, 'w>(words: &'a [&'w str]) -> &'a [&'w str] {
    words.strip_prefix(&["the"]).unwrap_or(words)
}
