//! Parsing of timestamps, and the machine's clock.
//!
//! Times are compared as instants, never as strings: one moment is one value, whether it is written
//! with `Z`, with an offset or with fractional seconds.

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

/// Parses a timestamp that a program wrote, in UTC. For what people write use
/// [`Zone::parse_timestamp`] of their zone.
pub fn parse_timestamp(text: &str) -> Result<DateTime<Utc>, TimestampError> {
    Zone::Utc.parse_timestamp(text)
}

/// Formats an instant for people: `2026-02-16 09:46 UTC`.
pub fn format_minute_utc(instant: DateTime<Utc>) -> String {
    instant.format("%Y-%m-%d %H:%M UTC").to_string()
}

impl Zone {
    /// Parses RFC 3339 with any offset, or in this zone naive ISO with `T` or a space, with or
    /// without seconds and fractions, or a bare date (its first instant).
    pub fn parse_timestamp(self, text: &str) -> Result<DateTime<Utc>, TimestampError> {
        let trimmed = text.trim();
        if let Some((instant, _)) = self.parse_exact(trimmed) {
            return Ok(instant);
        }
        if let Ok(date) = NaiveDate::parse_from_str(trimmed, "%Y-%m-%d") {
            return Ok(self.resolve_local_time(date.and_time(chrono::NaiveTime::MIN)));
        }
        Err(TimestampError {
            text: trimmed.chars().take(64).collect(),
        })
    }

    /// Parses a time with a second or a minute. Returns its first instant and how long it is.
    pub(crate) fn parse_exact(self, text: &str) -> Option<(DateTime<Utc>, TimeDelta)> {
        let (none, minute) = (TimeDelta::zero(), TimeDelta::minutes(1));
        // A zone as databases write it, and a fraction as logs write it.
        let mut in_utc = [" UTC", " GMT"].iter().filter_map(|zone| {
            let text = text.strip_suffix(zone)?;
            Zone::Utc.parse_exact(text.trim_end())
        });
        if let Some(found) = in_utc.next() {
            return Some(found);
        }
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if let Some((whole, fraction)) = text.split_once(',')
            && whole.contains(':')
            && is_digit(whole.chars().next_back())
            && is_digit(fraction.chars().next())
        {
            return self.parse_exact(&[whole, ".", fraction].concat());
        }
        if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            return Some((instant.with_timezone(&Utc), none));
        }
        // Offsets as other programs write them, such as +01 and +0100, and the dates of mails.
        let offsets = [
            "%Y-%m-%dT%H:%M:%S%.f%#z",
            "%Y-%m-%d %H:%M:%S%.f%#z",
            "%Y-%m-%d %H:%M:%S%.f %#z",
            "%Y%m%dT%H%M%S%#z",
        ];
        let mut offsets = offsets.into_iter();
        let instant = offsets.find_map(|form| DateTime::parse_from_str(text, form).ok());
        if let Some(instant) = instant.or_else(|| DateTime::parse_from_rfc2822(text).ok()) {
            return Some((instant.with_timezone(&Utc), none));
        }
        if let Some(instant) = instant_from_epoch_text(text) {
            return Some((instant, none));
        }
        for form in ["%Y-%m-%dT%H:%M%#z", "%Y-%m-%d %H:%M%#z"] {
            if let Ok(instant) = DateTime::parse_from_str(text, form) {
                return Some((instant.with_timezone(&Utc), minute));
            }
        }
        let forms = [
            ("%Y%m%dT%H%M%S", none),
            ("%Y-%m-%dT%H:%M:%S%.f", none),
            ("%Y-%m-%d %H:%M:%S%.f", none),
            ("%Y-%m-%dT%H:%M", minute),
            ("%Y-%m-%d %H:%M", minute),
        ];
        forms.into_iter().find_map(|(form, length)| {
            let naive = NaiveDateTime::parse_from_str(text, form).ok()?;
            Some((self.resolve_local_time(naive), length))
        })
    }

    /// Parses the time in a JSON value: a text as [`Self::parse_timestamp`] does, a number as
    /// seconds since the Unix epoch, or as milliseconds if it is that large. `None` for a small
    /// number, which is a duration.
    pub fn parse_json_time(self, value: &Value) -> Option<DateTime<Utc>> {
        match value.as_f64() {
            Some(number) => instant_from_epoch(number),
            None => self.parse_timestamp(value.as_str()?).ok(),
        }
    }
}

/// The machine's clock, which is read here only. A clock before 1970 returns 1970, since
/// identifiers count from there.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's time"
    )]
    fn now(&self) -> DateTime<Utc> {
        instant_from_system_time(SystemTime::now())
    }
}

/// Converts an instant of this machine; one beyond all dates becomes the nearest date.
fn instant_from_system_time(time: SystemTime) -> DateTime<Utc> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let since = TimeDelta::from_std(since.unwrap_or_default()).unwrap_or(TimeDelta::MAX);
    let at = DateTime::UNIX_EPOCH.checked_add_signed(since);
    at.unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Returns the instant of seconds since the Unix epoch, or of milliseconds, microseconds or
/// nanoseconds if the number is that large; `None` for a small number, which is a duration.
fn instant_from_epoch(number: f64) -> Option<DateTime<Utc>> {
    const SECONDS_MIN: f64 = 1e8;
    const LARGER_UNITS: [(f64, f64); 3] = [(1e17, 1e9), (1e14, 1e6), (1e11, 1e3)];
    if number < SECONDS_MIN {
        return None;
    }
    let unit = LARGER_UNITS.into_iter().find(|(least, _)| number >= *least);
    let seconds = number / unit.map_or(1.0, |(_, per_second)| per_second);
    DateTime::from_timestamp_micros((seconds * 1e6).round() as i64)
}

/// Returns the instant of a number since the Unix epoch that is written as a text.
fn instant_from_epoch_text(text: &str) -> Option<DateTime<Utc>> {
    let is_number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_number {
        return None;
    }
    instant_from_epoch(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_clock_before_1970_or_beyond_all_years_says_the_nearest_instant() {
        let at = |seconds| {
            instant_from_system_time(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        };
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1 << 31);
        assert_eq!(instant_from_system_time(before), DateTime::UNIX_EPOCH);
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
            "2026-02-16 09:46:08 UTC",
            "2026-02-16 09:46:08,000",
            "2026-02-16T09:46:08,0Z",
            "20260216T094608Z",
            "20260216T104608+0100",
            "Mon, 16 Feb 2026 09:46:08 GMT",
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
            "2026-11-20T20:00Z",
            "2026-11-20T12:00-08:00",
            "2026-11-20T12:00:00",
            "2026-11-20T20:00:00Z",
        ] {
            assert_eq!(west.parse_timestamp(text).unwrap(), noon, "{text}");
        }
        let day = west.parse_timestamp("2026-11-20").unwrap();
        assert_eq!(day, parse_timestamp("2026-11-20T08:00:00Z").unwrap());
        let seconds = noon.timestamp();
        for value in [
            Value::from(seconds),
            Value::from(seconds * 1000),
            Value::from("2026-11-20 12:00"),
        ] {
            assert_eq!(west.parse_json_time(&value), Some(noon), "{value}");
        }
        assert_eq!(west.parse_json_time(&Value::from("soon")), None);
        assert_eq!(west.parse_json_time(&Value::Null), None);
        assert_eq!(west.parse_json_time(&Value::from(90)), None);
    }

    #[test]
    fn times_as_other_programs_write_them_are_one_instant() {
        let expected = parse_timestamp("2026-02-10T10:12:00Z").unwrap();
        for text in [
            "2026-02-10T11:12:00+01",
            "2026-02-10T11:12:00+0100",
            "2026-02-10 11:12:00+01",
            "2026-02-10 11:12:00.000 +0100",
            "Tue, 10 Feb 2026 11:12:00 +0100",
            "1770718320",
            "1770718320.0",
            "1770718320000",
            "1770718320000000",
        ] {
            assert_eq!(parse_timestamp(text).unwrap(), expected, "{text}");
        }
        for value in [
            json!(1_770_718_320),
            json!(1_770_718_320.0),
            json!(1_770_718_320_000_u64),
        ] {
            assert_eq!(Zone::Utc.parse_json_time(&value), Some(expected), "{value}");
        }
        for text in ["20260210", "12", "1.2.3", "."] {
            assert!(parse_timestamp(text).is_err(), "{text}");
        }
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
        for text in ["", "yesterday", "2026-13-01", "177123"] {
            let error = parse_timestamp(text).unwrap_err().to_string();
            assert!(error.contains("RFC 3339"), "{error}");
        }
    }
}
