//! Parsing of timestamps, and the machine's clock.
//!
//! Times are compared as instants, never as strings (G17): the same moment written with `Z`, with
//! an offset or with fractional seconds is one value.

use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::calendar::Zone;
use crate::ports::Clock;

/// A text that is not a timestamp in any known format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a timestamp; write RFC 3339 (2026-02-16T09:46:08Z), `YYYY-MM-DD HH:MM:SS` or \
     a date"
)]
pub struct TimestampError {
    text: String,
}

/// [`Zone::read`] for what programs write, in UTC; what people write is read in their zone.
pub fn parse_timestamp(text: &str) -> Result<DateTime<Utc>, TimestampError> {
    Zone::Utc.read(text)
}

/// An instant as a person is told it: `2026-02-16 09:46 UTC`.
pub fn to_the_minute(instant: DateTime<Utc>) -> String {
    instant.format("%Y-%m-%d %H:%M UTC").to_string()
}

impl Zone {
    /// Reads RFC 3339 with any offset; and as of this zone naive ISO with `T` or a space, with or
    /// without seconds and fractions, or a bare date (its first instant).
    pub fn read(self, text: &str) -> Result<DateTime<Utc>, TimestampError> {
        let trimmed = text.trim();
        if let Some((instant, _)) = self.exact(trimmed) {
            return Ok(instant);
        }
        if let Ok(date) = NaiveDate::parse_from_str(trimmed, "%Y-%m-%d") {
            return Ok(self.instant(date.and_time(chrono::NaiveTime::MIN)));
        }
        Err(TimestampError {
            text: trimmed.chars().take(64).collect(),
        })
    }

    /// What is written to the second or to the minute: its first instant, and how long it is.
    pub(crate) fn exact(self, text: &str) -> Option<(DateTime<Utc>, TimeDelta)> {
        let (none, minute) = (TimeDelta::zero(), TimeDelta::minutes(1));
        if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            return Some((instant.with_timezone(&Utc), none));
        }
        let forms = [
            ("%Y-%m-%dT%H:%M:%S%.f", none),
            ("%Y-%m-%d %H:%M:%S%.f", none),
            ("%Y-%m-%dT%H:%M", minute),
            ("%Y-%m-%d %H:%M", minute),
        ];
        forms.into_iter().find_map(|(form, length)| {
            let naive = NaiveDateTime::parse_from_str(text, form).ok()?;
            Some((self.instant(naive), length))
        })
    }

    /// [`Self::read`] of a JSON value: a number is seconds since the Unix epoch, or milliseconds
    /// where it is that large; a small one is how long something takes.
    pub fn moment(self, value: &Value) -> Option<DateTime<Utc>> {
        const SECONDS_MIN: f64 = 1e8;
        const MILLIS_MIN: f64 = 1e11;
        let Some(number) = value.as_f64() else {
            return self.read(value.as_str()?).ok();
        };
        if number < SECONDS_MIN {
            return None;
        }
        let is_millis = number >= MILLIS_MIN;
        let seconds = if is_millis { number / 1e3 } else { number };
        DateTime::from_timestamp_micros((seconds * 1e6) as i64)
    }
}

/// The machine's clock, read here only. One that stands before 1970 says 1970: identifiers count
/// from there.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine for the time"
    )]
    fn now(&self) -> DateTime<Utc> {
        instant_of(SystemTime::now())
    }
}

/// An instant of this machine as a date; what is beyond every date is the nearest there is.
fn instant_of(time: SystemTime) -> DateTime<Utc> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let since = TimeDelta::from_std(since.unwrap_or_default()).unwrap_or(TimeDelta::MAX);
    let at = DateTime::UNIX_EPOCH.checked_add_signed(since);
    at.unwrap_or(DateTime::<Utc>::MAX_UTC)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_before_1970_or_beyond_all_years_says_the_nearest_instant() {
        let at = |seconds| instant_of(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1 << 31);
        assert_eq!(instant_of(before), DateTime::UNIX_EPOCH);
        assert_eq!(at(1_771_234_567).timestamp(), 1_771_234_567);
        assert_eq!(at(1 << 62), DateTime::<Utc>::MAX_UTC);
    }

    #[test]
    fn three_dialects_of_one_moment_are_one_instant() {
        let expected = parse_timestamp("2026-02-16T09:46:08Z").unwrap();
        for text in [
            "2026-02-16 09:46:08",
            "2026-02-16T09:46:08",
            "2026-02-16T09:46:08.000000",
            "2026-02-16T10:46:08+01:00",
            " 2026-02-16T09:46:08.000+00:00 ",
        ] {
            assert_eq!(parse_timestamp(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_names_no_zone_is_of_the_zone_that_reads_it() {
        let west = Zone::Fixed(chrono::FixedOffset::west_opt(8 * 3600).unwrap());
        let noon = parse_timestamp("2026-11-20T20:00:00Z").unwrap();
        for text in [
            "2026-11-20 12:00",
            "2026-11-20T12:00:00",
            "2026-11-20T20:00:00Z",
        ] {
            assert_eq!(west.read(text).unwrap(), noon, "{text}");
        }
        let day = west.read("2026-11-20").unwrap();
        assert_eq!(day, parse_timestamp("2026-11-20T08:00:00Z").unwrap());
        let seconds = noon.timestamp();
        for value in [
            Value::from(seconds),
            Value::from(seconds * 1000),
            Value::from("2026-11-20 12:00"),
        ] {
            assert_eq!(west.moment(&value), Some(noon), "{value}");
        }
        assert_eq!(west.moment(&Value::from("soon")), None);
        assert_eq!(west.moment(&Value::Null), None);
        assert_eq!(west.moment(&Value::from(90)), None);
    }

    #[test]
    fn a_date_is_its_first_instant() {
        assert_eq!(
            parse_timestamp("2026-02-16").unwrap(),
            parse_timestamp("2026-02-16T00:00:00Z").unwrap()
        );
    }

    #[test]
    fn anything_else_is_refused_with_the_forms_that_work() {
        for text in ["", "yesterday", "2026-13-01", "1771234567"] {
            let error = parse_timestamp(text).unwrap_err().to_string();
            assert!(error.contains("RFC 3339"), "{error}");
        }
    }
}
