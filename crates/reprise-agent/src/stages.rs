//! Timing of each stage of a request, measured where the work is done.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

#[derive(Debug, Default)]
pub(crate) struct Stage {
    count: AtomicU64,
    total_us: AtomicU64,
    longest_us: AtomicU64,
}

/// The stages of a service.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    pub(crate) embed: Stage,
    pub(crate) search: Stage,
    pub(crate) recall: Stage,
    pub(crate) write: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StageStats {
    pub count: u64,
    /// Microseconds, summed.
    pub total_us: u64,
    /// The longest, in microseconds.
    pub longest_us: u64,
}

impl Stage {
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
