//! Times in a query among other words: `what broke last week`, `since april 2019`, `on 2026-02-16`.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeDelta, Utc};

use crate::calendar::{Calendar, Span, TimeError, day};

/// A time named in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// The words that name it, as the query has them.
    pub phrase: String,
    /// The span; `None` where the words name a day that does not exist.
    pub span: Option<Span>,
    /// Whether it is relative to now (`last week`) and not a date.
    pub relative: bool,
}

/// Words of a query that are examined.
const WORDS_MAX: usize = 200;
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];
const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// A parsed time at the beginning of some words.
struct Read {
    /// Number of words consumed.
    words: usize,
    span: Result<Span, String>,
    relative: bool,
}

/// One word of a query in lower case, with its position.
struct Word {
    lower: String,
    start: usize,
    end: usize,
}

impl Calendar {
    /// The first time that a query names.
    #[must_use]
    pub fn spoken(&self, question: &str) -> Option<Spoken> {
        let words = words(question);
        let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
        for at in 0..words.len() {
            let before = at.checked_sub(1).and_then(|before| lower.get(before));
            let before = before.copied().unwrap_or_default();
            let Some(read) = self.read(lower.get(at..)?, before) else {
                continue;
            };
            let side = Side::of(before);
            let first = at - usize::from(side.is_some());
            let (start, end) = (words.get(first)?.start, words.get(at + read.words - 1)?.end);
            return Some(Spoken {
                phrase: question.get(start..end)?.to_owned(),
                span: read
                    .span
                    .ok()
                    .map(|span| side.map_or(span, |side| side.cut(span))),
                relative: read.relative,
            });
        }
        None
    }

    /// Parses a time at the beginning of `words`; `before` is the word in front of it.
    fn read(&self, words: &[&str], before: &str) -> Option<Read> {
        self.dated(words, before)
            .or_else(|| self.counted(words))
            .or_else(|| self.named(words, before))
    }

    /// `2026-02-16`, `2026-02`, `april 2019`, `7 april`, `april 7th, 2019`, `in 2019`, `in march`.
    fn dated(&self, words: &[&str], before: &str) -> Option<Read> {
        let first = *words.first()?;
        if let Some(read) = self.iso(first) {
            return Some(Read::date(1, read));
        }
        let leads = matches!(
            before,
            "in" | "since"
                | "until"
                | "till"
                | "during"
                | "before"
                | "after"
                | "of"
                | "for"
                | "from"
                | "by"
                | "last"
                | ""
        );
        if let Some(year) = year_of(first).filter(|_| leads && before != "last") {
            return Some(Read::date(1, self.year(year).ok_or_else(String::new)));
        }
        // Day and month in either order, then the year.
        let (number, rest) = match day_of(first) {
            Some(number) => {
                let of = usize::from(words.get(1) == Some(&"of"));
                (Some(number), 1 + of)
            }
            None => (None, 0),
        };
        let month = month_of(words.get(rest)?)?;
        let mut used = rest + 1;
        let number = number.or_else(|| {
            let number = day_of(words.get(used)?)?;
            used += 1;
            Some(number)
        });
        let year = words.get(used).and_then(|word| year_of(word));
        used += usize::from(year.is_some());
        if number.is_none() && year.is_none() && (!leads || (before.is_empty() && words.len() > 1))
        {
            // `march` and `may` are words too.
            return None;
        }
        let of_this_year = |day: u32| {
            let today = self.today();
            let later = (month, day) > (today.month(), today.day());
            today.year() - i32::from(later)
        };
        let span = match number {
            Some(number) => day(year.unwrap_or_else(|| of_this_year(number)), month, number)
                .map(|day| self.days(day, day)),
            None => self
                .month(year.unwrap_or_else(|| of_this_year(1)), month)
                .ok_or_else(String::new),
        };
        Some(Read::date(used, span))
    }

    /// An ISO day or month; an error for one that does not exist.
    fn iso(&self, word: &str) -> Option<Result<Span, String>> {
        let mut parts = word.split(['-', '/']);
        let number = |part: &str, digits: usize| {
            let is_number = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| part.parse::<u32>().ok()).flatten()
        };
        let year = i32::try_from(number(parts.next()?, 4)?).ok()?;
        let month = number(parts.next()?, 2)?;
        let number_of_day = parts.next().map(|part| number(part, 2));
        if parts.next().is_some() {
            return None;
        }
        Some(match number_of_day {
            None => self
                .month(year, month)
                .ok_or_else(|| "a year has 12 months".to_owned()),
            Some(number) => day(year, month, number?).map(|day| self.days(day, day)),
        })
    }

    /// `3 days ago`, `two weeks ago`, `last 7 days`, `the past month`.
    fn counted(&self, words: &[&str]) -> Option<Read> {
        let first = *words.first()?;
        let now = |since: DateTime<Utc>| Span {
            since,
            until: self.now,
        };
        if matches!(first, "last" | "past" | "previous") {
            let count = count_of(words.get(1)?)?;
            let since = self.back(count, words.get(2)?)?;
            return Some(Read::counted(3, now(since)));
        }
        let count = count_of(first)?;
        let unit = *words.get(1)?;
        if words.get(2) != Some(&"ago") {
            return None;
        }
        let then = self.back(count, unit)?;
        let day = self.day_of(then);
        let span = match unit.trim_end_matches('s') {
            "day" => self.days(day, day),
            "week" => self.week(day)?,
            "month" => self.month(day.year(), day.month())?,
            "year" => self.year(day.year())?,
            // Counted hours are approximate.
            _ => Span {
                since: then - (self.now - then) / 4,
                until: then + (self.now - then) / 4,
            },
        };
        Some(Read::counted(3, span))
    }

    /// `today`, `yesterday`, `last week`, `this month`, `on monday`, `last friday`.
    fn named(&self, words: &[&str], before: &str) -> Option<Read> {
        let today = self.today();
        let back = |days: u64| today.checked_sub_days(Days::new(days));
        let one = |day: NaiveDate| Read::counted(1, self.days(day, day));
        let first = *words.first()?;
        match first {
            "today" | "tonight" => return Some(one(today)),
            "yesterday" => return Some(one(back(1)?)),
            _ => {}
        }
        let is_last = matches!(first, "last" | "past" | "previous");
        if is_last || first == "this" {
            let unit = *words.get(1)?;
            let ago = u32::from(is_last);
            let span = match unit {
                "night" if is_last => self.days(back(1)?, back(1)?),
                "morning" | "afternoon" | "evening" if !is_last => self.days(today, today),
                "week" => self.week(back(7 * u64::from(ago))?)?,
                "month" => {
                    let then = today.with_day(1)?.checked_sub_months(Months::new(ago))?;
                    self.month(then.year(), then.month())?
                }
                "year" => self.year(today.year() - i32::from(is_last))?,
                _ => {
                    let day = self.weekday(unit, is_last)?;
                    self.days(day, day)
                }
            };
            return Some(Read::counted(2, span));
        }
        let leads = matches!(before, "on" | "since" | "until" | "before" | "after" | "");
        let day = self.weekday(first, false).filter(|_| leads)?;
        Some(one(day))
    }

    /// The week, Monday to Sunday, that a day is in.
    fn week(&self, day: NaiveDate) -> Option<Span> {
        let into = u64::from(day.weekday().num_days_from_monday());
        let monday = day.checked_sub_days(Days::new(into))?;
        Some(self.days(monday, monday.checked_add_days(Days::new(6))?))
    }

    /// The latest day of this name: today, or where `strictly` before today.
    fn weekday(&self, name: &str, strictly: bool) -> Option<NaiveDate> {
        let wanted = WEEKDAYS.iter().position(|weekday| *weekday == name)? as u32;
        let today = self.today();
        let ago = (today.weekday().num_days_from_monday() + 7 - wanted) % 7;
        let ago = if ago == 0 && strictly { 7 } else { ago };
        today.checked_sub_days(Days::new(u64::from(ago)))
    }

    fn back(&self, count: u32, unit: &str) -> Option<DateTime<Utc>> {
        let many = i64::from(count);
        let delta = match unit.trim_end_matches('s') {
            "minute" => TimeDelta::try_minutes(many)?,
            "hour" => TimeDelta::try_hours(many)?,
            "day" => TimeDelta::try_days(many)?,
            "week" => TimeDelta::try_weeks(many)?,
            "month" => return self.now.checked_sub_months(Months::new(count)),
            "year" => {
                return self
                    .now
                    .checked_sub_months(Months::new(count.checked_mul(12)?));
            }
            _ => return None,
        };
        self.now.checked_sub_signed(delta)
    }
}

impl Read {
    fn date(words: usize, span: Result<Span, String>) -> Self {
        Self {
            words,
            span,
            relative: false,
        }
    }

    fn counted(words: usize, span: Span) -> Self {
        Self {
            words,
            span: Ok(span),
            relative: true,
        }
    }
}

/// Which side of a time is meant.
#[derive(Clone, Copy)]
enum Side {
    From,
    After,
    Before,
    Until,
}

impl Side {
    fn of(word: &str) -> Option<Self> {
        match word {
            "since" | "from" => Some(Self::From),
            "after" => Some(Self::After),
            "before" => Some(Self::Before),
            "until" | "till" => Some(Self::Until),
            _ => None,
        }
    }

    fn cut(self, span: Span) -> Span {
        let one = TimeDelta::microseconds(1);
        let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        let (since, until) = match self {
            Self::From => (span.since, last),
            Self::After => (span.until + one, last),
            Self::Before => (first, span.since - one),
            Self::Until => (first, span.until),
        };
        Span { since, until }
    }
}

/// Parses a text that is a time and nothing else.
pub(crate) fn whole(calendar: &Calendar, text: &str) -> Option<Result<Span, TimeError>> {
    let words = words(text);
    let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
    let read = calendar.read(&lower, "")?;
    if read.words != words.len() {
        return None;
    }
    let text = || text.chars().take(64).collect();
    Some(read.span.map_err(|why| match why.as_str() {
        "" => TimeError::Unknown { text: text() },
        _ => TimeError::NoSuchDay { text: text(), why },
    }))
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    let ends = text.char_indices().chain([(text.len(), ' ')]);
    for (at, c) in ends {
        let inside = c.is_alphanumeric() || matches!(c, '-' | '/');
        match (start, inside) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let lower = text.get(from..at).unwrap_or_default().to_lowercase();
                words.push(Word {
                    lower,
                    start: from,
                    end: at,
                });
                if words.len() == WORDS_MAX {
                    break;
                }
                start = None;
            }
            _ => {}
        }
    }
    words
}

fn year_of(word: &str) -> Option<i32> {
    let year: i32 = (word.len() == 4).then(|| word.parse().ok()).flatten()?;
    (1970..2100).contains(&year).then_some(year)
}

/// `7`, `7th`; up to two digits.
fn day_of(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = word.get(digits.len()..)?;
    let known = matches!(suffix, "" | "st" | "nd" | "rd" | "th");
    (known && (1..=2).contains(&digits.len()))
        .then(|| digits.parse().ok())
        .flatten()
}

fn month_of(word: &str) -> Option<u32> {
    let named = |name: &&str| **name == *word || (word.len() == 3 && name.starts_with(word));
    let at = MONTHS.iter().position(named);
    at.map(|at| at as u32 + 1)
}

fn count_of(word: &str) -> Option<u32> {
    match word {
        "a" | "an" => Some(1),
        _ => {
            let at = NUMBERS.iter().position(|number| *number == word);
            at.map(|at| at as u32).or_else(|| word.parse().ok())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Zone;
    use crate::time::parse_timestamp;

    fn calendar() -> Calendar {
        Calendar {
            now: parse_timestamp("2026-02-18T12:00:00Z").unwrap(),
            zone: Zone::Utc,
        }
    }

    fn days(question: &str) -> Option<(String, String, String)> {
        let spoken = calendar().spoken(question)?;
        let day = |at: DateTime<Utc>| {
            if at == DateTime::<Utc>::MIN_UTC {
                return "ever".to_owned();
            }
            if at == DateTime::<Utc>::MAX_UTC {
                return "on".to_owned();
            }
            at.format("%Y-%m-%d").to_string()
        };
        let span = spoken.span?;
        Some((spoken.phrase, day(span.since), day(span.until)))
    }

    #[test]
    fn a_time_is_found_among_other_words() {
        for (question, phrase, since, until) in [
            (
                "what broke in April 2019?",
                "April 2019",
                "2019-04-01",
                "2019-04-30",
            ),
            (
                "what broke last week",
                "last week",
                "2026-02-09",
                "2026-02-15",
            ),
            (
                "decisions of this month",
                "this month",
                "2026-02-01",
                "2026-02-28",
            ),
            (
                "what did we do yesterday about it",
                "yesterday",
                "2026-02-17",
                "2026-02-17",
            ),
            ("changes in march", "march", "2025-03-01", "2025-03-31"),
            ("changes in january", "january", "2026-01-01", "2026-01-31"),
            (
                "the talk on 7 May 2023",
                "7 May 2023",
                "2023-05-07",
                "2023-05-07",
            ),
            (
                "the talk on May 7th, 2023",
                "May 7th, 2023",
                "2023-05-07",
                "2023-05-07",
            ),
            (
                "the 3rd of december",
                "3rd of december",
                "2025-12-03",
                "2025-12-03",
            ),
            ("who joined in 2019", "2019", "2019-01-01", "2019-12-31"),
            (
                "3 days ago the build broke",
                "3 days ago",
                "2026-02-15",
                "2026-02-15",
            ),
            ("a week ago", "a week ago", "2026-02-09", "2026-02-15"),
            ("the last 7 days", "last 7 days", "2026-02-11", "2026-02-18"),
            ("on Monday", "Monday", "2026-02-16", "2026-02-16"),
            (
                "last wednesday",
                "last wednesday",
                "2026-02-11",
                "2026-02-11",
            ),
            ("since april 2019", "since april 2019", "2019-04-01", "on"),
            (
                "before 2026-02-16, that is",
                "before 2026-02-16",
                "ever",
                "2026-02-15",
            ),
            ("after 2026-02", "after 2026-02", "2026-03-01", "on"),
        ] {
            let expected = (phrase.to_owned(), since.to_owned(), until.to_owned());
            assert_eq!(days(question), Some(expected), "{question}");
        }
    }

    #[test]
    fn other_words_and_numbers_are_no_times() {
        for question in [
            "",
            "you may march on",
            "may I",
            "exit code 101 and 2019 records",
            "the last test",
            "ten days of rain",
            "the sun rises",
            "port 8080",
            "version 2.0",
            "what happened before the release",
        ] {
            assert_eq!(calendar().spoken(question), None, "{question}");
        }
    }

    #[test]
    fn a_day_that_does_not_exist_is_seen_and_has_no_span() {
        for question in ["what happened on 2026-02-30", "on february 30"] {
            let spoken = calendar().spoken(question).unwrap();
            assert_eq!(spoken.span, None, "{question}");
        }
        assert!(calendar().spoken(&"word ".repeat(100_000)).is_none());
    }
}
