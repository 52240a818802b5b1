//! Maintenance of one memory while it is idle: the work is computed off the writer's thread, within
//! a time budget, and applied in one job.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::Semaphore;

use super::single::SingleFlight;
use crate::config::MemoryConfig;
use crate::handle::AgentHandle;

/// One memory per process at a time.
static ONE: Semaphore = Semaphore::const_new(1);
/// New records needed before a memory is examined again.
const NEW_RECORDS: usize = 64;

pub(super) struct Tending {
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    single: SingleFlight,
    /// Live records at the last examination; initially those at opening.
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

    /// Starts the task where the memory is idle and enough is new, unless it runs.
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
                    tracing::error!(error = %panicked, "maintenance of a memory failed");
                    return;
                }
            };
            if let Ok(Err(error)) = done {
                tracing::warn!(user = %handle.user(), %error, "maintenance of a memory failed");
            }
            seen.store(records, Ordering::Release);
        });
    }
}
