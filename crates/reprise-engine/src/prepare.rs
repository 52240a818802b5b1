//! From what a caller hands in to what is kept. Pure; nothing is written here.

use chrono::{DateTime, Utc};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{
    ContentHash, EmbeddingSpace, MemoryKind, MemoryRecord, MemorySource, NewRecord, RecordId,
    RejectReason, normal_tags,
};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

/// Key of the mark that a vector of another space leaves there: which space it was.
pub(crate) const FOREIGN_SPACE_KEY: &str = "embedding_space_left_out";

/// Makes the record. A vector of another space than `space` is left out, which the metadata says:
/// the text is kept and embedded later, because spaces never mix.
pub(crate) fn build(
    new: NewRecord,
    id: RecordId,
    known_at: DateTime<Utc>,
    space: Option<&EmbeddingSpace>,
) -> MemoryRecord {
    let mut body = new.body;
    // A vector of the whole text stays the vector of the cut one: the model reads far less.
    let (embedding_space, embedding) = match new.embedding {
        Some(found) if space.is_none_or(|space| *space == found.space) => {
            (Some(found.space), found.vector)
        }
        Some(found) => {
            let name = Value::from(name_of(&found.space));
            body.metadata.insert(FOREIGN_SPACE_KEY.to_owned(), name);
            (None, Vec::new())
        }
        None => (None, Vec::new()),
    };
    body.tags = normal_tags(&body.tags);
    MemoryRecord {
        id,
        content_hash: hash(&body.text),
        timestamp: new.timestamp.unwrap_or(known_at),
        known_at,
        embedding,
        embedding_space,
        body,
    }
}

pub(crate) fn hash(text: &str) -> ContentHash {
    ContentHash(xxh3_128(text.as_bytes()))
}

/// A record that another memory kept, as this one keeps it: its id and times, no vector.
pub(crate) fn as_kept(record: MemoryRecord) -> Result<MemoryRecord, RejectReason> {
    let (id, known_at) = (record.id, record.known_at);
    let mut new = record.into_new();
    new.check()?;
    new.truncate(TEXT_BYTES_MAX);
    Ok(build(new, id, known_at, None))
}

/// What stands in the place of a record that is forgotten before it came here.
pub(crate) fn placeholder(id: RecordId) -> MemoryRecord {
    let new = NewRecord::new("forgotten", MemorySource::UserInput, MemoryKind::Episode);
    let kept = i64::try_from(id.to_u128() >> 80)
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    build(new, id, kept.unwrap_or_default(), None)
}

/// A space as people read it.
pub(crate) fn name_of(space: &EmbeddingSpace) -> String {
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
        let kept = build(record.clone(), id, now, Some(&space("a")));
        assert_eq!(kept.embedding, vec![1.0, 0.0]);
        let left_out = build(record, id, now, Some(&space("b")));
        assert!(left_out.embedding.is_empty() && left_out.embedding_space.is_none());
        assert_eq!(left_out.metadata[FOREIGN_SPACE_KEY], Value::from("a/1"));
    }
}
