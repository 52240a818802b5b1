//! Tending one memory while nobody asks: what is to be done is found out beside the writer, within
//! a budget, and done in one visit.
//!
//! One memory of a process at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::Semaphore;

use super::single::SingleFlight;
use crate::config::MemoryConfig;
use crate::handle::AgentHandle;

/// Of all memories of a process, one is looked through at a time.
static ONE: Semaphore = Semaphore::const_new(1);
/// Records that have to come before a memory is looked through again.
const NEW_RECORDS: usize = 64;

/// The tending of one memory.
pub(super) struct Tending {
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    single: SingleFlight,
    /// Live records at the last look; at first those that were there when it was opened.
    seen: Arc<AtomicUsize>,
}

impl Tending {
    pub(super) fn new(config: Arc<MemoryConfig>, handle: AgentHandle) -> Self {
        Self {
            config,
            handle,
            single: SingleFlight::default(),
            seen: Arc::new(AtomicUsize::new(usize::MAX)),
        }
    }

    /// Starts the task where enough is new and nobody asks; unless it runs.
    pub(super) fn start_if_due(&self) {
        let (Some(tend), Some(memory)) = (self.config.tend.clone(), self.handle.newest()) else {
            return;
        };
        let records = memory.kept_at().count();
        let unset =
            self.seen
                .compare_exchange(usize::MAX, records, Ordering::AcqRel, Ordering::Acquire);
        let new = records.saturating_sub(unset.unwrap_or_else(|seen| seen));
        if new < NEW_RECORDS || self.handle.idle() < self.config.limits.tend_after {
            return;
        }
        let (handle, seen) = (self.handle.clone(), Arc::clone(&self.seen));
        let (now, budget) = (self.config.clock.now(), self.config.limits.tend_budget);
        self.single.start(|| async move {
            let Ok(_turn) = ONE.acquire().await else {
                return;
            };
            let begun = Instant::now();
            let plan = tokio::task::spawn_blocking(move || {
                tend(&memory, now, &|| begun.elapsed() < budget)
            });
            let done = match plan.await {
                Ok(Some(work)) => handle.run(work).await,
                Ok(None) => Ok(Ok(())),
                Err(panicked) => {
                    tracing::error!(error = %panicked, "a memory could not be tended");
                    return;
                }
            };
            if let Ok(Err(error)) = done {
                tracing::warn!(user = %handle.user(), %error, "a memory could not be tended");
            }
            seen.store(records, Ordering::Release);
        });
    }
}
