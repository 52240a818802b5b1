//! A file of stock `rvf-runtime`: a vector for each record, its text in the first field of its
//! metadata and its line of an export of our own in the second. What has no vector stands in the
//! metadata of the file.

use rvf_runtime::options::{DistanceMetric, MetadataEntry, MetadataValue, VectorMetadata};
use rvf_runtime::{RvfOptions, RvfStore};

use super::Telling;
use crate::prelude::*;

/// The field of a record's text.
pub(crate) const TEXT: u16 = 1;
/// The field of a record's line.
pub(crate) const LINE: u16 = 2;
/// The key of the lines without a vector, a JSON list.
pub(crate) const UNEMBEDDED: &str = "reprise_unembedded";

/// Dimensions of a file in which nothing has a vector.
const DIMENSIONS: usize = 384;
/// Vectors of one batch, so that no segment is larger than what the runtime reads.
const BATCH: usize = 10_000;

pub(super) fn write(path: &Path, told: &[Telling]) -> Result<(), ExportError> {
    let unwritable = |why: String| ExportError::unwritable(path.display(), why);
    let failed = |error: rvf_types::RvfError| unwritable(format!("{error:?}"));
    // The runtime takes a bare name for another place once it renames.
    let file = std::path::absolute(path)?;
    let dimensions = told
        .iter()
        .find_map(|one| one.vector.as_ref().map(Vec::len));
    let options = RvfOptions {
        dimension: dimensions.unwrap_or(DIMENSIONS) as u16,
        // Its cosine index loses clusters; on unit vectors both give the same order.
        metric: DistanceMetric::InnerProduct,
        ..RvfOptions::default()
    };
    let mut store = RvfStore::create(&file, options).map_err(failed)?;
    let (held, waiting): (Vec<_>, Vec<_>) = told
        .iter()
        .enumerate()
        .partition(|(_, one)| one.vector.is_some());
    for batch in held.chunks(BATCH) {
        let vectors: Vec<&[f32]> = batch
            .iter()
            .filter_map(|(_, one)| one.vector.as_deref())
            .collect();
        let ids: Vec<u64> = batch.iter().map(|(place, _)| *place as u64).collect();
        let metadata: Vec<VectorMetadata> = batch
            .iter()
            .map(|(place, one)| VectorMetadata {
                vector_id: *place as u64,
                fields: vec![
                    field(TEXT, one.record.text.clone()),
                    field(LINE, one.line.to_string()),
                ],
                delete_record: false,
            })
            .collect();
        let done = store
            .ingest_batch_with_metadata(&vectors, &ids, &metadata)
            .map_err(failed)?;
        if done.accepted != vectors.len() as u64 {
            let (taken, all) = (done.accepted, vectors.len());
            return Err(unwritable(format!("{taken} of {all} vectors were taken")));
        }
    }
    let rest: Vec<Value> = waiting
        .into_iter()
        .map(|(place, one)| serde_json::json!([place, one.line]))
        .collect();
    if !rest.is_empty() {
        let rest = MetadataValue::String(Value::Array(rest).to_string());
        store
            .set_file_metadata(UNEMBEDDED.to_owned(), rest)
            .map_err(failed)?;
    }
    store.close().map_err(failed)
}

fn field(field_id: u16, text: String) -> MetadataEntry {
    MetadataEntry {
        field_id,
        value: MetadataValue::String(text),
    }
}
