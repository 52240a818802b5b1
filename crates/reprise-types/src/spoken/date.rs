//! Dates of a calendar: days, weeks by their number, months, quarters and years.

use chrono::{Datelike, Days, Month, Months, NaiveDate, Weekday};

use super::reading::{TimeReading, skip_article};
use crate::calendar::{Calendar, TimeSpan, checked_date};

/// How many years back a day without a year is searched for.
const YEARS_BACK: i32 = 30;
const ORDINALS: [&str; 4] = ["first", "second", "third", "fourth"];
/// Words that may follow `the 2nd` if it is a day; another word would be the second of something.
const AFTER_A_DAY: &str = "about and at did for i in of on or regarding that the to was we were \
    what when where who why with she he it they";

impl Calendar {
    /// Reads `2026-02-16`, `02.11.2026`, `april 2019`, `7 april`, `april the 7th, 2019`, `in 2019`
    /// or `in march`.
    pub(super) fn read_date(&self, words: &[&str], before: &str) -> Option<TimeReading> {
        const LEADS: &str = "in since until till during before after of for from vor last";
        let first = *words.first()?;
        if let Some(read) = self
            .parse_iso_date(first)
            .or_else(|| self.parse_numeric_date(first, before))
        {
            return Some(TimeReading::absolute(1, read));
        }
        let leads = before.is_empty() || LEADS.split(' ').any(|lead| lead == before);
        let skip = |at: usize, word: &str| at + usize::from(words.get(at) == Some(&word));
        // The year may come first, or alone.
        let mut year = parse_year(first);
        let mut used = usize::from(year.is_some());
        let mut number = None;
        let day_first = words.get(used).and_then(|word| {
            let ordinal = words.get(used + 1) == Some(&"of");
            parse_day(word).or_else(|| position_in(&ORDINALS, word).filter(|_| ordinal))
        });
        if day_first.is_some() {
            number = day_first;
            used = skip(used + 1, "of");
        }
        let Some(month) = words.get(used).and_then(|word| parse_month(word)) else {
            let year = year.filter(|_| leads && before != "last")?;
            let spans = self.span_of_year(year).ok_or_else(String::new);
            return Some(TimeReading::absolute(1, spans.map(|span| vec![span])));
        };
        used += 1;
        let at = skip(used, "the");
        if let Some(day) = words.get(at).and_then(|word| parse_day(word))
            && number.is_none()
        {
            (number, used) = (Some(day), at + 1);
        }
        let at = skip(used, "of");
        if let Some(behind) = words.get(at).and_then(|word| parse_year(word))
            && year.is_none()
        {
            (year, used) = (Some(behind), at + 1);
        }
        if number.is_none() && year.is_none() && (!leads || (before.is_empty() && words.len() > 1))
        {
            // `march` and `may` are words too.
            return None;
        }
        Some(TimeReading::absolute(
            used,
            self.resolve_years(year, month, number),
        ))
    }

    /// Returns a day, or a month if there is no day, in a year; without a year the last one and
    /// those of the years before.
    fn resolve_years(
        &self,
        year: Option<i32>,
        month: u32,
        number: Option<u32>,
    ) -> Result<Vec<TimeSpan>, String> {
        let of = |year: i32| match number {
            Some(number) => {
                checked_date(year, month, number).map(|day| self.span_of_days(day, day))
            }
            None => self
                .span_of_month(year, month)
                .ok_or_else(|| "a year has 12 months".to_owned()),
        };
        if let Some(year) = year {
            return Ok(vec![of(year)?]);
        }
        let today = self.today();
        let later = (month, number.unwrap_or(1)) > (today.month(), today.day());
        let latest = today.year() - i32::from(later);
        let spans: Vec<TimeSpan> = years_back_from(latest)
            .filter_map(|year| of(year).ok())
            .collect();
        if spans.is_empty() {
            return of(latest).map(|span| vec![span]);
        }
        Ok(spans)
    }

    /// Parses an ISO day or month; the inner error is why it does not exist.
    fn parse_iso_date(&self, word: &str) -> Option<Result<Vec<TimeSpan>, String>> {
        let mut parts = word.split(['-', '/', '.']);
        let number = |part: &str, digits: usize| {
            let is_number = part.len() == digits && part.chars().all(is_digit);
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
        Some(self.resolve_years(Some(year), month, number_of_day))
    }

    /// Parses `02.11.2026` and `2.11.` with the day first, and `11/02/2026` with the month first in
    /// the Americas and the day first elsewhere; the other order is the second meaning, or the only
    /// one if just that is a date.
    fn parse_numeric_date(
        &self,
        word: &str,
        before: &str,
    ) -> Option<Result<Vec<TimeSpan>, String>> {
        let mark = word.chars().find(|c| matches!(c, '.' | '/' | '-'))?;
        let parts: Vec<&str> = word.trim_end_matches('.').split(mark).collect();
        let numbers: Option<Vec<u32>> = parts.iter().map(|part| part.parse().ok()).collect();
        let (one, other, year) = match (numbers?.as_slice(), word.len()) {
            (&[one, other, year], _) if (1970..2100).contains(&year) => (one, other, Some(year)),
            // `02.11.26`
            (&[one, other, year], 8) if mark != '-' => (one, other, Some(2000 + year)),
            (&[one, other], _) if word.ends_with('.') => {
                let leads = matches!(before, "on" | "since" | "until" | "from" | "the" | "after");
                (one, other, leads.then_some(None)?)
            }
            _ => return None,
        };
        let year = year.and_then(|year| i32::try_from(year).ok());
        let read = |number, month| self.resolve_years(year, month, Some(number));
        let mut readings = vec![read(one, other)];
        if mark == '/' {
            readings.push(read(other, one));
            if self.is_in_the_americas() {
                readings.reverse();
            }
        }
        let found = readings.iter().filter_map(|read| read.as_ref().ok());
        let spans: Vec<TimeSpan> = found.flatten().copied().collect();
        if spans.is_empty() {
            return readings.into_iter().next();
        }
        Some(Ok(spans))
    }

    fn is_in_the_americas(&self) -> bool {
        self.to_local(self.now).offset().local_minus_utc() <= 0
    }

    /// Reads `q3`, `q3 2025`, `2025-q3`, `third quarter of 2025` or `last quarter`.
    pub(super) fn read_quarter(&self, words: &[&str]) -> Option<TimeReading> {
        let of = |year: i32, quarter: u32| {
            let begin = NaiveDate::from_ymd_opt(year, 3 * (quarter - 1) + 1, 1)?;
            let end = begin.checked_add_months(Months::new(3))?.pred_opt()?;
            Some(self.span_of_days(begin, end))
        };
        let first = *words.first()?;
        let today = self.today();
        let now = today.month().div_ceil(3);
        let is_word = words.get(1) == Some(&"quarter");
        if is_word && matches!(first, "last" | "this" | "previous" | "past") {
            let (year, quarter) = match (first, now) {
                ("this", now) => (today.year(), now),
                (_, 1) => (today.year() - 1, 4),
                (_, now) => (today.year(), now - 1),
            };
            return Some(TimeReading::relative_to_now(2, of(year, quarter)?));
        }
        let by_name = |word: &str| {
            let number = word.strip_prefix('q')?.parse().ok()?;
            (1..=4).contains(&number).then_some(number)
        };
        let (one, other) = first.split_once(['-', '/']).unwrap_or((first, ""));
        let written = by_name(one).zip(parse_year(other));
        let written = written.or_else(|| by_name(other).zip(parse_year(one)));
        if let Some((quarter, year)) = written {
            return Some(TimeReading::absolute(1, Ok(vec![of(year, quarter)?])));
        }
        let next = words.get(1).and_then(|word| by_name(word));
        if let (Some(year), Some(quarter)) = (parse_year(first), next) {
            return Some(TimeReading::absolute(2, Ok(vec![of(year, quarter)?])));
        }
        let by_place = || position_in(&ORDINALS, first).or_else(|| parse_day(first));
        let quarter = if is_word {
            by_place().filter(|quarter| (1..=4).contains(quarter))?
        } else {
            by_name(first)?
        };
        let used = 1 + usize::from(is_word);
        let at = used + usize::from(words.get(used) == Some(&"of"));
        if let Some(year) = words.get(at).and_then(|word| parse_year(word)) {
            return Some(TimeReading::absolute(at + 1, Ok(vec![of(year, quarter)?])));
        }
        let latest = today.year() - i32::from(quarter > now);
        let spans = years_back_from(latest).filter_map(|year| of(year, quarter));
        Some(TimeReading::absolute(used, Ok(spans.collect())))
    }

    /// Reads `calendar week 45`, `kw 45 2025`, `2026-w07`, `the week of november 2` or `week before
    /// last`.
    pub(super) fn read_numbered_week(&self, words: &[&str]) -> Option<TimeReading> {
        let first = *words.first()?;
        let of = |year: i32, week: u32| {
            self.span_of_week(NaiveDate::from_isoywd_opt(year, week, Weekday::Mon)?)
        };
        if let Some((year, week)) = first.split_once("-w") {
            let span = of(parse_year(year)?, week.parse().ok()?)?;
            return Some(TimeReading::absolute(1, Ok(vec![span])));
        }
        if words.get(1..3) == Some(&["before", "last"]) {
            let today = self.today();
            let span = match first {
                "week" => self.span_of_week(today.checked_sub_days(Days::new(14))?)?,
                "month" => self.span_of_month_ago(2)?,
                "year" => self.span_of_year(today.year() - 2)?,
                _ => return None,
            };
            return Some(TimeReading::relative_to_now(3, span));
        }
        if first == "week" && words.get(1) == Some(&"of") {
            let rest = skip_article(words.get(2..)?);
            let date = self.read_date(rest, "").or_else(|| {
                let number = rest.first().filter(|word| word.len() > 2)?;
                self.read_day_of_month(&[number], "the", "on")
            })?;
            let used = words.len() - rest.len() + date.word_count;
            return date.map_spans(used, |span| {
                let day = self.day_of(span.since);
                (day == self.day_of(span.until)).then(|| self.span_of_week(day))?
            });
        }
        let (at, number) = match first {
            "calendar" | "iso" if words.get(1) == Some(&"week") => (2, *words.get(2)?),
            "kw" | "cw" => (1, *words.get(1)?),
            _ => (0, first.strip_prefix("kw").or(first.strip_prefix("cw"))?),
        };
        let week: u32 = number.parse().ok()?;
        let year = words.get(at + 1).and_then(|word| parse_year(word));
        let used = at + 1 + usize::from(year.is_some());
        let today = self.today().iso_week();
        let latest = today.year() - i32::from(week > today.week());
        let spans = year.map_or_else(
            || {
                years_back_from(latest)
                    .filter_map(|year| of(year, week))
                    .collect()
            },
            |year| of(year, week).into_iter().collect::<Vec<_>>(),
        );
        (!spans.is_empty()).then(|| TimeReading::absolute(used, Ok(spans)))
    }

    /// Reads `on the 2nd` as the last day of that number, and those of the months before.
    pub(super) fn read_day_of_month(
        &self,
        words: &[&str],
        before: &str,
        second: &str,
    ) -> Option<TimeReading> {
        let first = *words.first()?;
        let number = parse_day(first).filter(|_| !first.ends_with(is_digit))?;
        let leads =
            before == "the" && matches!(second, "on" | "since" | "until" | "before" | "after");
        let mut followed = AFTER_A_DAY.split(' ');
        let ends = words
            .get(1)
            .is_none_or(|next| followed.any(|word| word == *next));
        if !leads || !ends {
            return None;
        }
        let today = self.today();
        let months =
            (0..12).filter_map(|ago| today.with_day(1)?.checked_sub_months(Months::new(ago)));
        let days = months.filter_map(|month| month.with_day(number).filter(|day| *day <= today));
        let spans: Vec<TimeSpan> = days.map(|day| self.span_of_days(day, day)).collect();
        (!spans.is_empty()).then(|| TimeReading::absolute(1, Ok(spans)))
    }
}

fn years_back_from(latest: i32) -> impl Iterator<Item = i32> {
    (0..YEARS_BACK).map(move |ago| latest - ago)
}

pub(super) fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Returns the position of a word in a list, from 1 on.
pub(super) fn position_in(words: &[&str], word: &str) -> Option<u32> {
    let at = words.iter().position(|known| *known == word)?;
    Some(at as u32 + 1)
}

fn parse_year(word: &str) -> Option<i32> {
    let year: i32 = (word.len() == 4).then(|| word.parse().ok()).flatten()?;
    (1970..2100).contains(&year).then_some(year)
}

/// Parses a day of a month such as `7` or `7th`, of up to two digits.
pub(super) fn parse_day(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = word.get(digits.len()..)?;
    let known = matches!(suffix, "" | "st" | "nd" | "rd" | "th" | "er");
    (known && (1..=2).contains(&digits.len()))
        .then(|| digits.parse().ok())
        .flatten()
}

/// Parses a month by its name or the first three letters of it.
fn parse_month(word: &str) -> Option<u32> {
    let word = if word == "sept" { "sep" } else { word };
    let month: Month = word.parse().ok()?;
    Some(month.number_from_month())
}
