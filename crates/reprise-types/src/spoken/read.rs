//! What a run of words means as a time, from its first word on.

use chrono::{
    DateTime, Datelike, Days, FixedOffset, Local, Months, NaiveDate, Offset, TimeDelta, Utc,
};

use crate::calendar::{Calendar, Span, Zone, day};

/// How many years back a day without a year is looked for.
const YEARS_BACK: i32 = 30;
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
const QUARTERS: [(&str, u32); 8] = [
    ("q1", 1),
    ("q2", 2),
    ("q3", 3),
    ("q4", 4),
    ("first", 1),
    ("second", 2),
    ("third", 3),
    ("fourth", 4),
];
/// Words after `the 2nd` that are not what is the second.
const AFTER_A_DAY: [&str; 24] = [
    "about",
    "and",
    "at",
    "did",
    "for",
    "i",
    "in",
    "of",
    "on",
    "or",
    "regarding",
    "that",
    "the",
    "to",
    "was",
    "we",
    "were",
    "what",
    "when",
    "who",
    "why",
    "with",
    "she",
    "he",
];

/// A time read at the beginning of some words.
#[derive(Debug)]
pub(super) struct Reading {
    /// Number of words consumed.
    pub(super) words: usize,
    /// What it may mean, the likeliest first; or why there is no such day.
    pub(super) spans: Result<Vec<Span>, String>,
    pub(super) relative: bool,
    /// A weekday by its name alone, which may be one to come.
    pub(super) weekday: bool,
}

impl Reading {
    fn date(words: usize, spans: Result<Vec<Span>, String>) -> Self {
        Self {
            words,
            spans,
            relative: false,
            weekday: false,
        }
    }

    fn counted(words: usize, span: Span) -> Self {
        Self {
            relative: true,
            ..Self::date(words, Ok(vec![span]))
        }
    }
}

impl Calendar {
    /// Reads a time at the beginning of `words`; `before` is the word in front of it, `second` the
    /// one in front of that.
    pub(super) fn read(&self, words: &[&str], before: &str, second: &str) -> Option<Reading> {
        self.part_of_month(words)
            .or_else(|| self.dated(words, before))
            .or_else(|| self.quarter(words))
            .or_else(|| self.counted(words))
            .or_else(|| self.named(words, before))
            .or_else(|| self.day_alone(words, before, second))
    }

    /// `1 and 10 november`, `march until may 2024`, behind `between` or `from`.
    pub(super) fn range(&self, words: &[&str], before: &str) -> Option<Reading> {
        let join = |word: &str| match before {
            "between" => word == "and",
            _ => matches!(word, "to" | "until" | "till"),
        };
        let joined = words.iter().take(5).position(|word| join(word))?;
        let (first, rest) = (words.get(..joined)?, words.get(joined + 1..)?);
        let last = self.read(rest, "of", "")?;
        let words = joined + 1 + last.words;
        let ends = last.spans.ok()?;
        let number = match first {
            [number] => day_of(number),
            _ => None,
        };
        let spans: Vec<Span> = if let Some(number) = number {
            // The month stands with the second day.
            let begins = |end: &Span| self.day_of(end.since).with_day(number);
            let days = ends
                .iter()
                .filter_map(|end| Some((begins(end)?, end.until)));
            days.map(|(first, until)| Span {
                until,
                ..self.days(first, first)
            })
            .collect()
        } else {
            let first_reading = self.read(first, "of", "")?;
            if first_reading.words != first.len() {
                return None;
            }
            let begins = first_reading.spans.ok()?;
            let begin = |end: &Span| {
                begins
                    .iter()
                    .find(|begin| begin.since <= end.since)
                    .copied()
            };
            let spans = ends.iter().filter_map(|end| Some((begin(end)?, end.until)));
            spans
                .map(|(begin, until)| Span { until, ..begin })
                .collect()
        };
        (!spans.is_empty()).then(|| Reading {
            relative: last.relative,
            ..Reading::date(words, Ok(spans))
        })
    }

    /// A day, or a month without one, in a year; without a year in the last one that had it, and in
    /// those before.
    pub(super) fn in_years(
        &self,
        year: Option<i32>,
        month: u32,
        number: Option<u32>,
    ) -> Result<Vec<Span>, String> {
        let of = |year: i32| match number {
            Some(number) => day(year, month, number).map(|day| self.days(day, day)),
            None => self
                .month(year, month)
                .ok_or_else(|| "a year has 12 months".to_owned()),
        };
        if let Some(year) = year {
            return Ok(vec![of(year)?]);
        }
        let today = self.today();
        let later = (month, number.unwrap_or(1)) > (today.month(), today.day());
        let latest = today.year() - i32::from(later);
        let spans: Vec<Span> = (0..YEARS_BACK)
            .filter_map(|ago| of(latest - ago).ok())
            .collect();
        if spans.is_empty() {
            return of(latest).map(|span| vec![span]);
        }
        Ok(spans)
    }

    /// `2026-02-16`, `02.11.2026`, `april 2019`, `7 april`, `april 7th, 2019`, `1-10 april`,
    /// `in 2019`, `in march`.
    fn dated(&self, words: &[&str], before: &str) -> Option<Reading> {
        let first = *words.first()?;
        if let Some(read) = self.iso(first).or_else(|| self.marked(first)) {
            return Some(Reading::date(1, read));
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
                | "last"
                | ""
        );
        if let Some(year) = year_of(first).filter(|_| leads && before != "last") {
            return Some(Reading::date(1, self.of_year(year)));
        }
        // Day and month in either order, then the year.
        let range = first
            .split_once('-')
            .and_then(|(one, other)| Some((day_of(one)?, day_of(other)?)));
        let (number, rest) = match day_of(first).or(range.map(|range| range.1)) {
            Some(number) => (Some(number), 1 + usize::from(words.get(1) == Some(&"of"))),
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
        let mut spans = self.in_years(year, month, number);
        if let (Some((first, _)), Ok(spans)) = (range, &mut spans) {
            for span in spans {
                let day = self.day_of(span.since).with_day(first);
                span.since = day.map_or(span.since, |day| self.days(day, day).since);
            }
        }
        Some(Reading::date(used, spans))
    }

    fn of_year(&self, year: i32) -> Result<Vec<Span>, String> {
        self.year(year)
            .map(|span| vec![span])
            .ok_or_else(String::new)
    }

    /// An ISO day or month; an error for one that does not exist.
    fn iso(&self, word: &str) -> Option<Result<Vec<Span>, String>> {
        let mut parts = word.split(['-', '/']);
        let number = |part: &str, digits: usize| {
            let is_number = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| part.parse::<u32>().ok()).flatten()
        };
        let year = i32::try_from(number(parts.next()?, 4)?).ok()?;
        let month = number(parts.next()?, 2)?;
        let number_of_day = match parts.next() {
            None => None,
            Some(part) => Some(number(part, 2)?),
        };
        if parts.next().is_some() {
            return None;
        }
        Some(self.in_years(Some(year), month, number_of_day))
    }

    /// `02.11.2026`, the day first; `11/02/2026`, the month first in the Americas, the day first
    /// elsewhere, and the other way where only that is a day or has one.
    fn marked(&self, word: &str) -> Option<Result<Vec<Span>, String>> {
        let mark = word.chars().find(|c| matches!(c, '.' | '/'))?;
        let parts: Option<Vec<u32>> = word.split(mark).map(|part| part.parse().ok()).collect();
        let [one, other, year] = parts?[..] else {
            return None;
        };
        let year = i32::try_from(year)
            .ok()
            .filter(|year| (1970..2100).contains(year))?;
        let read = |number, month| self.in_years(Some(year), month, Some(number));
        let mut readings = vec![read(one, other)];
        if mark == '/' {
            readings.push(read(other, one));
            if self.is_in_the_americas() {
                readings.reverse();
            }
        }
        let spans: Vec<Span> = readings
            .iter()
            .filter_map(|read| read.as_ref().ok())
            .flatten()
            .copied()
            .collect();
        if spans.is_empty() {
            return readings.into_iter().next();
        }
        Some(Ok(spans))
    }

    fn is_in_the_americas(&self) -> bool {
        let offset: FixedOffset = match self.zone {
            Zone::Utc => return true,
            Zone::Fixed(offset) => offset,
            Zone::Machine => self.now.with_timezone(&Local).offset().fix(),
        };
        offset.local_minus_utc() <= 0
    }

    /// `early november`, `mid of october 2026`, `the first half of september`.
    fn part_of_month(&self, words: &[&str]) -> Option<Reading> {
        let (mut used, first, last) = match (*words.first()?, words.get(1).copied()) {
            ("first", Some("half")) => (2, 1, 15),
            ("second", Some("half")) => (2, 16, 31),
            ("early" | "beginning" | "start", _) => (1, 1, 10),
            ("mid" | "middle", _) => (1, 10, 20),
            ("late" | "end", _) => (1, 20, 31),
            _ => return None,
        };
        used += usize::from(words.get(used) == Some(&"of"));
        let month = month_of(words.get(used)?)?;
        used += 1;
        let year = words.get(used).and_then(|word| year_of(word));
        used += usize::from(year.is_some());
        let months = self.in_years(year, month, None).ok()?;
        let spans = months.into_iter().filter_map(|month| {
            let (begin, end) = (self.day_of(month.since), self.day_of(month.until));
            let begin = begin.with_day(first)?;
            Some(self.days(begin, end.with_day(last).unwrap_or(end)))
        });
        Some(Reading::date(used, Ok(spans.collect())))
    }

    /// `q3`, `q3 2025`, `third quarter of 2025`, `last quarter`.
    fn quarter(&self, words: &[&str]) -> Option<Reading> {
        let first = *words.first()?;
        let of = |year: i32, quarter: u32| {
            let begin = NaiveDate::from_ymd_opt(year, 3 * (quarter - 1) + 1, 1)?;
            let end = begin.checked_add_months(Months::new(3))?.pred_opt()?;
            Some(self.days(begin, end))
        };
        let today = self.today();
        let now = today.month().div_ceil(3);
        let is_word = words.get(1) == Some(&"quarter");
        if is_word && matches!(first, "last" | "this" | "previous") {
            let (year, quarter) = match (first, now) {
                ("this", now) => (today.year(), now),
                (_, 1) => (today.year() - 1, 4),
                (_, now) => (today.year(), now - 1),
            };
            return Some(Reading::counted(2, of(year, quarter)?));
        }
        let (_, quarter) = QUARTERS.iter().find(|(name, _)| *name == first)?;
        if !is_word && !first.starts_with('q') {
            return None;
        }
        let mut used = 1 + usize::from(is_word);
        used += usize::from(words.get(used) == Some(&"of"));
        let year = words.get(used).and_then(|word| year_of(word));
        let used = match year {
            Some(_) => used + 1,
            None => 1 + usize::from(is_word),
        };
        let latest = today.year() - i32::from(*quarter > now);
        let years = year.map_or_else(
            || (0..YEARS_BACK).map(|ago| latest - ago).collect(),
            |year| vec![year],
        );
        let spans = years.into_iter().filter_map(|year| of(year, *quarter));
        Some(Reading::date(used, Ok(spans.collect())))
    }

    /// `3 days ago`, `two weeks ago`, `vor zwei wochen`, `last 7 days`, `the past month`.
    fn counted(&self, words: &[&str]) -> Option<Reading> {
        let first = *words.first()?;
        let now = |since: DateTime<Utc>| Span {
            since,
            until: self.now,
        };
        if matches!(first, "last" | "past" | "previous") {
            let count = count_of(words.get(1)?)?;
            let since = self.back(count, words.get(2)?)?;
            return Some(Reading::counted(3, now(since)));
        }
        let (count, unit) = if first == "vor" {
            (count_of(words.get(1)?)?, *words.get(2)?)
        } else {
            (count_of(first)?, *words.get(1)?)
        };
        if first != "vor" && words.get(2) != Some(&"ago") {
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
        Some(Reading::counted(3, span))
    }

    /// `today`, `the day before yesterday`, `last week`, `semana pasada`, `this month`, `monday`.
    fn named(&self, words: &[&str], before: &str) -> Option<Reading> {
        let today = self.today();
        let back = |days: u64| today.checked_sub_days(Days::new(days));
        let one = |count: usize, day: NaiveDate| Reading::counted(count, self.days(day, day));
        let first = *words.first()?;
        match first {
            "today" | "tonight" => return Some(one(1, today)),
            "yesterday" => return Some(one(1, back(1)?)),
            "daybeforeyesterday" => return Some(one(1, back(2)?)),
            "day" if words.get(1..3) == Some(&["before", "yesterday"]) => {
                return Some(one(3, back(2)?));
            }
            _ => {}
        }
        let is_last = |word: &str| matches!(word, "last" | "past" | "previous");
        // Romance languages put it behind.
        let behind = words.get(1).is_some_and(|word| is_last(word));
        if is_last(first) || first == "this" || behind {
            let unit = if behind { first } else { *words.get(1)? };
            let last = is_last(first) || behind;
            let ago = u32::from(last);
            let span = match unit {
                "night" if last => self.days(back(1)?, back(1)?),
                "morning" | "afternoon" | "evening" if !last => self.days(today, today),
                "week" => self.week(back(7 * u64::from(ago))?)?,
                "weekend" => {
                    let sunday = self.weekday("sunday", last)?;
                    self.days(sunday.pred_opt()?, sunday)
                }
                "month" => {
                    let then = today.with_day(1)?.checked_sub_months(Months::new(ago))?;
                    self.month(then.year(), then.month())?
                }
                "year" => self.year(today.year() - i32::from(last))?,
                _ => {
                    let day = self.weekday(unit, last)?;
                    self.days(day, day)
                }
            };
            return Some(Reading::counted(2, span));
        }
        let leads = matches!(before, "on" | "since" | "until" | "before" | "after" | "");
        let day = self.weekday(first, false).filter(|_| leads)?;
        Some(Reading {
            weekday: true,
            ..one(1, day)
        })
    }

    /// `on the 2nd`: the last day of that number.
    fn day_alone(&self, words: &[&str], before: &str, second: &str) -> Option<Reading> {
        let first = *words.first()?;
        let number = day_of(first)
            .filter(|_| first.len() > first.trim_end_matches(char::is_alphabetic).len())?;
        let leads =
            before == "the" && matches!(second, "on" | "since" | "until" | "before" | "after");
        let ends = words.get(1).is_none_or(|next| AFTER_A_DAY.contains(next));
        if !leads || !ends {
            return None;
        }
        let today = self.today();
        let months =
            (0..12).filter_map(|ago| today.with_day(1)?.checked_sub_months(Months::new(ago)));
        let days = months.filter_map(|month| month.with_day(number).filter(|day| *day <= today));
        let spans: Vec<Span> = days.map(|day| self.days(day, day)).collect();
        (!spans.is_empty()).then(|| Reading::date(1, Ok(spans)))
    }

    /// The week, Monday to Sunday, that a day is in.
    pub(super) fn week(&self, day: NaiveDate) -> Option<Span> {
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
