//! Who may ask at all: a permit for every request, taken at the door.
//!
//! A mailbox is unbounded, so a message that brings work brings a permit, and who gets none is
//! refused at once. It is given back when the work has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reprise_types::{MemoryError, NewRecord, UserId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::ServiceLimits;

/// The door of one service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Admission(Arc<Door>);

#[derive(Debug)]
struct Door {
    recalls: Places,
    calls: Places,
    write_bytes: Places,
    closing: AtomicBool,
}

#[derive(Debug)]
struct Places {
    free: Arc<Semaphore>,
    limit: u32,
}

/// A place among the requests under way.
#[derive(Debug)]
pub struct Permit {
    /// When the request was admitted: its time box begins here,
    pub(crate) since: Instant,
    /// and is so long, where its asker has one of his own.
    pub(crate) budget: Option<Duration>,
    _place: OwnedSemaphorePermit,
}

impl Places {
    fn new(limit: usize) -> Self {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let free = Arc::new(Semaphore::new(limit as usize));
        Self { free, limit }
    }

    fn take(&self, places: u32) -> Option<Permit> {
        let place = Arc::clone(&self.free).try_acquire_many_owned(places).ok()?;
        Some(Permit {
            since: Instant::now(),
            budget: None,
            _place: place,
        })
    }

    fn overloaded(&self) -> MemoryError {
        MemoryError::Overloaded {
            in_flight: self.limit as usize,
        }
    }

    /// Waits until nobody has a place, and keeps all of them.
    async fn close(&self) {
        if let Ok(all) = self.free.acquire_many(self.limit).await {
            all.forget();
        }
    }
}

impl Admission {
    pub(crate) fn new(limits: &ServiceLimits) -> Self {
        Self(Arc::new(Door {
            recalls: Places::new(limits.recalls_max),
            calls: Places::new(limits.calls_max),
            write_bytes: Places::new(limits.write_bytes_max),
            closing: AtomicBool::new(false),
        }))
    }

    pub fn recall(&self, user: &UserId) -> Result<Permit, MemoryError> {
        self.refuse_if_closing(user)?;
        let recalls = &self.0.recalls;
        recalls.take(1).ok_or_else(|| recalls.overloaded())
    }

    /// For these records, by their bytes.
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
        self.refuse_if_closing(user)?;
        let calls = &self.0.calls;
        calls.take(1).ok_or_else(|| calls.overloaded())
    }

    /// Recalls that could begin now.
    #[must_use]
    pub fn recalls_free(&self) -> usize {
        self.0.recalls.free.available_permits()
    }

    pub(crate) fn refuse_if_closing(&self, user: &UserId) -> Result<(), MemoryError> {
        if self.is_closing() {
            return Err(MemoryError::Unavailable {
                user: user.to_string(),
            });
        }
        Ok(())
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.0.closing.load(Ordering::Acquire)
    }

    /// Admits nobody from now on, and waits for those under way; whether they ended in time.
    pub(crate) async fn close(&self, patience: Duration) -> bool {
        self.0.closing.store(true, Ordering::Release);
        let Door {
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
