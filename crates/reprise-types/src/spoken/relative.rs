//! Times relative to now: days, weeks, months and years ago, and days by their names.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeDelta, Utc, Weekday};

use super::date::position_in;
use super::reading::{TimeReading, skip_article};
use crate::calendar::{Calendar, TimeSpan};

const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

impl Calendar {
    /// Reads `3 days ago`, `a couple of weeks ago`, `vor zwei wochen`, `last 7 days` or `the past
    /// month`.
    pub(super) fn read_counted(&self, words: &[&str]) -> Option<TimeReading> {
        let first = *words.first()?;
        if matches!(first, "last" | "past" | "previous") {
            let rest = words.get(1..)?;
            let (_, most, unit, used) = read_count(rest).or_else(|| {
                let unit = *rest.first().filter(|_| first == "past")?;
                Some((1, 1, unit, 1))
            })?;
            let since = self.subtract_units(most, unit)?;
            let until = self.now;
            return Some(TimeReading::relative_to_now(
                1 + used,
                TimeSpan { since, until },
            ));
        }
        let leads = usize::from(first == "vor");
        let (least, most, unit, used) = read_count(words.get(leads..)?)?;
        let is_ago = matches!(words.get(used), Some(&"ago" | &"back"));
        if leads == 0 && !is_ago {
            return None;
        }
        let used = used + 1;
        let span = TimeSpan {
            until: self.span_of_past_unit(least, unit)?.until,
            ..self.span_of_past_unit(most, unit)?
        };
        Some(TimeReading::relative_to_now(used, span))
    }

    /// Returns the span of the day, week, month or year that was `count` units ago; for hours and
    /// minutes a span around that instant.
    fn span_of_past_unit(&self, count: u32, unit: &str) -> Option<TimeSpan> {
        let then = self.subtract_units(count, unit)?;
        let day = self.day_of(then);
        match parse_unit(unit)? {
            "day" => Some(self.span_of_days(day, day)),
            "week" => self.span_of_week(day),
            "month" => self.span_of_month(day.year(), day.month()),
            "year" => self.span_of_year(day.year()),
            unit => {
                // People say "an hour ago" of up to two hours.
                let one = self.now - self.subtract_units(1, unit)?;
                let about = (self.now - then) / 4;
                Some(TimeSpan {
                    since: then - about.max(one),
                    until: then + about,
                })
            }
        }
    }

    /// Reads `today`, `the day before yesterday`, `last week`, `semana pasada`, `this month` or
    /// `monday`.
    pub(super) fn read_named(
        &self,
        words: &[&str],
        before: &str,
        second: &str,
    ) -> Option<TimeReading> {
        let today = self.today();
        let back = |days: u64| today.checked_sub_days(Days::new(days));
        let one = |count: usize, day: NaiveDate| {
            TimeReading::relative_to_now(count, self.span_of_days(day, day))
        };
        let first = *words.first()?;
        match first {
            "today" | "tonight" => return Some(one(1, today)),
            "yesterday" => return Some(one(1, back(1)?)),
            "daybeforeyesterday" => return Some(one(1, back(2)?)),
            "day" if words.get(1..3) == Some(&["before", "yesterday"]) => {
                return Some(one(3, back(2)?));
            }
            "weekend" if before == "the" && matches!(second, "on" | "at" | "over" | "during") => {
                return Some(TimeReading {
                    is_bare_weekday: true,
                    ..TimeReading::relative_to_now(1, self.span_of_weekend(false)?)
                });
            }
            _ => {}
        }
        let is_last = |word: &str| matches!(word, "last" | "past" | "previous");
        // Romance languages have the word for `last` after the unit.
        let unit_first = words.get(1).is_some_and(|word| is_last(word));
        if is_last(first) || first == "this" || unit_first {
            let unit = if unit_first { first } else { *words.get(1)? };
            let last = is_last(first) || unit_first;
            let ago = u32::from(last);
            let span = match unit {
                // Last night ended this morning.
                "night" if last => TimeSpan {
                    until: self.span_of_days(today, today).since + TimeDelta::hours(6),
                    ..self.span_of_days(back(1)?, back(1)?)
                },
                "morning" | "afternoon" | "evening" if !last => self.span_of_days(today, today),
                "week" => self.span_of_week(back(7 * u64::from(ago))?)?,
                "weekend" => self.span_of_weekend(last)?,
                "month" => self.span_of_month_ago(ago)?,
                "year" => self.span_of_year(today.year() - i32::from(last))?,
                _ => {
                    let day = self.latest_weekday(unit, last)?;
                    self.span_of_days(day, day)
                }
            };
            let is_day = !last && (unit == "weekend" || parse_weekday(unit).is_some());
            return Some(TimeReading {
                is_bare_weekday: is_day,
                ..TimeReading::relative_to_now(2, span)
            });
        }
        let leads = matches!(
            before,
            "on" | "since" | "until" | "before" | "after" | "of" | "vor" | ""
        );
        let day = self.latest_weekday(first, false).filter(|_| leads)?;
        Some(TimeReading {
            is_bare_weekday: true,
            ..one(1, day)
        })
    }

    /// Returns the latest weekend, or if `strictly` the last one that is over; on a Saturday the
    /// latest has begun.
    fn span_of_weekend(&self, strictly: bool) -> Option<TimeSpan> {
        let today = self.today();
        let is_saturday = today.weekday() == Weekday::Sat && !strictly;
        let saturday = if is_saturday {
            today
        } else {
            self.latest_weekday("sunday", strictly)?.pred_opt()?
        };
        Some(self.span_of_days(saturday, saturday.succ_opt()?))
    }

    /// Reads `friday last week`, `friday, 13 november` or `fri 13 nov`.
    pub(super) fn read_weekday_of_period(&self, words: &[&str]) -> Option<TimeReading> {
        let name = *words.first()?;
        parse_weekday(name)?;
        let mut rest = words.get(1..)?;
        if rest.first() == Some(&"of") {
            rest = rest.get(1..)?;
        }
        let rest = skip_article(rest);
        let used = words.len() - rest.len();
        let whole = self
            .read_date(rest, "on")
            .or_else(|| self.read_numbered_week(rest))
            .or_else(|| self.read_named(rest, "on", ""))?;
        let words = used + whole.word_count;
        whole.map_spans(words, |span| {
            let days = (self.day_of(span.until) - self.day_of(span.since)).num_days();
            match days {
                0 => Some(span),
                6 => self.day_in_week(span, name),
                _ => None,
            }
        })
    }

    /// Returns the day of this name in a week.
    pub(super) fn day_in_week(&self, week: TimeSpan, name: &str) -> Option<TimeSpan> {
        let monday = self.day_of(week.since);
        let is_week = self.day_of(week.until) == monday.checked_add_days(Days::new(6))?;
        let into = Days::new(u64::from(parse_weekday(name).filter(|_| is_week)?));
        let day = monday.checked_add_days(into)?;
        Some(self.span_of_days(day, day))
    }

    /// Returns the week, Monday to Sunday, that a day is in.
    pub(super) fn span_of_week(&self, day: NaiveDate) -> Option<TimeSpan> {
        let into = u64::from(day.weekday().num_days_from_monday());
        let monday = day.checked_sub_days(Days::new(into))?;
        Some(self.span_of_days(monday, monday.checked_add_days(Days::new(6))?))
    }

    pub(super) fn span_of_month_ago(&self, ago: u32) -> Option<TimeSpan> {
        let then = self
            .today()
            .with_day(1)?
            .checked_sub_months(Months::new(ago))?;
        self.span_of_month(then.year(), then.month())
    }

    /// Returns the latest day of this name: up to today, or if `strictly` before today.
    fn latest_weekday(&self, name: &str, strictly: bool) -> Option<NaiveDate> {
        let wanted = parse_weekday(name).filter(|_| name.len() > 3)?;
        let today = self.today();
        let ago = (today.weekday().num_days_from_monday() + 7 - wanted) % 7;
        let ago = if ago == 0 && strictly { 7 } else { ago };
        today.checked_sub_days(Days::new(u64::from(ago)))
    }

    fn subtract_units(&self, count: u32, unit: &str) -> Option<DateTime<Utc>> {
        let many = i64::from(count);
        let delta = match parse_unit(unit)? {
            "minute" => TimeDelta::try_minutes(many)?,
            "hour" => TimeDelta::try_hours(many)?,
            "day" => TimeDelta::try_days(many)?,
            "week" => TimeDelta::try_weeks(many)?,
            unit => {
                let months = count.checked_mul(if unit == "year" { 12 } else { 1 })?;
                return self.now.checked_sub_months(Months::new(months));
            }
        };
        self.now.checked_sub_signed(delta)
    }
}

/// Reads `a couple of weeks`, `3 days` or `2w`. Returns the least and the greatest count that is
/// meant, the unit, and the number of words.
fn read_count<'w>(words: &[&'w str]) -> Option<(u32, u32, &'w str, usize)> {
    let first = *words.first()?;
    let digits = first.trim_end_matches(char::is_alphabetic);
    if let (Some(unit), Ok(many)) = (first.get(digits.len()..), digits.parse())
        && !unit.is_empty()
    {
        return parse_unit(unit).map(|_| (many, many, unit, 1));
    }
    let article = matches!(first, "a" | "an");
    let next = if article {
        words.get(1).copied()
    } else {
        Some(first)
    };
    let (least, most) = match next {
        Some("couple") => (2, 3),
        Some("few") => (2, 5),
        Some("several") => (3, 7),
        _ => {
            let number = position_in(&NUMBERS, first).map(|place| place - 1);
            let many = number.or_else(|| first.parse().ok());
            let many = if article { 1 } else { many? };
            return Some((many, many, words.get(1)?, 2));
        }
    };
    let at = 1 + usize::from(article);
    let at = at + usize::from(words.get(at) == Some(&"of"));
    Some((least, most, words.get(at)?, at + 1))
}

fn parse_unit(word: &str) -> Option<&str> {
    Some(match word {
        "minute" | "minutes" | "min" => "minute",
        "hour" | "hours" | "h" => "hour",
        "day" | "days" | "d" => "day",
        "week" | "weeks" | "w" => "week",
        "month" | "months" => "month",
        "year" | "years" | "y" => "year",
        _ => return None,
    })
}

/// Parses a day of the week by its name or the first three letters of it; Monday is 0.
pub(super) fn parse_weekday(word: &str) -> Option<u32> {
    let day: Weekday = word.parse().ok()?;
    Some(day.num_days_from_monday())
}
