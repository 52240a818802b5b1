//! Reads a time at the beginning of some words: what they mean and how many of them belong to it.

use chrono::{Datelike, Days};

use super::date::{is_digit, parse_day};
use super::reading::{TimeReading, skip_article};
use super::relative::parse_weekday;
use crate::calendar::{Calendar, TimeSpan};

/// Most words before the word that joins the two ends of a range.
const RANGE_WORDS: usize = 6;

impl Calendar {
    /// Reads a time at the beginning of `words`; `before` is the word in front of it, `second` the
    /// one in front of that.
    pub(super) fn read_time(
        &self,
        words: &[&str],
        before: &str,
        second: &str,
    ) -> Option<TimeReading> {
        if let Some(part) = self.read_part_of_period(words) {
            return Some(part);
        }
        let reading = self.read_period(words, before, second)?;
        let next = reading.word_count + usize::from(words.get(reading.word_count) == Some(&"on"));
        // `last week on friday`; in Chinese `early`, `mid` and `late` follow the period.
        let closer = match *words.get(next).unwrap_or(&"") {
            name if reading.is_relative && parse_weekday(name).is_some() && name.len() > 3 => {
                reading.map_spans(next + 1, |week| self.day_in_week(week, name))
            }
            following => following.strip_prefix('~').and_then(|part| {
                let (_, cut) = parse_day_cut(part, "")?;
                reading.map_spans(next + 1, |span| self.cut_span(span, cut))
            }),
        };
        Some(closer.unwrap_or(reading))
    }

    fn read_period(&self, words: &[&str], before: &str, second: &str) -> Option<TimeReading> {
        self.read_quarter(words)
            .or_else(|| self.read_date(words, before))
            .or_else(|| self.read_numbered_week(words))
            .or_else(|| self.read_counted(words))
            .or_else(|| self.read_weekday_of_period(words))
            .or_else(|| self.read_named(words, before, second))
            .or_else(|| self.read_day_of_month(words, before, second))
    }

    /// Reads a range: `1 and 10 november` after `between`, `march until may 2024` after `from`, and
    /// anywhere `november 1 to 10`.
    pub(super) fn read_range(&self, words: &[&str], before: &str) -> Option<TimeReading> {
        let join = |word: &str| match word {
            "and" => before == "between",
            "to" | "until" | "till" | "through" => before != "between",
            word => word == "-",
        };
        let joined = words.iter().take(RANGE_WORDS).position(|word| join(word))?;
        let (first, rest) = words.split_at_checked(joined)?;
        let (first, rest) = (skip_article(first), skip_article(rest.get(1..)?));
        let used = words.len() - rest.len();
        let named = matches!(before, "between" | "from");
        if !named && !first.iter().any(|word| word.contains(is_digit)) {
            return None;
        }
        if let ([number], Some(last)) = (first, self.read_time(rest, "of", ""))
            && let Some(number) = parse_day(number)
        {
            // Only the second day has the month.
            let words = used + last.word_count;
            if last.is_relative {
                return None;
            }
            return last.map_spans(words, |end| {
                let first = self.day_of(end.since).with_day(number)?;
                join_spans(self.span_of_days(first, first), end)
            });
        }
        let begin = self.read_time(first, "of", "")?;
        if begin.word_count != first.len() {
            return None;
        }
        if let Some(last) = self.read_time(rest, "of", "") {
            let begins = begin.spans.ok()?;
            let words = used + last.word_count;
            return last.map_spans(words, |end| {
                begins.iter().find_map(|begin| join_spans(*begin, end))
            });
        }
        // Only the first day has the month.
        let number = parse_day(rest.first()?)?;
        begin.map_spans(used + 1, |begin| {
            let last = self.day_of(begin.since).with_day(number)?;
            join_spans(begin, self.span_of_days(last, last))
        })
    }

    /// Reads `early november`, `mid of last month`, `the first half of 2022` or `the last week of
    /// october`.
    fn read_part_of_period(&self, words: &[&str]) -> Option<TimeReading> {
        let next = words.get(1).copied().unwrap_or_default();
        let (used, cut) = parse_day_cut(words.first()?, next)?;
        let has_of = words.get(used) == Some(&"of");
        if matches!(next, "week" | "days") && !has_of {
            return None;
        }
        let rest = skip_article(words.get(used + usize::from(has_of)..)?);
        let whole = self.read_period(rest, "of", "")?;
        let used = words.len() - rest.len() + whole.word_count;
        whole.map_spans(used, |span| self.cut_span(span, cut))
    }

    /// Returns a part of a span's days; `None` if the span has few days.
    fn cut_span(&self, span: TimeSpan, cut: DayCut) -> Option<TimeSpan> {
        const DAYS_MIN: u64 = 7;
        let (begin, end) = (self.day_of(span.since), self.day_of(span.until));
        let days = u64::try_from((end - begin).num_days() + 1).ok()?;
        let (from, to) = Some(days).filter(|days| *days >= DAYS_MIN).map(cut)?;
        let first = begin.checked_add_days(Days::new(from))?;
        let last = begin.checked_add_days(Days::new(to.min(days).checked_sub(1)?))?;
        (first <= last).then(|| self.span_of_days(first, last))
    }
}

/// A function from the number of days of a period to the first day of a part and the one after its
/// last.
type DayCut = fn(u64) -> (u64, u64);

/// Parses the part of a period that one or two words name. Returns how many words those are.
fn parse_day_cut(word: &str, next: &str) -> Option<(usize, DayCut)> {
    Some(match (word, next) {
        ("first", "half") => (2, |days| (0, days / 2)),
        ("second", "half") => (2, |days| (days / 2, days)),
        ("first", "week" | "days") => (2, |_| (0, 7)),
        ("second", "week") => (2, |_| (7, 14)),
        ("third", "week") => (2, |_| (14, 21)),
        ("fourth", "week") => (2, |_| (21, 28)),
        ("last", "week" | "days") => (2, |days| (days - 7, days)),
        ("early" | "beginning" | "start", _) => (1, |days| (0, days / 3)),
        ("mid" | "middle", _) => (1, |days| (days / 3 - 1, 2 * days / 3)),
        ("late" | "end", _) => (1, |days| (2 * days / 3 - 1, days)),
        _ => return None,
    })
}

fn join_spans(begin: TimeSpan, end: TimeSpan) -> Option<TimeSpan> {
    let until = end.until;
    (begin.since <= end.since).then_some(TimeSpan { until, ..begin })
}
