//! A new record as memory would hold it, for tests of views.

use chrono::DateTime;
use reprise_types::{MemoryRecord, NewRecord, RecordId};

pub(crate) fn kept(new: NewRecord, number: u32) -> MemoryRecord {
    let now = DateTime::from_timestamp_millis(1_768_000_000_000 + i64::from(number)).unwrap();
    let id = RecordId::from_parts(1_768_000_000_000 + u64::from(number), u128::from(number));
    let mut record = new.body.kept(id, now);
    record.timestamp = new.timestamp.unwrap_or(now);
    record
}
