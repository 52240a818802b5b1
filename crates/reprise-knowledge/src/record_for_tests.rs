//! Builds stored records from new ones, for tests.

use chrono::DateTime;
use reprise_types::{MemoryRecord, NewRecord, RecordId};

pub(crate) fn record_from_new(new: NewRecord, number: u32) -> MemoryRecord {
    let now = DateTime::from_timestamp_millis(1_768_000_000_000 + i64::from(number)).unwrap();
    let id = RecordId::from_parts(1_768_000_000_000 + u64::from(number), u128::from(number));
    let mut record = new.body.into_record(id, now);
    record.timestamp = new.timestamp.unwrap_or(now);
    record
}
