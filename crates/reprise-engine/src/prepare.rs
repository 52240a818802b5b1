//! From what a caller hands in to what is kept: checks, cuts, hash. Pure; nothing is written here.

use chrono::{DateTime, Utc};
use reprise_types::limits::{
    IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX, METADATA_BYTES_MAX, TEXT_BYTES_MAX,
};
use reprise_types::{
    ContentHash, EmbeddingSpace, MemoryKind, MemoryRecord, MemorySource, NewRecord, RecordId,
    RejectReason, json_bytes, normal_tags,
};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

/// Key of the mark that a cut text leaves in the metadata.
pub(crate) const TRUNCATED_KEY: &str = "truncated_from_bytes";

/// Key of the mark that a vector of another space leaves there: which space it was.
pub(crate) const FOREIGN_SPACE_KEY: &str = "embedding_space_left_out";

/// Checks everything that the sender can change.
pub(crate) fn validate(new: &NewRecord) -> Result<(), RejectReason> {
    if new.text.trim().is_empty() {
        return Err(RejectReason::EmptyText);
    }
    in_range("quality_score", new.quality_score)?;
    in_range("confidence", new.confidence)?;
    if let Some(embedding) = &new.embedding {
        embedding.check().map_err(|error| RejectReason::Vector {
            message: error.to_string(),
        })?;
    }
    short("session_id", new.session_id.len(), IDENTIFIER_BYTES_MAX)?;
    for external in &new.external_ids {
        short("external_id", external.id.len(), IDENTIFIER_BYTES_MAX)?;
        short(
            "external id namespace",
            external.namespace.len(),
            IDENTIFIER_BYTES_MAX,
        )?;
    }
    for tag in &new.tags {
        short("tag", tag.len(), IDENTIFIER_BYTES_MAX)?;
    }
    let provenance = &new.provenance;
    for (field, text) in [
        ("run_id", &provenance.run_id),
        ("actor_id", &provenance.actor_id),
    ] {
        short(
            field,
            text.as_ref().map_or(0, String::len),
            IDENTIFIER_BYTES_MAX,
        )?;
    }
    for reference in &provenance.source_refs {
        short("source_ref", reference.len(), IDENTIFIER_BYTES_MAX)?;
    }
    few("external_ids", new.external_ids.len())?;
    few("tags", new.tags.len())?;
    few("source_refs", provenance.source_refs.len())?;
    short("metadata", json_bytes(&new.metadata), METADATA_BYTES_MAX)?;
    let details_bytes = new.details.as_ref().map_or(0, json_bytes);
    short("details", details_bytes, METADATA_BYTES_MAX)
}

/// Makes the record. A vector of another space than `space` is left out, which the metadata says:
/// the text is kept and embedded later, because spaces never mix.
pub(crate) fn build(
    new: NewRecord,
    id: RecordId,
    known_at: DateTime<Utc>,
    space: Option<&EmbeddingSpace>,
) -> MemoryRecord {
    let mut body = new.body;
    if let Some(bytes) = cut(&mut body.text) {
        body.metadata
            .insert(TRUNCATED_KEY.to_owned(), Value::from(bytes));
    }
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
    let new = record.into_new();
    validate(&new)?;
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

/// Cuts at the last character boundary within the limit; says what the length was, if longer.
fn cut(text: &mut String) -> Option<usize> {
    let bytes = text.len();
    (bytes > TEXT_BYTES_MAX).then(|| {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        bytes
    })
}

fn in_range(field: &str, value: Option<f32>) -> Result<(), RejectReason> {
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => Err(RejectReason::OutOfRange {
            field: field.to_owned(),
            value: value.to_string(),
        }),
        _ => Ok(()),
    }
}

fn short(field: &str, got: usize, limit: usize) -> Result<(), RejectReason> {
    if got > limit {
        return Err(RejectReason::TooLarge {
            field: field.to_owned(),
            got,
            limit,
        });
    }
    Ok(())
}

fn few(field: &str, got: usize) -> Result<(), RejectReason> {
    if got > LIST_ITEMS_MAX {
        let limit = LIST_ITEMS_MAX;
        return Err(RejectReason::TooMany {
            field: field.to_owned(),
            got,
            limit,
        });
    }
    Ok(())
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
    fn long_text_is_cut_on_a_character_boundary_and_marked() {
        // Three-byte characters, so that the limit falls inside one.
        let text = "\u{65e5}".repeat(TEXT_BYTES_MAX / 3 + 1000);
        let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let record = build(new(&text), RecordId::from_u128(1), now, None);
        assert!(record.text.len() <= TEXT_BYTES_MAX && record.text.len() > TEXT_BYTES_MAX - 3);
        assert_eq!(record.metadata[TRUNCATED_KEY], Value::from(text.len()));
    }

    #[test]
    fn what_the_sender_can_change_is_refused_with_a_reason() {
        let refused = |change: &dyn Fn(&mut NewRecord)| {
            let mut record = new("text");
            change(&mut record);
            validate(&record).unwrap_err().to_string()
        };
        assert_eq!(validate(&new("text")), Ok(()));
        assert!(refused(&|r| r.text = " \n".into()).contains("empty"));
        assert!(refused(&|r| r.quality_score = Some(f32::NAN)).contains("NaN"));
        assert!(refused(&|r| r.confidence = Some(1.5)).contains("between 0 and 1"));
        assert!(refused(&|r| r.session_id = "s".repeat(600)).contains("512"));
        assert!(refused(&|r| r.tags = vec!["t".into(); 65]).contains("65 items"));
        assert!(
            refused(&|r| {
                r.metadata
                    .insert("k".into(), Value::from("v".repeat(METADATA_BYTES_MAX)));
            })
            .contains("metadata")
        );
        let space = EmbeddingSpace {
            model: "m".into(),
            version: "1".into(),
            dimensions: 2,
        };
        for vector in [vec![f32::NAN, 0.0], vec![1.0], vec![1.0, 1.0]] {
            let embedding = Some(Embedding::new(space.clone(), vector));
            assert!(!refused(&|r| r.embedding = embedding.clone()).is_empty());
        }
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
