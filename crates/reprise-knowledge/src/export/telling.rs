//! What every form is written from.

use reprise_types::{MemoryRecord, RecordId};
use serde_json::Value;

/// A record on its way out.
#[derive(Debug, Clone)]
pub struct Telling {
    pub record: MemoryRecord,
    /// Its line of an export of our own, `archive` included.
    pub line: Value,
    /// Where its links lead to, with their relations.
    pub links: Vec<(RecordId, String)>,
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
