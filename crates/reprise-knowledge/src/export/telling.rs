//! What every form is written from.

use std::collections::BTreeMap;

use reprise_types::{MemoryRecord, RecordId};
use serde_json::Value;

/// Everything that a form is written from.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    pub records: &'a [Telling],
    /// From a spelling to the tag that is kept.
    pub aliases: &'a BTreeMap<String, String>,
}

/// Records alone.
impl<'a> From<&'a [Telling]> for Outgoing<'a> {
    fn from(records: &'a [Telling]) -> Self {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        let aliases = &NONE;
        Self { records, aliases }
    }
}

/// A record on its way out.
#[derive(Debug, Clone)]
pub struct Telling {
    pub record: MemoryRecord,
    /// Its line of an export of our own, `archive` included.
    pub line: Value,
    /// Where its links lead to, with their relations.
    pub links: Vec<(RecordId, String)>,
    /// The first of its versions, where it has several.
    pub first: Option<MemoryRecord>,
    /// Its unit vector, where it has one.
    pub vector: Option<Vec<f32>>,
}

impl Telling {
    /// The name that the record has in a system, else its id.
    pub(super) fn name(&self, namespace: &str) -> String {
        let own = self.record.external_id(namespace);
        own.map_or_else(|| self.record.id.to_string(), str::to_owned)
    }
}
