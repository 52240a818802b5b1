//! Times counted from now: days, weeks, months and years ago, and days by their names.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeDelta, Utc, Weekday};

use super::date::place;
use super::read::{Reading, without_the};
use crate::calendar::{Calendar, Span};

const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

impl Calendar {
    /// `3 days ago`, `a couple of weeks ago`, `vor zwei wochen`, `last 7 days`, `the past month`.
    pub(super) fn counted(&self, words: &[&str]) -> Option<Reading> {
        let first = *words.first()?;
        if matches!(first, "last" | "past" | "previous") {
            let rest = words.get(1..)?;
            let (_, most, unit, used) = count(rest).or_else(|| {
                let unit = *rest.first().filter(|_| first == "past")?;
                Some((1, 1, unit, 1))
            })?;
            let since = self.back(most, unit)?;
            let until = self.now;
            return Some(Reading::counted(1 + used, Span { since, until }));
        }
        let leads = usize::from(first == "vor");
        let (least, most, unit, used) = count(words.get(leads..)?)?;
        let is_ago = matches!(words.get(used), Some(&"ago" | &"back"));
        if leads == 0 && !is_ago {
            return None;
        }
        let used = used + 1;
        let span = Span {
            until: self.around(least, unit)?.until,
            ..self.around(most, unit)?
        };
        Some(Reading::counted(used, span))
    }

    /// The day, week, month or year that was so many ago; of hours and minutes about so many.
    fn around(&self, count: u32, unit: &str) -> Option<Span> {
        let then = self.back(count, unit)?;
        let day = self.day_of(then);
        match unit_of(unit)? {
            "day" => Some(self.days(day, day)),
            "week" => self.week(day),
            "month" => self.month(day.year(), day.month()),
            "year" => self.year(day.year()),
            unit => {
                // What is called an hour ago may be nearly two.
                let one = self.now - self.back(1, unit)?;
                let about = (self.now - then) / 4;
                Some(Span {
                    since: then - about.max(one),
                    until: then + about,
                })
            }
        }
    }

    /// `today`, `the day before yesterday`, `last week`, `semana pasada`, `this month`, `monday`.
    pub(super) fn named(&self, words: &[&str], before: &str, second: &str) -> Option<Reading> {
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
            "weekend" if before == "the" && matches!(second, "on" | "at" | "over" | "during") => {
                return Some(Reading {
                    weekday: true,
                    ..Reading::counted(1, self.weekend(false)?)
                });
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
                // It ended in the morning.
                "night" if last => Span {
                    until: self.days(today, today).since + TimeDelta::hours(6),
                    ..self.days(back(1)?, back(1)?)
                },
                "morning" | "afternoon" | "evening" if !last => self.days(today, today),
                "week" => self.week(back(7 * u64::from(ago))?)?,
                "weekend" => self.weekend(last)?,
                "month" => self.month_ago(ago)?,
                "year" => self.year(today.year() - i32::from(last))?,
                _ => {
                    let day = self.weekday(unit, last)?;
                    self.days(day, day)
                }
            };
            let is_day = !last && (unit == "weekend" || weekday_of(unit).is_some());
            return Some(Reading {
                weekday: is_day,
                ..Reading::counted(2, span)
            });
        }
        let leads = matches!(
            before,
            "on" | "since" | "until" | "before" | "after" | "of" | "vor" | ""
        );
        let day = self.weekday(first, false).filter(|_| leads)?;
        Some(Reading {
            weekday: true,
            ..one(1, day)
        })
    }

    /// The latest weekend, or where `strictly` the last that is over; on a Saturday it has begun.
    fn weekend(&self, strictly: bool) -> Option<Span> {
        let today = self.today();
        let is_saturday = today.weekday() == Weekday::Sat && !strictly;
        let saturday = if is_saturday {
            today
        } else {
            self.weekday("sunday", strictly)?.pred_opt()?
        };
        Some(self.days(saturday, saturday.succ_opt()?))
    }

    /// `friday last week`, `friday, 13 november`, `fri 13 nov`.
    pub(super) fn weekday_of_period(&self, words: &[&str]) -> Option<Reading> {
        let name = *words.first()?;
        weekday_of(name)?;
        let mut rest = words.get(1..)?;
        if rest.first() == Some(&"of") {
            rest = rest.get(1..)?;
        }
        let rest = without_the(rest);
        let used = words.len() - rest.len();
        let whole = self
            .dated(rest, "on")
            .or_else(|| self.week_by_number(rest))
            .or_else(|| self.named(rest, "on", ""))?;
        let words = used + whole.words;
        whole.each(words, |span| {
            let days = (self.day_of(span.until) - self.day_of(span.since)).num_days();
            match days {
                0 => Some(span),
                6 => self.day_of_week(span, name),
                _ => None,
            }
        })
    }

    /// The day of this name in a week.
    pub(super) fn day_of_week(&self, week: Span, name: &str) -> Option<Span> {
        let monday = self.day_of(week.since);
        let is_week = self.day_of(week.until) == monday.checked_add_days(Days::new(6))?;
        let into = Days::new(u64::from(weekday_of(name).filter(|_| is_week)?));
        let day = monday.checked_add_days(into)?;
        Some(self.days(day, day))
    }

    /// The week, Monday to Sunday, that a day is in.
    pub(super) fn week(&self, day: NaiveDate) -> Option<Span> {
        let into = u64::from(day.weekday().num_days_from_monday());
        let monday = day.checked_sub_days(Days::new(into))?;
        Some(self.days(monday, monday.checked_add_days(Days::new(6))?))
    }

    pub(super) fn month_ago(&self, ago: u32) -> Option<Span> {
        let then = self
            .today()
            .with_day(1)?
            .checked_sub_months(Months::new(ago))?;
        self.month(then.year(), then.month())
    }

    /// The latest day of this name: today, or where `strictly` before today.
    fn weekday(&self, name: &str, strictly: bool) -> Option<NaiveDate> {
        let wanted = weekday_of(name).filter(|_| name.len() > 3)?;
        let today = self.today();
        let ago = (today.weekday().num_days_from_monday() + 7 - wanted) % 7;
        let ago = if ago == 0 && strictly { 7 } else { ago };
        today.checked_sub_days(Days::new(u64::from(ago)))
    }

    fn back(&self, count: u32, unit: &str) -> Option<DateTime<Utc>> {
        let many = i64::from(count);
        let delta = match unit_of(unit)? {
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

/// `a couple of weeks`, `3 days`, `2w`: the least and the most that is meant, of what, in how many
/// words.
fn count<'w>(words: &[&'w str]) -> Option<(u32, u32, &'w str, usize)> {
    let first = *words.first()?;
    let digits = first.trim_end_matches(char::is_alphabetic);
    if let (Some(unit), Ok(many)) = (first.get(digits.len()..), digits.parse())
        && !unit.is_empty()
    {
        return unit_of(unit).map(|_| (many, many, unit, 1));
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
            let number = place(&NUMBERS, first).map(|place| place - 1);
            let many = number.or_else(|| first.parse().ok());
            let many = if article { 1 } else { many? };
            return Some((many, many, words.get(1)?, 2));
        }
    };
    let at = 1 + usize::from(article);
    let at = at + usize::from(words.get(at) == Some(&"of"));
    Some((least, most, words.get(at)?, at + 1))
}

fn unit_of(word: &str) -> Option<&str> {
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

/// A day of the week, from Monday on, by its name or by the first three letters of it.
pub(super) fn weekday_of(word: &str) -> Option<u32> {
    let day: Weekday = word.parse().ok()?;
    Some(day.num_days_from_monday())
}
