//! A new record as memory would hold it, for tests of views.

use chrono::DateTime;
use reprise_types::{ContentHash, MemoryRecord, NewRecord, RecordId};

pub(crate) fn kept(new: NewRecord, number: u32) -> MemoryRecord {
    let now = DateTime::from_timestamp_millis(1_768_000_000_000 + i64::from(number)).unwrap();
    MemoryRecord {
        id: RecordId::from_parts(1_768_000_000_000 + u64::from(number), u128::from(number)),
        timestamp: new.timestamp.unwrap_or(now),
        known_at: now,
        text: new.text,
        source: new.source,
        kind: new.kind,
        quality_score: new.quality_score,
        session_id: new.session_id,
        metadata: new.metadata,
        embedding: Vec::new(),
        embedding_space: None,
        external_ids: new.external_ids,
        content_hash: ContentHash(0),
        tags: new.tags,
        confidence: new.confidence,
        evidence: new.evidence,
        visibility: new.visibility,
        retention: new.retention,
        supersedes: new.supersedes,
        provenance: new.provenance,
        details: new.details,
    }
}
