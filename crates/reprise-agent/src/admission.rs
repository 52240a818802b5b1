//! Admission control: every request needs a permit, and every record is checked before it is
//! stored.
//!
//! A mailbox is unbounded, so every message that carries work carries a permit; without a free one
//! the request is refused at once. The permit is released when the work ends.
//!
//! Each record passes [`IntakeOptions::prepare_record`], no matter whether the daemon, a command
//! without a daemon, an import or the relay of a host brings it.

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
pub struct Admission(Arc<AdmissionSlots>);

#[derive(Debug)]
struct AdmissionSlots {
    recalls: SlotPool,
    calls: SlotPool,
    write_bytes: SlotPool,
    closing: AtomicBool,
}

#[derive(Debug)]
struct SlotPool {
    semaphore: Arc<Semaphore>,
    limit: u32,
}

/// A slot among the requests in flight.
#[derive(Debug)]
pub struct Permit {
    /// When the request was admitted, which is when its time budget begins.
    pub(crate) admitted_at: Instant,
    /// Length of the time budget, if the caller set one.
    pub(crate) budget: Option<Duration>,
    _slot: OwnedSemaphorePermit,
}

impl SlotPool {
    fn new(limit: usize) -> Self {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let free = Arc::new(Semaphore::new(limit as usize));
        Self {
            semaphore: free,
            limit,
        }
    }

    fn try_acquire(&self, count: u32) -> Option<Permit> {
        let slot = Arc::clone(&self.semaphore)
            .try_acquire_many_owned(count)
            .ok()?;
        Some(Permit {
            admitted_at: Instant::now(),
            budget: None,
            _slot: slot,
        })
    }

    /// Waits until all slots are free, and keeps them.
    async fn acquire_all(&self) {
        if let Ok(all) = self.semaphore.acquire_many(self.limit).await {
            all.forget();
        }
    }
}

impl Admission {
    pub(crate) fn new(limits: &ServiceLimits) -> Self {
        Self(Arc::new(AdmissionSlots {
            recalls: SlotPool::new(limits.recalls_max),
            calls: SlotPool::new(limits.calls_max),
            write_bytes: SlotPool::new(limits.write_bytes_max),
            closing: AtomicBool::new(false),
        }))
    }

    pub fn admit_recall(&self, user: &UserId) -> Result<Permit, MemoryError> {
        self.admit_one(&self.0.recalls, user)
    }

    /// Admits a write by the size of its records in bytes.
    pub fn admit_write(&self, user: &UserId, records: &[NewRecord]) -> Result<Permit, MemoryError> {
        self.refuse_if_closing(user)?;
        let writes = &self.0.write_bytes;
        let bytes = records.iter().map(|record| record.encoded_size().max(1));
        let bytes = u32::try_from(bytes.sum::<usize>()).unwrap_or(u32::MAX);
        let limit = writes.limit as usize;
        writes
            .try_acquire(bytes.min(writes.limit))
            .ok_or_else(|| MemoryError::WritesFull {
                bytes: limit.saturating_sub(writes.semaphore.available_permits()),
                limit,
            })
    }

    pub fn admit_call(&self, user: &UserId) -> Result<Permit, MemoryError> {
        self.admit_one(&self.0.calls, user)
    }

    fn admit_one(&self, slots: &SlotPool, user: &UserId) -> Result<Permit, MemoryError> {
        self.refuse_if_closing(user)?;
        let in_flight = slots.limit as usize;
        slots
            .try_acquire(1)
            .ok_or(MemoryError::Overloaded { in_flight })
    }

    /// Returns the number of free recall slots.
    pub fn recalls_free(&self) -> usize {
        self.0.recalls.semaphore.available_permits()
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

    /// Refuses new requests, and waits for those in flight; returns whether they ended in time.
    pub(crate) async fn close(&self, patience: Duration) -> bool {
        self.0.closing.store(true, Ordering::Release);
        let AdmissionSlots {
            recalls,
            calls,
            write_bytes,
            ..
        } = &*self.0;
        let ended = async {
            recalls.acquire_all().await;
            write_bytes.acquire_all().await;
            calls.acquire_all().await;
        };
        tokio::time::timeout(patience, ended).await.is_ok()
    }
}

/// How records are prepared before they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntakeOptions {
    /// Texts are stored unchanged, with their secrets.
    pub keeps_secrets: bool,
    /// Receipts are accepted, because they come from Reprise itself or from an export.
    pub allows_receipts: bool,
}

/// How a record was changed before it was stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IntakeReport {
    /// The secrets that were removed.
    pub redacted: Vec<Redaction>,
    /// Length of the whole text in bytes, if the text was cut.
    pub truncated_from_bytes: Option<usize>,
}

impl IntakeOptions {
    /// Redacts, checks and cuts a record so that it may be stored. `tags` maps tags to the
    /// spellings that are stored.
    pub fn prepare_record(
        self,
        record: &mut NewRecord,
        tags: impl Fn(&[String]) -> Vec<String>,
    ) -> Result<IntakeReport, RejectReason> {
        let redacted = if self.keeps_secrets {
            Vec::new()
        } else {
            Redactor::new().redact_record(record)
        };
        record.tags = tags(&record.tags);
        if !self.allows_receipts
            && record
                .tags
                .iter()
                .any(|tag| tag == MemoryRecord::RECEIPT_TAG)
        {
            return Err(RejectReason::Receipt);
        }
        record.validate()?;
        Ok(IntakeReport {
            redacted,
            truncated_from_bytes: record.truncate_text(TEXT_BYTES_MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemorySource, normalize_tags};

    use super::*;

    #[test]
    fn a_callers_receipt_is_refused_and_a_secret_is_taken_out() {
        let key = format!("the key is AKIA{}", "IOSFODNN7EXAMPLE");
        let mut record = NewRecord::new(key, MemorySource::UserInput, MemoryKind::Episode);
        record.tags = vec!["Receipt:Global".to_owned()];
        let refused = IntakeOptions::default().prepare_record(&mut record.clone(), normalize_tags);
        assert_eq!(refused, Err(RejectReason::Receipt));
        let own = IntakeOptions {
            allows_receipts: true,
            ..IntakeOptions::default()
        };
        let report = own.prepare_record(&mut record, normalize_tags).unwrap();
        assert_eq!(report.redacted.len(), 1, "{}", record.text);
        assert!(!record.text.contains("AKIA"), "{}", record.text);
        record.text = " ".to_owned();
        assert_eq!(
            own.prepare_record(&mut record, normalize_tags),
            Err(RejectReason::EmptyText)
        );
    }
}
