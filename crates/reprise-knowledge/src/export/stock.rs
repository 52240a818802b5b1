//! Writes a file of stock `rvf-runtime`: a vector for each record, with its text in the first field
//! of the vector's metadata and its line of our own export in the second. Records without a vector
//! are in the metadata of the file.

use rvf_runtime::options::{DistanceMetric, MetadataEntry, MetadataValue, VectorMetadata};
use rvf_runtime::{RvfOptions, RvfStore};

use super::OutgoingRecord;
use crate::prelude::*;

/// Metadata field of a record's text.
pub(crate) const TEXT: u16 = 1;
/// Metadata field of a record's line.
pub(crate) const LINE: u16 = 2;
/// Key of the lines of records without a vector, a JSON list.
pub(crate) const UNEMBEDDED: &str = "reprise_unembedded";

/// Dimensions of a file without vectors.
const DIMENSIONS: usize = 384;
/// Vectors of one batch, so that no segment is larger than the runtime can read.
const BATCH: usize = 10_000;

pub(super) fn write_stock_file(path: &Path, records: &[OutgoingRecord]) -> Result<(), ExportError> {
    let unwritable = |why: String| ExportError::unwritable(path.display(), why);
    let failed = |error: rvf_types::RvfError| unwritable(format!("{error:?}"));
    // The runtime takes a bare name for another place once it renames.
    let file = std::path::absolute(path)?;
    let dimensions = records
        .iter()
        .find_map(|one| one.vector.as_ref().map(Vec::len));
    let options = RvfOptions {
        dimension: dimensions.unwrap_or(DIMENSIONS) as u16,
        // Its cosine index loses clusters; on unit vectors both give the same order.
        metric: DistanceMetric::InnerProduct,
        ..RvfOptions::default()
    };
    let mut store = RvfStore::create(&file, options).map_err(failed)?;
    let (embedded, unembedded): (Vec<_>, Vec<_>) = records
        .iter()
        .enumerate()
        .partition(|(_, one)| one.vector.is_some());
    for batch in embedded.chunks(BATCH) {
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
                    text_entry(TEXT, one.record.text.clone()),
                    text_entry(LINE, one.line.to_string()),
                ],
                delete_record: false,
            })
            .collect();
        let done = store
            .ingest_batch_with_metadata(&vectors, &ids, &metadata)
            .map_err(failed)?;
        if done.accepted != vectors.len() as u64 {
            let (accepted, all) = (done.accepted, vectors.len());
            return Err(unwritable(format!(
                "only {accepted} of {all} vectors were accepted"
            )));
        }
    }
    let rest: Vec<Value> = unembedded
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

fn text_entry(field_id: u16, text: String) -> MetadataEntry {
    MetadataEntry {
        field_id,
        value: MetadataValue::String(text),
    }
}
