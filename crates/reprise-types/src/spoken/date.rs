//! Dates of a calendar: days, weeks by their number, months, quarters and years.

use chrono::{Datelike, Days, Month, Months, NaiveDate, Weekday};

use super::read::{Reading, without_the};
use crate::calendar::{Calendar, Span, day};

/// How many years back a day without a year is looked for.
const YEARS_BACK: i32 = 30;
const ORDINALS: [&str; 4] = ["first", "second", "third", "fourth"];
/// Words after `the 2nd` that are not what is the second.
const AFTER_A_DAY: &str = "about and at did for i in of on or regarding that the to was we were \
    what when where who why with she he it they";

impl Calendar {
    /// `2026-02-16`, `02.11.2026`, `april 2019`, `7 april`, `april the 7th, 2019`, `in 2019`,
    /// `in march`.
    pub(super) fn dated(&self, words: &[&str], before: &str) -> Option<Reading> {
        const LEADS: &str = "in since until till during before after of for from vor last";
        let first = *words.first()?;
        if let Some(read) = self.iso(first).or_else(|| self.marked(first, before)) {
            return Some(Reading::date(1, read));
        }
        let leads = before.is_empty() || LEADS.split(' ').any(|lead| lead == before);
        let skip = |at: usize, word: &str| at + usize::from(words.get(at) == Some(&word));
        // The year may stand first, or alone.
        let mut year = year_of(first);
        let mut used = usize::from(year.is_some());
        let mut number = None;
        let day_first = words.get(used).and_then(|word| {
            let ordinal = words.get(used + 1) == Some(&"of");
            day_of(word).or_else(|| place(&ORDINALS, word).filter(|_| ordinal))
        });
        if day_first.is_some() {
            number = day_first;
            used = skip(used + 1, "of");
        }
        let Some(month) = words.get(used).and_then(|word| month_of(word)) else {
            let year = year.filter(|_| leads && before != "last")?;
            let spans = self.year(year).ok_or_else(String::new);
            return Some(Reading::date(1, spans.map(|span| vec![span])));
        };
        used += 1;
        let at = skip(used, "the");
        if let Some(day) = words.get(at).and_then(|word| day_of(word))
            && number.is_none()
        {
            (number, used) = (Some(day), at + 1);
        }
        let at = skip(used, "of");
        if let Some(behind) = words.get(at).and_then(|word| year_of(word))
            && year.is_none()
        {
            (year, used) = (Some(behind), at + 1);
        }
        if number.is_none() && year.is_none() && (!leads || (before.is_empty() && words.len() > 1))
        {
            // `march` and `may` are words too.
            return None;
        }
        Some(Reading::date(used, self.in_years(year, month, number)))
    }

    /// A day, or a month without one, in a year; without a year in the last one that had it, and in
    /// those before.
    fn in_years(
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
        let spans: Vec<Span> = years_from(latest)
            .filter_map(|year| of(year).ok())
            .collect();
        if spans.is_empty() {
            return of(latest).map(|span| vec![span]);
        }
        Ok(spans)
    }

    /// An ISO day or month; an error for one that does not exist.
    fn iso(&self, word: &str) -> Option<Result<Vec<Span>, String>> {
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
        Some(self.in_years(Some(year), month, number_of_day))
    }

    /// `02.11.2026` and `2.11.`, the day first; `11/02/2026`, the month first in the Americas, the
    /// day first elsewhere, and the other way where only that is a day or has one.
    fn marked(&self, word: &str, before: &str) -> Option<Result<Vec<Span>, String>> {
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
        let read = |number, month| self.in_years(year, month, Some(number));
        let mut readings = vec![read(one, other)];
        if mark == '/' {
            readings.push(read(other, one));
            if self.is_in_the_americas() {
                readings.reverse();
            }
        }
        let found = readings.iter().filter_map(|read| read.as_ref().ok());
        let spans: Vec<Span> = found.flatten().copied().collect();
        if spans.is_empty() {
            return readings.into_iter().next();
        }
        Some(Ok(spans))
    }

    fn is_in_the_americas(&self) -> bool {
        self.local(self.now).offset().local_minus_utc() <= 0
    }

    /// `q3`, `q3 2025`, `2025-q3`, `third quarter of 2025`, `last quarter`.
    pub(super) fn quarter(&self, words: &[&str]) -> Option<Reading> {
        let of = |year: i32, quarter: u32| {
            let begin = NaiveDate::from_ymd_opt(year, 3 * (quarter - 1) + 1, 1)?;
            let end = begin.checked_add_months(Months::new(3))?.pred_opt()?;
            Some(self.days(begin, end))
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
            return Some(Reading::counted(2, of(year, quarter)?));
        }
        let by_name = |word: &str| {
            let number = word.strip_prefix('q')?.parse().ok()?;
            (1..=4).contains(&number).then_some(number)
        };
        let (one, other) = first.split_once(['-', '/']).unwrap_or((first, ""));
        let written = by_name(one).zip(year_of(other));
        let written = written.or_else(|| by_name(other).zip(year_of(one)));
        if let Some((quarter, year)) = written {
            return Some(Reading::date(1, Ok(vec![of(year, quarter)?])));
        }
        let next = words.get(1).and_then(|word| by_name(word));
        if let (Some(year), Some(quarter)) = (year_of(first), next) {
            return Some(Reading::date(2, Ok(vec![of(year, quarter)?])));
        }
        let by_place = || place(&ORDINALS, first).or_else(|| day_of(first));
        let quarter = if is_word {
            by_place().filter(|quarter| (1..=4).contains(quarter))?
        } else {
            by_name(first)?
        };
        let used = 1 + usize::from(is_word);
        let at = used + usize::from(words.get(used) == Some(&"of"));
        if let Some(year) = words.get(at).and_then(|word| year_of(word)) {
            return Some(Reading::date(at + 1, Ok(vec![of(year, quarter)?])));
        }
        let latest = today.year() - i32::from(quarter > now);
        let spans = years_from(latest).filter_map(|year| of(year, quarter));
        Some(Reading::date(used, Ok(spans.collect())))
    }

    /// `calendar week 45`, `kw 45 2025`, `2026-w07`, `the week of november 2`, `week before last`.
    pub(super) fn week_by_number(&self, words: &[&str]) -> Option<Reading> {
        let first = *words.first()?;
        let of =
            |year: i32, week: u32| self.week(NaiveDate::from_isoywd_opt(year, week, Weekday::Mon)?);
        if let Some((year, week)) = first.split_once("-w") {
            let span = of(year_of(year)?, week.parse().ok()?)?;
            return Some(Reading::date(1, Ok(vec![span])));
        }
        if words.get(1..3) == Some(&["before", "last"]) {
            let today = self.today();
            let span = match first {
                "week" => self.week(today.checked_sub_days(Days::new(14))?)?,
                "month" => self.month_ago(2)?,
                "year" => self.year(today.year() - 2)?,
                _ => return None,
            };
            return Some(Reading::counted(3, span));
        }
        if first == "week" && words.get(1) == Some(&"of") {
            let rest = without_the(words.get(2..)?);
            let date = self.dated(rest, "").or_else(|| {
                let number = rest.first().filter(|word| word.len() > 2)?;
                self.day_alone(&[number], "the", "on")
            })?;
            let used = words.len() - rest.len() + date.words;
            return date.each(used, |span| {
                let day = self.day_of(span.since);
                (day == self.day_of(span.until)).then(|| self.week(day))?
            });
        }
        let (at, number) = match first {
            "calendar" | "iso" if words.get(1) == Some(&"week") => (2, *words.get(2)?),
            "kw" | "cw" => (1, *words.get(1)?),
            _ => (0, first.strip_prefix("kw").or(first.strip_prefix("cw"))?),
        };
        let week: u32 = number.parse().ok()?;
        let year = words.get(at + 1).and_then(|word| year_of(word));
        let used = at + 1 + usize::from(year.is_some());
        let today = self.today().iso_week();
        let latest = today.year() - i32::from(week > today.week());
        let spans = year.map_or_else(
            || {
                years_from(latest)
                    .filter_map(|year| of(year, week))
                    .collect()
            },
            |year| of(year, week).into_iter().collect::<Vec<_>>(),
        );
        (!spans.is_empty()).then(|| Reading::date(used, Ok(spans)))
    }

    /// `on the 2nd`: the last day of that number.
    pub(super) fn day_alone(&self, words: &[&str], before: &str, second: &str) -> Option<Reading> {
        let first = *words.first()?;
        let number = day_of(first).filter(|_| !first.ends_with(is_digit))?;
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
        let spans: Vec<Span> = days.map(|day| self.days(day, day)).collect();
        (!spans.is_empty()).then(|| Reading::date(1, Ok(spans)))
    }
}

fn years_from(latest: i32) -> impl Iterator<Item = i32> {
    (0..YEARS_BACK).map(move |ago| latest - ago)
}

pub(super) fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// The place of a word in a list, from 1 on.
pub(super) fn place(words: &[&str], word: &str) -> Option<u32> {
    let at = words.iter().position(|known| *known == word)?;
    Some(at as u32 + 1)
}

fn year_of(word: &str) -> Option<i32> {
    let year: i32 = (word.len() == 4).then(|| word.parse().ok()).flatten()?;
    (1970..2100).contains(&year).then_some(year)
}

/// `7`, `7th`; up to two digits.
pub(super) fn day_of(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = word.get(digits.len()..)?;
    let known = matches!(suffix, "" | "st" | "nd" | "rd" | "th" | "er");
    (known && (1..=2).contains(&digits.len()))
        .then(|| digits.parse().ok())
        .flatten()
}

/// A month by its name, or by how that begins.
fn month_of(word: &str) -> Option<u32> {
    let word = if word == "sept" { "sep" } else { word };
    let month: Month = word.parse().ok()?;
    Some(month.number_from_month())
}
