//! The outcome of a write: not a bool, since a duplicate and a failure differ.

use serde::{Deserialize, Serialize};

use crate::id::RecordId;
use crate::limits::{EXTERNAL_IDS_MAX, IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX, METADATA_BYTES_MAX};
use crate::record::{ExternalId, MemoryRecord, NewRecord, json_size};

/// The outcome of writing one record. `Inserted` means on disk and findable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum WriteOutcome {
    Inserted {
        id: RecordId,
    },
    /// An earlier record has the same external id; it gains the tags that it never had.
    Duplicate {
        /// Its newest version.
        of: RecordId,
        /// Whether no version of it has this text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        differs: bool,
    },
    /// Refused; nothing changed.
    Rejected {
        /// The reason.
        why: RejectReason,
    },
}

impl WriteOutcome {
    /// Returns the id of the record if it was inserted.
    pub fn inserted_id(&self) -> Option<RecordId> {
        match self {
            Self::Inserted { id } => Some(*id),
            Self::Duplicate { .. } | Self::Rejected { .. } => None,
        }
    }
}

/// Why a record was refused: always something that its sender can fix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum RejectReason {
    #[error("the text is empty; send what should be remembered")]
    EmptyText,
    #[error("{field} is {value}, it must be between 0 and 1")]
    OutOfRange {
        field: String,
        /// What it held, as text (NaN has no JSON form).
        value: String,
    },
    /// The vector cannot be stored.
    #[error("{message}")]
    Vector { message: String },
    #[error("{field} has {got} bytes, the limit is {limit}")]
    TooLarge {
        field: String,
        got: usize,
        limit: usize,
    },
    #[error("{field} has {got} items, the limit is {limit}")]
    TooMany {
        field: String,
        got: usize,
        limit: usize,
    },
    #[error(
        "`{}` marks what Reprise itself says of what left this memory; use another tag",
        MemoryRecord::RECEIPT_TAG
    )]
    Receipt,
    #[error("it supersedes {id}, which this store does not hold")]
    UnknownSuperseded { id: RecordId },
}

impl NewRecord {
    /// Checks everything that the sender can change, except the length of the text, which is cut.
    pub fn validate(&self) -> Result<(), RejectReason> {
        if self.text.trim().is_empty() {
            return Err(RejectReason::EmptyText);
        }
        check_range("quality_score", self.quality_score)?;
        check_range("confidence", self.confidence)?;
        if let Some(embedding) = &self.embedding {
            embedding.validate().map_err(|error| RejectReason::Vector {
                message: error.to_string(),
            })?;
        }
        let external = self.external_ids.iter().flat_map(|external| {
            let ExternalId { namespace, id } = external;
            [("external_id", id), ("external id namespace", namespace)]
        });
        let provenance = &self.provenance;
        let run = provenance.run_id.iter().map(|id| ("run_id", id));
        let actor = provenance.actor_id.iter().map(|id| ("actor_id", id));
        let names = std::iter::once(("session_id", &self.session_id))
            .chain(external)
            .chain(self.tags.iter().map(|tag| ("tag", tag)))
            .chain(run.chain(actor))
            .chain(provenance.source_refs.iter().map(|of| ("source_ref", of)));
        for (field, name) in names {
            check_size(field, name.len(), IDENTIFIER_BYTES_MAX)?;
        }
        check_count("external_ids", self.external_ids.len(), EXTERNAL_IDS_MAX)?;
        check_count("tags", self.tags.len(), LIST_ITEMS_MAX)?;
        check_count("source_refs", provenance.source_refs.len(), LIST_ITEMS_MAX)?;
        check_size("metadata", json_size(&self.metadata), METADATA_BYTES_MAX)?;
        let details_bytes = self.details.as_ref().map_or(0, json_size);
        check_size("details", details_bytes, METADATA_BYTES_MAX)
    }
}

fn check_range(field: &str, value: Option<f32>) -> Result<(), RejectReason> {
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => Err(RejectReason::OutOfRange {
            field: field.to_owned(),
            value: value.to_string(),
        }),
        _ => Ok(()),
    }
}

fn check_size(field: &str, got: usize, limit: usize) -> Result<(), RejectReason> {
    if got > limit {
        return Err(RejectReason::TooLarge {
            field: field.to_owned(),
            got,
            limit,
        });
    }
    Ok(())
}

fn check_count(field: &str, got: usize, limit: usize) -> Result<(), RejectReason> {
    if got > limit {
        return Err(RejectReason::TooMany {
            field: field.to_owned(),
            got,
            limit,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::embedding::{Embedding, EmbeddingSpace};
    use crate::kind::{MemoryKind, MemorySource};
    use crate::record::RecordBody;

    fn new(text: &str) -> NewRecord {
        NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode)
    }

    #[test]
    fn long_text_is_cut_on_a_character_boundary_and_marked() {
        // Three-byte characters, so that the limit falls inside one.
        let mut record = new(&"\u{65e5}".repeat(1000));
        assert_eq!(record.truncate_text(3000), None);
        assert!(record.metadata.is_empty());
        assert_eq!(record.truncate_text(2000), Some(3000));
        assert_eq!(record.text.len(), 1998);
        assert_eq!(
            record.metadata[RecordBody::TRUNCATED_KEY],
            Value::from(3000)
        );
    }

    #[test]
    fn what_the_sender_can_change_is_refused_with_a_reason() {
        let refused = |change: &dyn Fn(&mut NewRecord)| {
            let mut record = new("text");
            change(&mut record);
            record.validate().unwrap_err().to_string()
        };
        assert_eq!(new("text").validate(), Ok(()));
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
}
