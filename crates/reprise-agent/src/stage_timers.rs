//! Times the stages of requests, where the work is done.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

/// Timing of one stage of requests, measured where the work is done.
#[derive(Debug, Default)]
pub(crate) struct StageTimer {
    count: AtomicU64,
    total_us: AtomicU64,
    longest_us: AtomicU64,
}

/// The timers of a service's stages.
#[derive(Debug, Default)]
pub(crate) struct StageTimers {
    pub(crate) embed: StageTimer,
    pub(crate) search: StageTimer,
    pub(crate) recall: StageTimer,
    pub(crate) write: StageTimer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StageStats {
    pub count: u64,
    /// Microseconds, summed.
    pub total_us: u64,
    /// The longest duration, in microseconds.
    pub longest_us: u64,
}

impl StageTimer {
    pub(crate) fn record(&self, took: Duration) {
        let took = took.as_micros() as u64;
        self.count.fetch_add(1, Ordering::Relaxed);
        self.total_us.fetch_add(took, Ordering::Relaxed);
        self.longest_us.fetch_max(took, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> StageStats {
        StageStats {
            count: self.count.load(Ordering::Relaxed),
            total_us: self.total_us.load(Ordering::Relaxed),
            longest_us: self.longest_us.load(Ordering::Relaxed),
        }
    }
}
