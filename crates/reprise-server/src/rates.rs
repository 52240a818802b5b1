//! How often somebody may ask: a bucket for each, which is full at first and fills evenly.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use reprise_types::lock;

/// Buckets that are remembered before the full ones are forgotten.
const BUCKETS_MAX: usize = 4_096;

/// A bucket of requests for each key.
#[derive(Debug)]
pub(crate) struct KeyedRates<K> {
    /// Time in which one request is filled in.
    interval: Duration,
    /// Time in which an empty bucket becomes full.
    fill_time: Duration,
    /// When each bucket will be full again.
    full_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> KeyedRates<K> {
    /// Returns full buckets of `burst` requests, which are filled with `count` requests in so many
    /// seconds.
    pub(crate) fn new(count: NonZeroU32, seconds: u64, burst: NonZeroU32) -> Self {
        let interval = Duration::from_secs(seconds) / count.get();
        Self {
            interval,
            fill_time: interval * burst.get(),
            full_at: Mutex::default(),
        }
    }

    /// Takes a request out of the bucket of `key`; fails with the time until there is one.
    pub(crate) fn take(&self, key: K) -> Result<(), Duration> {
        self.take_at(key, Instant::now())
    }

    fn take_at(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut full_at = lock(&self.full_at);
        if full_at.len() > BUCKETS_MAX {
            full_at.retain(|_, at| *at > now);
        }
        let at = full_at.entry(key).or_insert(now);
        let full_again = now.max(*at) + self.interval;
        let missing = full_again.saturating_duration_since(now + self.fill_time);
        if missing.is_zero() {
            *at = full_again;
            return Ok(());
        }
        Err(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bucket_is_full_at_first_and_fills_evenly() {
        let [two, three] = [2, 3].map(|count| NonZeroU32::new(count).unwrap());
        let (rates, now) = (KeyedRates::new(two, 1, three), Instant::now());
        let take = |key, after| rates.take_at(key, now + SECOND.mul_f64(after));
        assert!((0..3).all(|_| take("a", 0.0).is_ok()));
        assert_eq!(take("a", 0.0), Err(SECOND / 2));
        assert_eq!(take("a", 0.25), Err(SECOND / 4));
        assert_eq!(take("b", 0.25), Ok(()), "another's bucket");
        assert_eq!(take("a", 0.5), Ok(()), "one request later");
        assert_eq!(take("a", 0.5), Err(SECOND / 2));
        assert!(
            (0..3).all(|_| take("a", 100.0).is_ok()),
            "never more than full"
        );
        assert_eq!(take("a", 100.0), Err(SECOND / 2));
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let (one, now) = (NonZeroU32::MIN, Instant::now());
        let rates = KeyedRates::new(one, 1, one);
        for key in 0..=BUCKETS_MAX {
            assert_eq!(rates.take_at(key, now), Ok(()));
        }
        assert_eq!(rates.take_at(0, now + SECOND), Ok(()));
        assert_eq!(lock(&rates.full_at).len(), 1);
    }
}
