//! What `append` refuses before a byte is written.
//!
//! Lives here: the checks on entries. Never here: what the engine thinks of a record.

use reprise_types::check_unit_vector;
use reprise_types::limits::{LIST_ITEMS_MAX, RECORDS_MAX};

use crate::codec::Encoded;
use crate::commit::FileFacts;
use crate::directory::{Directory, SlotState};
use crate::entry::Entry;
use crate::error::StoreError;

/// Entries of one commit; keeps a `VEC_SEG` far below the 256 MiB that rvf-runtime reads.
const ENTRIES_MAX: usize = 16_384;
/// Bytes of one commit before compression, vectors included.
const BYTES_MAX: usize = 64 * 1024 * 1024;

pub(super) fn check(
    entries: &[Entry],
    facts: &FileFacts,
    directory: &Directory,
) -> Result<(), StoreError> {
    if entries.len() > ENTRIES_MAX {
        return Err(StoreError::CommitTooLarge {
            what: "entries",
            got: entries.len(),
            limit: ENTRIES_MAX,
        });
    }
    let mut records = directory.records();
    let mut forgotten = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        check_entry(entry, facts, directory, records, &forgotten)
            .map_err(|why| StoreError::BadEntry { index, why })?;
        match entry {
            Entry::Record(_) if records == RECORDS_MAX => {
                return Err(StoreError::Full { records });
            }
            Entry::Record(_) => records += 1,
            Entry::Forgotten { ordinal, .. } => forgotten.push(*ordinal),
            _ => {}
        }
    }
    Ok(())
}

fn check_entry(
    entry: &Entry,
    facts: &FileFacts,
    directory: &Directory,
    records: u32,
    forgotten: &[u32],
) -> Result<(), String> {
    let dimensions = facts.dimensions;
    let check_vector = |space: &reprise_types::EmbeddingSpace, vector: &[f32]| {
        if space.dimensions != dimensions {
            let got = space.dimensions;
            return Err(format!(
                "its space has {got} dimensions, the file {dimensions}"
            ));
        }
        check_unit_vector(vector, usize::from(dimensions)).map_err(|error| error.to_string())
    };
    let check_ordinal = |ordinal: u32| {
        let gone = directory
            .slot(ordinal)
            .is_some_and(|slot| slot.state == SlotState::Forgotten);
        if ordinal >= records {
            Err(format!("there is no record {ordinal}"))
        } else if gone || forgotten.contains(&ordinal) {
            Err(format!("record {ordinal} is forgotten"))
        } else {
            Ok(())
        }
    };
    match entry {
        Entry::Record(record) => match (&record.embedding_space, record.embedding.as_slice()) {
            (Some(space), vector) => check_vector(space, vector),
            (None, []) => Ok(()),
            (None, _) => Err("it has a vector but no embedding space".to_owned()),
        },
        Entry::Embedded {
            ordinal,
            space,
            vector,
        } => check_ordinal(*ordinal).and_then(|()| check_vector(space, vector)),
        Entry::Forgotten { keys, .. } if keys.len() > LIST_ITEMS_MAX => {
            let got = keys.len();
            Err(format!(
                "it has {got} keys, at most {LIST_ITEMS_MAX} are kept"
            ))
        }
        Entry::Forgotten { ordinal, .. } => check_ordinal(*ordinal),
        Entry::Cursor { .. } | Entry::Learning(_) => Ok(()),
        Entry::Lost { .. } => Err("a lost record cannot be written".to_owned()),
    }
}

pub(super) fn check_size(encoded: &[Encoded]) -> Result<(), StoreError> {
    let size = |e: &Encoded| e.raw.body.len() + e.vector.as_ref().map_or(0, Vec::len);
    let got: usize = encoded.iter().map(size).sum();
    if got > BYTES_MAX {
        return Err(StoreError::CommitTooLarge {
            what: "bytes",
            got,
            limit: BYTES_MAX,
        });
    }
    Ok(())
}
