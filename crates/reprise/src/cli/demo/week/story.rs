//! What is asked in the three weeks, and the story's own time.

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{Clock, TimestampError, parse_timestamp};

/// The first Monday.
const BEGIN: &str = "2026-02-02T09:00:00Z";
/// Between two requests: far enough apart that the next one is no retry of the last.
const BETWEEN: TimeDelta = TimeDelta::minutes(45);

/// Some requests insist on a way that cannot work here: that is what lets one tell what helps.
const WEEKS: &str = include_str!("weeks.txt");

/// One week's work.
#[derive(Debug)]
pub(super) struct Week {
    pub(super) title: &'static str,
    /// What memory is asked before the week begins: the documents' own words.
    pub(super) question: &'static str,
    pub(super) requests: Vec<&'static str>,
}

pub(super) fn weeks() -> impl Iterator<Item = Week> {
    WEEKS.split("\n\n").map(|week| {
        let mut lines = week.lines();
        let mut line = || lines.next().unwrap_or_default();
        let (title, question) = (line(), line());
        let requests = lines.collect();
        Week {
            title,
            question,
            requests,
        }
    })
}

/// Three weeks in a few seconds.
#[derive(Debug)]
pub(super) struct StoryClock {
    begin: DateTime<Utc>,
    unix_ms: AtomicI64,
}

impl StoryClock {
    pub(super) fn new() -> Result<Self, TimestampError> {
        let begin = parse_timestamp(BEGIN)?;
        Ok(Self {
            begin,
            unix_ms: AtomicI64::new(begin.timestamp_millis()),
        })
    }

    /// Monday morning of a week, counted from 0.
    pub(super) fn start_week(&self, number: usize) {
        let weeks = i64::try_from(number).unwrap_or_default();
        let monday = self.begin + TimeDelta::weeks(weeks);
        let monday = monday.timestamp_millis();
        self.unix_ms.fetch_max(monday, Ordering::SeqCst);
    }

    /// The time of the next request.
    pub(super) fn next_request(&self) {
        let between = BETWEEN.num_milliseconds();
        self.unix_ms.fetch_add(between, Ordering::SeqCst);
    }
}

impl Clock for StoryClock {
    fn now(&self) -> DateTime<Utc> {
        let unix_ms = self.unix_ms.load(Ordering::SeqCst);
        DateTime::from_timestamp_millis(unix_ms).unwrap_or(self.begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_mondays_and_time_only_goes_on() {
        let clock = StoryClock::new().unwrap();
        clock.next_request();
        assert_eq!(clock.now().to_rfc3339(), "2026-02-02T09:45:00+00:00");
        clock.start_week(0);
        assert_eq!(clock.now().to_rfc3339(), "2026-02-02T09:45:00+00:00");
        clock.start_week(2);
        assert_eq!(clock.now().to_rfc3339(), "2026-02-16T09:00:00+00:00");
    }
}
