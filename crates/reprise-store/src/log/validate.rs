//! Checks of entries before `append` writes a byte.

use std::collections::HashSet;

use reprise_types::limits::{EXTERNAL_IDS_MAX, IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX, RECORDS_MAX};
use reprise_types::{Annotation, check_unit_vector};

use crate::block::COMMIT_BYTES_MAX;
use crate::codec::{EncodedEntry, encode_entry};
use crate::directory::LogDirectory;
use crate::directory::slot::SlotState;
use crate::entry::StoreEntry;
use crate::error::{StoreError, StoreResult};

/// Most entries of one commit, which keeps a `VEC_SEG` far below the 256 MiB that rvf-runtime
/// reads.
pub(super) const COMMIT_ENTRIES_MAX: usize = 16_384;
/// Most bytes of a commit if a request is split over several; other writers wait for one of them at
/// most.
pub(super) const PART_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most keys of a forgotten record: its external ids and one for its request.
const KEYS_MAX: usize = EXTERNAL_IDS_MAX + 1;

/// Checks the entries of one commit in order.
pub(super) struct EntryChecks<'a> {
    directory: &'a LogDirectory,
    /// Count of ordinals, including the commit's records.
    records: u32,
    /// Ordinals that this commit forgets.
    forgotten: HashSet<u32>,
}

impl<'a> EntryChecks<'a> {
    pub(super) fn new(directory: &'a LogDirectory) -> Self {
        Self {
            directory,
            records: directory.record_count(),
            forgotten: HashSet::new(),
        }
    }

    pub(super) fn check_next(&mut self, index: usize, entry: &StoreEntry) -> StoreResult<()> {
        self.check_entry(entry)
            .map_err(|why| StoreError::BadEntry { index, why })?;
        match entry {
            StoreEntry::Record(_) if self.records == RECORDS_MAX => {
                let records = self.records;
                return Err(StoreError::Full { records });
            }
            StoreEntry::Record(_) => self.records += 1,
            StoreEntry::Forgotten { ordinal, .. } => {
                self.forgotten.insert(*ordinal);
            }
            _ => {}
        }
        Ok(())
    }

    fn check_entry(&self, entry: &StoreEntry) -> Result<(), String> {
        let check_vector = |space: &reprise_types::EmbeddingSpace, vector: &[f32]| {
            check_unit_vector(vector, usize::from(space.dimensions))
                .map_err(|error| error.to_string())
        };
        let check_ordinal = |ordinal: u32| {
            let is_forgotten = self
                .directory
                .slot(ordinal)
                .is_some_and(|slot| slot.state == SlotState::Forgotten);
            if ordinal >= self.records {
                Err(format!("there is no record {ordinal}"))
            } else if is_forgotten || self.forgotten.contains(&ordinal) {
                Err(format!("record {ordinal} is forgotten"))
            } else {
                Ok(())
            }
        };
        match entry {
            StoreEntry::Record(record) => {
                match (&record.embedding_space, record.embedding.as_slice()) {
                    (Some(space), vector) => check_vector(space, vector),
                    (None, []) => Ok(()),
                    (None, _) => Err("it has a vector but no embedding space".to_owned()),
                }
            }
            StoreEntry::Embedded {
                ordinal,
                space,
                vector,
            } => check_ordinal(*ordinal).and_then(|()| check_vector(space, vector)),
            StoreEntry::Forgotten { tombstone, .. } if tombstone.keys.len() > KEYS_MAX => {
                let got = tombstone.keys.len();
                Err(format!("it has {got} keys, at most {KEYS_MAX} are kept"))
            }
            StoreEntry::Forgotten { ordinal, .. } => check_ordinal(*ordinal),
            StoreEntry::Annotated {
                ordinal,
                annotation,
                ..
            } => check_ordinal(*ordinal)
                .and_then(|()| annotation.linked_ordinal().map_or(Ok(()), check_ordinal))
                .and_then(|()| check_annotation(annotation)),
            StoreEntry::Cursor { .. } | StoreEntry::Superseded { .. } | StoreEntry::Learning(_) => {
                Ok(())
            }
            StoreEntry::Lost { .. } => Err("a lost record cannot be written".to_owned()),
        }
    }
}

fn check_annotation(annotation: &Annotation) -> Result<(), String> {
    let words = match annotation {
        Annotation::Tagged { tags } => tags.as_slice(),
        Annotation::Linked { relation, .. } | Annotation::Unlinked { relation, .. } => {
            std::slice::from_ref(relation)
        }
        Annotation::Seen { .. } => &[],
        _ => return Err("this version cannot write it".to_owned()),
    };
    let got = words.len();
    if got > LIST_ITEMS_MAX {
        return Err(format!(
            "it has {got} tags, at most {LIST_ITEMS_MAX} are kept"
        ));
    }
    let too_long = words.iter().find(|word| word.len() > IDENTIFIER_BYTES_MAX);
    too_long.map_or(Ok(()), |word| {
        let got = word.len();
        Err(format!(
            "a word of it has {got} bytes, at most {IDENTIFIER_BYTES_MAX} are kept"
        ))
    })
}

/// Builds the error for entries that do not fit into one commit.
pub(super) fn too_large_error(entries: &[StoreEntry], dimensions: u16) -> StoreError {
    if entries.len() > COMMIT_ENTRIES_MAX {
        return StoreError::CommitTooLarge {
            what: "entries",
            got: entries.len(),
            limit: COMMIT_ENTRIES_MAX,
        };
    }
    let mut encoded = Vec::new();
    for entry in entries {
        encode_entry(&mut encoded, entry, 0, dimensions);
    }
    StoreError::CommitTooLarge {
        what: "bytes",
        got: encoded.iter().map(EncodedEntry::size).sum(),
        limit: COMMIT_BYTES_MAX,
    }
}
