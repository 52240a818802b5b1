//! Carries a whole record inside another system's format, in one extra field: a record that nobody
//! changed there comes back complete.

use crate::archive::{ExternalLink, parse_record, reprise_external_id, to_imported_record};
use crate::prelude::*;

/// Name of the extra field: a key of metadata or front matter, or a table.
pub(crate) const CARRIER_FIELD: &str = "reprise";

/// Encodes a record's links for the extra field.
pub(crate) fn encode_links(links: &[(RecordId, String)]) -> Value {
    let rows = links.iter();
    rows.map(|(to, relation)| json!({ "to": to, "relation": relation }))
        .collect()
}

/// Builds the extra field of a record: its line of our own export format and its links.
pub(crate) fn build_carrier(line: &Value, of: &[(RecordId, String)]) -> Value {
    let mut fields = line.as_object().cloned().unwrap_or_default();
    fields.remove("archive");
    fields.insert("links".to_owned(), encode_links(of));
    Value::Object(fields)
}

/// A record that was read back from the extra field.
pub(crate) struct CarriedRecord {
    pub(crate) record: MemoryRecord,
    links: Vec<ExternalLink>,
    /// Whether a person changed its tags in the other system.
    is_retagged: bool,
}

impl CarriedRecord {
    /// Parses the content of the extra field; the error is a sentence.
    pub(crate) fn parse_carrier(mut carrier: Value) -> Result<Self, String> {
        let fields = carrier.as_object_mut();
        let links = fields.and_then(|fields| fields.remove("links"));
        let record = parse_record(&carrier)?;
        let own = reprise_external_id(record.id);
        let links = links.iter().filter_map(Value::as_array).flatten();
        let links = links.filter_map(|link| {
            Some(ExternalLink {
                from: own.clone(),
                to: ExternalId::new(ExternalId::REPRISE, link["to"].as_str()?),
                relation: link["relation"].as_str()?.to_owned(),
            })
        });
        let links = links.collect();
        Ok(Self {
            record,
            links,
            is_retagged: false,
        })
    }

    /// Removes the extra field from the metadata of an object and parses it; `None` if it is
    /// missing or unreadable.
    pub(crate) fn take_carrier(form: &mut Map<String, Value>) -> Option<Self> {
        let metadata = form.get_mut("metadata")?.as_object_mut()?;
        Self::parse_carrier(metadata.remove(CARRIER_FIELD)?).ok()
    }

    /// Replaces its tags by those that a person gave it in the other system.
    pub(crate) fn replace_tags(&mut self, tags: Vec<String>) {
        (self.record.tags, self.is_retagged) = (tags, true);
    }

    /// Converts it into a new record, which also has its old id, and its links. A record with
    /// changed tags replaces the known one.
    pub(crate) fn into_new_record(self) -> (NewRecord, Vec<ExternalLink>) {
        let mut new = to_imported_record(self.record, &BTreeMap::new());
        new.replaces_known_id = self.is_retagged;
        (new, self.links)
    }
}
