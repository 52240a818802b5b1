//! Parsing of a time argument: `2026-02`, `7d`, `last week`, RFC 3339.

use chrono::{DateTime, Months, NaiveTime, TimeDelta, Utc};

use crate::calendar::{Calendar, TIME_RESOLUTION, TimeError, TimeSpan};
use crate::spoken;

impl Calendar {
    /// Parses a time argument to the span that it names.
    pub fn parse_span(&self, text: &str) -> Result<TimeSpan, TimeError> {
        let text = text.trim();
        let unknown = || TimeError::Unknown {
            text: text.chars().take(64).collect(),
        };
        if let Some((since, length)) = self.zone.parse_exact(text) {
            let until = since.checked_add_signed(length - TIME_RESOLUTION);
            let until = until.map_or(since, |until| until.max(since));
            return Ok(TimeSpan { since, until });
        }
        if let Some(ago) = parse_short_offset(text) {
            return self.resolve_offset(&ago).ok_or_else(unknown);
        }
        match spoken::parse_whole_text(self, text) {
            Some(read) => read,
            None => Err(unknown()),
        }
    }

    /// Parses a time argument to its first instant, for a lower bound.
    pub fn parse_since(&self, text: &str) -> Result<DateTime<Utc>, TimeError> {
        self.parse_span(text).map(|span| span.since)
    }

    /// Parses a time argument to its last instant, for an upper bound.
    pub fn parse_until(&self, text: &str) -> Result<DateTime<Utc>, TimeError> {
        self.parse_span(text).map(|span| span.until)
    }

    fn resolve_offset(&self, ago: &TimeOffset) -> Option<TimeSpan> {
        let instant = match ago {
            TimeOffset::Months(months) => {
                let day = self.today().checked_sub_months(Months::new(*months))?;
                self.zone.resolve_local_time(day.and_time(NaiveTime::MIN))
            }
            TimeOffset::Exact(delta) => self.now.checked_sub_signed(*delta)?,
        };
        Some(TimeSpan::of_instant(instant))
    }
}

/// A distance in time, counted back from now.
enum TimeOffset {
    Exact(TimeDelta),
    Months(u32),
}

/// Parses `30m`, `12h`, `7d`, `2w`, `3mo` or `1y`.
fn parse_short_offset(text: &str) -> Option<TimeOffset> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let number: u32 = number.parse().ok()?;
    let count = i64::from(number);
    let delta = match unit {
        "m" | "min" => TimeDelta::try_minutes(count),
        "h" => TimeDelta::try_hours(count),
        "d" => TimeDelta::try_days(count),
        "w" => TimeDelta::try_weeks(count),
        "mo" => return Some(TimeOffset::Months(number)),
        "y" => return Some(TimeOffset::Months(number.checked_mul(12)?)),
        _ => return None,
    };
    delta.map(TimeOffset::Exact)
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::*;
    use crate::calendar::Zone;
    use crate::time::parse_timestamp;

    /// Wednesday noon UTC, 13:00 local time.
    fn calendar() -> Calendar {
        Calendar {
            now: parse_timestamp("2026-02-18T12:00:00Z").unwrap(),
            zone: Zone::Fixed(FixedOffset::east_opt(3600).unwrap()),
        }
    }

    #[test]
    fn whatever_is_called_a_time_has_a_beginning_and_an_end_that_belong_to_it() {
        for (text, since, until) in [
            (
                "2026-02-16",
                "2026-02-15T23:00:00Z",
                "2026-02-16T22:59:59.999999Z",
            ),
            (
                "2026-02",
                "2026-01-31T23:00:00Z",
                "2026-02-28T22:59:59.999999Z",
            ),
            (
                "2026",
                "2025-12-31T23:00:00Z",
                "2026-12-31T22:59:59.999999Z",
            ),
            (
                "yesterday",
                "2026-02-16T23:00:00Z",
                "2026-02-17T22:59:59.999999Z",
            ),
            (
                "last week",
                "2026-02-08T23:00:00Z",
                "2026-02-15T22:59:59.999999Z",
            ),
            (
                "April 2019",
                "2019-03-31T23:00:00Z",
                "2019-04-30T22:59:59.999999Z",
            ),
            ("7d", "2026-02-11T12:00:00Z", "2026-02-11T12:00:00Z"),
            ("90m", "2026-02-18T10:30:00Z", "2026-02-18T10:30:00Z"),
            ("3mo", "2025-11-17T23:00:00Z", "2025-11-17T23:00:00Z"),
            (
                "2026-02-16 09:46",
                "2026-02-16T08:46:00Z",
                "2026-02-16T08:46:59.999999Z",
            ),
            (
                "2026-02-16T09:46:08",
                "2026-02-16T08:46:08Z",
                "2026-02-16T08:46:08Z",
            ),
            (
                " 2026-02-16T09:46:08Z ",
                "2026-02-16T09:46:08Z",
                "2026-02-16T09:46:08Z",
            ),
        ] {
            let span = calendar().parse_span(text).unwrap();
            assert_eq!(span.since, parse_timestamp(since).unwrap(), "{text}");
            assert_eq!(span.until, parse_timestamp(until).unwrap(), "{text}");
        }
    }

    #[test]
    fn the_first_and_the_last_minute_of_all_are_times_too() {
        let calendar = Calendar {
            zone: Zone::Utc,
            ..calendar()
        };
        for text in ["-262143-01-01T00:00:00", "+262142-12-31T23:59"] {
            let span = calendar.parse_span(text).unwrap();
            assert!(span.since <= span.until, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_says_so_and_what_does_not_exist_says_why() {
        for text in [
            "",
            "soon",
            "7",
            "7x",
            "99999999999d",
            "in the yard",
            "4000000000y",
        ] {
            let error = calendar().parse_span(text).unwrap_err().to_string();
            assert!(error.contains("RFC 3339"), "{text}: {error}");
        }
        for (text, why) in [
            ("2026-02-30", "February 2026 has 28 days"),
            ("2026-13-01", "a year has 12 months"),
            ("2026-13", "a year has 12 months"),
            ("31 april 2019", "April 2019 has 30 days"),
        ] {
            let error = calendar().parse_span(text).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(text), "{error}");
        }
    }
}
