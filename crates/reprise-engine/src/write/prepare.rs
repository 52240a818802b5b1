//! From what a caller writes to what is stored. Pure; nothing is written here.

use chrono::{DateTime, Utc};
use reprise_store::{StoreEntry, Tombstone};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{
    ContentHash, EmbeddingSpace, MemoryKind, MemoryRecord, MemorySource, NewRecord, RecordId,
    RejectReason, normalize_tags,
};
use serde_json::Value;

/// Metadata key that names the space of a vector which was left out.
pub(crate) const FOREIGN_SPACE_KEY: &str = "embedding_space_left_out";

/// Builds the record. A vector of another space than `space` is left out, which the metadata says:
/// the text is stored and embedded later, because spaces never mix.
pub(crate) fn build_record(
    new: NewRecord,
    id: RecordId,
    known_at: DateTime<Utc>,
    space: Option<&EmbeddingSpace>,
) -> MemoryRecord {
    let mut body = new.body;
    // A vector of the whole text also serves the cut one, because the model reads far less.
    let (embedding_space, embedding) = match new.embedding {
        Some(found) if space.is_none_or(|space| *space == found.space) => {
            (Some(found.space), found.vector)
        }
        Some(found) => {
            let name = Value::from(format_space(&found.space));
            body.metadata.insert(FOREIGN_SPACE_KEY.to_owned(), name);
            (None, Vec::new())
        }
        None => (None, Vec::new()),
    };
    body.tags = normalize_tags(&body.tags);
    MemoryRecord {
        id,
        content_hash: ContentHash::of_text(&body.text),
        timestamp: new.timestamp.unwrap_or(known_at),
        known_at,
        embedding,
        embedding_space,
        body,
    }
}

/// Prepares a record that another memory stored, with its id and times and without its vector.
pub(crate) fn prepare_imported(record: MemoryRecord) -> Result<MemoryRecord, RejectReason> {
    let (id, known_at) = (record.id, record.known_at);
    let mut new = record.into_new_record();
    new.validate()?;
    new.truncate_text(TEXT_BYTES_MAX);
    Ok(build_record(new, id, known_at, None))
}

/// Builds a stand-in for a record that was forgotten before it was imported.
fn placeholder_record(id: RecordId) -> MemoryRecord {
    let new = NewRecord::new("forgotten", MemorySource::UserInput, MemoryKind::Episode);
    let kept = i64::try_from(id.to_u128() >> 80)
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    build_record(new, id, kept.unwrap_or_default(), None)
}

/// Returns the entries that give the next ordinal to a forgotten record, so that its external ids
/// are known and its id is not used again.
pub(crate) fn forgotten_entries(ordinal: u32, tombstone: Tombstone) -> [StoreEntry; 2] {
    [
        StoreEntry::Record(Box::new(placeholder_record(tombstone.id))),
        StoreEntry::Forgotten { ordinal, tombstone },
    ]
}

/// Formats a space for people.
pub(crate) fn format_space(space: &EmbeddingSpace) -> String {
    format!("{}/{}", space.model, space.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reprise_types::{Embedding, parse_timestamp};

    fn new(text: &str) -> NewRecord {
        NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode)
    }

    #[test]
    fn a_vector_of_another_space_is_not_mixed_in() {
        let space = |model: &str| EmbeddingSpace {
            model: model.into(),
            version: "1".into(),
            dimensions: 2,
        };
        let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let mut record = new("text");
        record.embedding = Some(Embedding::new(space("a"), vec![1.0, 0.0]));
        let id = RecordId::from_u128(1);
        let kept = build_record(record.clone(), id, now, Some(&space("a")));
        assert_eq!(kept.embedding, vec![1.0, 0.0]);
        let left_out = build_record(record, id, now, Some(&space("b")));
        assert!(left_out.embedding.is_empty() && left_out.embedding_space.is_none());
        assert_eq!(left_out.metadata[FOREIGN_SPACE_KEY], Value::from("a/1"));
    }
}
