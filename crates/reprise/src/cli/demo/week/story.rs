//! What is asked in the three weeks, and the story's own time.

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{Clock, TimestampError, parse_timestamp};

/// The first Monday.
const BEGIN: &str = "2026-02-02T09:00:00Z";
/// Between two requests: far enough apart that the next one is no retry of the last.
const BETWEEN: TimeDelta = TimeDelta::minutes(45);

/// One week's work.
#[derive(Debug)]
pub(super) struct Week {
    pub(super) title: &'static str,
    /// What memory is asked before the week begins: the documents' own words.
    pub(super) question: &'static str,
    pub(super) requests: &'static [&'static str],
}

/// Some requests insist on a way that cannot work here: that is what lets one tell what helps.
pub(super) const WEEKS: [Week; 3] = [
    Week {
        title: "Rust projects with tests",
        question: "set up a new Rust project with tests",
        requests: &[
            "set up a new Rust project `ledger` with tests",
            "set up a Rust library `timer` with tests",
            "set up a new Rust project `parser` with tests in a folder of their own",
            "create a Rust crate `mailer` with tests",
            "set up a Rust library `lookup` with tests that use proptest",
            "set up a new Rust project `router` with tests",
            "start a Rust project `metrics` with a tests folder",
            "set up a new Rust library `finder` with tests",
            "create a Rust crate `queue` with tests",
            "set up a Rust library `settings` with proptest tests",
            "set up a new Rust project `logger` with tests",
            "set up a Rust project `vault` with tests in a folder of their own",
            "create a new Rust library `graph` with tests",
            "set up a Rust crate `codec` with tests that use proptest",
            "set up a new Rust project `ticker` with tests",
            "set up a Rust project `atlas` with a tests folder",
            "set up a new Rust library `matrix` with tests",
            "create a Rust project `binder` with tests",
        ],
    },
    Week {
        title: "service modules with integration tests",
        question: "scaffold a new service module with integration tests",
        requests: &[
            "scaffold a new service module `billing` with integration tests",
            "scaffold a service module `orders` with integration tests",
            "add a service module `invoices` with a tests folder",
            "scaffold a new service module `accounts` with integration tests",
            "scaffold the service module `refunds` with integration tests",
            "add a service module `quotas` with tests that use proptest",
            "scaffold a new service module `reports` with integration tests",
            "scaffold a service module `audits` with integration tests",
        ],
    },
    Week {
        title: "actors with tests",
        question: "add a new actor with tests to the sandbox",
        requests: &[
            "add a new actor `counter` with tests to the sandbox",
            "add an actor `watcher` with tests to the sandbox",
            "add a new actor `courier` with tests in a folder of their own",
            "add a new actor `keeper` with tests to the sandbox",
            "add an actor `herald` with tests to the sandbox",
            "add a new actor `warden` with tests to the sandbox",
        ],
    },
];

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
