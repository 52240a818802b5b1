//! Reads files of stock `rvf-runtime`: our own exports completely, others by the texts in their
//! metadata.

use rvf_runtime::RvfStore;
use rvf_runtime::options::{MetadataEntry, MetadataValue};

use super::sqlite::begins_with;
use crate::export::stock::{LINE, TEXT, UNEMBEDDED};
use crate::prelude::*;

fn open_store(path: &Path) -> Result<RvfStore, ImportError> {
    RvfStore::open_readonly(path).map_err(|error| ImportError::Broken {
        path: path.to_owned(),
        why: format!("rvf-runtime does not open it ({error:?})"),
    })
}

/// Whether a file begins with the magic bytes of the format.
pub(super) fn is_rvf_file(path: &Path) -> Result<bool, ImportError> {
    begins_with(path, b"SFVR")
}

/// Reads the lines of an export of our own, in their order; `None` for any other file.
pub(super) fn read_export_lines(path: &Path) -> Result<Option<Vec<Value>>, ImportError> {
    let store = open_store(path)?;
    let mut lines: Vec<(u64, Value)> = Vec::new();
    for (id, _) in store.iter_vectors() {
        let fields = store.get_metadata(id).unwrap_or_default();
        let line = text_by_id(&fields, LINE);
        let Some(line) = line.and_then(|line| serde_json::from_str(line).ok()) else {
            return Ok(None);
        };
        lines.push((id, line));
    }
    if let Some(MetadataValue::String(rest)) = store.get_file_metadata(UNEMBEDDED) {
        let rest: Vec<(u64, Value)> = serde_json::from_str(rest).unwrap_or_default();
        lines.extend(rest);
    }
    lines.sort_by_key(|(place, _)| *place);
    Ok((!lines.is_empty()).then(|| lines.into_iter().map(|(_, line)| line).collect()))
}

/// Returns the text of a field by its number.
fn text_by_id(fields: &[MetadataEntry], id: u16) -> Option<&str> {
    text_of_field(fields.iter().find(|field| field.field_id == id)?)
}

fn text_of_field(field: &MetadataEntry) -> Option<&str> {
    match &field.value {
        MetadataValue::String(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

pub(super) fn read(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let store = open_store(path)?;
    let name = sink.place_name(path);
    let mut ids: Vec<u64> = store.iter_vectors().map(|(id, _)| id).collect();
    ids.sort_unstable();
    for id in ids {
        let place = format!("{name} vector {id}");
        let fields = store.get_metadata(id).unwrap_or_default();
        let texts = fields.iter().filter_map(text_of_field);
        let longest = || texts.max_by_key(|text| text.len());
        let Some(text) = text_by_id(&fields, TEXT).or_else(longest) else {
            sink.refuse(&place, "the vector has no text in its metadata")?;
            continue;
        };
        let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
        let own = hex_id(&["rvf", &id.to_string(), text]);
        record.external_ids = vec![ExternalId::new(ExternalId::RVF, own)];
        let others = fields
            .iter()
            .filter(|field| text_of_field(field) != Some(text));
        let others: Map<String, Value> = others
            .map(|field| (field.field_id.to_string(), to_json(&field.value)))
            .collect();
        record.details = Some(json!({ "type": "rvf_vector", "id": id, "fields": others }));
        sink.emit_record(&place, record)?;
    }
    Ok(())
}

fn to_json(value: &MetadataValue) -> Value {
    match value {
        MetadataValue::U64(number) => json!(number),
        MetadataValue::I64(number) => json!(number),
        MetadataValue::F64(number) => json!(number),
        MetadataValue::String(text) => json!(text),
        MetadataValue::Bytes(bytes) => json!(bytes),
        MetadataValue::Bool(truth) => json!(truth),
        _ => Value::Null,
    }
}
