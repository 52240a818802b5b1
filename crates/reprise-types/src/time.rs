//! Parsing of timestamps, and the machine's clock.
//!
//! Times are compared as instants, never as strings (G17): the same moment written with `Z`, with
//! an offset or with fractional seconds is one value.

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};

use crate::ports::Clock;

/// A text that is not a timestamp in any known format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a timestamp; write RFC 3339 (2026-02-16T09:46:08Z), `YYYY-MM-DD HH:MM:SS` (UTC) or a date"
)]
pub struct TimestampError {
    text: String,
}

/// Reads RFC 3339 with any offset, naive ISO with `T` or a space (taken as UTC, with or without
/// fractional seconds), or a bare date (its first instant).
pub fn parse_timestamp(text: &str) -> Result<DateTime<Utc>, TimestampError> {
    let trimmed = text.trim();
    if let Ok(instant) = DateTime::parse_from_rfc3339(trimmed) {
        return Ok(instant.with_timezone(&Utc));
    }
    for format in [
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%dT%H:%M",
    ] {
        if let Ok(naive) = NaiveDateTime::parse_from_str(trimmed, format) {
            return Ok(naive.and_utc());
        }
    }
    if let Ok(date) = NaiveDate::parse_from_str(trimmed, "%Y-%m-%d") {
        return Ok(date.and_time(chrono::NaiveTime::MIN).and_utc());
    }
    Err(TimestampError {
        text: trimmed.chars().take(64).collect(),
    })
}

/// The machine's clock, read here only.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine for the time"
    )]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
