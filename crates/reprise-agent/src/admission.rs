//! Admission control: every request needs a permit.
//!
//! A mailbox is unbounded, so every message that carries work carries a permit; without a free one
//! the request is refused at once. The permit is released when the work ends.
//!
//! And what every record passes before a memory takes it, whoever brings it: the daemon, a command
//! without one, an import, the relay of a host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reprise_redact::{Redaction, Redactor};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{MemoryError, MemoryRecord, NewRecord, RejectReason, UserId};
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

/// How records are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Intake {
    /// Texts stay as they stand, secrets and all.
    pub verbatim: bool,
    /// Receipts may come: they are Reprise's own, or those of an export.
    pub receipts: bool,
}

/// What was done to a record on its way in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// The secrets that were taken out.
    pub redacted: Vec<Redaction>,
    /// How many bytes its text had, where it was cut.
    pub truncated_from_bytes: Option<usize>,
}

impl Intake {
    /// Makes a record one that may be stored; `tags` leads from the spellings of tags to those that
    /// are kept.
    pub fn take(
        self,
        record: &mut NewRecord,
        tags: impl Fn(&[String]) -> Vec<String>,
    ) -> Result<Taken, RejectReason> {
        let redacted = if self.verbatim {
            Vec::new()
        } else {
            Redactor::new().redact_record(record)
        };
        record.tags = tags(&record.tags);
        if !self.receipts && record.tags.iter().any(|tag| tag == MemoryRecord::RECEIPT) {
            return Err(RejectReason::Receipt);
        }
        record.check()?;
        Ok(Taken {
            redacted,
            truncated_from_bytes: record.truncate(TEXT_BYTES_MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemorySource, normal_tags};

    use super::*;

    #[test]
    fn a_callers_receipt_is_refused_and_a_secret_is_taken_out() {
        let key = format!("the key is AKIA{}", "IOSFODNN7EXAMPLE");
        let mut record = NewRecord::new(key, MemorySource::UserInput, MemoryKind::Episode);
        record.tags = vec!["Receipt:Global".to_owned()];
        let refused = Intake::default().take(&mut record.clone(), normal_tags);
        assert_eq!(refused, Err(RejectReason::Receipt));
        let own = Intake {
            receipts: true,
            ..Intake::default()
        };
        let taken = own.take(&mut record, normal_tags).unwrap();
        assert_eq!(taken.redacted.len(), 1, "{}", record.text);
        assert!(!record.text.contains("AKIA"), "{}", record.text);
        record.text = " ".to_owned();
        assert_eq!(
            own.take(&mut record, normal_tags),
            Err(RejectReason::EmptyText)
        );
    }
}
