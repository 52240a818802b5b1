//! What another system's form has no place for, carried in a corner of it: a record that nobody
//! changed there comes back whole.

use crate::archive::{Joint, moved, named, record_of};
use crate::prelude::*;

/// What the corner is called: a key of metadata or front matter, or a table.
pub(crate) const CORNER: &str = "reprise";

/// A record's links as they stand in a corner.
pub(crate) fn links(links: &[(RecordId, String)]) -> Value {
    let rows = links.iter();
    rows.map(|(to, relation)| json!({ "to": to, "relation": relation }))
        .collect()
}

/// The corner of a record: its line of an export of our own and its links.
pub(crate) fn corner(line: &Value, of: &[(RecordId, String)]) -> Value {
    let mut fields = line.as_object().cloned().unwrap_or_default();
    fields.remove("archive");
    fields.insert("links".to_owned(), links(of));
    Value::Object(fields)
}

/// What was carried.
pub(crate) struct Carried {
    pub(crate) record: MemoryRecord,
    links: Vec<Joint>,
    /// Whether a person gave it other tags.
    is_retagged: bool,
}

impl Carried {
    /// The error is a sentence.
    pub(crate) fn read(mut corner: Value) -> Result<Self, String> {
        let fields = corner.as_object_mut();
        let links = fields.and_then(|fields| fields.remove("links"));
        let record = record_of(&corner)?;
        let own = named(record.id);
        let links = links.iter().filter_map(Value::as_array).flatten();
        let links = links.filter_map(|link| {
            Some(Joint {
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

    /// Takes the corner out of a form's metadata; `None` where there is none, or none to be read.
    pub(crate) fn take(form: &mut Map<String, Value>) -> Option<Self> {
        let metadata = form.get_mut("metadata")?.as_object_mut()?;
        Self::read(metadata.remove(CORNER)?).ok()
    }

    /// The tags that a person gave it.
    pub(crate) fn retag(&mut self, tags: Vec<String>) {
        (self.record.tags, self.is_retagged) = (tags, true);
    }

    /// The record as one to be kept, under its old name too, and its links. One whose tags a person
    /// changed updates what is known.
    pub(crate) fn into_new(self) -> (NewRecord, Vec<Joint>) {
        let mut new = moved(self.record, &BTreeMap::new());
        new.updates = self.is_retagged;
        (new, self.links)
    }
}
