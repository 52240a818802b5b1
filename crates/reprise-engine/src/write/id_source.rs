//! Generates the ids of records.

use chrono::{DateTime, Utc};
use reprise_types::{RecordId, next_splitmix64};

/// Generates ids, and remembers the last one so that two records of one millisecond keep their
/// order.
#[derive(Debug)]
pub(crate) struct IdSource {
    state: u64,
    last: u128,
}

impl IdSource {
    /// Creates a source whose random bits follow from `seed`; `last` is the highest id of the file.
    pub(crate) fn new(seed: u64, last: Option<RecordId>) -> Self {
        Self {
            state: seed,
            last: last.map_or(0, RecordId::to_u128),
        }
    }

    /// Continues after an id that entered the file by another way.
    pub(crate) fn advance_past(&mut self, last: RecordId) {
        self.last = self.last.max(last.to_u128());
    }

    /// Returns the next id, which is greater than all before it even if `now` went backwards.
    pub(crate) fn next(&mut self, now: DateTime<Utc>) -> RecordId {
        let unix_ms = u64::try_from(now.timestamp_millis()).unwrap_or(0);
        let mut random = || u128::from(next_splitmix64(&mut self.state));
        let random = (random() << 64) | random();
        let fresh = RecordId::from_parts(unix_ms, random & ((1 << 80) - 1)).to_u128();
        // The step is random: a clone of this file continues from the same last id.
        let step = 1 + (random & ((1 << 40) - 1));
        self.last = fresh.max(self.last.saturating_add(step));
        RecordId::from_u128(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reprise_types::parse_timestamp;

    #[test]
    fn ids_increase_even_when_the_clock_goes_backwards() {
        let later = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let earlier = parse_timestamp("2026-02-16T08:00:00Z").unwrap();
        let mut ids = IdSource::new(7, None);
        let made = [later, later, earlier, later].map(|now| ids.next(now));
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]), "{made:?}");
    }

    #[test]
    fn two_that_go_on_from_one_id_do_not_meet() {
        let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let last = IdSource::new(7, None).next(now);
        let earlier = parse_timestamp("2026-02-16T08:00:00Z").unwrap();
        let [one, other] = [1, 2].map(|seed| IdSource::new(seed, Some(last)).next(earlier));
        assert!(one != other && one > last && other > last);
    }

    #[test]
    fn one_seed_gives_one_sequence() {
        let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let run = |seed| {
            let mut ids = IdSource::new(seed, None);
            (0..3).map(|_| ids.next(now)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
