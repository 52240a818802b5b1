//! Days, months and years in the caller's time zone, as spans of instants with both ends included.

use chrono::{
    DateTime, Datelike, Days, FixedOffset, Local, LocalResult, Months, NaiveDate, NaiveDateTime,
    NaiveTime, TimeDelta, TimeZone, Utc,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zone {
    #[default]
    Utc,
    /// A fixed offset from UTC.
    Fixed(FixedOffset),
    /// This machine's local time, daylight saving time included.
    Machine,
}

/// The current time and the time zone of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calendar {
    pub now: DateTime<Utc>,
    pub zone: Zone,
}

/// A span of time, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSpan {
    /// The first instant.
    pub since: DateTime<Utc>,
    /// The last instant.
    pub until: DateTime<Utc>,
}

/// A text that is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    #[error(
        "`{text}` is not a time; write a day (2026-02-16), a month (2026-02), `7d`, `yesterday`, \
         `last week` or RFC 3339 (2026-02-16T09:46:08Z)"
    )]
    Unknown { text: String },
    #[error("`{text}` does not exist: {why}; name another day")]
    NoSuchDay {
        text: String,
        /// For example how many days the month has.
        why: String,
    },
}

/// The resolution of instants: the last instant of a span is this much before the next span.
pub(crate) const TIME_RESOLUTION: TimeDelta = TimeDelta::microseconds(1);

impl Calendar {
    /// Builds a calendar in this machine's time zone.
    pub fn in_machine_zone(now: DateTime<Utc>) -> Self {
        Self {
            now,
            zone: Zone::Machine,
        }
    }

    pub fn today(&self) -> NaiveDate {
        self.day_of(self.now)
    }

    /// Converts an instant to the caller's zone.
    pub(crate) fn to_local(self, instant: DateTime<Utc>) -> DateTime<FixedOffset> {
        match self.zone {
            Zone::Utc => instant.fixed_offset(),
            Zone::Fixed(offset) => instant.with_timezone(&offset),
            Zone::Machine => instant.with_timezone(&Local).fixed_offset(),
        }
    }

    /// Returns the day of an instant in the caller's zone.
    pub fn day_of(&self, instant: DateTime<Utc>) -> NaiveDate {
        self.to_local(instant).date_naive()
    }

    /// Formats the local time of day of an instant to the minute, as in `09:46`.
    pub fn format_time_of_day(&self, instant: DateTime<Utc>) -> String {
        self.to_local(instant).format("%H:%M").to_string()
    }

    /// Formats the local day and time of an instant to the minute, as in `2026-02-16 09:46`.
    pub fn format_to_minute(&self, instant: DateTime<Utc>) -> String {
        format!(
            "{} {}",
            self.day_of(instant),
            self.format_time_of_day(instant)
        )
    }

    /// Formats how long ago an instant was, in words by which a question finds it: `3 days ago` is
    /// the third day before this one, and `2 months ago` the second month.
    pub fn format_relative(&self, then: DateTime<Utc>) -> String {
        let seconds = (self.now - then).num_seconds();
        let (day, today) = (self.day_of(then), self.today());
        let days = (today - day).num_days();
        let years = i64::from(today.year() - day.year());
        let months = 12 * years + i64::from(today.month()) - i64::from(day.month());
        let (count, unit) = match (seconds.abs(), days.abs(), months.abs()) {
            (0..60, ..) => return "just now".to_owned(),
            (60..3_600, ..) => (seconds / 60, "minute"),
            (3_600..86_400, ..) => (seconds / 3_600, "hour"),
            (_, 0..60, _) => (days, "day"),
            (.., 0..24) => (months, "month"),
            _ => (years, "year"),
        };
        let plural = if count.abs() == 1 { "" } else { "s" };
        if count < 0 {
            format!("in {} {unit}{plural}", -count)
        } else {
            format!("{count} {unit}{plural} ago")
        }
    }

    /// Returns the span of the days from `first` to `last`.
    pub(crate) fn span_of_days(&self, first: NaiveDate, last: NaiveDate) -> TimeSpan {
        let after = last.checked_add_days(Days::new(1)).unwrap_or(last);
        TimeSpan {
            since: self.zone.resolve_local_time(first.and_time(NaiveTime::MIN)),
            until: self.zone.resolve_local_time(after.and_time(NaiveTime::MIN)) - TIME_RESOLUTION,
        }
    }

    /// Returns the span of a month.
    pub(crate) fn span_of_month(&self, year: i32, month: u32) -> Option<TimeSpan> {
        let first = NaiveDate::from_ymd_opt(year, month, 1)?;
        let last = first.checked_add_months(Months::new(1))?.pred_opt()?;
        Some(self.span_of_days(first, last))
    }

    pub(crate) fn span_of_year(&self, year: i32) -> Option<TimeSpan> {
        let first = NaiveDate::from_ymd_opt(year, 1, 1)?;
        Some(self.span_of_days(first, NaiveDate::from_ymd_opt(year, 12, 31)?))
    }
}

impl Zone {
    /// Returns the instant of a local time: the first of two if clocks are set back, an hour later
    /// if they are set forward over it.
    pub(crate) fn resolve_local_time(self, naive: NaiveDateTime) -> DateTime<Utc> {
        let found = match self {
            Self::Utc => return naive.and_utc(),
            Self::Fixed(offset) => offset.from_local_datetime(&naive).map(|at| at.to_utc()),
            Self::Machine => Local.from_local_datetime(&naive).map(|at| at.to_utc()),
        };
        match found {
            LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => at,
            LocalResult::None => {
                let later = naive.checked_add_signed(TimeDelta::hours(1));
                let later = later.and_then(|later| Local.from_local_datetime(&later).earliest());
                later.map_or_else(|| naive.and_utc(), |at| at.to_utc())
            }
        }
    }
}

impl TimeSpan {
    pub fn of_instant(instant: DateTime<Utc>) -> Self {
        Self {
            since: instant,
            until: instant,
        }
    }
}

/// Returns the date, or why there is no such day.
pub(crate) fn checked_date(year: i32, month: u32, day: u32) -> Result<NaiveDate, String> {
    if let Some(day) = NaiveDate::from_ymd_opt(year, month, day) {
        return Ok(day);
    }
    let Some(first) = NaiveDate::from_ymd_opt(year, month, 1) else {
        return Err("a year has 12 months".to_owned());
    };
    let next = first.checked_add_months(Months::new(1));
    let last = next.and_then(|next| next.pred_opt()).unwrap_or(first);
    let (name, days) = (first.format("%B %Y"), last.day());
    Err(format!("{name} has {days} days"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::parse_timestamp;

    #[test]
    fn what_is_called_so_long_ago_is_found_by_it() {
        let at = |text| parse_timestamp(text).unwrap();
        let (now, zone) = (at("2026-02-13T09:00:00Z"), Zone::Utc);
        let calendar = Calendar { now, zone };
        assert_eq!(
            calendar.format_relative(at("2026-02-13T08:59:50Z")),
            "just now"
        );
        assert_eq!(
            calendar.format_relative(at("2026-02-14T10:00:00Z")),
            "in 1 day"
        );
        for (then, ago) in [
            ("2026-02-13T08:50:30Z", "9 minutes ago"),
            ("2026-02-13T07:01:00Z", "1 hour ago"),
            ("2026-02-12T08:00:00Z", "1 day ago"),
            ("2026-02-10T23:59:00Z", "3 days ago"),
            ("2025-12-01T09:00:00Z", "2 months ago"),
            ("2025-10-31T09:00:00Z", "4 months ago"),
            ("2019-04-01T09:00:00Z", "7 years ago"),
        ] {
            assert_eq!(calendar.format_relative(at(then)), ago);
            let span = calendar.find_time_mentions(ago).remove(0).spans[0];
            assert!((span.since..=span.until).contains(&at(then)), "{ago}");
        }
    }

    #[test]
    fn the_machines_zone_has_days_of_its_own() {
        let now = parse_timestamp("2026-02-18T12:00:00Z").unwrap();
        let calendar = Calendar::in_machine_zone(now);
        let span = calendar.span_of_days(calendar.today(), calendar.today());
        assert_eq!(calendar.day_of(span.since), calendar.today());
        assert_eq!(calendar.day_of(span.until), calendar.today());
        assert_ne!(
            calendar.day_of(span.until + TIME_RESOLUTION),
            calendar.today()
        );
    }
}
