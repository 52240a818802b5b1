//! Admission control: every request needs a permit.
//!
//! A mailbox is unbounded, so every message that carries work carries a permit; without a free one
//! the request is refused at once. The permit is released when the work ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reprise_types::{MemoryError, NewRecord, UserId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::ServiceLimits;

/// The permits of one service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Admission(Arc<Limits>);

#[derive(Debug)]
struct Limits {
    recalls: Slots,
    calls: Slots,
    write_bytes: Slots,
    closing: AtomicBool,
}

#[derive(Debug)]
struct Slots {
    free: Arc<Semaphore>,
    limit: u32,
}

/// A slot among the requests in flight.
#[derive(Debug)]
pub struct Permit {
    /// When the request was admitted: its time budget begins here,
    pub(crate) since: Instant,
    /// and has this length where the caller set one.
    pub(crate) budget: Option<Duration>,
    _slot: OwnedSemaphorePermit,
}

impl Slots {
    fn new(limit: usize) -> Self {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let free = Arc::new(Semaphore::new(limit as usize));
        Self { free, limit }
    }

    fn take(&self, count: u32) -> Option<Permit> {
        let slot = Arc::clone(&self.free).try_acquire_many_owned(count).ok()?;
        Some(Permit {
            since: Instant::now(),
            budget: None,
            _slot: slot,
        })
    }

    /// Waits until all slots are free, and takes them.
    async fn close(&self) {
        if let Ok(all) = self.free.acquire_many(self.limit).await {
            all.forget();
        }
    }
}

impl Admission {
    pub(crate) fn new(limits: &ServiceLimits) -> Self {
        Self(Arc::new(Limits {
            recalls: Slots::new(limits.recalls_max),
            calls: Slots::new(limits.calls_max),
            write_bytes: Slots::new(limits.write_bytes_max),
            closing: AtomicBool::new(false),
        }))
    }

    pub fn recall(&self, user: &UserId) -> Result<Permit, MemoryError> {
        self.one_of(&self.0.recalls, user)
    }

    /// Admits a write by the size of its records in bytes.
    pub fn write(&self, user: &UserId, records: &[NewRecord]) -> Result<Permit, MemoryError> {
        self.refuse_if_closing(user)?;
        let writes = &self.0.write_bytes;
        let bytes = records.iter().map(|record| record.encoded_bytes().max(1));
        let bytes = u32::try_from(bytes.sum::<usize>()).unwrap_or(u32::MAX);
        let limit = writes.limit as usize;
        writes
            .take(bytes.min(writes.limit))
            .ok_or_else(|| MemoryError::WritesFull {
                bytes: limit.saturating_sub(writes.free.available_permits()),
                limit,
            })
    }

    pub fn call(&self, user: &UserId) -> Result<Permit, MemoryError> {
        self.one_of(&self.0.calls, user)
    }

    fn one_of(&self, slots: &Slots, user: &UserId) -> Result<Permit, MemoryError> {
        self.refuse_if_closing(user)?;
        let in_flight = slots.limit as usize;
        slots.take(1).ok_or(MemoryError::Overloaded { in_flight })
    }

    /// Free recall slots.
    pub fn recalls_free(&self) -> usize {
        self.0.recalls.free.available_permits()
    }

    pub(crate) fn refuse_if_closing(&self, user: &UserId) -> Result<(), MemoryError> {
        if self.is_closing() {
            return Err(MemoryError::unavailable(user));
        }
        Ok(())
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.0.closing.load(Ordering::Acquire)
    }

    /// Refuses new requests and waits for those in flight; returns whether they ended in time.
    pub(crate) async fn close(&self, patience: Duration) -> bool {
        self.0.closing.store(true, Ordering::Release);
        let Limits {
            recalls,
            calls,
            write_bytes,
            ..
        } = &*self.0;
        let ended = async {
            recalls.close().await;
            write_bytes.close().await;
            calls.close().await;
        };
        tokio::time::timeout(patience, ended).await.is_ok()
    }
}
